"""A fitted model that certifies itself: primal, dual, gap, and how it got there.

The primal is recomputed by a last full search at the final w, never taken from the relaxed
problem: primal >= optimum >= dual, so `gap` bounds the distance to the optimum of the
all-constraints problem. With an approximate search nothing is certified and `gap` is None.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.formulation import Formulation
from structmargin.separation import Separation


class ConvergenceWarning(UserWarning):
    """A solver stopped at `max_iter` before its criterion was met."""


Trace = list[dict[str, float]]
Progress = Callable[[dict[str, float]], None]


class Certificate(NamedTuple):
    """What a full search finds at a scorer: the primal objective, every slack, and each output's loss."""

    primal: float
    xi: np.ndarray
    losses: np.ndarray


def primal_of(
    formulation: Formulation, C: float, n: int, norm2: float, H: np.ndarray
) -> tuple[float, np.ndarray]:
    """(primal objective, slacks) given |w|^2 and the largest H of every example.

    For the hard margin, with m = 1 - max H the smallest margin: |w / m|^2 / 2 if m > 0, else infinity.
    """
    xi = np.maximum(H, 0.0)
    if formulation.p == 0:
        m = 1.0 - float(H.max(initial=-np.inf))
        if math.isinf(m):
            return 0.5 * norm2, xi
        return (0.5 * norm2 / m**2 if m > 0 else math.inf), xi
    return 0.5 * norm2 + formulation.price(xi, C, n), xi


def certify(
    problem: Any,
    X: Sequence[Any],
    Y: Sequence[Any],
    f: Any,
    formulation: Formulation,
    C: float,
    norm2: float | None = None,
) -> Certificate:
    """Recompute the primal objective of a scorer by a full search over the data.

    `norm2` is |w|^2; it may be left out where f.w is explicit.
    """
    explicit = f.w is not None
    if norm2 is None:
        if not explicit:
            raise ValueError("a kernel scorer needs its norm2 to be certified")
        norm2 = float(f.w @ f.w)
    found = Separation(problem, X, Y, formulation.H, explicit)(f, np.arange(len(Y)))
    primal, xi = primal_of(formulation, C, len(Y), norm2, found.H)
    return Certificate(primal, xi, found.losses)


@dataclass
class Fit:
    """The outcome of a training.

    `n_constraints` counts cuts added, `n_active` those with alpha > 0 at the end; `support` holds
    the latter (alpha, b, block, loss, and rows a_c where explicit), so that w = sum alpha_c a_c can
    be checked. `bound` is Theorem 18's, where it applies. `dual`, `gap` are None for solvers
    without a dual and for approximate searches.
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
    support: Support | None = None
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


class Support(NamedTuple):
    """The cuts with alpha > 0; their rows a_c are made when asked for (None in a kernel's space)."""

    alpha: np.ndarray
    b: np.ndarray
    block: np.ndarray
    loss: np.ndarray
    make_rows: Callable[[], sp.csr_matrix | None]

    @property
    def rows(self) -> sp.csr_matrix | None:
        return self.make_rows()


def relative(gap: float, primal: float) -> float:
    """gap / |primal|; 0 when both are 0."""
    if gap <= 0.0:
        return 0.0
    return gap / abs(primal) if primal and math.isfinite(primal) else math.inf


class Recorder:
    """One training's clock and trace: a row a pass, passed on to `progress` if there is one."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.began = time.process_time()
        self.trace: Trace = []
        self.progress = progress

    def note(self, separation: Separation, cuts: Any = None, /, **values: float) -> None:
        row = {"iteration": float(len(self.trace) + 1), **values}
        row["oracle_calls"] = separation.calls
        if cuts is not None:
            row.update(
                constraints=cuts.added, held=cuts.m, active=len(cuts.support()), seconds_qp=cuts.seconds
            )
        row.update(seconds_search=separation.seconds, seconds=time.process_time() - self.began)
        self.trace.append(row)
        if self.progress is not None:
            self.progress(row)


def theorem18(
    problem: Any, X: Sequence[Any], Y: Sequence[Any], formulation: Formulation, C: float, eps: float
) -> float | None:
    """Theorem 18's bound for this problem's data, if the problem bounds its radius and loss."""
    radius, max_delta = getattr(problem, "radius", None), getattr(problem, "max_delta", None)
    if radius is None or max_delta is None:
        return None
    R = max(float(radius(X[i])) for i in range(len(Y)))
    D = max(float(max_delta(y)) for y in Y)
    return formulation.max_constraints(C, len(Y), eps, R, D)


__all__ = [
    "Certificate",
    "ConvergenceWarning",
    "Fit",
    "Recorder",
    "Support",
    "certify",
    "primal_of",
    "relative",
    "theorem18",
]
