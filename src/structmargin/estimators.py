"""The scikit-learn front door: parameters stored untouched, everything learnt ends in an underscore.

`clone`, `cross_val_score` and `GridSearchCV` work, with `problem__name` for a problem's own
parameters. scikit-learn's `check_estimator` does not apply: outputs are structures, not numbers,
so there is no classifier mix-in either (it would stratify folds by ragged labels). There is no
intercept: append a constant feature to x where Psi allows it.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from structmargin import archive, registry
from structmargin.cuts import Cuts
from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.inputs import gate
from structmargin.inputs.containers import count
from structmargin.problem import AdaptedProblem, Problem, adapt
from structmargin.scorer import KernelScorer, LinearScorer

SAVED = (
    "primal", "dual", "gap", "xi", "n_constraints", "n_active", "n_iter", "oracle_calls",
    "exact", "converged", "bound",
)  # fmt: skip
"""What a saved model keeps of its `Fit`; clocks and the trace stay behind."""
SETTINGS = ("solver", "C", "eps", "gap_tol", "max_iter", "warm_start", "random_state")
"""What it keeps of its settings besides problem, formulation and kernel: all but the progress callback."""
SUPPORT = ("example", "losses", "scale", "b", "rows", "H", "alpha")
"""What it keeps of the cuts with alpha > 0: all but the outputs."""


def same(then: Any, now: Any) -> bool:
    """Whether two values are one, or arrays, matrices or sequences of one content; unclear means no."""
    if then is now:
        return True
    if type(then) is not type(now):
        return False
    if sp.issparse(now):
        return bool(then.shape == now.shape and (then != now).nnz == 0)
    if isinstance(now, np.ndarray):
        return np.array_equal(then, now)
    if isinstance(now, (list, tuple)):
        return len(then) == len(now) and all(map(same, then, now))
    return isinstance(now, (bool, int, float, str, np.generic)) and bool(then == now)


class Structured(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """What both estimators share: predicting with a scorer, scoring by loss, nested parameters."""

    problem: Problem
    problem_: Problem
    scorer_: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn.

        A problem is immutable, so `problem__eta=.5` puts a changed copy in its place.

        Parameters
        ----------
        **params
            Parameters by name; `problem__name` for one of the problem's own.

        Returns
        -------
        self
        """
        nested = {k.removeprefix("problem__"): v for k, v in params.items() if k.startswith("problem__")}
        super().set_params(**{k: v for k, v in params.items() if not k.startswith("problem__")})
        if nested:
            self.problem = adapt(self.problem).with_params(**nested)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The labels that predictions are made of, in the order of their numbers, where there are such."""
        check_is_fitted(self, "scorer_")
        labels = adapt(self.problem_).class_labels
        if labels is None:
            raise AttributeError(f"outputs of {type(self.problem_).__name__!r} are not made of class labels")
        return labels()

    def predict(self, X: Any) -> Sequence[Any]:
        """Predict the best-scoring output of every input.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.

        Returns
        -------
        sequence of outputs
            As the problem gives them: an array of class numbers, a list of label sequences, ...
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        yhat: Sequence[Any] = problem.unwrap(self._argmax(problem, gate.inputs_of(problem, X)))
        return yhat

    def score(self, X: Any, Y: Any) -> float:
        """Minus the mean loss: larger is better, as scikit-learn's searches expect.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
        Y : sequence of outputs
            The right ones, as many as there are inputs.

        Returns
        -------
        float
        """
        check_is_fitted(self, "scorer_")
        problem = adapt(self.problem_)
        X, Y = gate.scored(problem, X, Y)
        yhat = self._argmax(problem, X)
        return -float(np.mean(problem.losses(X, Y, yhat)))

    def _argmax(self, problem: AdaptedProblem, X: Any) -> Sequence[Any]:
        """The best-scoring outputs of inputs that are wrapped already."""
        batch = problem.batch(X, None)
        if batch is not None and (self.scorer_.w is not None or batch.takes_kernels):
            return batch.argmax(self.scorer_)
        return [problem.argmax(self.scorer_, X[i]) for i in range(count(X))]

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """The fitted model as named arrays: the problem, the scorer, and its certificate.

        A problem of your own is left out: hand it to `from_arrays` or `load` again.
        """

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Any, problem: Problem | None = None) -> Self:
        """The model that `to_arrays` was called on; `problem` is needed if it is not one of the library's."""

    @classmethod
    def _classes(cls) -> dict[str, Any]:
        """Every class that a saved model of this kind may name."""
        return registry.classes()

    def _packed(self, settings: dict[str, Any], fit: dict[str, Any]) -> dict[str, np.ndarray]:
        """What every saved model holds: settings, problem, scorer, and what is kept of the fit."""
        classes, f = self._classes(), self.scorer_
        tree: dict[str, Any] = {
            "settings": settings,
            "problem": self.problem_ if type(self.problem_) in classes.values() else None,
            "w": f.w,
            "fit": fit,
        }
        if f.w is None:
            X, Y = (part if getattr(part, "ndim", 0) else list(part) for part in (f.X, f.Y))
            tree["expansion"] = {"kernel": f.kernel, "X": X, "Y": Y, "coef": f.coef}
        return archive.pack(tree, classes)

    @classmethod
    def _unpacked(cls, arrays: Any, problem: Problem | None) -> tuple[Self, Any, dict[str, Any]]:
        """(an unfitted model, its scorer, what was kept of the fit)."""
        tree = archive.unpack(arrays, cls._classes())
        problem = tree["problem"] if problem is None else problem
        if problem is None:
            raise ValueError("this model was trained on a problem of your own: pass it as problem=...")
        e = tree.get("expansion")
        if e is None:
            return cls(problem, **tree["settings"]), LinearScorer(problem, tree["w"]), tree["fit"]
        model = cls(problem, kernel=e["kernel"], **tree["settings"])
        return model, KernelScorer(problem, e["kernel"], e["X"], e["Y"], e["coef"]), tree["fit"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an .npz file, whole or not at all.

        Parameters
        ----------
        path : str or path-like

        See Also
        --------
        load : Reads it back.
        """
        path = Path(path)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            try:
                arrays: dict[str, Any] = self.to_arrays()
                np.savez_compressed(part, **arrays)
            except BaseException:
                os.unlink(part.name)
                raise
        os.replace(part.name, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: Problem | None = None) -> Self:
        """Read a model that `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or path-like
        problem : Problem, optional
            Needed if the model was trained on a problem of your own: files hold the library's only.

        Returns
        -------
        The fitted model, with all settings but the progress callback.
        """
        with np.load(path, allow_pickle=False) as arrays:
            return cls.from_arrays({name: arrays[name] for name in arrays.files}, problem)


class StructuredSVM(Structured):
    """Structural support vector machine: large-margin learning of f(x, y) = <w, Psi(x, y)>.

    Predictions are argmax_y f(x, y) over structured outputs y: classes, label sequences, parse trees,
    alignments, boxes, rankings. Training makes the right output of every example score above all others by a
    margin, which may grow with the loss Delta of the other output. A cutting-plane solver needs only a
    search for the most violated output, and certifies how far its objective is from the optimum.

    Parameters
    ----------
    problem : Problem
        What is learnt: an object with the four functions `psi`, `delta`, `argmax` and `augmented_argmax`.
        `structmargin.problems` has nine; `structmargin.problem` says what one of your own must do.
    formulation : str or Formulation, default="SVM1 margin"
        How slacks are priced and how the loss enters: 'SVM0' (hard margin), 'SVM1', 'SVM2' (0/1 loss),
        'SVM1 slack', 'SVM1 margin', 'SVM2 slack', 'SVM2 margin'. SVM1 prices slacks linearly, SVM2 their
        squares; 'slack' and 'margin' say what is re-scaled by the loss.
    solver : str or Trainable, default="n_slack"
        'n_slack' (Algorithm 1 of [1]_, all violators of a pass together), its variants 'n_slack_a' and
        'n_slack_b', 'n_slack_cvxopt' (a slow reference), 'one_slack' [2]_, 'bcfw' [3]_, 'olarank' [4]_,
        'perceptron'; or a solver object with options of its own, such as
        `structmargin.solvers.n_slack.NSlack(most=8)`.
    C : float, default=1.0
        The price of slacks, as in the papers: 1/2 |w|^2 + C/n sum xi, or C/(2n) sum xi^2.
    eps : float, default=0.1
        The papers' epsilon: training stops once no constraint is violated by more than this.
    gap_tol : float or None, default=None
        Training also stops once the relative duality gap is certified to be at most this, if that is earlier:
        give a small `eps` with it to make it decide.
    max_iter : int, default=1000
        Passes over the data at most. If it is reached first, a ConvergenceWarning tells the gap.
    kernel : joint kernel or None, default=None
        A kernel on pairs (x, y) from `structmargin.kernels`, or None for the problem's own features.
    warm_start : bool, default=False
        Whether a second `fit` of the same problem on the same data starts from the cuts of the first: these
        do not depend on C.
    random_state : int or None, default=0
        The same int gives the same model.
    progress : callable or None, default=None
        Called with a dict of numbers after each pass. Nothing is printed otherwise.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,), or None
        The weights; None with a kernel.
    problem_ : Problem
        The problem, together with what it learnt from the training data (a grammar's rules).
    classes_ : ndarray
        The labels that predictions are made of, where the problem has such, in the order of their numbers.
    scorer_ : Scorer
        f: `scorer_(x, y)` is the score of one output.
    fit_ : Fit
        How training went: `primal`, `dual`, `gap`, `xi`, `n_constraints`, `oracle_calls`, `exact`, `trace`
        and more.

    See Also
    --------
    JKSE : Learns from right pairs alone, without a search during training.
    structmargin.c_path : Models for several C, each starting from the cuts of the one before.
    structmargin.certify : Recomputes the primal objective by a full search.

    Notes
    -----
    There is no intercept: append a constant feature to x where Psi allows it.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann, Altun. Large margin methods for structured and interdependent
       output variables. JMLR 6, 2005.
    .. [2] Joachims, Finley, Yu. Cutting-plane training of structural SVMs. Machine Learning 77, 2009.
    .. [3] Lacoste-Julien, Jaggi, Schmidt, Pletscher. Block-coordinate Frank-Wolfe optimization for structural
       SVMs. ICML 2013.
    .. [4] Bordes, Usunier, Bottou. Sequence labelling SVMs trained in one pass. ECML PKDD 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Multiclass
    >>> X = np.array([[2.0, 0.1], [1.5, 0.2], [0.1, 1.8], [0.3, 2.2], [-1.9, -2.0], [-2.1, -1.7]])
    >>> Y = np.array([0, 0, 1, 1, 2, 2])
    >>> model = StructuredSVM(Multiclass(n_classes=3, n_features=2), C=10.0, eps=1e-6, gap_tol=1e-3).fit(X, Y)
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    [0, 1]
    >>> 0.0 <= model.fit_.gap <= 1e-3 * model.fit_.primal
    True
    """

    fit_: Fit

    def __init__(
        self,
        problem: Problem,
        formulation: str | Formulation = "SVM1 margin",
        solver: Any = "n_slack",
        C: float = 1.0,
        eps: float = 0.1,
        gap_tol: float | None = None,
        max_iter: int = 1000,
        kernel: Any = None,
        warm_start: bool = False,
        random_state: int | None = 0,
        progress: Any = None,
    ) -> None:
        self.problem = problem
        self.formulation = formulation
        self.solver = solver
        self.C = C
        self.eps = eps
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.kernel = kernel
        self.warm_start = warm_start
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on examples (x_i, y_i).

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.
        Y : sequence of outputs
            The right ones, as many as there are inputs.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If problem, formulation, solver, kernel and data do not go together; the message says why.
        SearchError
            If the problem's functions break their contract.
        NotSeparableError
            If no w satisfies every constraint of a hard margin.
        """
        solver, formulation = registry.solver(self.solver), registry.formulation(self.formulation)
        space = registry.space(self.kernel)
        given = adapt(self.problem)
        reason = registry.check(given, formulation, solver, space)
        if reason:
            raise ValueError(reason)
        X, Y = gate.pairs(X, Y)
        former: Fit | None = self.fit_ if self.warm_start and self._goes_on(X, Y) else None
        problem = self.problem_ if former is not None else given.bind(X, Y)
        self.fit_ = solver.train(
            problem,
            adapt(problem).wrap(X, Y),
            formulation,
            space,
            C=self.C,
            eps=self.eps,
            gap_tol=self.gap_tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            warm_start=former,
            progress=self.progress,
        )
        self.problem_ = problem
        self.scorer_ = self.fit_.scorer
        self.w_ = self.fit_.w
        self._fitted_on = (self.problem, self.kernel, X, Y) if self.warm_start else None
        return self

    def _goes_on(self, X: Any, Y: Any) -> bool:
        """Whether the last fit was of this problem and kernel on these data: only then do its cuts hold."""
        problem, kernel, X_then, Y_then = getattr(self, "_fitted_on", None) or (None,) * 4
        return problem is self.problem and kernel is self.kernel and same(X_then, X) and same(Y_then, Y)

    def to_arrays(self) -> dict[str, np.ndarray]:
        check_is_fitted(self, "scorer_")
        settings = {
            "formulation": registry.formulation(self.formulation).name,
            **{name: getattr(self, name) for name in SETTINGS},
        }
        saved = {name: getattr(self.fit_, name) for name in SAVED}
        if self.fit_.support is not None:
            cuts = self.fit_.support
            saved["support"] = {name: getattr(cuts, name) for name in SUPPORT}
        return self._packed(settings, saved)

    @classmethod
    def from_arrays(cls, arrays: Any, problem: Problem | None = None) -> Self:
        model, scorer, saved = cls._unpacked(arrays, problem)
        support = saved.pop("support", None)
        if support is not None:
            support = Cuts(outputs=None, **support)
        formulation = registry.formulation(model.formulation)
        model.fit_ = Fit(scorer, formulation, model.C, model.eps, support=support, **saved)
        model.problem_, model.scorer_, model.w_ = model.problem, scorer, scorer.w
        return model
