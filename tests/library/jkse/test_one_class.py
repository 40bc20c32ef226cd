"""The one-class dual: every engine against a general QP solver and scikit-learn."""

from __future__ import annotations

import cvxopt
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.svm import OneClassSVM

from helpers.points import points
from structmargin.jkse import one_class
from structmargin.kernels import RBF


def by_cvxopt(K: np.ndarray, nu: float) -> tuple[np.ndarray, float]:
    """The one-class dual by a general solver: alpha and -1/2 alpha'K alpha."""
    n = len(K)
    G = np.vstack([-np.eye(n), np.eye(n)])
    h = np.concatenate([np.zeros(n), np.full(n, 1.0 / (nu * n))])
    m = cvxopt.matrix
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    found = cvxopt.solvers.qp(
        m(K + 0.0), m(np.zeros(n)), m(G), m(h), m(np.ones((1, n))), m(np.ones(1)), options=options
    )
    alpha = np.array(found["x"]).ravel()
    return alpha, -0.5 * float(alpha @ K @ alpha)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 9),
    d=st.integers(1, 5),
    nu=st.floats(0.02, 1.0),
    shift=st.sampled_from([0.0, 0.5, 2.0]),
    engine=st.sampled_from(["smo", "libsvm", "cutting_plane"]),
)
def test_the_dual_is_cvxopts(seed: int, n: int, d: int, nu: float, shift: float, engine: str) -> None:
    X = points(seed, n, d, shift)
    X[n // 2 :] = np.round(X[n // 2 :])  # ties and copies
    K = X @ X.T
    if engine == "cutting_plane":
        found, w = one_class.cutting_plane(
            lambda w: X @ w, lambda p, a: X[p].T @ a, n, nu, tol=1e-10, max_iter=5000
        )
        np.testing.assert_allclose(w, X.T @ found.alpha, atol=1e-9)
    else:
        found = {"smo": one_class.smo, "libsvm": one_class.libsvm}[engine](K, nu, tol=1e-10)
    alpha, scale = found.alpha, float(np.diagonal(K).max()) + 1e-12
    assert found.dual == pytest.approx(by_cvxopt(K, nu)[1], abs=1e-7 * scale)
    assert alpha.sum() == pytest.approx(1.0) and alpha.min() >= 0.0
    assert alpha.max() <= 1.0 / (nu * n) * (1.0 + 1e-9)
    np.testing.assert_allclose(found.scores, K @ alpha, atol=1e-9 * scale)
    # the primal by its definition at (w, rho, xi), which no other rho improves
    primal = [
        0.5 * alpha @ K @ alpha + np.maximum(rho - K @ alpha, 0.0).sum() / (nu * n) - rho
        for rho in [found.rho, *(K @ alpha)]
    ]
    assert found.primal == pytest.approx(primal[0], abs=1e-8 * scale)
    assert min(primal) >= primal[0] - 1e-8 * scale
    assert -1e-9 * scale <= found.primal - found.dual <= 1e-6 * scale
    # complementary slackness: outliers at the cap, strict insiders at 0
    tol = 1e-4 * scale
    assert np.all(alpha[found.scores < found.rho - tol] >= 1.0 / (nu * n) * (1.0 - 1e-3))
    assert np.all(alpha[found.scores > found.rho + tol] <= 1e-3 / (nu * n))


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["rbf", "linear"])
def test_scikit_learn_finds_the_same_objective(nu: float, kind: str) -> None:
    X = points(1, 2500 if kind == "rbf" else 500, 6)
    K = RBF(0.1)(X, X) if kind == "rbf" else X @ X.T
    model = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-8).fit(K)
    theirs = np.zeros(len(K))
    theirs[model.support_] = model.dual_coef_[0] / (nu * len(K))
    objective = -0.5 * theirs @ K @ theirs
    ours = one_class.smo(K, nu, tol=1e-8)
    assert ours.dual == pytest.approx(objective, rel=1e-6) and ours.gap <= 1e-8 * abs(ours.dual)
    np.testing.assert_allclose(ours.scores, K @ ours.alpha, rtol=1e-9)
    assert one_class.libsvm(K, nu).dual == pytest.approx(objective, rel=1e-6)
    # nu bounds the outliers from above and the supports from below
    assert np.mean(ours.xi > 1e-6 * ours.rho) <= nu <= np.mean(ours.alpha > 0.0)


def test_points_that_surround_the_origin_have_the_zero_solution() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    found = one_class.smo(X @ X.T, 0.25)
    assert found.converged and found.primal == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(X.T @ found.alpha, 0.0, atol=1e-7)


def test_a_start_is_moved_into_the_feasible_set() -> None:
    K = RBF(0.3)(points(2, 60, 3), points(2, 60, 3))
    cold = one_class.smo(K, 0.2, tol=1e-10)
    start = np.zeros(60)
    start[:3] = [5.0, 1.0, 0.1]
    inside = one_class.into_P(start, 0.2)
    assert (
        inside.sum() == pytest.approx(1.0) and inside.max() <= 1.0 / 12 + 1e-12 and inside[0] == inside.max()
    )
    warm = one_class.smo(K, 0.2, tol=1e-10, start=start)
    assert warm.dual == pytest.approx(cold.dual, rel=1e-9)
    again = one_class.smo(K, 0.2, tol=1e-8, start=cold.alpha)
    assert again.steps <= 0.1 * cold.steps


# ---- the binary problem ---------------------------------------------------------------------------------
