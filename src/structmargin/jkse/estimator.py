"""`JKSE`, joint kernel support estimation behind the scikit-learn front door (jkse09)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structmargin import registry
from structmargin.adapted import adapt
from structmargin.estimators.base import Structured, seed_of
from structmargin.estimators.loaded import require_parts, require_record
from structmargin.estimators.persistence import Saved
from structmargin.estimators.verbosity import telling_of_compiling
from structmargin.inputs import gate
from structmargin.jkse.estimate import Estimate, Pairs, beside
from structmargin.jkse.novelty import offset, pair_scores
from structmargin.jkse.pairs import pairs_of
from structmargin.jkse.trainers import TRAINERS, trainer
from structmargin.problem import Problem
from structmargin.training.parallel.jobs import require_n_jobs
from structmargin.training.trainable import require_examples, require_number

SETTINGS = ("nu", "trainer", "C", "gap_tol", "max_iter", "random_state")
SAVED = ("alpha", "xi", "rho", "nu", "C", "primal", "dual", "gap", "n_iter", "converged", "n_constraints")
"""What a saved model keeps of its settings and of its `Estimate`."""


class JKSE(Structured, Saved):
    """Joint kernel support estimation: learns from right pairs (x, y) alone.

    The one-class SVM over pairs finds where p(x, y) has its support; predictions are
    argmax_y sum_i alpha_i k((x, y), (x_i, y_i)). Training never searches an output, so its cost does not
    depend on how many outputs there are. An input with several right outputs is given once with each. There
    is no intercept, and no example of a wrong output is needed or used.

    Parameters
    ----------
    problem : Problem
        An object with `psi`, `delta` and `argmax` (see `structmargin.problem`).
    kernel : joint kernel or None, default=None
        A kernel on pairs (x, y) from `structmargin.kernels`, or None for the problem's own features.
    nu : float in (0, 1], default=0.1
        At most this share of the pairs become outliers, at least this share have alpha > 0.
    trainer : {'one_class', 'binary', 'online'} or trainer object, default='one_class'
        'one_class' solves equations 5-8 of [1]_ to a certified gap, 'binary' an SVM on the data and their
        mirror image, 'online' the same by stochastic steps; an object has options of its own, such as
        `structmargin.jkse.trainers.OneClass(engine="libsvm")`.
    C : float or None, default=None
        For 'binary' and 'online' the price C/n of a slack. None looks for the C that nu amounts to, and
        infinity allows no slack.
    gap_tol : float, default=1e-4
        The relative duality gap to reach.
    max_iter : int, default=1000
        The most iterations: steps per pair, or cuts, of 'one_class'; values of C that 'binary' tries; passes
        of 'online'. If it is reached first, a ConvergenceWarning tells the gap.
    random_state : int, Generator, RandomState or None, default=0
        The same int gives the same model; of a generator one number is drawn in each `fit`.
    n_jobs : int or None, default=None
        How many searches of `predict` and `score` run side by side, as for `StructuredSVM`; training searches
        no output, and takes one.

    Attributes
    ----------
    w_ : ndarray of shape (n_weights,), or None
        The weights; None with a kernel.
    problem_ : Problem
        The problem, together with what it learnt from the training data.
    classes_ : ndarray
        The labels that predictions are made of, where the problem has such, in the order of their numbers.
    scorer_ : Scorer
        f: `scorer_(x, y)` is the score of one output.
    offset_ : float
        The least score of a pair that counts as normal: rho of the one-class SVM, less a millionth so that
        pairs on the margin are inside. At most the share nu of the training pairs score less.
    fit_ : Estimate
        What was learnt: `alpha`, `xi`, `rho`, `primal`, `dual`, `gap`, `n_active`, `n_outliers` and more.
    n_features_in_ : int
        The number of columns of X, where the problem takes a matrix of inputs.
    feature_names_in_ : ndarray of str
        The names of these columns, where X is a table that has them all.

    See Also
    --------
    StructuredSVM : Learns to tell right outputs from wrong ones, by searching for the latter.

    References
    ----------
    .. [1] Lampert, Blaschko. Structured prediction by joint kernel support estimation. Machine Learning 77,
       2009.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import JKSE
    >>> from structmargin.problems import Multiclass
    >>> X = np.array([[2.0, 0.1], [1.5, 0.2], [0.1, 1.8], [0.3, 2.2]])
    >>> model = JKSE(Multiclass(n_classes=2, n_features=2), nu=0.5).fit(X, [0, 0, 1, 1])
    >>> model.predict([[3.0, 0.5], [0.2, 2.5]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        problem: Problem,
        kernel: Any = None,
        nu: float = 0.1,
        trainer: Any = "one_class",
        C: float | None = None,
        gap_tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.problem = problem
        self.kernel = kernel
        self.nu = nu
        self.trainer = trainer
        self.C = C
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from right pairs (x_i, y_i).

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As the problem takes them.
        Y : sequence of outputs
            A right output of each input.

        Returns
        -------
        self
        """
        require_n_jobs(self.n_jobs)
        space = registry.space(self.kernel)
        reason = registry.check_space(self.problem, space)
        reason = reason or registry.class_given("trainer", self.trainer)
        if reason:
            raise ValueError(reason)
        given = adapt(self.problem)
        X, Y = gate.pairs(self._inputs(given, X, first=True), Y)
        problem = given.bind(X, Y)
        wrapped = self._wrapped(problem, X, Y)
        pairs = pairs_of(problem, *wrapped, space.bound(*wrapped).kernel)
        return self._keep(problem, self._train(pairs, None))

    def add(self, X: Any, Y: Any, retrain: bool = True) -> Self:
        """Learn further pairs; kernel values among those already known are not computed again.

        With `retrain` the result is that of training on all pairs, begun at the former alpha. Without, the
        new pairs are learnt alone and put beside the former estimate, whose coefficients keep their
        proportions: new labels join, and scores of outputs that share nothing with them only change scale.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            Of the same kind as in `fit`.
        Y : sequence of outputs
            One correct output per input; where outputs are labels, such as the problem knows since `fit`.
        retrain : bool, default=True
            Whether to train on all pairs again.

        Returns
        -------
        self
        """
        check_is_fitted(self, "fit_")
        problem, former = self.problem_, self.fit_
        if former.pairs is None:
            raise ValueError("a saved model has left its training pairs behind: call fit on all pairs")
        kernel = None if self.kernel is None else self.scorer_.kernel  # with what it learnt in fit
        new = pairs_of(
            problem, *self._wrapped(problem, *gate.pairs(self._inputs(adapt(problem), X), Y)), kernel
        )
        if type(new) is not type(former.pairs):
            raise ValueError("X must come as in fit, a dense array or a sparse matrix: convert it")
        both = former.pairs.joined(new)
        if not retrain:
            return self._keep(problem, beside(former, self._train(new, None), both))
        mean = float(former.alpha.mean()) if former.C is None else 0.0
        return self._keep(problem, self._train(both, np.concatenate([former.alpha, np.full(new.n, mean)])))

    def score_samples(self, X: Any, Y: Any) -> np.ndarray:
        """The score f(x, y) of each given pair: the higher, the more normal the pair is.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As in `fit`.
        Y : sequence of outputs
            One output per input, right or not.

        Returns
        -------
        ndarray of shape (n_pairs,)

        See Also
        --------
        is_novel : Whether these scores are below `offset_`.
        """
        check_is_fitted(self, "fit_")
        problem = adapt(self.problem_)
        X, Y = problem.wrap(*gate.pairs(self._inputs(problem, X), Y, "set of pairs"))
        require_examples(problem, X, Y)
        return pair_scores(problem, self.scorer_, X, Y)

    def is_novel(self, X: Any, Y: Any) -> np.ndarray:
        """Whether each given pair lies outside of the support that was learnt.

        Parameters
        ----------
        X : sequence of inputs, or matrix with one row per input
            As in `fit`.
        Y : sequence of outputs
            One output per input, right or not.

        Returns
        -------
        ndarray of bool, shape (n_pairs,)
            True where `score_samples(X, Y) - offset_ < 0`. Of the training pairs this is at most the share
            nu.

        Examples
        --------
        >>> import numpy as np
        >>> from structmargin import JKSE
        >>> from structmargin.problems import Multiclass
        >>> X = np.array([[2.0, 0.1], [1.5, 0.2], [0.1, 1.8], [0.3, 2.2]])
        >>> model = JKSE(Multiclass(n_classes=2, n_features=2), nu=0.25).fit(X, [0, 0, 1, 1])
        >>> model.is_novel([[2.0, 0.0], [2.0, 0.0]], [0, 1]).tolist()
        [False, True]
        """
        novel: np.ndarray = self.score_samples(X, Y) - self.offset_ < 0.0
        return novel

    @staticmethod
    def _wrapped(problem: Problem, X: Any, Y: Any) -> tuple[Any, Any]:
        """The pairs as the problem's own functions take them, checked."""
        X, Y = adapt(problem).wrap(X, Y)
        require_examples(adapt(problem), X, Y)
        return X, Y

    @telling_of_compiling()
    def _train(self, pairs: Pairs, start: np.ndarray | None) -> Estimate:
        require_number("nu", self.nu)
        if self.nu > 1.0:
            raise ValueError(f"nu must be at most 1, but it is {self.nu!r}: it is a share of the pairs")
        if self.C is not None and self.C != math.inf:
            require_number("C", self.C)
        require_number("gap_tol", self.gap_tol)
        require_number("max_iter", self.max_iter)
        seed = int(np.random.SeedSequence(seed_of(self.random_state)).generate_state(1)[0] >> 2)
        return trainer(self.trainer).train(
            pairs, self.nu, self.C, self.gap_tol, int(self.max_iter), seed, start
        )

    @classmethod
    def _classes(cls) -> dict[str, Any]:
        return {**super()._classes(), **{kind.__name__: kind for kind in TRAINERS.values()}}

    def to_arrays(self) -> dict[str, np.ndarray]:
        check_is_fitted(self, "fit_")
        return self._packed(self._settings(SETTINGS), {name: getattr(self.fit_, name) for name in SAVED})

    @classmethod
    def _restored(cls, arrays: Any, problem: Problem | None) -> Self:
        model, scorer, saved = cls._unpacked(arrays, problem, SETTINGS)
        trainer(model.trainer)
        seed_of(model.random_state)
        require_parts("the certificate", saved, SAVED)
        require_record(Estimate, saved, SAVED, ("alpha", "xi"))
        if not len(saved["xi"]) == len(saved["alpha"]) >= 1 or not 0.0 <= saved["nu"] <= 1.0:
            raise ValueError("alpha, xi and nu do not go together")
        return model._keep(model.problem, Estimate(scorer=scorer, **saved))

    def _keep(self, problem: Problem, estimate: Estimate) -> Self:
        self.problem_, self.fit_ = problem, estimate
        self.scorer_, self.w_, self.offset_ = estimate.scorer, estimate.w, offset(estimate)
        return self
