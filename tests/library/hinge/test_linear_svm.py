"""`linear_svm`: the front of the hinge solvers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from structmargin import ConvergenceWarning, linear_svm


def clouds(n: int = 300, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 5 == 0, 1, -1)
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("cost", [1.0, 16.0])
def test_a_cost_ratio_is_a_price_for_each_row(form: Any, cost: float):
    X, y = clouds()
    fit = linear_svm(form(X), y, np.where(y > 0, cost, 1.0), intercept=1.0, gap_tol=1e-9)
    peer = LinearSVC(loss="hinge", class_weight={1: cost}, tol=1e-9, max_iter=10**6, random_state=0).fit(X, y)
    want = np.append(peer.coef_[0], peer.intercept_)
    np.testing.assert_allclose(fit.w, want, atol=1e-3 * np.linalg.norm(want))


def test_a_path_over_C_reaches_every_gap():
    X, y = clouds()
    fit = None
    for C in (0.01, 1.0, 100.0, 1e4, 1e6):
        fit = linear_svm(X, y, C, gap_tol=1e-6, start=fit)
        slack = np.maximum(1.0 - y * (X @ fit.w), 0.0)
        assert fit.primal == pytest.approx(0.5 * fit.w @ fit.w + C * slack.sum(), rel=1e-9)
        assert fit.dual <= fit.primal <= fit.dual + 1e-6 * fit.primal


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": [1, 2, -1]}, "label of -1 or \\+1 for each of the 3 rows"),
        ({"y": [1, -1]}, "for each of the 3 rows"),
        ({"C": -1.0}, "every C must be"),
        ({"C": [1.0, np.nan, 1.0]}, "every C must be"),
        ({"X": np.array([[1.0], [np.nan], [0.0]])}, "row 1 has a NaN"),
        ({"gap_tol": 0.0}, "gap_tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"intercept": np.inf}, "intercept must be"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], sentence: str):
    given = {"X": np.eye(3)[:, :1], "y": [1, -1, 1], "C": 1.0} | change
    with pytest.raises(ValueError, match=sentence):
        linear_svm(given.pop("X"), given.pop("y"), given.pop("C"), **given)


def test_a_start_of_other_rows_is_refused():
    X, y = clouds()
    with pytest.raises(ValueError, match="start is of 300 rows, but X has 299"):
        linear_svm(X[1:], y[1:], start=linear_svm(X, y))
    with pytest.raises(ValueError, match="start has 5 weights, but 6 are asked for"):
        linear_svm(X, y, intercept=1.0, start=linear_svm(X, y))


def test_too_few_steps_are_a_warning_with_the_gap():
    X, y = clouds()
    with pytest.warns(ConvergenceWarning, match="relative gap of .* after 1 iterations: raise max_iter"):
        fit = linear_svm(X, y, 10.0, max_iter=1)
    assert not fit.converged and fit.dual < fit.primal
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert linear_svm(X, y, 10.0).converged
