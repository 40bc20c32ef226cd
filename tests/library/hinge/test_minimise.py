"""Sums of hinges: both methods against cvxopt and LIBLINEAR, and a certificate that always holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from cvxopt import matrix, solvers
from hypothesis import given, settings
from sklearn.svm import LinearSVC

from structmargin.hinge.minimise import minimise, row_by_row
from structmargin.hinge.newton import by_newton, line_search
from structmargin.hinge.rows import Goal, HingeFit, SignedRows


def newton(rows: SignedRows, price: np.ndarray, goal: Goal, most: int = 1000) -> HingeFit:
    return by_newton(rows, price, goal, most, np.zeros(rows.n_weights), np.zeros(len(price)))


def ascent(rows: SignedRows, price: np.ndarray, goal: Goal, most: int = 20_000) -> HingeFit:
    return row_by_row(rows, price, goal, most, np.zeros(len(price)))


def together(rows: SignedRows, price: np.ndarray, goal: Goal, most: int = 1000) -> HingeFit:
    return minimise(rows, price, goal, max_iter=most)


METHODS = pytest.mark.parametrize("method", [newton, ascent])
ENOUGH = {newton: 400, ascent: 10**6, together: 1000}
"""Steps or passes for drawn problems. The ascent's grow with the prices: of 6,000 problems it took at most 94
where prices are up to 10, 608 up to 1,000, and 72,122 up to 100,000."""


def sample(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overlapping classes; one row is 0, one is there twice, one has the price 0."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None]
    X[3], X[5] = 0.0, X[4]
    price = np.where(y > 0, 5.0, 1.0) * rng.random(n)
    price[7] = 0.0
    return X, y, price


def explicit(rows: SignedRows) -> np.ndarray:
    """All a_r as an array, made without a function of the class."""
    X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    return rows.factor[:, None] * (
        np.hstack([X, np.full((len(X), 1), rows.constant)]) if rows.constant else X
    )


def optimum(A: np.ndarray, price: np.ndarray) -> float:
    """The dual's largest value by cvxopt."""
    m = len(price)
    G, bounds = np.vstack([-np.eye(m), np.eye(m)]), np.concatenate([np.zeros(m), price])
    options = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
    found = solvers.qp(
        matrix(A @ A.T + 1e-13 * np.eye(m)), matrix(-np.ones(m)), matrix(G), matrix(bounds), options=options
    )
    return -float(found["primal objective"])


def require_certificate(fit: HingeFit, rows: SignedRows, price: np.ndarray) -> None:
    """beta is feasible, w is its combination, and both objectives are what they are said to be."""
    A = explicit(rows)
    assert np.all(fit.beta >= 0.0) and np.all(fit.beta <= price * (1 + 1e-12))
    size = 1e-9 * (1.0 + np.abs(A).T @ fit.beta)
    assert np.all(np.abs(fit.w - A.T @ fit.beta) <= size)
    primal = 0.5 * fit.w @ fit.w + price @ np.maximum(1.0 - A @ fit.w, 0.0)
    assert fit.primal == pytest.approx(primal, rel=1e-9, abs=1e-12)
    assert fit.dual == pytest.approx(
        fit.beta.sum() - 0.5 * fit.w @ fit.w, rel=1e-9, abs=1e-9 * fit.beta.sum()
    )


@METHODS
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_cvxopt(
    method: Callable[..., HingeFit], form: Any, constant: float, scale: float
):
    X, y, price = sample()
    rows, price = SignedRows(form(X), y, constant), scale * price
    fit = method(rows, price, Goal(0.0, 1e-7))
    want = optimum(explicit(rows), price)
    assert fit.converged
    require_certificate(fit, rows, price)
    assert fit.dual <= want * (1 + 1e-7) and fit.primal >= want * (1 - 1e-7)
    assert fit.primal == pytest.approx(want, rel=3e-7)


@METHODS
def test_the_weights_are_those_of_liblinear(method: Callable[..., HingeFit]):
    X, y, price = sample(200, 6, seed=1)
    fit = method(SignedRows(X, y, 1.0), price, Goal(0.0, 1e-10))
    peer = LinearSVC(loss="hinge", C=1.0, tol=1e-10, max_iter=10**6, random_state=0)
    peer.fit(X, y, sample_weight=price)
    want = np.append(peer.coef_[0], peer.intercept_)
    np.testing.assert_allclose(fit.w, want, atol=1e-4 * np.linalg.norm(want))


@pytest.mark.parametrize("method", [newton, ascent, together])
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 25), d=st.integers(1, 6), power=st.integers(-4, 5),
    constant=st.sampled_from([0.0, 1.0]), most=st.sampled_from([1, 3, None]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_the_certificate_holds_however_soon_it_ends(
    method: Callable[..., HingeFit], seed: int, n: int, d: int, power: int, constant: float, most: int | None
):
    rng = np.random.default_rng(seed)
    X, factor = rng.normal(size=(n, d)).round(1), rng.choice([-2.0, -1.0, 0.5, 1.0], size=n)
    rows, price = SignedRows(X, factor, constant), 10.0**power * rng.random(n)
    fit = method(rows, price, Goal(0.0, 1e-5), most or ENOUGH[method])
    require_certificate(fit, rows, price)
    assert fit.dual <= fit.primal * (1 + 1e-9)
    assert fit.converged == (fit.primal - fit.dual <= 1e-5 * fit.primal)
    assert fit.converged or most is not None or method is newton  # which rounding may end


@pytest.mark.parametrize(
    ("seed", "n", "d", "power", "constant"),
    [(1, 2, 1, 4, 1.0), (706_574, 4, 1, 5, 1.0), (694_992, 8, 2, 5, 1.0), (373_328, 1, 6, 5, 0.0)],
)
def test_rows_go_on_where_rounding_ends_newtons_method(
    seed: int, n: int, d: int, power: int, constant: float
):
    """In the last two steps go on without an end, in the others no direction is left."""
    rng = np.random.default_rng(seed)
    X, factor = rng.normal(size=(n, d)).round(1), rng.choice([-2.0, -1.0, 0.5, 1.0], size=n)
    rows, price, goal = SignedRows(X, factor, constant), 10.0**power * rng.random(n), Goal(0.0, 1e-5)
    alone, fit = newton(rows, price, goal, 400), together(rows, price, goal)
    assert not alone.converged and fit.converged
    require_certificate(fit, rows, price)
    assert fit.primal == pytest.approx(ascent(rows, price, goal).primal, rel=2e-5)


def test_many_more_rows_than_weights():
    """Every k-th row stands for all in the second derivative, never in the certificate."""
    X, y, price = sample(3_000, 3, seed=2)
    rows = SignedRows(X, y, 1.0)
    fit = newton(rows, 0.1 * price, Goal(0.0, 1e-9))
    assert fit.converged
    require_certificate(fit, rows, 0.1 * price)
    assert fit.primal == pytest.approx(ascent(rows, 0.1 * price, Goal(0.0, 1e-6)).primal, rel=2e-6)


@pytest.mark.parametrize("absolute", [1e-1, 1e-3])
@METHODS
def test_an_absolute_gap(method: Callable[..., HingeFit], absolute: float):
    X, y, price = sample()
    fit = method(SignedRows(X, y, 0.0), price, Goal(absolute, 0.0))
    assert fit.converged and 0.0 <= fit.primal - fit.dual <= absolute


@pytest.mark.parametrize("wide", [False, True])
def test_a_start_at_other_prices(wide: bool):
    """The optimum does not depend on the start, and where prices stay there is nothing left to do."""
    X, y, price = sample()
    if wide:  # more weights than Newton's method takes
        X = sp.hstack([sp.csr_matrix(X), sp.csr_matrix((len(y), 1_000))], format="csr")
    rows, goal = SignedRows(X, y, 1.0), Goal(0.0, 1e-6)
    first = minimise(rows, price, goal, max_iter=20_000)
    again = minimise(rows, price, goal, max_iter=20_000, start=first)
    assert again.n_iter <= 1 and again.primal == pytest.approx(first.primal, rel=1e-6)
    for factor in (0.01, 0.1, 10.0, 1e3):
        cold = minimise(rows, factor * price, goal, max_iter=20_000)
        warm = minimise(rows, factor * price, goal, max_iter=20_000, start=first)
        require_certificate(warm, rows, factor * price)
        assert warm.converged and warm.primal == pytest.approx(cold.primal, rel=2e-6)


def test_shares_keep_bounds_that_are_met():
    fit = HingeFit(
        np.zeros(1), np.array([0.0, 1.0, 2.0, 0.0]), np.array([2.0, 2.0, 2.0, 0.0]), 1.0, 1.0, 1, True
    )
    assert fit.shares(np.array([4.0, 4.0, 4.0, 4.0])).tolist() == [0.0, 0.25, 1.0, 0.0]
    assert fit.shares(np.array([0.5, 0.5, 0.5, 0.0])).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_the_line_search_finds_the_least_value():
    """With one weight the smoothed objective is known: the step found has its least value over a grid."""
    a, price, mu = np.array([1.0, 2.0, -0.5, 3.0]), np.array([3.0, 0.2, 1.0, 0.1]), 0.3
    h, center, w, direction = np.ones(4), np.array([0.0, 0.5, 1.0, 0.2]), 0.0, 2.5

    def objective(t: float) -> float:
        u = center + (1.0 - a * t * direction) / mu
        hinge = np.where(u <= 0, 0.0, np.where(u >= 1, u - 0.5, 0.5 * u * u))
        return 0.5 * (t * direction) ** 2 + mu * price @ hinge

    first = -float(direction * (price * np.clip(center + h / mu, 0, 1)) @ a)
    t = line_search(first, w * direction, direction**2, price, center, h, direction * a, mu)
    grid = np.linspace(0.0, 2.0, 4_001)
    least = min(map(objective, grid))
    assert t > 0.0 and objective(t) - least <= 0.02 * (objective(0.0) - least)
