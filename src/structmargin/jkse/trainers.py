"""Joint kernel support estimation (jkse09): the support of p(x, y), learnt from pairs alone.

Training looks at Psi(x_i, y_i) of the given pairs, or at a joint kernel between them, and never searches
an output: its cost does not depend on the size of the output space. Three trainers, each of which makes an
`Estimate` (`estimate.py`):

    OneClass   the one-class SVM, equations 5-8, to a certified duality gap (`one_class.py`)
    Binary     Section 4.1, an SVM on the data and their mirror image
    Online     Section 4.2, the same by stochastic steps; no kernel matrix is kept

A pair and its mirror image have the same slack under a hyperplane through the origin, and by symmetry the
best one goes through it; so with both at half the price

    min 1/2 |w|^2 + C/n sum xi_i,   <w, psi_i> >= 1 - xi_i,   xi >= 0

is the problem of Section 4.1, in its dual max sum alpha - 1/2 alpha'K alpha, 0 <= alpha_i <= C/n. alpha
over its sum solves the one-class problem with nu = sum alpha / C, w over that sum being its w. So C = None
looks for the C whose nu is the one asked for; C = infinity is the case without slack.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from structmargin.compiled import compiled
from structmargin.dual.working_set import MIN_MARGIN, NotSeparableError
from structmargin.fit import Trace
from structmargin.jkse import one_class
from structmargin.jkse.estimate import ORIGIN, Estimate, Pairs, warn_unless
from structmargin.registry import unknown

MAX_MATRIX_PAIRS = 5000
"""Up to so many explicit pairs the matrix of their products is cheaper than passes over the rows."""
MAX_PRICE_RATIO = 1e12
"""A search for C gives up at so many times where it began."""


class Trainer(Protocol):
    """How coefficients are found: everything else is the same for all three."""

    name: ClassVar[str]

    def train(
        self, pairs: Pairs, nu: float, C: float | None, tol: float, max_iter: int, seed: int, start: Any
    ) -> Estimate: ...


ENGINES: dict[str, Callable[..., one_class.Solution]] = {"smo": one_class.smo, "libsvm": one_class.libsvm}


@dataclass(frozen=True)
class OneClass:
    """`engine`: 'smo' or 'libsvm' on the matrix of all pairs, 'cutting_plane' on explicit features; None
    takes the cutting plane for many explicit pairs and SMO otherwise."""

    engine: str | None = None

    name: ClassVar[str] = "one_class"

    def __post_init__(self) -> None:
        if self.engine not in (None, *ENGINES, "cutting_plane"):
            raise ValueError(f"engine must be smo, libsvm, cutting_plane or None, but it is {self.engine!r}")

    def train(
        self, pairs: Pairs, nu: float, C: float | None, tol: float, max_iter: int, seed: int, start: Any
    ) -> Estimate:
        began = time.process_time()
        w = None
        many = pairs.explicit and pairs.n > MAX_MATRIX_PAIRS
        planes = self.engine == "cutting_plane" or (self.engine is None and many)
        if planes and not pairs.explicit:
            raise ValueError(
                "engine 'cutting_plane' needs explicit features: choose 'smo' for a joint kernel"
            )
        if planes:
            solution, w = one_class.cutting_plane(
                pairs.scores, pairs.combine, pairs.n, nu, tol=tol, max_iter=max_iter, start=start
            )
        else:
            solve = ENGINES[self.engine or "smo"]
            solution = solve(pairs.gram(), nu, tol=tol, max_steps=max_iter * pairs.n, start=start)
            if pairs.explicit:
                held = np.flatnonzero(solution.alpha)
                w = pairs.combine(held, solution.alpha[held])
        warn_unless(solution.converged, solution.gap, solution.primal, max_iter)
        return Estimate(
            pairs.scorer(solution.alpha, w), solution.alpha, solution.xi, solution.rho, nu, None,
            solution.primal, solution.dual, solution.gap, solution.steps, solution.converged,
            n_constraints=solution.cuts or pairs.n, seconds=time.process_time() - began,
            trace=list(solution.trace), pairs=pairs,
        )  # fmt: skip


@dataclass(frozen=True)
class Binary:
    """Coordinate ascent over the matrix of all pairs, until the relative gap is certified."""

    name: ClassVar[str] = "binary"

    def train(
        self, pairs: Pairs, nu: float, C: float | None, tol: float, max_iter: int, seed: int, start: Any
    ) -> Estimate:
        began = time.process_time()
        n, K, rng = pairs.n, pairs.gram(), np.random.default_rng(seed)
        alpha = np.zeros(n) if start is None else np.array(start, dtype=float)
        now = price = C if C is not None else max(_least_price(pairs), float(alpha.sum()) / nu)
        highest = MAX_PRICE_RATIO * price
        values: dict[float, float] = {}
        trace: Trace = []
        while True:
            alpha = np.minimum(alpha * (price / now if math.isfinite(price) else 1.0), price / n)
            now, s = price, alpha @ K
            primal, dual, left = self._ascend(K, alpha, s, price, tol, max_iter, rng)
            attained = float(alpha.sum()) / price
            trace.append(
                {"iteration": len(trace) + 1.0, "C": price, "nu": attained, "primal": primal, "dual": dual}
            )
            if C is None:
                values[price] = math.log(attained / nu)
                price = _next(values, price, max(tol, 1e-9))
                if price > highest:
                    raise NotSeparableError(f"no C amounts to nu = {nu:g}: {ORIGIN}, or raise nu")
            if price == now or len(trace) == max_iter:
                break
        gap = max(primal - dual, 0.0)
        converged = left and price == now
        warn_unless(converged, gap, primal, max_iter)
        held = np.flatnonzero(alpha)
        w = pairs.combine(held, alpha[held]) if pairs.explicit else None
        return Estimate(
            pairs.scorer(alpha, w), alpha, np.maximum(1.0 - s, 0.0), 1.0, attained, now, primal, dual, gap,
            len(trace), converged, n_constraints=n, seconds=time.process_time() - began, trace=trace,
            pairs=pairs,
        )  # fmt: skip

    @staticmethod
    def _ascend(
        K: np.ndarray, alpha: np.ndarray, s: np.ndarray, C: float, tol: float, sweeps: int, rng: Any
    ) -> tuple[float, float, bool]:
        """Sweeps in place on alpha and s = K alpha; returns (primal, dual, whether the gap is met)."""
        n, longest = len(K), float(np.diagonal(K).max())
        primal, dual = math.inf, 0.0
        for _ in range(sweeps):
            _coordinate_steps(K, s, alpha, C / n, rng.permutation(n))
            norm2, total, top = float(alpha @ s), float(alpha.sum()), float(alpha.max())
            if norm2 <= (MIN_MARGIN * total) ** 2 * longest:
                if not math.isfinite(C):
                    raise NotSeparableError(ORIGIN)
            else:  # the best multiple of alpha, which single coordinates are slow to find
                factor = min(total / norm2, C / n / top)
                alpha *= factor
                s *= factor
                norm2, total = norm2 * factor**2, total * factor
            primal, dual = _objectives(C, n, norm2, total, s)
            if primal - dual <= tol * abs(dual):
                return primal, dual, True
        return primal, dual, False


@dataclass(frozen=True)
class Online:
    """`passes` over the pairs in an order drawn from the seed, `chunk` at a time: each pair in turn gets its
    best alpha given all others (Hsieh et al. 2008). The gap is certified at the end, not driven."""

    passes: int = 10
    chunk: int = 64

    name: ClassVar[str] = "online"

    def train(
        self, pairs: Pairs, nu: float, C: float | None, tol: float, max_iter: int, seed: int, start: Any
    ) -> Estimate:
        began = time.process_time()
        n, rng = pairs.n, np.random.default_rng(seed)
        alpha = np.zeros(n) if start is None else np.array(start, dtype=float)
        price = C if C is not None else max(_least_price(pairs), float(alpha.sum()) / nu)
        np.minimum(alpha, price / n, out=alpha)
        held = np.flatnonzero(alpha)
        w = pairs.combine(held, alpha[held]) if pairs.explicit else None
        trace: Trace = []
        for iteration in range(1, min(self.passes, max_iter) + 1):
            for c in np.array_split(rng.permutation(n), math.ceil(n / self.chunk)):
                K, s = pairs.local(c, alpha, w)
                change = alpha[c].copy()
                _coordinate_steps(K, s, change, price / n, np.arange(len(c)))
                change, alpha[c] = change - alpha[c], change
                if w is not None:
                    w += pairs.combine(c, change)
            total = float(alpha.sum())
            trace.append({"iteration": float(iteration), "C": price, "nu": total / price})
            if C is None and total > 0.0:
                factor = total / (nu * price)
                price *= factor
                alpha *= factor
                w = None if w is None else w * factor
        scores = pairs.all_scores(alpha, w)
        norm2, total = float(alpha @ scores), float(alpha.sum())
        xi = np.maximum(1.0 - scores, 0.0)
        primal, dual = _objectives(price, n, norm2, total, scores)
        gap = max(primal - dual, 0.0)
        return Estimate(
            pairs.scorer(alpha, w), alpha, xi, 1.0, total / price, price, primal, dual, gap, len(trace),
            gap <= tol * abs(dual), n_constraints=n, seconds=time.process_time() - began, trace=trace,
            pairs=pairs,
        )  # fmt: skip


TRAINERS: dict[str, Callable[..., Trainer]] = {kind.name: kind for kind in (OneClass, Binary, Online)}


@compiled
def _coordinate_steps(K, s, alpha, cap, order):  # type: ignore[no-untyped-def]
    """One visit to each of k pairs, in order: K (k, k) their products, s (k,) their scores."""
    for p in order:
        if K[p, p] <= 0.0:
            continue
        after = min(max(alpha[p] + (1.0 - s[p]) / K[p, p], 0.0), cap)
        change = after - alpha[p]
        if change != 0.0:
            alpha[p] = after
            for r in range(alpha.shape[0]):
                s[r] += change * K[p, r]


def _least_price(pairs: Pairs) -> float:
    """Where a search for C begins: below it every alpha is at its bound."""
    longest = pairs.longest()
    if not longest > 0.0:
        raise NotSeparableError(f"Psi(x, y) is 0 for every pair: {ORIGIN}")
    return 1.0 / longest


def _objectives(C: float, n: int, norm2: float, total: float, scores: np.ndarray) -> tuple[float, float]:
    """(primal, dual) of the binary problem; without slack the primal is that of w over its margin."""
    if math.isfinite(C):
        return 0.5 * norm2 + C / n * float(np.maximum(1.0 - scores, 0.0).sum()), total - 0.5 * norm2
    margin = float(scores.min())
    return (0.5 * norm2 / margin**2 if margin > 0.0 else math.inf), total - 0.5 * norm2


def _next(values: dict[float, float], price: float, tol: float) -> float:
    """The next C to try, given log(nu(C) / nu) at those tried, which falls in C; the same C when done."""
    if abs(values[price]) <= tol:
        return price
    low = max((c for c, v in values.items() if v > 0.0), default=None)
    high = min((c for c, v in values.items() if v <= 0.0), default=None)
    if low is None or high is None or values[low] - values[high] <= 0.0:
        return price * math.exp(values[price])  # C = sum alpha / nu, which errs on the near side
    share = values[low] / (values[low] - values[high])
    guess = math.exp(math.log(low) + min(max(share, 0.05), 0.95) * math.log(high / low))
    return price if not low < guess < high else guess


def trainer(name: str | Trainer) -> Trainer:
    """A trainer of JKSE by name."""
    if not isinstance(name, str):
        return name
    if name not in TRAINERS:
        raise unknown("trainer", name, TRAINERS)
    return TRAINERS[name]()
