"""Structured prediction with large margins: bring Psi, Delta and two argmaxes.

>>> from structsvm import StructuredSVM
>>> from structsvm.problems import Multiclass
>>> model = StructuredSVM(Multiclass(n_classes=10, n_features=64), "SVM1 margin", C=100).fit(X, Y)
>>> model.fit_.primal, model.fit_.gap  # the objective, and how far from the optimum it can be
"""

from structsvm.dual import NotSeparableError
from structsvm.estimators import StructuredSVM
from structsvm.fit import ConvergenceWarning, Fit, certify
from structsvm.formulation import FORMULATIONS, Formulation
from structsvm.jkse_estimator import JKSE
from structsvm.path import c_path
from structsvm.separation import SearchError

__version__ = "0.1.0"

__all__ = [
    "FORMULATIONS",
    "JKSE",
    "ConvergenceWarning",
    "Fit",
    "Formulation",
    "NotSeparableError",
    "SearchError",
    "StructuredSVM",
    "__version__",
    "c_path",
    "certify",
]
