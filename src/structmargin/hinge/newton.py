"""Newton's method for sums of hinges (`rows.py`) with few weights.

With beta_r = price_r z_r, the proximal point method adds -mu/2 sum_r price_r (z_r - center_r)^2 to the dual,
and moves the center to the solution, again and again, with smaller and smaller mu. What is added smooths the
hinges: the problem in w then has the gradient w - sum_r price_r z_r a_r with

    z_r = center_r + h_r / mu, cut off at 0 and 1,   h_r = 1 - <w, a_r>,

and Newton steps with an exact line search minimise it. Only rows with 0 < z_r < 1, the window, are in the
second derivative: near the optimum about as many as there are weights. Every z is feasible in the dual, so
each step measures the duality gap. This is an augmented Lagrangian method with semismooth Newton steps, as in
Yan and Li, "An efficient augmented Lagrangian method for support vector machine", Optimization Methods and
Software 35, 2020.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from structmargin.compiled import compiled
from structmargin.hinge.rows import Goal, HingeFit, SignedRows, certified

FIRST_MU, SMALLER, LEAST_MU = 2.0, 0.4, 1e-8
"""mu of the first problem: above 1, so that all rows are in the first window; what it is multiplied by from
problem to problem; its least."""
PROXIMAL = 0.1
"""A proximal problem is solved once the gap that Newton's method leaves is this share of what z moved by."""
ENOUGH = 20
"""Of more than so many rows per weight in the window, every k-th stands for all in the second derivative."""
STEEP, MAX_TRIALS = 0.1, 50
"""A line search ends where the slope is this share of the first, or after so many trials."""


@compiled
def slope(t, of_w, norm2, price, center, h, along, mu):  # type: ignore[no-untyped-def]
    """First and second derivative at t of the smoothed objective along a direction.

    `of_w` and `norm2` are the products of the direction with w and itself, `along` (m,) those with the rows.
    """
    first, second = of_w + t * norm2, norm2
    for r in range(h.shape[0]):
        z = center[r] + (h[r] - t * along[r]) / mu
        if z >= 1.0:
            first -= price[r] * along[r]
        elif z > 0.0:
            first -= price[r] * z * along[r]
            second += price[r] / mu * along[r] * along[r]
    return first, second


def by_newton(
    rows: SignedRows, price: np.ndarray, goal: Goal, max_steps: int, w: np.ndarray, center: np.ndarray
) -> HingeFit:
    """Minimise from w and the center (m,), 0 <= center <= 1; any w will do."""
    mu, h = FIRST_MU, 1.0 - rows.products(w)
    best, highest, steps = price * center, -np.inf, 0
    while steps < max_steps:
        steps += 1
        z = np.clip(center + h / mu, 0.0, 1.0)
        beta = price * z
        of_z = rows.combined(beta)
        dual = float(beta.sum()) - 0.5 * float(of_z @ of_z)
        if dual > highest:
            best, highest = beta, dual
        primal = 0.5 * float(w @ w) + float(price @ np.maximum(h, 0.0))
        if goal.met(primal, highest):  # at w; the model is the w of beta
            fit = certified(rows, price, best, goal, steps)
            if fit.converged:
                return fit
        residual = w - of_z
        moved = 0.5 * mu * float(price @ (z - center) ** 2)
        if 0.5 * float(residual @ residual) <= PROXIMAL * moved:
            center, mu = z, max(SMALLER * mu, LEAST_MU)
            continue
        direction = -newton_step(rows, price / mu, np.flatnonzero((z > 0.0) & (z < 1.0)), residual)
        along = rows.products(direction)
        ahead = float(w @ direction), float(direction @ direction)
        t = line_search(float(residual @ direction), *ahead, price, center, h, along, mu)
        if t == 0.0:  # rounding leaves no direction
            break
        w = w + t * direction
        h = h - t * along
    return certified(rows, price, best, goal, steps)


def newton_step(rows: SignedRows, weight: np.ndarray, window: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """(1 + sum_r weight_r a_r a_r')^-1 residual, the sum over the rows of the window."""
    k = max(1, len(window) // (ENOUGH * len(residual)))
    window = window[::k]
    hessian = rows.take(window, np.sqrt(k * weight[window])).gram()
    hessian[np.diag_indices_from(hessian)] += 1.0
    solution: np.ndarray = scipy.linalg.solve(hessian, residual, assume_a="pos", check_finite=False)
    return solution


def line_search(
    first: float, of_w: float, norm2: float, price: np.ndarray, center: np.ndarray, h: np.ndarray,
    along: np.ndarray, mu: float,
) -> float:  # fmt: skip
    """Where the slope, which rises along the direction from `first` < 0, is nearly 0; 0 if it is nowhere."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MAX_TRIALS):
        value, second = slope(t, of_w, norm2, price, center, h, along, mu)
        if abs(value) <= STEEP * abs(first):
            return t
        low, high = (low, t) if value > 0.0 else (t, high)
        t -= value / second
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low
