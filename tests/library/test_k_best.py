"""The k best outputs against a sorted list of all, and what both estimators make of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from helpers.toy_chain import ToyChain, chains
from structmargin import JKSE, StructuredSVM
from structmargin.adapted import adapt
from structmargin.kernels import RBF, LinearKernel, Product
from structmargin.problems import Alignment, Grammar, Multiclass, Sequence, Taxonomy
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.scorer import KernelScorer, LinearScorer

LAMBDA = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, -1.0]])
CLASSES = {"Multiclass": Multiclass(4, 3), "Taxonomy": Taxonomy(4, 3, Lambda=LAMBDA)}
MASKS = {
    "allowed": [[0, 1, 1], [1, 1, 0], [1, 1, 1]],
    "first": [True, False, True],
    "final": [True, True, False],
}
SEQUENCES: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": 1, "eta": 0.5},
    "triplets": {"triplets": True},
    "input transitions": {"input_transitions": True},
    "masks": MASKS,
    "everything": {"window": 1, "triplets": True, "input_transitions": True, "eta": 2.0, **MASKS},
}


def sorted_scores(f: Any, x: Any, outputs: Any) -> list[float]:
    return sorted((f(x, np.array(y)) for y in outputs), reverse=True)


def labellings(problem: Sequence, T: int) -> list[tuple[int, ...]]:
    every = product(range(problem.n_labels), repeat=T)
    return [y for y in every if not problem.masks.forbid(np.array(y))]


def check(found: list[tuple[float, Any]], f: Any, x: Any, outputs: list[Any], k: int) -> None:
    """k different outputs with their own scores, which are the k largest."""
    answers = [tuple(np.atleast_1d(y).tolist()) for _, y in found]
    assert len(set(answers)) == len(answers) == min(k, len(outputs))
    assert set(answers) <= {tuple(np.atleast_1d(y).tolist()) for y in outputs}
    scores = [score for score, _ in found]
    np.testing.assert_allclose(scores, sorted_scores(f, x, outputs)[:k], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores, [f(x, y) for _, y in found], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_classes(name: str, sparse: bool) -> None:
    problem, rng = CLASSES[name], np.random.default_rng(0)
    for k in range(1, 7):
        f = LinearScorer(problem, rng.normal(size=problem.n_weights))
        x = rng.normal(size=3)
        given_x = sp.csr_matrix(x) if sparse else x
        check(problem.k_best(f, given_x, k), f, x, list(range(4)), k)
        assert problem.k_best(f, given_x, k)[0][1] == problem.argmax(f, given_x)


def test_equal_classes_come_in_order() -> None:
    problem = Multiclass(4, 1)
    f = LinearScorer(problem, np.array([1.0, 2.0, 1.0, 2.0]))
    assert problem.k_best(f, np.array([1.0]), 3) == [(2.0, 1), (2.0, 3), (1.0, 0)]


@pytest.mark.parametrize("name", SEQUENCES)
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), whole=st.booleans(), T=st.integers(1, 4))
def test_sequences(name: str, seed: int, whole: bool, T: int) -> None:
    problem, rng = Sequence(3, 2, **SEQUENCES[name]), np.random.default_rng(seed)
    w = rng.integers(-1, 2, problem.n_weights) * 1.0 if whole else rng.normal(size=problem.n_weights)
    f, x = LinearScorer(problem, w), rng.integers(-2, 3, size=(T, 2)).astype(float)
    outputs = labellings(problem, T)
    for k in (1, 2, 5, len(outputs), len(outputs) + 7):
        found = problem.k_best(f, x, k)
        check(found, f, x, outputs, k)
        assert found[0][1].tolist() == problem.argmax(f, x).tolist()
    assert [y.tolist() for _, y in problem.k_best(f, sp.csr_matrix(x), 5)] == [
        y.tolist() for _, y in problem.k_best(f, x, 5)
    ]


def test_under_joint_kernels() -> None:
    rng = np.random.default_rng(1)
    problem, coef = Sequence(3, 2), rng.normal(size=4)
    X, Y = [rng.normal(size=(T, 2)) for T in (1, 2, 3, 3)], [rng.integers(3, size=T) for T in (1, 2, 3, 3)]
    f = KernelScorer(problem, SequenceKernel(RBF(0.5), T=1), X, Y, coef)
    for x in X:
        check(problem.k_best(f, x, 8), f, x, labellings(problem, len(x)), 8)
        assert problem.k_best(f, x, 1)[0][1].tolist() == problem.argmax(f, x).tolist()
    points, classes = rng.normal(size=(4, 3)), np.array([0, 1, 2, 3])
    for some in CLASSES.values():
        kernel = Product(RBF(0.5), L=getattr(some, "L", np.eye(4)))
        g = KernelScorer(some, kernel, points, classes, coef)
        check(some.k_best(g, points[1], 3), g, points[1], list(range(4)), 3)


def test_lengths_that_cannot_be_and_masks_that_let_nothing_through() -> None:
    problem = Sequence(2, 2)
    f = LinearScorer(problem, np.zeros(problem.n_weights))
    with pytest.raises(ValueError, match="sequence 0 has no tokens"):
        problem.k_best(f, np.zeros((0, 2)), 3)
    shut = Sequence(2, 2, allowed=np.zeros((2, 2), dtype=bool))
    with pytest.raises(ValueError, match="no labelling of sequence 0 has a finite score"):
        shut.k_best(f, np.zeros((2, 2)), 3)
    assert [y.tolist() for _, y in shut.k_best(f, np.zeros((1, 2)), 3)] == [[0], [1]]


def test_a_long_sequence_has_more_labellings_than_an_integer_holds() -> None:
    problem = Sequence(np.int64(3), 2)
    f = LinearScorer(problem, np.arange(problem.n_weights) * 1.0)
    assert problem.k_best(f, np.ones((90, 2)), 2)[0][1].tolist() == [2] * 90


X_POINTS = np.array([[2.0, 0.1], [1.5, 0.2], [0.1, 1.8], [0.3, 2.2], [-1.9, -2.0], [-2.1, -1.7]])
Y_POINTS = np.array([0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(
    "model",
    [
        StructuredSVM(Multiclass(3, 2), C=10.0),
        StructuredSVM(Multiclass(3, 2), C=10.0, kernel=Product(RBF(0.5), L=np.eye(3))),
        JKSE(Multiclass(3, 2), nu=0.5),
        JKSE(Multiclass(3, 2), kernel=Product(RBF(0.5), L=np.eye(3)), nu=0.5),
    ],
    ids=["svm", "svm with a kernel", "jkse", "jkse with a kernel"],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_matrix, np.ndarray.tolist])
def test_estimators_of_classes(model: Any, form: Any) -> None:
    if form is not np.asarray and model.kernel is not None:
        form = np.asarray
    model.fit(X_POINTS, Y_POINTS)
    outputs = model.k_best(form(X_POINTS), 2)
    f, yhat = model.scorer_, model.predict(form(X_POINTS))
    decision = model.decision_function(form(X_POINTS))
    assert decision.shape == (6, 2)
    for x, y, found, row in zip(X_POINTS, yhat, outputs, decision, strict=True):
        scores = sorted_scores(f, x, range(3))
        assert found[0][1] == y and len(found) == 2
        np.testing.assert_allclose([score for score, _ in found], scores[:2], atol=1e-12)
        np.testing.assert_allclose(row, [scores[0], scores[0] - scores[1]], atol=1e-12)


def test_estimators_of_sequences() -> None:
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(T, 2)) for T in (1, 3, 2)]
    Y = [np.array([int(row[0] > 0) for row in x]) for x in X]
    model = StructuredSVM(Sequence(2, 2), C=10.0).fit(X, Y)
    assert [len(found) for found in model.k_best(X, 3)] == [2, 3, 3]
    for x, found, row in zip(X, model.k_best(X, 99), model.decision_function(X), strict=True):
        scores = sorted_scores(model.scorer_, x, product(range(2), repeat=len(x)))
        np.testing.assert_allclose([score for score, _ in found], scores, atol=1e-12)
        np.testing.assert_allclose(row, [scores[0], scores[0] - scores[1]], atol=1e-12)


def test_one_output_only_has_an_infinite_margin() -> None:
    model = JKSE(Multiclass(1, 2), kernel=Product(LinearKernel(), L=np.eye(1))).fit(X_POINTS[:4], [0] * 4)
    decision = model.decision_function(X_POINTS[:2])
    np.testing.assert_allclose(decision[:, 0], [model.scorer_(x, 0) for x in X_POINTS[:2]])
    assert decision[:, 1].tolist() == [np.inf, np.inf]
    with pytest.raises(ValueError, match="X is empty"):
        model.decision_function(X_POINTS[:0])


class Named(Multiclass):
    """Classes with names outside."""

    def wrap(self, X: Any, Y: Any) -> tuple[Any, Any]:
        return np.asarray(X), None if Y is None else np.array(["abc".index(y) for y in Y])

    def unwrap(self, Y: Any) -> list[str]:
        return ["abc"[y] for y in Y]


def test_outputs_come_as_predict_gives_them() -> None:
    model = StructuredSVM(Named(3, 2), C=10.0).fit(X_POINTS, list("aabbcc"))
    assert model.predict(X_POINTS) == [found[0][1] for found in model.k_best(X_POINTS, 3)]
    assert all(sorted(y for _, y in found) == ["a", "b", "c"] for found in model.k_best(X_POINTS, 3))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "2", None])
def test_a_k_that_is_no_number_of_outputs(k: Any) -> None:
    model = StructuredSVM(Multiclass(3, 2)).fit(X_POINTS, Y_POINTS)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, but it is"):
        model.k_best(X_POINTS, k)


def test_problems_without_the_search_say_so() -> None:
    X, Y = chains(4)
    model = StructuredSVM(ToyChain()).fit(X, Y)
    for call in (lambda: model.k_best(X, 2), lambda: model.decision_function(X)):
        with pytest.raises(TypeError, match="ToyChain has no search for more than the best"):
            call()
    assert adapt(Grammar()).k_best is None and adapt(Alignment()).k_best is None
