"""`StructuredSVM`, large-margin learning of structured outputs behind the scikit-learn front door."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from structmargin import registry
from structmargin.adapted import adapt
from structmargin.cuts import Cuts, SearchError
from structmargin.estimators.base import seed_of
from structmargin.estimators.loaded import require_parts, require_record, require_support
from structmargin.estimators.persistence import Saved
from structmargin.estimators.stream import LearnsInChunks
from structmargin.estimators.verbosity import reporting
from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.inputs import gate
from structmargin.inputs.containers import count
from structmargin.problem import Problem
from structmargin.training.trainable import require_number

DEFAULT_C = 1.0
SAVED = (
    "primal", "dual", "gap", "xi", "n_constraints", "n_active", "n_iter", "oracle_calls",
    "exact", "converged", "bound",
)  # fmt: skip
"""What a saved model keeps of its `Fit`; clocks and the trace stay behind."""
SETTINGS = (
    "solver", "C", "eps", "gap_tol", "max_iter", "C_per_example", "oracle_tol", "warm_start", "random_state",
    "verbose",
)  # fmt: skip
"""What it keeps of its settings besides problem, formulation and kernel: all but the progress callback, and
n_jobs, which is of a machine and not of a model."""
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


class StructuredSVM(LearnsInChunks, Saved):
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
        'n_slack_b', 'n_slack_cvxopt' (a slow reference), 'staged' (the same on the schedule of its authors'
        program), 'one_slack' [2]_, 'bcfw' [3]_, 'olarank' [4]_, 'perceptron'; or a solver object with options
        of its own, such as `structmargin.solvers.n_slack.NSlack(most=8)`.
    C : float, default=1.0
        The price of slacks, as in the papers: 1/2 |w|^2 + C/n sum xi, or C/(2n) sum xi^2.
    eps : float or None, default=None
        The papers' epsilon, absolute: training stops once no constraint is violated by more than this.
    gap_tol : float or None, default=None
        Training stops once the duality gap is certified to be at most this share of the primal objective;
        where it is given, it alone decides. With neither `eps` nor `gap_tol` the share is 0.01; where the
        search is approximate and no gap is known, `eps` is then 1% of the largest loss.
    max_iter : int, default=1000
        Passes over the data at most. If it is reached first, a ConvergenceWarning tells the gap.
    kernel : joint kernel or None, default=None
        A kernel on pairs (x, y), such as `Product(RBF())` from `structmargin.kernels`, or None for the
        problem's own features.
    C_per_example : float or None, default=None
        In place of C: the price of one example's slack, so that C is this number times n. It means the same
        for folds, or chunks of a stream, of different sizes.
    oracle_tol : float, default=0.0
        How much worse than the best a search may be, for problems whose searches are that exact only.
    warm_start : bool, default=False
        Whether a second `fit` of the same problem on the same data starts from the cuts of the first: these
        do not depend on C.
    random_state : int, Generator, RandomState or None, default=0
        The same int gives the same model; of a generator one number is drawn in each `fit`.
    n_jobs : int or None, default=None
        How many searches run side by side: None is 1 unless a `joblib.parallel_config` says otherwise, -1 is
        all cores. Compiled problems take threads; a problem of your own in Python takes processes, or
        whatever backend joblib was told to use. The model is the same, to the bit, for every number.
    verbose : int, default=0
        1 writes a line per pass to standard output: the objective, the relative gap, the number of cuts and
        the CPU time so far; and a line when code has to be compiled, which happens once.
    progress : callable or None, default=None
        Called with a dict of numbers after each pass.

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
    n_features_in_ : int
        The number of columns of X, where the problem takes a matrix of inputs.
    feature_names_in_ : ndarray of str
        The names of these columns, where X is a table that has them all.

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
    >>> model = StructuredSVM(Multiclass(n_classes=3, n_features=2), C=10.0, gap_tol=1e-3).fit(X, Y)
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    [0, 1]
    >>> 0.0 <= model.fit_.gap <= 1e-3 * model.fit_.primal
    True
    """

    fit_: Fit
    _fitted_on: tuple[Any, ...] | None

    def __init__(
        self,
        problem: Problem,
        formulation: str | Formulation = "SVM1 margin",
        solver: Any = "n_slack",
        C: float = DEFAULT_C,
        eps: float | None = None,
        gap_tol: float | None = None,
        max_iter: int = 1000,
        kernel: Any = None,
        C_per_example: float | None = None,
        oracle_tol: float = 0.0,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
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
        self.C_per_example = C_per_example
        self.oracle_tol = oracle_tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Train on examples (x_i, y_i).

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.
        Y : sequence of outputs
            The right ones, as many as there are inputs.
        sample_weight : array-like of shape (n,), default=None
            At least 0 each: the price of an example's slack is multiplied by its weight. None is 1 for all.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If problem, formulation, solver, kernel and data do not go together; the message says why.
        SearchError
            If the problem's functions break their contract, or a worker process ends before its search does.
            The model is then the last one before, if there was any, and `fit_.converged` is False; so it is
            after an interruption from the keyboard.
        NotSeparableError
            If no w satisfies every constraint of a hard margin.
        """
        solver, formulation, space = self._parts()
        given = adapt(self.problem)
        if sample_weight is not None and given.whole_sample:
            raise ValueError(f"{given.name} makes one example of all rows: they have no sample_weight")
        X, Y = gate.pairs(self._inputs(given, X, first=True), Y)
        former: Fit | None = self.fit_ if self.warm_start and self._goes_on(X, Y, sample_weight) else None
        problem = self.problem_ if former is not None else given.bind(X, Y)
        examples = adapt(problem).wrap(X, Y)
        space = self._bound(space, former, *examples)
        try:
            with reporting(self.verbose, self.progress) as progress:
                fit = solver.train(
                    problem,
                    examples,
                    formulation,
                    space,
                    C=self._C_of(count(examples[1])),
                    eps=self.eps,
                    gap_tol=self.gap_tol,
                    max_iter=self.max_iter,
                    random_state=seed_of(self.random_state),
                    sample_weight=sample_weight,
                    oracle_tol=self.oracle_tol,
                    warm_start=former,
                    progress=progress,
                    n_jobs=self.n_jobs,
                )
        except (SearchError, KeyboardInterrupt) as stopped:
            last: Fit | None = getattr(stopped, "fit", None)
            if last is not None:
                self._keep(problem, last)
            raise
        self._keep(problem, fit)
        if registry.check_online(solver) is None:
            self._remember(solver, formulation, count(examples[1]), examples)
        if self.warm_start:
            self._fitted_on = (self.problem, self.kernel, X, Y, sample_weight)
        return self

    def _parts(self) -> tuple[Any, Formulation, Any]:
        """Solver, formulation and space; an error says what does not go together."""
        solver, formulation = registry.solver(self.solver), registry.formulation(self.formulation)
        space = registry.space(self.kernel)
        reason = registry.check(self.problem, formulation, solver, space)
        if reason:
            raise ValueError(reason)
        return solver, formulation, space

    def _C_of(self, n: int) -> Any:
        """C for n examples."""
        if self.C_per_example is None:
            return self.C
        if self.C != DEFAULT_C:
            raise ValueError(
                f"C = {self.C!r} and C_per_example = {self.C_per_example!r} were both given: keep one of them"
            )
        require_number("C_per_example", self.C_per_example)
        return self.C_per_example * n

    def _keep(self, problem: Problem, fit: Fit) -> None:
        """This fit is the model now; nothing is left of the one before."""
        self.fit_, self.problem_, self.scorer_, self.w_ = fit, problem, fit.scorer, fit.w
        self._stream = self._fitted_on = None

    def _goes_on(self, X: Any, Y: Any, sample_weight: Any) -> bool:
        """Whether the last fit was of this problem and kernel on these data: only then do its cuts hold."""
        problem, kernel, *data = getattr(self, "_fitted_on", None) or (None,) * 5
        return problem is self.problem and kernel is self.kernel and same(data, [X, Y, sample_weight])

    def to_arrays(self) -> dict[str, np.ndarray]:
        check_is_fitted(self, "scorer_")
        settings = {"formulation": registry.formulation(self.formulation).name, **self._settings(SETTINGS)}
        saved = {name: getattr(self.fit_, name) for name in SAVED}
        if self.fit_.support is not None:
            cuts = self.fit_.support
            saved["support"] = {name: getattr(cuts, name) for name in SUPPORT}
        return self._packed(settings, {"C": self.fit_.C, **saved})

    @classmethod
    def _restored(cls, arrays: Any, problem: Problem | None) -> Self:
        model, scorer, saved = cls._unpacked(arrays, problem, ("formulation", *SETTINGS))
        formulation, solver = registry.formulation(model.formulation), registry.solver(model.solver)
        seed_of(model.random_state)
        require_parts("the certificate", saved, ("C", *SAVED), ("support",))
        support = saved.pop("support", None)
        require_record(Fit, saved, ("C", *SAVED), ("xi",))
        if support is not None:
            n_weights = None if scorer.w is None else len(scorer.w)
            support = Cuts(outputs=None, **require_support(support, SUPPORT, len(saved["xi"]), n_weights))
        reason = solver.needs.refuse(solver.name, formulation, scorer.w is not None)
        if reason:
            raise ValueError(reason)
        fit = Fit(scorer, formulation, eps=model.eps, support=support, **saved)
        model._keep(model.problem, fit)
        return model
