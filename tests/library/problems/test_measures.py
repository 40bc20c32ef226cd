"""`Measure`: each search against all labellings or all pair labellings, the losses against scikit-learn's
metrics, the optimum against the all-constraints primal and LinearSVC."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.metrics import fbeta_score, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from helpers import references
from structmargin import StructuredSVM, registry
from structmargin.formulation import FORMULATIONS
from structmargin.oracles.contingency import pair_weights
from structmargin.problems import Measure
from structmargin.problems.measures.batch import weighted_sum
from structmargin.problems.measures.problem import MEASURES, Sample
from structmargin.scorer import LinearScorer
from structmargin.training.path import c_path

MARGIN = FORMULATIONS["SVM1 margin"].H
LABELLED = [name for name in MEASURES if name != "roc_area"]


@st.composite
def samples(draw: Any, most: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int]:
    """(rows, labels, w, intercept, k) on coarse grids, so that scores tie."""
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = np.where(rng.permutation(n) < draw(st.integers(1, n - 1)), 1, -1).astype(np.int8)
    intercept = draw(st.sampled_from([0.0, 2.0]))
    w = rng.integers(-4, 5, size=d + (intercept > 0)) * draw(st.sampled_from([0.0, 0.25, 1.0]))
    return rng.integers(-2, 3, size=(n, d)).astype(float), y, w, intercept, draw(st.integers(1, n))


def losses(measure: str, y: np.ndarray, outputs: np.ndarray, k: int, beta: float) -> np.ndarray:
    """Delta of each row of `outputs` by its definition; NaN where a measure does not allow the labelling."""
    P, called = np.sum(y > 0), np.sum(outputs > 0, axis=1)
    right = np.sum((outputs > 0) & (y > 0), axis=1)
    recall, precision = right / P, right / np.maximum(called, 1)
    if measure == "error_rate":
        return np.mean(outputs != y, axis=1)
    if measure in ("f1", "fbeta"):
        square = 1.0 if measure == "f1" else beta**2
        below = np.where(right > 0, square * precision + recall, 1.0)
        return 1.0 - (1.0 + square) * precision * recall / below
    if measure == "prbep":
        return np.where(called == P, 1.0 - precision, np.nan)
    reached, most = (recall, min(k, P) / P) if measure == "recall_at_k" else (precision, min(k, P) / k)
    return np.where(called == k, most - reached, np.nan)


def labellings(n: int) -> np.ndarray:
    """All of them, (2^n, n)."""
    return np.array(list(product((-1, 1), repeat=n)), dtype=np.int8)


def with_constant(rows: np.ndarray, intercept: float) -> np.ndarray:
    return np.column_stack([rows, np.full(len(rows), intercept)]) if intercept else rows


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("measure", LABELLED)
@given(case=samples(10), beta=st.sampled_from([0.5, 2.0]))
@settings(max_examples=15)
def test_searches_agree_with_all_labellings(measure: str, name: str, case: Any, beta: float) -> None:
    rows, y, w, intercept, k = case
    H, problem = FORMULATIONS[name].H, Measure(measure, beta=beta, k=k, intercept=intercept)
    scores, outputs = with_constant(rows, intercept) @ w, labellings(len(y))
    deltas = losses(measure, y, outputs, k, beta)
    outputs, deltas = outputs[~np.isnan(deltas)], deltas[~np.isnan(deltas)]
    best = max(0.0, float(np.max(H(deltas, (y - outputs) @ scores / len(y)))))  # H = 0 at the truth
    top = float(np.max(outputs @ scores)) / len(y)
    for ybar, delta in zip(outputs[::17], deltas[::17]):
        assert problem.delta(y, ybar) == pytest.approx(delta, abs=1e-12)
    f = LinearScorer(problem, w)
    for x in (Sample(rows, y > 0), Sample(sp.csr_matrix(rows), y > 0)):
        ybar = problem.augmented_argmax(f, x, y, H)
        (delta,) = losses(measure, y, ybar[None], k, beta)
        assert max(float(H(delta, f(x, y) - f(x, ybar))), 0.0) == pytest.approx(best, abs=1e-12)
        found = problem.batch([x], [y]).search(f, np.array([0]), H)
        assert found.losses[0] == pytest.approx(delta, abs=1e-12)
        assert float((found.rows @ w)[0]) == pytest.approx(f(x, y) - f(x, ybar), abs=1e-12)
        assert f(x, problem.argmax(f, x)) == pytest.approx(top, abs=1e-12)


@given(case=samples(6))
@settings(max_examples=60)
def test_roc_search_agrees_with_all_labellings_of_the_pairs(case: Any) -> None:
    rows, y, w, intercept, _ = case
    Z, problem = with_constant(rows, intercept), Measure("roc_area", intercept=intercept)
    pairs = [Z[i] - Z[j] for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
    margins = np.array(pairs) @ w
    swapped = np.array(list(product((0.0, 1.0), repeat=len(pairs))))
    best = float(np.max(swapped.mean(axis=1) - swapped @ margins / len(pairs)))
    f = LinearScorer(problem, w)
    for x in (Sample(rows, y > 0), Sample(sp.csr_matrix(rows), y > 0)):
        ybar = problem.augmented_argmax(f, x, y, MARGIN)
        assert problem.delta(y, ybar) - (f(x, y) - f(x, ybar)) == pytest.approx(best, abs=1e-12)
        found = problem.batch([x], [y]).search(f, np.array([0]), MARGIN)
        assert found.losses[0] == pytest.approx(problem.delta(y, ybar), abs=1e-12)
        assert float((found.rows @ w)[0]) == pytest.approx(f(x, y) - f(x, ybar), abs=1e-12)
        assert f(x, problem.argmax(f, x)) == pytest.approx(np.abs(margins).mean() / 2, abs=1e-12)
        assert f(x, y) == pytest.approx(margins.mean() / 2, abs=1e-12)


@given(case=samples(12))
@settings(max_examples=40)
def test_losses_are_those_of_scikit_learn(case: Any) -> None:
    rows, y, w, intercept, k = case
    f, x = LinearScorer(Measure(intercept=intercept), w), Sample(rows)
    scores = f.potentials(x)
    assert Measure("roc_area").delta(y, scores) == pytest.approx(1.0 - roc_auc_score(y, scores))
    yhat = np.where(scores > 0, 1, -1)
    f2 = fbeta_score(y, yhat, beta=2.0, zero_division=0.0)
    assert Measure("fbeta", beta=2.0).delta(y, yhat) == pytest.approx(1.0 - f2)
    distinct = scores + 1e-9 * np.arange(len(y))
    P = int(np.sum(y > 0))
    top = np.zeros(len(y), dtype=int) - 1
    top[np.argsort(distinct)[len(y) - k :]] = 1
    short = min(k, P) / k - precision_score(y, top), min(k, P) / P - recall_score(y, top)
    assert Measure("precision_at_k", k=k).delta(y, distinct) == pytest.approx(short[0], abs=1e-12)
    assert Measure("recall_at_k", k=k).delta(y, distinct) == pytest.approx(short[1], abs=1e-12)
    assert Measure("prbep").delta(y, distinct) == pytest.approx(
        1.0 - np.mean(y[np.argsort(distinct)[len(y) - P :]] > 0)
    )


def test_a_tie_at_k_counts_its_share() -> None:
    y = np.array([1, -1, 1, -1])
    assert Measure("prbep").delta(y, np.zeros(4)) == 0.5
    assert Measure("precision_at_k", k=1).delta(y, np.array([0.0, 3.0, 3.0, 1.0])) == 0.5


def data(n: int = 40, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    return rng.normal(size=(n, d)) + 0.6 * (y > 0)[:, None], y


@pytest.mark.parametrize(
    ("measure", "name", "solver"),
    [(measure, "SVM1 margin", "one_slack") for measure in LABELLED]
    + [
        ("f1", "SVM1 slack", "one_slack"),
        ("f1", "SVM2 margin", "n_slack"),
        ("prbep", "SVM2 slack", "n_slack"),
    ],
)
def test_the_optimum_is_that_of_all_constraints(measure: str, name: str, solver: str) -> None:
    X, y = data(8, 2, seed=3)
    problem = Measure(measure, beta=2.0, k=3, intercept=1.0)
    model = StructuredSVM(problem, name, solver, C=20.0, eps=1e-6, gap_tol=1e-7).fit(X, y)
    (x,), (labels,) = problem.wrap(X, y)
    at_truth = problem.psi(x, labels)
    outputs = labellings(len(y))
    listed = [
        references.Constraint(0, float(delta), at_truth - problem.psi(x, ybar))
        for ybar, delta in zip(outputs, losses(measure, labels, outputs, 3, 2.0))
        if not np.isnan(delta) and not np.array_equal(ybar, labels)
    ]
    want = references.primal(name, 20.0, listed, 1)
    assert model.fit_.primal == pytest.approx(want.value, rel=1e-5)
    np.testing.assert_allclose(model.w_, want.w, atol=1e-2 * np.abs(want.w).max())


def test_the_optimum_of_the_roc_area_is_that_of_a_hinge_on_all_pairs() -> None:
    """One slack for the mean over pairs is a hinge a pair: a linear SVM on differences, with C / (P N)."""
    X, y = data()
    pairs = np.array([X[i] - X[j] for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)])
    model = StructuredSVM(Measure("roc_area"), solver="one_slack", C=5.0, eps=1e-7, gap_tol=1e-7).fit(X, y)
    listed = [references.Constraint(i, 1.0, pair) for i, pair in enumerate(pairs)]
    want = references.primal("SVM1 margin", 5.0, listed, len(pairs))
    assert model.fit_.primal == pytest.approx(want.value, rel=1e-5)
    np.testing.assert_allclose(model.predict(X), X @ model.w_)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, X @ model.w_) - 1.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [2.0, 50.0])
def test_error_rate_is_the_conventional_svm(C: float, sparse: bool) -> None:
    """2 w at C' = 4 C / n."""
    X, y = data(120, 5)
    rows = sp.csr_matrix(X) if sparse else X
    model = StructuredSVM(Measure("error_rate"), solver="one_slack", C=C, eps=1e-7, gap_tol=1e-8).fit(rows, y)
    peer = LinearSVC(loss="hinge", C=4 * C / len(y), fit_intercept=False, tol=1e-8, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(2.0 * model.w_, peer.coef_[0], atol=1e-3 * np.linalg.norm(peer.coef_))
    np.testing.assert_array_equal(model.predict(rows), np.where(X @ model.w_ > 0, 1, -1))


@pytest.mark.parametrize("measure", ["f1", "roc_area"])
def test_psi_of_rows_in_any_memory_order(measure: str) -> None:
    """Rows of weight 0 are left out of the sum, and add nothing."""
    X, y = data(30, 3)
    problem, rng = Measure(measure, intercept=2.0), np.random.default_rng(0)
    ybar = rng.integers(3, size=30).astype(float) if measure == "roc_area" else problem.draw(None, y, rng)
    v = pair_weights(y > 0, ybar) if measure == "roc_area" else ybar / 30.0
    v_less = np.where(np.arange(30) % 3 == 0, v, 0.0)
    for rows in (X, np.asfortranarray(X), sp.csr_matrix(X)):
        want = np.append(v @ X, 2.0 * v.sum())
        np.testing.assert_allclose(problem.psi(Sample(rows, y > 0), ybar), want, atol=1e-14)
        np.testing.assert_allclose(weighted_sum(rows, v_less), v_less @ X, atol=1e-14)


@pytest.mark.parametrize("measure", MEASURES)
def test_training_lowers_the_loss_it_is_asked_to(measure: str) -> None:
    """The slack bounds the training loss (jmlr05 Proposition 2): for rows in two clouds it must be small."""
    X, y = data(200, 4, seed=1)
    X = X + 1.5 * (y > 0)[:, None]
    model = StructuredSVM(
        Measure(measure, beta=2.0, k=20, intercept=1.0), solver="one_slack", C=500.0, eps=1e-3
    )
    model.fit(X, y)
    assert 0.0 <= -model.score(X, y) <= float(model.fit_.xi[0]) + 1e-9 < 0.35
    yhat = model.predict(X)
    called = {"precision_at_k": 20, "recall_at_k": 20}.get(measure)
    assert called is None or int(np.sum(yhat > 0)) == called


def test_prediction_with_an_intercept_adds_it_to_every_score() -> None:
    X, y = data()
    model = StructuredSVM(Measure("f1", intercept=3.0), solver="one_slack", C=100.0, eps=1e-3).fit(X + 5.0, y)
    scores = (X + 5.0) @ model.w_[:-1] + 3.0 * model.w_[-1]
    np.testing.assert_array_equal(model.predict(X + 5.0), np.where(scores > 0, 1, -1))
    assert -model.score(X + 5.0, y) == pytest.approx(
        1.0 - fbeta_score(y, np.where(scores > 0, 1, -1), beta=1.0)
    )


def test_other_labels_are_mapped_by_name_only() -> None:
    X, y = data()
    names = np.where(y > 0, "earn", "grain")
    plain = StructuredSVM(Measure("f1", intercept=1.0), solver="one_slack", C=50.0, eps=1e-3).fit(X, y)
    named = StructuredSVM(
        Measure("f1", positive="earn", intercept=1.0), solver="one_slack", C=50.0, eps=1e-3
    ).fit(X, names)
    np.testing.assert_array_equal(plain.w_, named.w_)
    assert plain.score(X, y) == named.score(X, names)


def test_rows_are_split_by_cross_validation_and_a_model_survives_saving(tmp_path: Any) -> None:
    X, y = data(60)
    base = StructuredSVM(Measure("fbeta", intercept=1.0), solver="one_slack", C=50.0, eps=1e-2)
    search = GridSearchCV(base, {"problem__beta": [0.5, 2.0]}, cv=[(np.arange(40), np.arange(40, 60))]).fit(
        X, y
    )
    for row, beta in enumerate((0.5, 2.0)):
        alone = StructuredSVM(
            Measure("fbeta", beta=beta, intercept=1.0), solver="one_slack", C=50.0, eps=1e-2
        )
        yhat = alone.fit(X[:40], y[:40]).predict(X[40:])
        want = fbeta_score(y[40:], yhat, beta=beta) - 1.0
        assert search.cv_results_["mean_test_score"][row] == pytest.approx(want)
    alone.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(StructuredSVM.load(tmp_path / "model.npz").predict(X[40:]), yhat)


def test_a_path_over_C_reuses_the_cuts_of_the_sample() -> None:
    X, y = data(60)
    problem, margin = Measure("f1", intercept=1.0), FORMULATIONS["SVM1 margin"]
    solver = registry.solver("one_slack")
    fits = c_path(solver, problem, problem.wrap(X, y), margin, Cs=(5.0, 50.0), eps=1e-6, gap_tol=1e-6)
    for fit, C in zip(fits, (5.0, 50.0)):
        alone = StructuredSVM(problem, solver="one_slack", C=C, eps=1e-6, gap_tol=1e-6).fit(X, y).fit_
        assert fit.primal == pytest.approx(alone.primal, rel=1e-5)
    assert fits[1].n_constraints < alone.n_constraints


@pytest.mark.parametrize("measure", MEASURES)
@given(case=samples(8))
@settings(max_examples=15)
def test_the_radius_bounds_every_difference_of_psi(measure: str, case: Any) -> None:
    rows, y, _, intercept, k = case
    problem = Measure(measure, k=k, intercept=intercept)
    bounds = [problem.radius(Sample(kind(rows), y > 0)) for kind in (np.asarray, sp.csr_matrix)]
    assert bounds[0] == pytest.approx(bounds[1])
    x = Sample(rows, y > 0)
    psis = np.array([problem.psi(x, ybar) for ybar in labellings(len(y))])
    far = np.linalg.norm(psis[:, None] - psis[None], axis=2).max()
    assert far <= bounds[0] + 1e-12
