"""Kernels with product structure: the optimum of a Gram matrix of cuts, without that matrix."""

from __future__ import annotations

import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from helpers import references
from helpers.cuttings import Cutting, Described, dual_of, set_alpha
from helpers.unfactored import Unfactored
from structmargin import StructuredSVM, registry
from structmargin.adapted import adapt
from structmargin.cuts import Cuts, SearchError
from structmargin.dual.stores import product_store
from structmargin.dual.stores.gram_store import GramStore
from structmargin.dual.stores.product_store import KernelRows, ProductStore
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, LinearKernel, Polynomial, Product
from structmargin.problems import Multiclass, Taxonomy
from structmargin.solvers.n_slack import NSlack
from structmargin.training.space import Joint

K, D = 4, 3
LAMBDA = np.array([[1.0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]])


def sample(n: int, seed: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Clusters, one per class, in a random order; those of small spread can be separated."""
    rng = np.random.default_rng(seed)
    Y = np.append(np.arange(K), rng.integers(K, size=n - K))
    centres = 2.0 * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])
    order = rng.permutation(n)
    return (centres[Y] + spread * rng.normal(size=(n, D)))[order], Y[order]


def problems(taxonomy: bool, seed: int) -> Multiclass:
    loss = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], size=(K, K)) * (1 - np.eye(K))
    return Taxonomy(K, D, loss=loss, Lambda=LAMBDA) if taxonomy else Multiclass(K, D, loss=loss)


def given_as(kind: str, X: np.ndarray) -> Any:
    return {"dense": X, "sparse": sp.csr_matrix(X), "list": list(X)}[kind]


KERNELS = [LinearKernel(), Polynomial(2, 0.3), RBF(0.4)]
EXACT: dict[str, Any] = {"eps": 1e-9, "gap_tol": 1e-8, "max_iter": 5000}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(
    n=st.integers(K, 14),
    seed=st.integers(0, 10**6),
    kx=st.sampled_from(KERNELS),
    taxonomy=st.booleans(),
    shared=st.booleans(),
    rows=st.sampled_from(["dense", "sparse", "list"]),
    C=st.sampled_from([0.5, 20.0]),
)
@settings(max_examples=12)
def test_the_optimum_is_that_of_a_gram_matrix_and_of_all_constraints(
    formulation: str, n: int, seed: int, kx: Any, taxonomy: bool, shared: bool, rows: str, C: float
) -> None:
    X, Y = sample(n, seed, 0.1 if formulation == "SVM0" else 1.0)
    problem = problems(taxonomy, seed)
    kernel = Product(kx, L=LAMBDA @ LAMBDA.T if shared else None)
    data, chosen = (given_as(rows, X), Y), FORMULATIONS[formulation]
    assert isinstance(Joint(kernel).store(adapt(problem), *data), ProductStore)
    assert isinstance(Joint(Unfactored(kernel)).store(adapt(problem), *data), GramStore)
    fit = registry.solver("n_slack").train(problem, data, chosen, Joint(kernel), C=C, **EXACT)
    assert fit.relative_gap <= 1e-8
    reference = registry.solver("n_slack_cvxopt").train(
        problem, data, chosen, Joint(Unfactored(kernel)), C=C, eps=1e-7, gap_tol=1e-6
    )
    assert fit.primal == pytest.approx(reference.primal, rel=1e-5)
    # all constraints, in coordinates: a square root of the joint kernel over all pairs (x_i, y)
    pairs = [(i, y) for i in range(n) for y in range(K)]
    of_x, of_y = np.array(pairs).T
    G = kernel.gram(X[of_x], of_y, X[of_x], of_y)
    values, vectors = np.linalg.eigh(G)
    psi = vectors * np.sqrt(np.maximum(values, 0.0))
    listed = [
        references.Constraint(i, problem.delta(Y[i], y), psi[K * i + Y[i]] - psi[K * i + y])
        for i, y in pairs
        if y != Y[i]
    ]
    best = references.primal(formulation, C, listed, n)
    assert fit.primal == pytest.approx(best.value, rel=1e-5)
    np.testing.assert_allclose(
        fit.scorer.potentials(data[0] if rows != "list" else X).ravel(), psi @ best.w, atol=5e-3
    )


@pytest.mark.parametrize("solver", ["n_slack_a", "n_slack_b", "n_slack_cvxopt", "staged", "olarank"])
@pytest.mark.parametrize("shared", [False, True])
def test_every_solver_with_kernels_reaches_the_same_optimum(solver: str, shared: bool) -> None:
    X, Y = sample(40, 7, 1.5)
    problem = problems(True, 3)
    kernel = Product(RBF(0.4), L=LAMBDA @ LAMBDA.T if shared else None)
    chosen = FORMULATIONS["SVM1 margin"]
    best = registry.solver("n_slack").train(problem, (X, Y), chosen, Joint(kernel), C=30.0, **EXACT)
    options = {"passes": 200} if solver == "olarank" else {}
    fit = registry.solver(solver, **options).train(
        problem, (X, Y), chosen, Joint(kernel), C=30.0, eps=1e-6, gap_tol=1e-5
    )
    assert fit.relative_gap <= 1e-5
    assert fit.primal == pytest.approx(best.primal, rel=2e-5)
    assert fit.dual <= best.primal


def test_few_examples_at_a_time_lead_to_the_optimum_and_most_rows_are_never_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, Y = sample(300, 0, 0.4)
    settings: dict[str, Any] = {"C": 300.0, "eps": 1e-9, "gap_tol": 1e-7}
    kernel, chosen = Product(RBF(0.2)), FORMULATIONS["SVM1"]
    whole = registry.solver("n_slack").train(Multiclass(K, D), (X, Y), chosen, Joint(kernel), **settings)
    assert whole.state.store.rows_known == 300  # all are violated at w = 0
    monkeypatch.setattr(product_store, "MIN_NEW_ROWS", 8)
    fit = registry.solver("n_slack").train(Multiclass(K, D), (X, Y), chosen, Joint(kernel), **settings)
    assert fit.relative_gap <= 1e-7
    assert fit.primal == pytest.approx(whole.primal, rel=1e-6)
    assert len(fit.scorer.coef) <= fit.state.store.rows_known < 150


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_primal_and_dual_are_those_of_the_kernel_that_is_kept(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype is np.float32:
        monkeypatch.setattr(product_store, "DOUBLE_BYTES", 0)
    X, Y = sample(60, 1, 1.5)
    problem, C, L = problems(True, 2), 60.0, LAMBDA @ LAMBDA.T
    formulation = FORMULATIONS["SVM1 slack"]
    fit = registry.solver("n_slack").train(
        problem, (X, Y), formulation, Joint(Product(RBF(0.3), L=L)), C=C, eps=1e-9, gap_tol=1e-6
    )
    store = fit.state.store
    assert store.cuts.Kx.dtype == dtype
    kept = RBF(0.3)(X, X).astype(dtype).astype(float)
    beta, n = store.coefficients(fit.state.alpha), len(Y)
    F = kept @ beta @ L
    norm2 = float(np.sum(beta * F))
    losses = problem.losses()[Y]
    xi = np.max(losses * (1.0 - F[np.arange(n), Y][:, None] + F), axis=1)  # slack re-scaling, d (1 - margin)
    primal = 0.5 * norm2 + C / n * float(np.maximum(xi, 0.0).sum())
    dual = float(fit.state.alpha @ fit.state.b) - 0.5 * norm2
    assert fit.primal == pytest.approx(primal, rel=1e-12)
    assert fit.dual == pytest.approx(dual, rel=1e-12)
    assert fit.relative_gap <= 1e-6
    np.testing.assert_allclose(fit.scorer.potentials(X), F, atol=1e-12 if dtype is np.float64 else 1e-4)


def test_rows_are_computed_once_and_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_store, "BLOCK", 7)
    monkeypatch.setattr(product_store, "AHEAD", 4)
    X = np.random.default_rng(0).normal(size=(30, D))
    want, asked = RBF(0.5)(X, X), []

    def kx(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        asked.append(len(A) * len(B))
        return RBF(0.5)(A, B)

    rows = KernelRows(kx, X, 30)
    for examples, known in (([3, 3], 4), ([1, 2], 4), ([20, 5, 6], 7), ([7], 9), (list(range(30)), 30)):
        rows.compute(np.array(examples))
        assert rows.known == known
        assert sum(asked) == 30 * known
        there = np.flatnonzero(rows.place >= 0)
        assert len(there) == known and set(examples) <= set(there)
        np.testing.assert_allclose(rows.of(there), want[there], atol=1e-14)


def test_a_pickled_model_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_store, "MIN_NEW_ROWS", 8)
    X, Y = sample(300, 0, 0.4)
    solver, problem, chosen = NSlack(), Multiclass(K, D), FORMULATIONS["SVM1"]
    space = Joint(Product(RBF(0.2)))
    fit = solver.train(problem, (X, Y), chosen, space, C=300.0, eps=1e-9, gap_tol=1e-4)
    known = fit.state.store.rows_known
    pickled = pickle.dumps(fit.state.store._rows)
    assert 8 * 300 * known < len(pickled) < 8 * 300 * (known + 20)  # the rows that are known and no others
    ends = [
        solver.train(problem, (X, Y), chosen, space, C=3.0, eps=1e-9, gap_tol=1e-7, warm_start=former)
        for former in (pickle.loads(pickle.dumps(fit)), fit)
    ]
    assert ends[0].state.store.rows_known > known
    assert ends[0].relative_gap <= 1e-7
    assert ends[0].primal == ends[1].primal
    np.testing.assert_array_equal(ends[0].scorer.coef, ends[1].scorer.coef)


def test_too_large_a_kernel_matrix_is_refused_in_one_sentence() -> None:
    with pytest.raises(MemoryError, match=r"kernel matrix of 200000000 examples may need \d+ GB: train on"):
        KernelRows(RBF(), None, 200_000_000)


@pytest.mark.parametrize("rows", ["dense", "sparse", "list"])
def test_a_saved_model_holds_each_support_input_once(rows: str, tmp_path: Any) -> None:
    X, Y = sample(80, 4, 1.5)
    data = given_as(rows, X)
    kernel = Product(RBF(0.4), L=LAMBDA @ LAMBDA.T)
    model = StructuredSVM(problems(False, 1), kernel=kernel, C=80.0, gap_tol=1e-3, eps=1e-9).fit(data, Y)
    held = model.scorer_.X.shape[0] if rows != "list" else len(model.scorer_.X)
    support = np.unique(model.fit_.support.example)
    assert held == len(support) < 80
    assert model.fit_.n_active > held  # several cuts of an example share its input
    model.save(tmp_path / "model.npz")
    again = StructuredSVM.load(tmp_path / "model.npz")
    np.testing.assert_allclose(again.scorer_.potentials(X), model.scorer_.potentials(X), atol=0)
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    np.testing.assert_array_equal(model.predict(data), np.argmax(model.scorer_.potentials(X), axis=1))
    assert again.scorer_(X[5], 2) == pytest.approx(model.scorer_.potentials(X)[5, 2], abs=1e-12)


def test_a_matrix_of_classes_must_have_one_row_per_class() -> None:
    X, Y = sample(8, 0, 1.0)
    with pytest.raises(ValueError, match=r"L of the product kernel has shape \(3, 3\), but there are 4 cl"):
        StructuredSVM(Multiclass(K, D), kernel=Product(RBF(), L=np.eye(3))).fit(X, Y)


@pytest.mark.parametrize("kind", ["product", "gram"])
def test_a_cut_that_is_held_twice_counts_twice(kind: str) -> None:
    problem = Described(3, 2, Lambda=np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))
    X, Y = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([0, 2])
    example, ybar = np.array([0, 0, 1, 0]), np.array([1, 1, 0, 2])
    scale = np.array([1.0, 2.0, 0.5, 1.0])
    cut = Cutting(problem, X, Y, example, ybar, scale, np.ones(4))
    dual, alpha = dual_of(cut, "capped", kind), np.array([0.3, 0.2, 0.4, 0.1])
    set_alpha(dual, alpha)
    w = cut.A.T @ alpha
    assert dual.norm2 == pytest.approx(w @ w, rel=1e-12)
    want = [[references.dense(problem.psi(x, y)) @ w for y in range(3)] for x in X]
    np.testing.assert_allclose(dual.scorer().potentials(X), want, atol=1e-12)
    np.testing.assert_allclose(dual.store.model(alpha).potentials(X), want, atol=1e-12)


@pytest.mark.parametrize("formulation", ["SVM1 margin", "SVM2 slack", "SVM0"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_ascent_among_the_examples_with_cuts_moves_the_scores_of_all(
    formulation: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype is np.float32:
        monkeypatch.setattr(product_store, "DOUBLE_BYTES", 0)
    X, Y = sample(40, 3, 0.1 if formulation == "SVM0" else 1.0)
    problem, kernel = adapt(problems(True, 3)), Product(RBF(0.4))
    example = np.repeat(np.arange(0, 40, 4), K - 1)
    outputs = [y for i in example[:: K - 1] for y in range(K) if y != Y[i]]
    ones = np.ones(len(example))
    cuts = Cuts(example, outputs, ones, ones, ones, None, ones, 0.0 * ones)
    ends = []
    for least in (2, 10**9):  # narrow, and not
        monkeypatch.setattr(product_store, "MIN_NARROW", least)
        store = ProductStore(problem, kernel, X, Y)
        dual = Dual(store, 40, FORMULATIONS[formulation], 20.0)
        dual.add(cuts)
        assert (store.narrow(dual.block) is not None) == (least == 2)
        dual.ascend(1e-10)
        assert dual.relaxed_gap <= 1e-10
        scores, xi, value = store.scores(np.arange(40)), dual.xi.copy(), dual.value
        dual.refresh()
        np.testing.assert_allclose(store.scores(np.arange(40)), scores, atol=1e-9)
        np.testing.assert_allclose(dual.xi, xi, atol=1e-9)
        assert dual.value == pytest.approx(value, rel=1e-9)
        ends.append((value, scores))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-8)
    np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-4)


def test_a_rounded_kernel_is_no_mistake_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """At large C scores under the rounded kernel and under kx differ by more than a search may."""
    monkeypatch.setattr(product_store, "DOUBLE_BYTES", 0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(150, 2)), rng.integers(3, size=150)
    problem, kernel, C = Multiclass(3, 2), Product(RBF(0.5)), 150 * 1e4
    fit = registry.solver("n_slack").train(
        problem, (X, Y), FORMULATIONS["SVM1 margin"], Joint(kernel), C=C, gap_tol=0.1
    )
    store, alpha = fit.state.store, fit.state.alpha
    differences = np.abs(store.scores(np.arange(150)) - fit.scorer.potentials(X))
    allowed = store.rounding(alpha)
    assert 1e-6 < differences.max() and 2.0 * differences.max() <= allowed
    monkeypatch.setattr(ProductStore, "rounding", lambda store, alpha: 0.0)
    with pytest.raises(SearchError, match="its prediction, with a loss of 1, has H"):
        registry.solver("n_slack").train(
            problem, (X, Y), FORMULATIONS["SVM1 margin"], Joint(kernel), C=C, gap_tol=0.1
        )


def tilted(A: Any, B: Any) -> np.ndarray:
    """No kernel: positive on the diagonal, but larger elsewhere."""
    return np.tanh(3.0 * np.asarray(A) @ np.asarray(B).T + 1.0)


@pytest.mark.parametrize("wrapped", [lambda kernel: kernel, Unfactored], ids=["product", "gram"])
def test_kernels_that_are_none_are_named(wrapped: Any) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.integers(3, size=30)

    def train(kx: Any) -> None:
        space = Joint(wrapped(Product(kx)))
        registry.solver("n_slack").train(
            Multiclass(3, 2), (X, Y), FORMULATIONS["SVM1 margin"], space, C=100.0
        )

    with pytest.raises(SearchError, match=r"examples \d+ and \d+ a product .* not positive semi-definite"):
        train(tilted)
    with pytest.raises(ValueError, match=r"returned an array of shape .* for \d+ inputs and \d+ others, but"):
        train(lambda A, B: np.ones((len(A), 1)) * np.ones(len(B) + 1))
