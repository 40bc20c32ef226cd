"""Structured prediction with large margins: bring Psi, Delta and two argmaxes.

>>> from structmargin import StructuredSVM
>>> from structmargin.problems import Multiclass
>>> X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]], [0, 1, 0]
>>> model = StructuredSVM(Multiclass(n_classes=2, n_features=2), "SVM1 margin", C=10.0).fit(X, Y)
>>> model.predict([[2.0, 0.0], [0.0, 2.0]]).tolist()
[0, 1]
>>> 0.0 <= model.fit_.gap <= model.fit_.primal  # how far from the optimum the objective can be
True
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structmargin.archive.errors import ModelFileError
    from structmargin.cuts import SearchError
    from structmargin.dual.working_set import NotSeparableError
    from structmargin.estimators.structured_svm import StructuredSVM
    from structmargin.fit import ConvergenceWarning, Fit
    from structmargin.formulation import FORMULATIONS, Formulation
    from structmargin.hinge.linear_svm import linear_svm
    from structmargin.jkse.estimator import JKSE
    from structmargin.problems.grammar.unparsed import NoParseWarning
    from structmargin.training.certificate import certify
    from structmargin.training.path import c_path

__version__ = "0.1.0"

__all__ = [
    "FORMULATIONS",
    "JKSE",
    "ConvergenceWarning",
    "Fit",
    "Formulation",
    "ModelFileError",
    "NoParseWarning",
    "NotSeparableError",
    "SearchError",
    "StructuredSVM",
    "__version__",
    "c_path",
    "certify",
    "linear_svm",
]

# Each name is imported when it is first asked for: scikit-learn takes a second or two to load, and
# whoever wants one problem or one oracle need not wait for it.
_HOME = {
    "FORMULATIONS": "formulation",
    "JKSE": "jkse.estimator",
    "ConvergenceWarning": "fit",
    "Fit": "fit",
    "Formulation": "formulation",
    "ModelFileError": "archive.errors",
    "NoParseWarning": "problems.grammar.unparsed",
    "NotSeparableError": "dual.working_set",
    "SearchError": "cuts",
    "StructuredSVM": "estimators.structured_svm",
    "c_path": "training.path",
    "certify": "training.certificate",
    "linear_svm": "hinge.linear_svm",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'structmargin' has no attribute {name!r}")
    return getattr(importlib.import_module(f"structmargin.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
