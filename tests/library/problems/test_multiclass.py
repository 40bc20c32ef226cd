"""`Multiclass`: its searches against enumeration, singly and in batches; its optimum against LinearSVC."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from helpers import references
from structmargin import registry
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Multiclass
from structmargin.scorer import LinearScorer


@st.composite
def situations(draw: Any) -> tuple[Multiclass, np.ndarray, np.ndarray, np.ndarray]:
    n, K, D = draw(st.integers(1, 6)), draw(st.integers(2, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(-2, 3, size=(n, D)).astype(float)
    loss = rng.choice([0.0, 0.5, 1.0, 3.0], size=(K, K)) * (1 - np.eye(K)) if draw(st.booleans()) else None
    w = rng.integers(-3, 4, size=K * D) / 2.0
    return Multiclass(K, D, loss=loss), X, rng.integers(K, size=n), w


def largest_H(problem: Multiclass, X: Any, Y: Any, w: np.ndarray, H: Any) -> np.ndarray:
    psi = references.dense
    return np.array(
        [
            max(
                float(H(problem.delta(y, c), (psi(problem.psi(x, y)) - psi(problem.psi(x, c))) @ w))
                for c in range(problem.n_classes)
            )
            for x, y in zip(X, Y)
        ]
    )


@pytest.mark.parametrize("name", FORMULATIONS)
@given(case=situations(), most=st.integers(2, 4))
@settings(max_examples=20)
def test_searches_agree_with_enumeration(name: str, case: Any, most: int) -> None:
    problem, X, Y, w = case
    H, f = FORMULATIONS[name].H, LinearScorer(problem, w)
    want = largest_H(problem, X, Y, w, H)
    for rows in (X, sp.csr_matrix(X)):
        for i, (y, best) in enumerate(zip(Y, want)):
            ybar = problem.augmented_argmax(f, rows[i], y, H)
            margin = f(rows[i], y) - f(rows[i], ybar)
            assert float(H(problem.delta(y, ybar), margin)) == pytest.approx(best, abs=1e-12)
            scores = [references.dense(problem.psi(X[i], c)) @ w for c in range(problem.n_classes)]
            assert scores[problem.argmax(f, rows[i])] == pytest.approx(max(scores))
        batch = problem.batch(rows, Y)
        for indices in (np.arange(len(Y)), np.arange(len(Y))[::2]):
            found = batch.search(f, indices, H)
            values = found.H
            np.testing.assert_allclose(values, want[indices], atol=1e-12)
            dense = batch.rows(found.example, found.outputs).toarray()
            np.testing.assert_allclose(found.scale * (dense @ w), found.b - found.H, atol=1e-12)
            many = batch.search_many(f, indices, H, most)
            values = many.H
            for i in indices:
                mine = many.example == i
                assert values[mine].max() == pytest.approx(want[i], abs=1e-12)
                assert len(set(many.outputs[mine])) == mine.sum() <= most
                # the best so many, and no more than those worth having
                every = sorted(
                    (
                        float(H(problem.delta(Y[i], c), f(X[i], Y[i]) - f(X[i], c)))
                        for c in range(problem.n_classes)
                    ),
                    reverse=True,
                )
                worth = max(1, sum(value > 1e-12 for value in every[:most]))
                np.testing.assert_allclose(
                    sorted(values[mine], reverse=True)[:worth], every[:worth], atol=1e-12
                )
        scores = X @ w.reshape(problem.n_features, problem.n_classes)
        np.testing.assert_array_equal(batch.argmax(f), np.argmax(scores, axis=1))


@given(case=situations())
@settings(max_examples=50)
def test_radius_and_max_delta_bound_every_pair(case: Any) -> None:
    problem, X, Y, _ = case
    for x, y in zip(X, Y):
        psi = [references.dense(problem.psi(x, c)) for c in range(problem.n_classes)]
        apart = max(np.linalg.norm(a - b) for a in psi for b in psi)
        assert problem.radius(x) == pytest.approx(apart, abs=1e-12)
        assert problem.radius(sp.csr_matrix(x)) == pytest.approx(apart, abs=1e-12)
        assert problem.max_delta(y) == max(problem.delta(y, c) for c in range(problem.n_classes))


@cache
def digits(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """n digits and the objective at which LinearSVC's Crammer-Singer ends."""
    X, Y = load_digits(return_X_y=True)
    X, Y = X[:n] / 16.0, Y[:n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer = LinearSVC(
            multi_class="crammer_singer",
            C=1.0,
            fit_intercept=False,
            tol=1e-6,
            max_iter=100000,
            random_state=0,
        ).fit(X, Y)
    scores = X @ peer.coef_.T
    each = np.arange(n)
    margins = 1.0 - (scores[each, Y][:, None] - scores)
    margins[each, Y] = 0.0
    return X, Y, float(0.5 * np.sum(peer.coef_**2) + np.sum(margins.max(axis=1)))


DIGITS = {
    "n_slack": 600,
    "n_slack_b": 400,
    "staged": 400,
    "one_slack": 600,
    "bcfw": 600,
    "n_slack_a": 80,
    "n_slack_cvxopt": 120,
}
"""How many digits each solver gets: those slow by their nature fewer."""


@pytest.mark.parametrize("solver", DIGITS)
def test_crammer_singer_on_digits(solver: str) -> None:
    """SVM1 with C = n is LinearSVC's objective with C = 1."""
    X, Y, want = digits(DIGITS[solver])
    fit = registry.solver(solver).train(
        Multiclass(10, 64), (X, Y), FORMULATIONS["SVM1"], C=len(Y), eps=1e-6, gap_tol=3e-5, max_iter=10000
    )
    assert fit.relative_gap <= 3e-5
    assert fit.primal == pytest.approx(want, rel=1e-4)
