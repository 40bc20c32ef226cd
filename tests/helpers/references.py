"""The specification: every constraint listed, and the primal over all of them solved by cvxopt.

    min 1/2 |w|^2 + price(xi)   s.t.  the constraint of every (i, ybar), ybar != y_i,  xi >= 0

The constraints are written as the papers print them (jmlr05 equations 5-9), without the library's
scaling to half-spaces; nothing of the library is imported here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cvxopt
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

NAMES = ("SVM0", "SVM1", "SVM1 slack", "SVM1 margin", "SVM2", "SVM2 slack", "SVM2 margin")
TIGHT = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-11, "feastol": 1e-11, "maxiters": 200}


class Constraint(NamedTuple):
    """One (i, ybar): the example, the loss, and Psi(x, y) - Psi(x, ybar)."""

    i: int
    delta: float
    dpsi: np.ndarray


def dense(psi: Any) -> np.ndarray:
    return np.asarray(psi.todense()).ravel() if sp.issparse(psi) else np.asarray(psi, dtype=float).ravel()


def constraints(problem: Any, X: Any, Y: Any, outputs: Any) -> list[Constraint]:
    """Every (i, ybar) with ybar != y_i; outputs(x) lists the outputs of x as hashable values."""
    found = []
    for i, y in enumerate(Y):
        at_truth = dense(problem.psi(X[i], y))
        for ybar in outputs(X[i]):
            nested = isinstance(y, tuple) and isinstance(ybar, tuple)
            if not (ybar == y if nested else np.array_equal(ybar, y)):
                found.append(Constraint(i, problem.delta(y, ybar), at_truth - dense(problem.psi(X[i], ybar))))
    return found


def left_out(name: str, delta: float) -> bool:
    """Where the loss is 0 only margin re-scaling asks anything: elsewhere xi / 0 is no bound."""
    return delta == 0.0 and "margin" not in name


def needed(name: str, delta: float) -> tuple[float, float]:
    """(margin, share): the constraint is <w, dpsi> >= margin - share * xi."""
    root = np.sqrt(delta)
    return {
        "SVM0": (1.0, 0.0),
        "SVM1": (1.0, 1.0),
        "SVM2": (1.0, 1.0),
        "SVM1 slack": (1.0, 1.0 / delta if delta else 0.0),
        "SVM2 slack": (1.0, 1.0 / root if delta else 0.0),
        "SVM1 margin": (delta, 1.0),
        "SVM2 margin": (root, 1.0),
    }[name]


def slacks(name: str, listed: list[Constraint], n: int, w: np.ndarray) -> np.ndarray:
    """The smallest xi >= 0 with which w satisfies every constraint; infinite where none does."""
    xi = np.zeros(n)
    for i, delta, dpsi in listed:
        if left_out(name, delta):
            continue
        margin, share = needed(name, delta)
        short = margin - float(dpsi @ w)
        if short > 0.0:
            xi[i] = max(xi[i], short / share if share else np.inf)
    return xi


def objective(name: str, C: float, xi: np.ndarray, w: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The price of w and xi; a hard margin takes no slack of an example that counts."""
    n = len(xi)
    v = np.ones(n) if weights is None else weights
    if name == "SVM0":
        return float(0.5 * w @ w) if np.all(xi[v > 0.0] == 0.0) else np.inf
    cost = C / n * v @ xi if name.startswith("SVM1") else C / (2 * n) * v @ xi**2
    return float(0.5 * w @ w + cost)


class Optimum(NamedTuple):
    value: float
    w: np.ndarray
    xi: np.ndarray


def primal(
    name: str, C: float, listed: list[Constraint], n: int, weights: np.ndarray | None = None
) -> Optimum:
    """The optimum over w and xi, by an interior-point method on the primal variables themselves."""
    d = len(listed[0].dpsi)
    v = np.ones(n) if weights is None else weights
    used = [c for c in listed if not left_out(name, c.delta) and v[c.i] > 0.0]
    P = np.zeros((d + n, d + n))
    P[:d, :d] = np.eye(d)
    q = np.zeros(d + n)
    if name.startswith("SVM1"):
        q[d:] = C / n * np.where(v > 0.0, v, 1.0)
    elif name.startswith("SVM2"):
        P[d:, d:] = C / n * np.diag(np.where(v > 0.0, v, 1.0))
    else:
        P[d:, d:] = np.eye(n)  # unused slacks, kept at 0
    A, b = np.zeros((len(used) + n, d + n)), np.zeros(len(used) + n)
    for row, (i, delta, dpsi) in enumerate(used):
        margin, share = needed(name, delta)
        A[row, :d], A[row, d + i], b[row] = -dpsi, -share, -margin
    A[len(used) :, d:] = -np.eye(n)
    m = cvxopt.matrix
    solution = cvxopt.solvers.qp(m(P), m(q), m(A), m(b), options=TIGHT)
    if solution["gap"] > 1e-8 * abs(solution["primal objective"]) or solution["primal infeasibility"] > 1e-8:
        raise ArithmeticError(f"{name}: cvxopt ends as {solution['status']!r}")
    z = np.asarray(solution["x"]).ravel()
    return Optimum(float(solution["primal objective"]), z[:d], z[d:])


def separable(listed: list[Constraint]) -> bool:
    """Whether some w has <w, dpsi> >= 1 for every output with a loss, by linear programming."""
    A = np.array([-c.dpsi for c in listed if c.delta > 0])
    free = [(None, None)] * A.shape[1]
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=free).status == 0


def block_qp(G: np.ndarray, b: np.ndarray, block: np.ndarray, cap: np.ndarray, ridge: np.ndarray) -> float:
    """The largest b'alpha - 1/2 alpha'(G + ridge [same block])alpha, alpha >= 0, block sums <= cap.

    Caps and ridges are per block.
    """
    k = len(b)
    same = (block[:, None] == block[None, :]).astype(float)
    rows, right = [-np.eye(k)], [np.zeros(k)]
    each = np.unique(block)
    each = each[np.isfinite(cap[each])]
    if len(each):
        rows.append((block[None, :] == each[:, None]).astype(float))
        right.append(cap[each])
    m = cvxopt.matrix
    solution = cvxopt.solvers.qp(
        m(G + ridge[block][:, None] * same),
        m(-b),
        m(np.vstack(rows)),
        m(np.concatenate(right)),
        options=TIGHT,
    )
    return -float(solution["primal objective"])
