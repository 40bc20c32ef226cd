"""The one-class SVM on points psi_i (Schoelkopf et al. 2001; jkse09 equations 5-8).

    primal   min over w, rho, xi >= 0   1/2 |w|^2 + 1/(nu n) sum xi_i - rho,   <w, psi_i> >= rho - xi_i
    dual     max over alpha in P        -1/2 alpha' K alpha,    P = {0 <= alpha_i <= 1/(nu n), sum alpha = 1}

With s_i = <w, psi_i>, the best rho and xi make the primal 1/2 |w|^2 - min over a in P of a's, the minimum
being the mean of the lowest share nu of the scores. So at w = sum alpha_i psi_i

    gap = alpha's - min over a in P of a's,

which one look at the scores certifies, and which the largest KKT violation (the most s_j with alpha_j > 0
less the least s_i with room) bounds from above.

`smo` solves the dual on a kernel matrix by pairwise steps; `libsvm` asks scikit-learn; `cutting_plane`
solves it on explicit rows too many for a matrix: each cut is the vertex of P that the scores point to, and
the problem over the cuts is again a one-class problem, with one point a cut and cap 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structmargin.compiled import compiled

ROUNDING = 1e-12
"""A violation below this share of the longest |psi_i|^2 is rounding."""


MAX_IDLE = 20
"""A cut of the cutting plane whose weight was 0 so many times in a row is dropped."""


class Solution(NamedTuple):
    """alpha in P, the scores s_i, and the certificate at w = sum alpha_i psi_i."""

    alpha: np.ndarray  # (n,)
    scores: np.ndarray  # (n,)
    rho: float
    primal: float
    dual: float
    steps: int
    converged: bool
    cuts: int = 0
    trace: tuple[dict[str, float], ...] = ()

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)

    @property
    def xi(self) -> np.ndarray:
        return np.maximum(self.rho - self.scores, 0.0)


def lowest(scores: np.ndarray, nu: float) -> tuple[np.ndarray, np.ndarray, float]:
    """The vertex of P that minimises a's: its points, their weights, and the best rho.

    Of nu n = k + r the k lowest points get 1/(nu n) each and the next one what is left; that one's score
    is rho (the k-th lowest where nothing is left).
    """
    n = len(scores)
    whole = nu * n
    k = min(int(np.floor(whole * (1.0 + 1e-12))), n)
    rest = 1.0 - k / whole
    count = k if rest <= 1e-12 else min(k + 1, n)
    chosen = np.argpartition(scores, count - 1)[:count] if count < n else np.arange(n)
    last = int(np.argmax(scores[chosen]))
    weights = np.full(count, 1.0 / whole)
    if count > k:
        weights[last] = rest
    return chosen, weights / weights.sum(), float(scores[chosen[last]])


def certified(alpha: np.ndarray, scores: np.ndarray, nu: float, steps: int, converged: bool) -> Solution:
    """The solution with its certificate, from alpha in P and the scores at its w."""
    chosen, weights, rho = lowest(scores, nu)
    norm2 = float(alpha @ scores)
    primal = 0.5 * norm2 - float(weights @ scores[chosen])
    return Solution(alpha, scores, rho, primal, -0.5 * norm2, steps, converged)


def into_P(alpha: np.ndarray, nu: float) -> np.ndarray:
    """A point of P near alpha >= 0: clipped at the cap, and what is missing spread over the room left."""
    cap = 1.0 / (nu * len(alpha))
    total = alpha.sum()
    inside = np.minimum(alpha / total if total > 0 else alpha, cap)
    room = cap - inside
    missing = 1.0 - inside.sum()
    return np.asarray(inside + room * (missing / room.sum()) if missing > 1e-12 else inside)


@compiled
def _smo(K, alpha, g, cap, tol, tiny, max_steps):  # type: ignore[no-untyped-def]
    """Pairwise steps with second-order choice of the partner, in place on alpha and g = K alpha (n,).

    Stops when the violation is at most tol * alpha'g / 2 (or `tiny`). Points at a bound that lie far on
    their side of it leave the sweeps until the others are done. Returns (steps, violation).
    """
    n = alpha.shape[0]
    diagonal = np.empty(n)
    active = np.arange(n)
    size, since = n, 0
    norm2 = 0.0
    for r in range(n):
        diagonal[r] = K[r, r]
        norm2 += alpha[r] * g[r]
    steps = 0
    while True:
        # the least score with room, the greatest with mass
        i, low, high = -1, np.inf, -np.inf
        for p in range(size):
            r = active[p]
            if alpha[r] < cap and g[r] < low:
                i, low = r, g[r]
            if alpha[r] > 0.0 and g[r] > high:
                high = g[r]
        violation = high - low
        done = i < 0 or violation <= max(0.5 * tol * norm2, tiny) or steps >= max_steps
        if done and size == n:
            return steps, max(violation, 0.0)
        if done or since >= 1000:
            if done or size == n:
                # bring the points that shrinking left out up to date
                for p in range(size, n):
                    g[active[p]] = 0.0
                if size < n:
                    for c in range(n):
                        if alpha[c] > 0.0:
                            for p in range(size, n):
                                g[active[p]] += alpha[c] * K[c, active[p]]
                size = n
            if not done:
                n_active = 0
                for p in range(size):
                    r = active[p]
                    settled = (alpha[r] <= 0.0 and g[r] > high) or (alpha[r] >= cap and g[r] < low)
                    if not settled:
                        active[p], active[n_active] = active[n_active], r
                        n_active += 1
                size = n_active
            since = 0
            continue
        row = K[i]
        j, gain = -1, -1.0
        for p in range(size):
            r = active[p]
            if alpha[r] > 0.0 and g[r] > low:
                eta = max(diagonal[i] + diagonal[r] - 2.0 * row[r], 1e-14 * diagonal[r] + 1e-300)
                value = (g[r] - low) * (g[r] - low) / eta
                if value > gain:
                    j, gain = r, value
        if j < 0:
            return steps, 0.0
        eta = max(diagonal[i] + diagonal[j] - 2.0 * row[j], 1e-14 * diagonal[j] + 1e-300)
        step = (g[j] - low) / eta
        room, mass = cap - alpha[i], alpha[j]
        if step >= min(room, mass):
            step = min(room, mass)
        norm2 += step * (2.0 * (low - g[j]) + step * eta)
        alpha[i] = cap if step == room else alpha[i] + step
        alpha[j] = 0.0 if step == mass else alpha[j] - step
        other = K[j]
        for p in range(size):
            r = active[p]
            g[r] += step * (row[r] - other[r])
        steps += 1
        since += 1


def smo(
    K: np.ndarray, nu: float, *, tol: float = 1e-6, max_steps: int | None = None, start: Any = None
) -> Solution:
    """Solve the dual on the kernel matrix K (n, n) to a relative duality gap of `tol`, or to rounding.

    `start` is an alpha >= 0 to begin near; without one, the first nu n points share the mass.
    """
    K = np.ascontiguousarray(K, dtype=float)
    n = len(K)
    alpha = into_P(np.asarray(start, dtype=float), nu) if start is not None else _first(n, nu)
    last = int(np.flatnonzero(alpha)[-1]) + 1
    g = alpha[:last] @ K[:last]
    tiny = ROUNDING * float(np.abs(np.diagonal(K)).max(initial=0.0))
    max_steps = 10_000 + 1000 * n if max_steps is None else int(max_steps)
    steps, violation = _smo(K, alpha, g, 1.0 / (nu * n), float(tol), tiny, max_steps)
    return certified(alpha, g, nu, steps, violation <= max(0.5 * tol * float(alpha @ g), tiny))


def libsvm(
    K: np.ndarray, nu: float, *, tol: float = 1e-6, max_steps: int | None = None, start: Any = None
) -> Solution:
    """The same by scikit-learn's OneClassSVM, whose alpha are nu n times ours; it has no use for a start.

    It keeps the matrix in single precision, so relative gaps below about 1e-7 are beyond it.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import OneClassSVM

    n = len(K)
    first = _first(n, nu)
    held = np.flatnonzero(first)
    norm2 = float(first[held] @ (K[np.ix_(held, held)] @ first[held]))
    tiny = ROUNDING * float(np.abs(np.diagonal(K)).max(initial=0.0))
    # its tolerance is on the violation, in scores nu n times ours; norm2 falls from here to the optimum
    asked = min(max(0.01 * tol * norm2, tiny) * nu * n, 1e-3)
    max_steps = 10_000 + 1000 * n if max_steps is None else int(max_steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = OneClassSVM(kernel="precomputed", nu=nu, tol=max(asked, 1e-300), max_iter=max_steps).fit(K)
    alpha = np.zeros(n)
    alpha[model.support_] = model.dual_coef_[0]
    alpha /= alpha.sum()
    solution = certified(alpha, alpha[model.support_] @ K[model.support_], nu, int(model.n_iter_), True)
    return solution._replace(converged=solution.gap <= max(tol * abs(solution.dual), 10.0 * tiny))


def cutting_plane(
    scores: Callable[[np.ndarray], np.ndarray],
    combine: Callable[[np.ndarray, np.ndarray], np.ndarray],
    n: int,
    nu: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: np.ndarray | None = None,
) -> tuple[Solution, np.ndarray]:
    """Solve the dual on explicit points; returns the solution and w.

    scores(w) is (n,): every <w, psi_i>; combine(points, weights) is the weighted sum of psi at these points.
    No matrix over pairs of points is formed.
    """
    everything = np.arange(n, dtype=np.int32)
    whole = np.full(n, 1.0 / n) if start is None else into_P(start, nu)
    held: list[tuple[np.ndarray, np.ndarray]] = [(everything, whole)]  # points and weights of each cut
    A = combine(everything, whole)[None]
    G = A @ A.T
    beta, idle = np.ones(1), np.zeros(1, dtype=int)
    trace, s, steps = [], np.zeros(n), 0
    converged = False
    for steps in range(1, max_iter + 1):
        w = beta @ A
        s = scores(w)
        chosen, weights, _ = lowest(s, nu)
        norm2 = float(w @ w)
        gap = norm2 - float(weights @ s[chosen])
        trace.append(
            {"iteration": float(steps), "primal": gap - 0.5 * norm2, "dual": -0.5 * norm2, "gap": gap}
        )
        size = float(np.diagonal(G).max())
        if gap <= max(0.5 * tol * norm2, 10.0 * ROUNDING * size):
            converged = True
            break
        # the new cut, and the nearest point to the origin in the hull of all cuts
        held.append((chosen.astype(np.int32), weights))
        row = combine(chosen, weights)
        product = A @ row
        A = np.vstack([A, row])
        G = np.block([[G, product[:, None]], [product[None], np.array([[row @ row]])]])
        beta = smo(G, 1.0 / len(G), tol=min(0.01 * tol, 0.01 * gap / norm2), start=np.append(beta, 0.0)).alpha
        idle = np.where(beta > 0.0, 0, np.append(idle, 0) + 1)
        recent = np.flatnonzero(idle < MAX_IDLE)
        if len(recent) < len(beta):
            held = [held[c] for c in recent]
            A, beta, idle = A[recent], beta[recent], idle[recent]
            G = np.ascontiguousarray(G[np.ix_(recent, recent)])
    alpha = np.zeros(n)
    for b, (points, weights) in zip(beta, held):
        if b > 0.0:
            alpha[points] += b * weights
    w = beta @ A
    if not converged:  # beta has changed since the last look at the scores
        s = scores(w)
    solution = certified(alpha, s, nu, steps, converged)
    return solution._replace(cuts=len(trace), trace=tuple(trace)), w


def _first(n: int, nu: float) -> np.ndarray:
    """A vertex of P: the first nu n points."""
    chosen, weights, _ = lowest(np.arange(n, dtype=float), nu)
    alpha = np.zeros(n)
    alpha[chosen] = weights
    return alpha
