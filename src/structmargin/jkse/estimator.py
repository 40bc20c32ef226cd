"""`JKSE`, joint kernel support estimation behind the scikit-learn front door (jkse09)."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from structmargin import registry
from structmargin.estimators import Structured
from structmargin.jkse.estimate import Estimate, Pairs, beside
from structmargin.jkse.pairs import pairs_of
from structmargin.jkse.trainers import TRAINERS, trainer
from structmargin.problem import Problem, adapt
from structmargin.training.task import require_examples, require_number

SETTINGS = ("nu", "trainer", "C", "gap_tol", "max_iter", "random_state")
KEPT = ("alpha", "xi", "rho", "nu", "C", "primal", "dual", "gap", "n_iter", "converged", "n_constraints")
"""What a saved model keeps of its settings and of its `Estimate`."""


class JKSE(Structured):
    """The support of p(x, y) from right pairs alone: yhat = argmax_y sum_i alpha_i k((x, y), (x_i, y_i)).

    Training never searches an output. An input with several right outputs is given once with each. There is
    no intercept, and no example of a wrong output is needed or used.

    Parameters
    ----------
    problem : an object with psi, delta and argmax (see `structmargin.problem`).
    kernel : a joint kernel (`structmargin.kernels`), or None for the problem's own Psi.
    nu : in (0, 1]; at most this share of the pairs become outliers, at least this share have alpha > 0.
    trainer : 'one_class' (equations 5-8, to a certified gap), 'binary' (an SVM on the data and their mirror
        image), 'online' (the same by stochastic steps), or a trainer object with options of its own.
    C : for 'binary' and 'online' the price C/n of a slack; None looks for the C that nu amounts to, and
        infinity allows no slack.
    gap_tol : the relative duality gap to reach.
    max_iter : steps (divided by the number of pairs) or cuts of 'one_class', values of C that 'binary' tries,
        passes of 'online', at most; reached first, a ConvergenceWarning tells the gap.
    random_state : an int; the same int gives the same model.

    After `fit`: `w_` (None with a kernel), `problem_`, and `fit_` with primal, dual, gap, rho, alpha, xi,
    n_active, n_outliers and more (`structmargin.jkse.estimate.Estimate`).
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
        random_state: int | None = 0,
    ) -> None:
        self.problem = problem
        self.kernel = kernel
        self.nu = nu
        self.trainer = trainer
        self.C = C
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from right pairs: inputs X and outputs Y, two sequences of one length (X may be a matrix)."""
        given = adapt(self.problem)
        X, Y = given.wrap(X, Y)
        problem = given.bind(X, Y)
        return self._keep(problem, self._train(self._pairs(problem, X, Y), None))

    def add(self, X: Any, Y: Any, retrain: bool = True) -> Self:
        """Learn further pairs; kernel values among those already known are not computed again.

        With `retrain` the result is that of training on all pairs, begun at the former alpha. Without, the
        new pairs are learnt alone and put beside the former estimate, whose coefficients keep their
        proportions: new labels join, and scores of outputs that share nothing with them only change scale.
        """
        check_is_fitted(self, "fit_")
        problem, former = self.problem_, self.fit_
        if former.pairs is None:
            raise ValueError("a saved model has left its training pairs behind: call fit on all pairs")
        new = self._pairs(problem, *adapt(problem).wrap(X, Y))
        if type(new) is not type(former.pairs):
            raise ValueError("X must come as in fit, a dense array or a sparse matrix: convert it")
        both = former.pairs.joined(new)
        if not retrain:
            return self._keep(problem, beside(former, self._train(new, None), both))
        mean = float(former.alpha.mean()) if former.C is None else 0.0
        return self._keep(problem, self._train(both, np.concatenate([former.alpha, np.full(new.n, mean)])))

    def _pairs(self, problem: Problem, X: Any, Y: Any) -> Pairs:
        """The pairs, checked."""
        require_examples(adapt(problem), X, Y)
        reason = registry.check_space(problem, registry.space(self.kernel))
        if reason:
            raise ValueError(reason)
        return pairs_of(problem, X, Y, self.kernel)

    def _train(self, pairs: Pairs, start: np.ndarray | None) -> Estimate:
        require_number("nu", self.nu)
        if self.nu > 1.0:
            raise ValueError(f"nu must be at most 1, but it is {self.nu!r}: it is a share of the pairs")
        if self.C is not None and self.C != math.inf:
            require_number("C", self.C)
        require_number("gap_tol", self.gap_tol)
        require_number("max_iter", self.max_iter)
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 2)
        return trainer(self.trainer).train(
            pairs, self.nu, self.C, self.gap_tol, int(self.max_iter), seed, start
        )

    @classmethod
    def _classes(cls) -> dict[str, Any]:
        return {**super()._classes(), **{kind.__name__: kind for kind in TRAINERS.values()}}

    def to_arrays(self) -> dict[str, np.ndarray]:
        check_is_fitted(self, "fit_")
        settings = {name: getattr(self, name) for name in SETTINGS}
        return self._packed(settings, {name: getattr(self.fit_, name) for name in KEPT})

    @classmethod
    def from_arrays(cls, arrays: Any, problem: Problem | None = None) -> Self:
        """As for StructuredSVM; the training pairs stay behind, so `add` needs a new `fit` first."""
        model, scorer, kept = cls._unpacked(arrays, problem)
        return model._keep(model.problem, Estimate(scorer=scorer, **kept))

    def _keep(self, problem: Problem, estimate: Estimate) -> Self:
        self.problem_, self.fit_ = problem, estimate
        self.scorer_, self.w_ = estimate.scorer, estimate.w
        return self
