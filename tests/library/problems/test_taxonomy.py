"""`Taxonomy`: partial orders, tree loss and Lambda against walks by hand; searches against enumeration."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from helpers import references
from structmargin import StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.problems import Multiclass, Taxonomy
from structmargin.problems.taxonomy.taxonomies import (
    climb,
    description_features,
    heights,
    node_features,
    similarity_features,
    tree_loss,
)
from structmargin.scorer import LinearScorer

IPC = {"D01D": "D01", "D01F": "D01", "D02G": "D02", "D01": "D", "D02": "D"}
LEAVES = ["D01D", "D01F", "D02G"]


@st.composite
def orders(draw: Any) -> tuple[dict[int, list[int]], list[int]]:
    """Nodes 0 .. m - 1 below a root 0; each has one parent (a tree) or up to three (a lattice)."""
    m, lattice = draw(st.integers(2, 9)), draw(st.booleans())
    parents = {
        node: sorted(draw(st.sets(st.integers(0, node - 1), min_size=1, max_size=3 if lattice else 1)))
        for node in range(1, m)
    }
    classes = draw(st.lists(st.integers(0, m - 1), min_size=2, max_size=m, unique=True))
    shuffled = draw(st.permutations(list(parents)))
    return {node: parents[node] for node in shuffled}, classes


def above(parents: dict[int, list[int]], node: int) -> set[int]:
    return {node}.union(*(above(parents, one) for one in parents.get(node, [])))


def height(parents: dict[int, list[int]], node: int) -> int:
    return max((1 + height(parents, child) for child, up in parents.items() if node in up), default=0)


@given(orders())
@settings(max_examples=100, deadline=None)
def test_orders_agree_with_a_walk_by_hand(case: Any) -> None:
    parents, classes = case
    assert climb(parents) == {node: above(parents, node) for node in {0, *parents}}
    assert heights(parents) == {node: height(parents, node) for node in {0, *parents}}
    losses = tree_loss(parents, classes)
    nodes, Lambda = node_features(parents, classes)
    for a, y in enumerate(classes):
        assert {nodes[k] for k in Lambda[a].indices} == above(parents, y)
        for b, other in enumerate(classes):
            common = above(parents, y) & above(parents, other)
            want = 0 if a == b else min(height(parents, node) for node in common)
            assert losses[a, b] == want
            assert (Lambda[a] @ Lambda[b].T).toarray()[0, 0] == len(common)


def test_the_papers_tree_loss_counts_levels() -> None:
    assert tree_loss(IPC, LEAVES).tolist() == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]


def test_nodes_may_have_weights() -> None:
    nodes, Lambda = node_features(IPC, LEAVES, beta={"D": 0.0, "D01": 4.0})
    products = (Lambda @ Lambda.T).toarray()
    assert products.tolist() == [[5, 4, 0], [4, 5, 0], [0, 0, 2]]
    assert len(nodes) == 6 and Lambda[:, nodes.index("D")].nnz == 0


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (lambda: tree_loss({"a": "b", "b": "c", "c": "a"}, ["a"]), "'a' below 'b' below 'c' below 'a'"),
        (lambda: tree_loss({"a": "a"}, ["a"]), "'a' below 'a'"),
        (lambda: tree_loss(IPC, ["D01D", "D03X"]), "class 'D03X' (number 1) is missing from the taxonomy"),
        (lambda: tree_loss(IPC, ["D01D", "D01D"]), "class 'D01D' (number 1) is there twice"),
        (lambda: tree_loss({"a": "r", "b": "s"}, ["a", "b"]), "'a' and 'b' have no common ancestor"),
        (lambda: node_features(IPC, LEAVES, {"D09": 1.0}), "'D09', which is no node"),
        (lambda: node_features(IPC, LEAVES, {"D01": -1.0}), "beta['D01'] is -1.0"),
        (lambda: description_features(["yarn", "1 2"]), "description of class 1 is empty"),
        (lambda: similarity_features(np.diag([1.0, -0.5, 2.0])), "eigenvalue -0.5"),
        (lambda: similarity_features(np.diag([1.0, -0.5, 2.0])), "largest at class 1"),
        (lambda: similarity_features([[1.0, 0.5], [0.2, 1.0]]), "L[0, 1] is 0.5 but L[1, 0] is 0.2"),
        (lambda: similarity_features([[1.0, np.nan], [np.nan, 1.0]]), "classes (0, 1) is NaN"),
        (lambda: similarity_features(np.ones((2, 3))), "shape (2, 3)"),
    ],
)
def test_what_is_wrong_is_named(call: Any, culprit: str) -> None:
    with pytest.raises(ValueError) as error:
        call()
    assert culprit in str(error.value)


@pytest.mark.parametrize(
    ("problem", "X", "Y", "culprit"),
    [
        (Taxonomy(2, 1, Lambda=np.eye(3)), np.ones((2, 1)), [0, 1], "Lambda has 3 rows"),
        (Taxonomy(2, 1, Lambda=[[1.0, 0.0], [0.0, 0.0]]), np.ones((2, 1)), [0, 1], "class 1 is empty"),
        (Taxonomy(2, 1, Lambda=[[1.0], [np.inf]]), np.ones((2, 1)), [0, 1], "infinite feature for class 1"),
        (Taxonomy(2, 1), np.ones((3, 1)), [0, 1], "X has 3 examples but Y has 2"),
        (Taxonomy(2, 1), sp.csr_matrix(np.ones((3, 1))), [0, 1], "X has 3 examples but Y has 2"),
        (Taxonomy(2, 2), np.ones((2, 1)), [0, 1], "X has 1 features"),
    ],
)
def test_data_that_do_not_fit_are_named(problem: Taxonomy, X: Any, Y: Any, culprit: str) -> None:
    with pytest.raises(ValueError) as error:
        problem.check(X, Y)
    assert culprit in str(error.value)


def test_a_similarity_comes_back_from_its_features() -> None:
    A = np.random.default_rng(0).normal(size=(5, 3))
    Lambda = similarity_features(A @ A.T)
    assert Lambda.shape == (5, 3)
    np.testing.assert_allclose(Lambda @ Lambda.T, A @ A.T, atol=1e-12)


def test_descriptions_share_words() -> None:
    L = description_features(["spinning of yarn", "weaving of yarn", "paper machines"])
    products = (L @ L.T).toarray()
    np.testing.assert_allclose(np.diag(products), 1.0)
    assert products[0, 1] > 0 and products[0, 2] == products[1, 2] == 0


@st.composite
def situations(draw: Any) -> tuple[Taxonomy, np.ndarray, np.ndarray, np.ndarray]:
    parents, classes = draw(orders())
    n, D, K = draw(st.integers(1, 5)), draw(st.integers(1, 3)), len(classes)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    Lambda = draw(st.sampled_from(["nodes", "dense", "none"]))
    maps = {"nodes": node_features(parents, classes)[1], "dense": rng.integers(-2, 3, (K, 3)), "none": None}
    loss = tree_loss(parents, classes) if draw(st.booleans()) else None
    problem = Taxonomy(K, D, loss=loss, Lambda=maps[Lambda])
    w = rng.integers(-3, 4, size=problem.n_weights) / 2.0
    return problem, rng.integers(-2, 3, size=(n, D)).astype(float), rng.integers(K, size=n), w


def by_hand(problem: Taxonomy, x: np.ndarray, y: int) -> np.ndarray:
    Lambda = np.eye(problem.n_classes) if problem.Lambda is None else problem.Lambda
    Lambda = Lambda.toarray() if sp.issparse(Lambda) else np.asarray(Lambda)
    return np.kron(x, Lambda[y])


@pytest.mark.parametrize("name", FORMULATIONS)
@given(case=situations())
@settings(max_examples=25, deadline=None)
def test_searches_agree_with_enumeration(name: str, case: Any) -> None:
    problem, X, Y, w = case
    H, f = FORMULATIONS[name].H, LinearScorer(problem, w)
    scores = np.array([[by_hand(problem, x, c) @ w for c in range(problem.n_classes)] for x in X])
    values = np.array(
        [
            [H(problem.delta(y, c), row[y] - row[c]) for c in range(problem.n_classes)]
            for y, row in zip(Y, scores, strict=True)
        ]
    )
    for rows in (X, sp.csr_matrix(X)):
        batch = problem.batch(rows, Y)
        np.testing.assert_allclose(np.atleast_2d(f.potentials(rows)), scores, atol=1e-12)
        for i, y in enumerate(Y):
            psi = references.dense(problem.psi(rows[i], y))
            np.testing.assert_allclose(psi, by_hand(problem, X[i], y))
            assert values[i, problem.augmented_argmax(f, rows[i], y, H)] == pytest.approx(values[i].max())
            assert scores[i, problem.argmax(f, rows[i])] == pytest.approx(scores[i].max())
            for c in range(problem.n_classes):
                apart = by_hand(problem, X[i], y) - by_hand(problem, X[i], c)
                assert np.linalg.norm(apart) <= problem.radius(X[i]) + 1e-9
        found = batch.search(f, np.arange(len(Y)), H)
        np.testing.assert_allclose(found.H, values.max(axis=1), atol=1e-12)
        dense = batch.rows(found.example, found.outputs).toarray()
        for i, (ybar, row) in enumerate(zip(found.outputs, dense, strict=True)):
            np.testing.assert_allclose(row, by_hand(problem, X[i], Y[i]) - by_hand(problem, X[i], ybar))


RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(24, 4)), RNG.integers(3, size=24)
LAMBDA = node_features(IPC, LEAVES)[1]


@pytest.mark.parametrize("name", ["SVM1", "SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"])
def test_the_optimum_is_that_of_all_constraints_and_of_the_joint_kernel(name: str) -> None:
    """Proposition 21: K(x, x') L(y, y') is the inner product of the explicit features."""
    problem = Taxonomy(3, 4, loss=tree_loss(IPC, LEAVES), Lambda=LAMBDA)
    options = {"C": 5.0, "eps": 1e-8, "gap_tol": 1e-8}
    explicit = StructuredSVM(problem, name, **options).fit(X, Y)
    kernel = StructuredSVM(problem, name, kernel=Product(LinearKernel(), L=problem.L), **options).fit(X, Y)
    assert kernel.fit_.primal == pytest.approx(explicit.fit_.primal, rel=1e-6)
    for solver in ("bcfw", "one_slack") if name.startswith("SVM1") else ():
        other = StructuredSVM(problem, name, solver, **{**options, "gap_tol": 1e-5}).fit(X, Y)
        assert other.fit_.primal == pytest.approx(explicit.fit_.primal, rel=1e-4), solver
    # no constraint of any class is violated by more than the slacks that were paid for
    H, W = FORMULATIONS[name].H, explicit.w_.reshape(4, -1)
    scores = X @ W @ LAMBDA.toarray().T
    margins = scores[np.arange(24), Y][:, None] - scores
    xi = np.maximum(H(problem.losses()[Y], margins).max(axis=1), 0.0)
    primal = 0.5 * explicit.w_ @ explicit.w_ + FORMULATIONS[name].price(xi, 5.0, 24)
    assert primal == pytest.approx(explicit.fit_.primal, rel=1e-9)
    assert explicit.fit_.dual == pytest.approx(primal, rel=1e-6)


def test_without_features_of_its_own_it_is_multiclass() -> None:
    for name in FORMULATIONS:
        if name == "SVM0":
            continue
        fits = [
            StructuredSVM(kind(3, 4), name, C=3.0, gap_tol=1e-7, eps=1e-7).fit(X, Y)
            for kind in (Multiclass, Taxonomy)
        ]
        assert fits[0].fit_.primal == pytest.approx(fits[1].fit_.primal, rel=1e-6), name
        np.testing.assert_allclose(fits[0].w_, fits[1].w_, atol=1e-3)


def test_sparse_and_dense_inputs_train_alike_and_a_stored_model_predicts_alike() -> None:
    problem = Taxonomy(3, 4, loss=tree_loss(IPC, LEAVES), Lambda=LAMBDA)
    dense = StructuredSVM(problem, "SVM1 slack", C=5.0, gap_tol=1e-6).fit(X, Y)
    sparse = StructuredSVM(problem, "SVM1 slack", C=5.0, gap_tol=1e-6).fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(dense.w_, sparse.w_, atol=1e-8)
    again = StructuredSVM.from_arrays(sparse.to_arrays())
    support = again.fit_.support
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, sparse.w_, atol=1e-9)
    assert np.array_equal(dense.predict(X), again.predict(sp.csr_matrix(X)))
    assert again.problem_.Lambda.toarray().tolist() == LAMBDA.toarray().tolist()
