"""A fitted model that certifies itself: primal, dual, gap, and how it got there.

The primal is recomputed by a last full search at the final w, never taken from the relaxed
problem: primal >= optimum >= dual, so `gap` bounds the distance to the optimum of the
all-constraints problem. With an approximate search nothing is certified and `gap` is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structmargin.cuts import Cuts
from structmargin.formulation import Formulation
from structmargin.problem import Scorer


class ConvergenceWarning(UserWarning):
    """Training ended before its criterion was met: at `max_iter`, at its last pass, or at rounding."""


Trace = list[dict[str, float]]
Progress = Callable[[dict[str, float]], None]


@dataclass(repr=False)
class Fit:
    """The outcome of a training, with its certificate.

    Attributes
    ----------
    scorer : Scorer
        f(x, y), by explicit weights or by a kernel expansion.
    formulation : Formulation
        Which of the seven was trained.
    C : float
        The price of slacks.
    eps : float or None
        The eps that was given.
    primal : float or None
        The objective at w, recomputed by a last full search. None for solvers without an objective, and for a
        training that was broken off by a search that failed.
    primal_high : float or None
        What the objective can be at most where the search may fall short of the maximum by `oracle_tol`;
        otherwise the same as `primal`.
    dual : float or None
        A lower bound on the optimum; None for solvers without a dual.
    gap : float or None
        primal_high - dual, which bounds the distance to the optimum; None with an approximate search as well.
    xi : ndarray of shape (n,)
        The slack of every example at w.
    n_constraints : int
        Cuts added during training.
    n_active : int
        Cuts with alpha > 0 at the end.
    n_iter : int
        Passes over the data.
    oracle_calls : int
        How many times an example's most violated output was searched for.
    exact : bool
        Whether the search finds a maximiser for certain.
    converged : bool
        Whether the stopping criterion was met before `max_iter`.
    oracle_tol : float
        By how much an answer of the search was allowed to lie below the maximum.
    bound : float or None
        Theorem 18's bound on `n_constraints`, for the solvers 'n_slack_a' and 'n_slack_b'.
    seconds, seconds_qp, seconds_search : float
        CPU time in all, in the dual and in the search: of all threads, and of worker processes while they
        search. The time on the wall is shorter where n_jobs is above 1.
    seconds_loop : float
        CPU time of the solver's own algorithm: without preparing the data before it, and without the
        certificate after it. `seconds_qp / seconds_loop` is the share of the QP that Table 5 of jmlr05 has.
    trace : list of dict
        One row per pass: iteration, primal, dual, gap, oracle_calls, constraints, held, active, seconds, ...
    gains : list of dict
        One row per cut added, where `NSlack(gains=True)` asked for it: example, loss, norm2 (|a|^2),
        violation (by how much H exceeded the slack of the cuts held), dual_before, dual_after.
    support : Cuts or None
        The cuts with alpha > 0; `support.rows.tocsr().T @ support.alpha` is w, where features are explicit.
    state : Dual or None
        The working set, for a warm start.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Multiclass
    >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), [0, 1, 0]
    >>> fit = StructuredSVM(Multiclass(2, 2), C=5.0, gap_tol=1e-6).fit(X, Y).fit_
    >>> fit.dual <= fit.primal and fit.relative_gap <= 1e-6
    True
    >>> bool(np.allclose(fit.support.rows.tocsr().T @ fit.support.alpha, fit.w))
    True
    >>> fit  # doctest: +ELLIPSIS
    Fit(SVM1 margin, primal ..., relative gap ..., ... cuts, ... pass..., converged)
    """

    scorer: Scorer
    formulation: Formulation
    C: float
    eps: float | None
    primal: float | None = None
    primal_high: float | None = None
    dual: float | None = None
    gap: float | None = None
    xi: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_constraints: int = 0
    n_active: int = 0
    n_iter: int = 0
    oracle_calls: int = 0
    exact: bool = True
    converged: bool = True
    oracle_tol: float = 0.0
    bound: float | None = None
    seconds: float = 0.0
    seconds_qp: float = 0.0
    seconds_search: float = 0.0
    seconds_loop: float = 0.0
    trace: Trace = field(default_factory=list)
    gains: Trace = field(default_factory=list)
    support: Cuts | None = None
    state: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        """One line: formulation, objective and gap as far as certified, size, and whether it converged."""
        objectives = {"primal": self.primal, "dual": self.dual}
        known = [f"{name} {value:.6g}" for name, value in objectives.items() if value is not None]
        gap = self.relative_gap
        parts = [
            self.formulation.name,
            *known[:1],
            "no certified gap" if gap is None else f"relative gap {gap:.2g}",
            f"{self.n_constraints} cuts",
            f"{self.n_iter} pass" if self.n_iter == 1 else f"{self.n_iter} passes",
            "converged" if self.converged else "not converged",
        ]
        return f"Fit({', '.join(parts)})"

    @property
    def w(self) -> np.ndarray | None:
        """The explicit weights, or None for a kernel model."""
        return self.scorer.w

    @property
    def relative_gap(self) -> float | None:
        """gap / |primal|, the certificate in units of the objective."""
        if self.gap is None or self.primal is None:
            return None
        return relative(self.gap, self.primal)


def relative(gap: float, primal: float) -> float:
    """gap / |primal|; 0 when both are 0."""
    if gap <= 0.0:
        return 0.0
    return gap / abs(primal) if primal and math.isfinite(primal) else math.inf
