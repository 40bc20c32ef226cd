"""The ascent over all labels: a block solved by sorting, the gap of the whole problem, every optimum."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from helpers import references
from structmargin import StructuredSVM, certify, registry
from structmargin.adapted import adapt
from structmargin.dual.all_labels import AllLabels, Labels, project, visits
from structmargin.dual.blocks import QP
from structmargin.dual.stores.tensor_store import TensorStore
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Multiclass, Taxonomy
from structmargin.scorer import LinearScorer
from structmargin.solvers.n_slack import NSlack

K, D, N = 4, 3, 15
LOSS = np.array([[0, 0, 2, 0.5], [1, 0, 3, 1], [2, 0.25, 0, 1], [4, 1, 0.5, 0]])
"""Asymmetric, with a wrong class that costs nothing."""
TREE = np.array([[1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 0, 1.0]])
PROBLEMS = {
    "0/1": Multiclass(K, D),
    "matrix": Multiclass(K, D, loss=LOSS),
    "tree": Taxonomy(K, D, loss=LOSS, Lambda=TREE),
    "permuted": Taxonomy(K, D, Lambda=np.eye(K)[[2, 0, 3, 1]]),
    "doubled": Taxonomy(K, D, loss=LOSS, Lambda=2.0 * np.eye(K)),
    "uneven": Taxonomy(K, D, Lambda=np.diag([1.0, 2.0, 1.0, 0.5])),
}
"""Labels whose blocks are solved by sorting, by pairwise steps, and, by formulation, by either."""
WITH_SLACK = [name for name, formulation in FORMULATIONS.items() if formulation.p]


def sample(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy points; one of them is 0, so that nothing can be learnt from it."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(N, D)), rng.integers(K, size=N)
    X[3] = 0.0
    return X, Y


def dual_of(problem: Any, X: Any, Y: np.ndarray, formulation: str, C: float, weights: Any = None) -> Dual:
    return Dual(TensorStore(problem, X, Y), len(Y), FORMULATIONS[formulation], C, weights=weights)


@given(
    values=st.lists(st.tuples(st.floats(-2, 3), st.floats(0, 1)), min_size=1, max_size=7),
    length=st.sampled_from([0.01, 1.0, 30.0]),
    shape=st.sampled_from([(0.1, 0.0), (2.0, 0.0), (np.inf, 0.3), (np.inf, 20.0)]),
)
@settings(max_examples=150)
def test_sorting_solves_a_block(
    values: list[tuple[float, float]], length: float, shape: tuple[float, float]
) -> None:
    cap, ridge = shape
    h0, alpha0 = (np.array(part) for part in zip(*values))
    k = len(h0)
    if alpha0.sum() > cap:
        alpha0 *= cap / alpha0.sum()
    h, alpha, ids = h0.copy(), alpha0.copy(), np.arange(k)
    project(h, alpha, ids, k, length, cap, ridge)
    alpha[ids] = alpha.copy()
    assert np.all(alpha >= 0) and alpha.sum() <= cap * (1 + 1e-9)
    G = length * (np.ones((k, k)) + np.eye(k))
    g = h0 - G @ (alpha - alpha0) - ridge * alpha.sum()  # the gradient at the optimum
    level = max(g.max(), 0.0)
    tol = 1e-9 * (1 + length + ridge)
    assert np.all(np.abs(g[alpha > tol] - level) <= tol)  # equal where there is mass,
    assert alpha.sum() >= cap * (1 - 1e-9) or level <= tol  # and 0 unless the cap holds


@pytest.mark.parametrize("formulation", WITH_SLACK)
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_of_the_all_constraints_primal(name: str, formulation: str) -> None:
    problem, (X, Y), C = PROBLEMS[name], sample(), 8.0
    weights = np.linspace(0.0, 2.0, N)  # the first example does not count
    listed = references.constraints(problem, X, Y, lambda x: range(K))
    best = references.primal(formulation, C, listed, N, weights).value
    dual = dual_of(problem, sp.csr_matrix(X), Y, formulation, C, weights)
    labels = AllLabels.of(dual, N * K)
    assert labels is not None
    before = -np.inf
    for _ in range(30):
        labels.ascend(1e-9 * best, max_passes=20)
        assert dual.value >= before - 1e-12 * best  # the dual never falls
        before = dual.value
    assert dual.value == pytest.approx(best, rel=1e-7)
    w = dual.store.w
    xi = references.slacks(formulation, listed, N, w)
    assert references.objective(formulation, C, xi, w, weights) == pytest.approx(best, rel=1e-6)
    # what is held: the cuts with alpha > 0 of examples that count, no label of an example twice
    assert np.all(dual.alpha > 0) and np.all(dual.block > 0)
    pairs = set(zip(dual.block.tolist(), dual.store.cuts.ybar[: dual.m].tolist()))
    assert len(pairs) == dual.m and all(ybar != Y[i] for i, ybar in pairs)
    kept = w.copy()
    dual.refresh()
    np.testing.assert_allclose(dual.store.w, kept, atol=1e-9 * np.abs(kept).max())


@pytest.mark.parametrize("formulation", WITH_SLACK)
@pytest.mark.parametrize("name", ["matrix", "tree"])
def test_gaps_of_all_blocks_are_the_gap_of_the_problem(name: str, formulation: str) -> None:
    problem, (X, Y), C = PROBLEMS[name], sample(1), 5.0
    dual = dual_of(problem, X, Y, formulation, C)
    labels = AllLabels.of(dual, N * K)
    assert labels is not None
    labels.ascend(0.0, max_passes=2)
    alpha = np.zeros((N, K))
    alpha[dual.block, dual.store.cuts.ybar[: dual.m]] = dual.alpha
    qp = QP(dual.store.cuts, labels.blocks, alpha.ravel(), labels.b, dual.cap, dual.ridge)
    state = Labels(qp, labels.s, labels.t, labels.even, labels.apart)
    values = np.zeros(N)
    gap = visits(state, np.arange(N), np.inf, np.zeros(N), values)
    scorer = LinearScorer(adapt(problem), dual.store.w)
    primal = certify(problem, X, Y, scorer, FORMULATIONS[formulation], C).primal
    assert gap > 1e-3 * primal  # two passes leave something to measure
    assert gap == pytest.approx(primal - dual.value, rel=1e-9)
    assert values.sum() == pytest.approx(dual.value, rel=1e-9)


@pytest.mark.parametrize("formulation", WITH_SLACK)
@pytest.mark.parametrize("gap_tol", [1e-1, 1e-3])
def test_a_relative_gap_is_reached_without_a_search(formulation: str, gap_tol: float) -> None:
    """One ascent, and the search that follows certifies it."""
    X, Y = sample(1)
    fit = StructuredSVM(PROBLEMS["matrix"], formulation, "n_slack", C=5.0, gap_tol=gap_tol).fit(X, Y).fit_
    assert fit.converged and fit.relative_gap <= gap_tol
    assert fit.oracle_calls == N


def test_the_objective_of_linear_svc() -> None:
    X, y = load_digits(return_X_y=True)
    X = X[:400] / 16.0
    y = y[:400]
    peer = LinearSVC(multi_class="crammer_singer", C=1.0, fit_intercept=False, tol=1e-4, random_state=0)
    W = peer.fit(X, y).coef_.T
    problem, formulation, C = Multiclass(10, 64), FORMULATIONS["SVM1"], float(len(y))
    theirs = certify(problem, X, y, LinearScorer(adapt(problem), W.ravel()), formulation, C).primal
    fit = StructuredSVM(problem, "SVM1", C=C, gap_tol=1e-4).fit(X, y).fit_
    assert fit.relative_gap <= 1e-4
    assert fit.dual <= theirs * (1 + 1e-9)
    assert fit.primal == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("formulation", ["SVM1 slack", "SVM2 margin"])
def test_without_all_labels_the_optimum_is_the_same(formulation: str) -> None:
    X, Y = sample(2)
    settings: dict[str, Any] = {"C": 10.0, "gap_tol": 1e-8}
    problem, chosen = PROBLEMS["tree"], FORMULATIONS[formulation]
    fits = [
        NSlack(**options).train(problem, (X, Y), chosen, **settings)
        for options in ({}, {"all_labels": False}, {"max_entries": 16 * N * K - 1})
    ]
    assert fits[0].primal == pytest.approx(fits[1].primal, rel=1e-7)
    assert fits[1].n_constraints == fits[2].n_constraints  # no room for all labels: found by searches
    again = NSlack().train(problem, (X, Y), chosen, **settings)
    other = NSlack().train(problem, (X, Y), chosen, random_state=1, **settings)
    np.testing.assert_array_equal(again.w, fits[0].w)  # the same seed, the same bytes
    assert np.any(other.w != again.w)


def test_labels_that_cannot_be_listed() -> None:
    X, Y = sample()
    hard = dual_of(PROBLEMS["0/1"], X, Y, "SVM0", 1.0)
    assert AllLabels.of(hard, N * K) is None
    soft = dual_of(PROBLEMS["0/1"], X, Y, "SVM1", 1.0)
    assert AllLabels.of(soft, N * K) is not None and AllLabels.of(soft, N * K - 1) is None
    assert registry.solver("n_slack", all_labels=False) != registry.solver("n_slack")


@pytest.mark.parametrize("kind", ["few weights", "many weights"])
def test_the_search_that_ends_training_is_its_certificate(kind: str) -> None:
    if kind == "few weights":
        X, Y = load_digits(return_X_y=True)
        X, Y = X[:300] / 16.0, Y[:300]
    else:  # nearly orthogonal rows: passes are fast, and take no strides
        X, Y = sp.random(300, 2000, density=0.01, random_state=0, format="csr"), np.arange(300) % 20
    model = StructuredSVM(Multiclass(), "SVM1 margin", C_per_example=1.0, gap_tol=1e-3).fit(X, Y)
    fit = model.fit_
    assert fit.oracle_calls == 300 * fit.n_iter and fit.relative_gap <= 1e-3
    own = certify(model.problem_, X, Y, LinearScorer(model.problem_, model.w_), fit.formulation, 300.0)
    assert own.primal == pytest.approx(fit.primal, rel=1e-12)
    support = fit.support
    assert support is not None
    rows = support.rows.tocsr()
    np.testing.assert_allclose(rows.T @ support.alpha, model.w_, atol=1e-12)
    np.testing.assert_allclose(support.H, support.b - rows @ model.w_, atol=1e-9)
