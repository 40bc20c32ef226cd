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


class ConvergenceWarning(UserWarning):
    """A solver stopped at `max_iter` before its criterion was met."""


Trace = list[dict[str, float]]
Progress = Callable[[dict[str, float]], None]


@dataclass
class Fit:
    """The outcome of a training.

    `n_constraints` counts cuts added, `n_active` those with alpha > 0 at the end; `support` holds
    the latter as `Cuts`, with rows that are scaled already where they are explicit, so that
    w = sum alpha_c a_c can be checked. `bound` is Theorem 18's, where it applies. `dual`, `gap` are
    None for solvers without a dual and for approximate searches.
    """

    scorer: Any
    formulation: Formulation
    C: float
    eps: float
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    xi: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_constraints: int = 0
    n_active: int = 0
    n_iter: int = 0
    oracle_calls: int = 0
    exact: bool = True
    converged: bool = True
    bound: float | None = None
    seconds: float = 0.0
    seconds_qp: float = 0.0
    seconds_search: float = 0.0
    trace: Trace = field(default_factory=list)
    support: Cuts | None = None
    state: Any = field(default=None, repr=False)

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
