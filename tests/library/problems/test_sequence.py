"""`Sequence`: Psi by its definition, every search against enumeration, batches against single examples."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from structmargin.formulation import FORMULATIONS
from structmargin.problems.sequence import batch as sequence_batch
from structmargin.problems.sequence.problem import LOSSES, Sequence
from structmargin.scorer import LinearScorer

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "eta": {"eta": 0.5},
    "no transitions": {"eta": 0.0},
    "window": {"window": 1},
    "triplets": {"triplets": True, "eta": 2.0},
    "input transitions": {"input_transitions": True},
    "everything": {"window": 1, "triplets": True, "input_transitions": True, "eta": 0.5},
    "masks": {
        "allowed": [[True, True, False], [True, True, True], [False, True, True]],
        "first": [True, True, False],
        "final": [False, True, True],
    },
    "masked triplets": {
        "triplets": True,
        "input_transitions": True,
        "allowed": [[True, True, False], [True, False, True], [True, True, True]],
        "first": [True, True, False],
    },
}
L, D = 3, 2


def features(problem: Sequence, x: np.ndarray, t: int) -> np.ndarray:
    """phi(x_t): the rows t - r .. t + r of x side by side, zeros beyond its ends."""
    r = problem.window
    rows = [x[s] if 0 <= s < len(x) else np.zeros(x.shape[1]) for s in range(t - r, t + r + 1)]
    return np.concatenate(rows)


def psi_by_definition(problem: Sequence, x: np.ndarray, y: tuple[int, ...]) -> np.ndarray:
    """Equation (13) and its extensions, tensor by tensor."""
    e = np.eye(problem.n_labels)
    phi = [features(problem, x, t) for t in range(len(y))]
    T = range(len(y))
    none = np.zeros(problem.n_labels)
    blocks = [
        sum(np.multiply.outer(phi[t], e[y[t]]) for t in T),
        problem.eta * sum((np.multiply.outer(e[y[t]], e[y[t + 1]]) for t in T[:-1]), np.outer(none, none)),
    ]
    if problem.input_transitions:
        empty = np.multiply.outer(np.zeros_like(phi[0]), np.outer(none, none))
        pairs = (np.multiply.outer(np.multiply.outer(phi[t], e[y[t]]), e[y[t + 1]]) for t in T[:-1])
        blocks.append(sum(pairs, empty))
    if problem.triplets:
        triplets = (np.multiply.outer(np.multiply.outer(e[y[t]], e[y[t + 1]]), e[y[t + 2]]) for t in T[:-2])
        blocks.append(problem.eta * sum(triplets, np.multiply.outer(none, np.outer(none, none))))
    return np.concatenate([np.ravel(block) for block in blocks])


def outputs(problem: Sequence, T: int) -> list[tuple[int, ...]]:
    """Every labelling the masks allow."""
    kept = []
    for y in product(range(problem.n_labels), repeat=T):
        steps = problem.allowed is None or all(problem.allowed[a][b] for a, b in pairwise(y))
        begins = problem.first is None or problem.first[y[0]]
        ends = problem.final is None or problem.final[y[-1]]
        if steps and begins and ends:
            kept.append(y)
    return kept


def wrong_labels(loss: str, y: tuple[int, ...], ybar: tuple[int, ...]) -> float:
    count = sum(a != b for a, b in zip(y, ybar))
    return {"hamming": float(count), "hamming_normalised": count / len(y), "zero_one": float(count > 0)}[loss]


@st.composite
def data(draw: st.DrawFn, problem: Sequence) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Up to three sequences of length 1 to 4 with integer features, allowed labels, and integer weights."""
    small = st.sampled_from([0.0, 1.0, -1.0, 2.0])
    X, Y = [], []
    for T in draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)):
        X.append(draw(arrays(float, (T, D), elements=small)))
        Y.append(np.array(draw(st.sampled_from(outputs(problem, T)))))
    seed = draw(st.integers(0, 2**16))
    w = np.random.default_rng(seed).integers(-2, 3, size=problem.n_weights).astype(float)
    return X, Y, w


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@settings(max_examples=25, deadline=None)
@given(drawn=st.data())
def test_psi_and_potentials_follow_the_definition(options: dict[str, Any], drawn: st.DataObject) -> None:
    problem = Sequence(L, D, **options)
    X, Y, w = drawn.draw(data(problem))
    for x, y in zip(X, Y):
        expected = psi_by_definition(problem, x, tuple(y))
        row = problem.psi(x, y)
        assert row.shape == (1, problem.n_weights)
        assert np.array_equal(row.toarray()[0], expected)
        E, A, triplets = problem.potentials(w, x)
        T = len(y)
        score = sum(E[t, y[t]] for t in range(T))
        score += sum((A[t] if A.ndim == 3 else A)[y[t], y[t + 1]] for t in range(T - 1))
        if triplets is not None:
            score += sum(triplets[y[t], y[t + 1], y[t + 2]] for t in range(T - 2))
        assert score == pytest.approx(w @ expected)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@settings(max_examples=25, deadline=None)
@given(drawn=st.data())
def test_argmax_is_the_best_of_all_outputs(options: dict[str, Any], drawn: st.DataObject) -> None:
    problem = Sequence(L, D, **options)
    X, _, w = drawn.draw(data(problem))
    f = LinearScorer(problem, w)
    together = problem.batch(X, None).argmax(f)
    for x, yhat in zip(X, together):
        scores = {y: w @ psi_by_definition(problem, x, y) for y in outputs(problem, len(x))}
        assert scores[tuple(yhat)] == pytest.approx(max(scores.values()))
        assert np.array_equal(yhat, problem.argmax(f, x))


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=25, deadline=None)
@given(drawn=st.data())
def test_augmented_argmax_maximises_H_over_all_outputs(name: str, loss: str, drawn: st.DataObject) -> None:
    options = drawn.draw(st.sampled_from(list(OPTIONS.values())))
    problem, H = Sequence(L, D, loss=loss, **options), FORMULATIONS[name].H
    X, Y, w = drawn.draw(data(problem))
    f = LinearScorer(problem, w)
    heavy = drawn.draw(st.booleans()) and not problem.input_transitions
    with pytest.MonkeyPatch.context() as patched:
        if heavy:
            patched.setattr(sequence_batch, "MIN_PART_ENTRIES", 0)
        batch = problem.batch(X, Y)
    found = batch.search(f, np.arange(len(X)), H)
    made = batch.rows(found.example, found.outputs)
    assert (found.rows is None) == heavy
    assert heavy or np.array_equal(found.rows.toarray(), made.toarray())
    for i, (x, y) in enumerate(zip(X, Y)):
        truth = psi_by_definition(problem, x, tuple(y))
        values, losses, rows = {}, {}, {}
        for ybar in outputs(problem, len(x)):
            rows[ybar] = truth - psi_by_definition(problem, x, ybar)
            losses[ybar] = wrong_labels(loss, tuple(y), ybar)
            values[ybar] = float(H(losses[ybar], w @ rows[ybar]))
        # A search may leave out the truth, whose H is 0: the answer counts from 0 on.
        largest = max(values.values())
        single = tuple(problem.augmented_argmax(f, x, y, H))
        batched = tuple(found.outputs[i])
        assert max(values[single], 0.0) == pytest.approx(largest, abs=1e-9)
        assert max(values[batched], 0.0) == pytest.approx(largest, abs=1e-9)
        assert found.losses[i] == pytest.approx(losses[batched])
        assert problem.delta(y, np.array(batched)) == pytest.approx(losses[batched])
        assert found.H[i] == pytest.approx(values[batched], abs=1e-9)
        assert np.array_equal(made[[i]].toarray()[0], rows[batched])
        start, end = made.indptr[i : i + 2]
        columns = made.indices[start:end]
        assert len(set(columns)) == len(columns)
        assert np.all(made.data[start:end] != 0.0)


@pytest.mark.parametrize("name", FORMULATIONS)
def test_hard_margins_see_the_smallest_gap_among_wrong_outputs(name: str) -> None:
    """Where loss sizes do not count, the search never answers with the truth: its margin is asked for."""
    problem, H = Sequence(L, D), FORMULATIONS[name].H
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1])
    w = np.zeros(problem.n_weights)
    w[[0, D * L - 2]] = 5.0
    ybar = problem.augmented_argmax(LinearScorer(problem, w), x, y, H)
    assert (problem.delta(y, ybar) > 0) == (H.power == 0.0)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("share", [0.1, 0.9], ids=["few features", "many features"])
def test_sparse_and_dense_tokens_and_any_subset_give_the_same_search(
    options: dict[str, Any], share: float
) -> None:
    """Whole numbers, so that sums in another order are equal to the bit."""
    rng = np.random.default_rng(3)
    problem = Sequence(3, 12, **options)
    lengths = rng.integers(1, 8, size=20)
    X = [rng.integers(1, 4, size=(T, 12)) * (rng.random((T, 12)) < share) for T in lengths]
    Y = [np.array(outputs(problem, T)[0]) for T in lengths]
    w = rng.integers(-3, 4, size=problem.n_weights).astype(float)
    f, H = LinearScorer(problem, w), FORMULATIONS["SVM2 slack"].H
    dense, sparse = problem.batch(X, Y), problem.batch([sp.csr_matrix(x) for x in X], Y)
    whole = dense.search(f, np.arange(20), H)
    some = np.array([17, 2, 3, 11])
    other = sparse.search(f, some, H)
    for k, i in enumerate(some):
        assert np.array_equal(whole.outputs[i], other.outputs[k])
        assert np.array_equal(whole.outputs[i], problem.augmented_argmax(f, sp.csr_array(X[i]), Y[i], H))
    assert np.array_equal(whole.losses[some], other.losses)
    assert np.array_equal(whole.H[some], other.H)
    rows = dense.rows(whole.example, whole.outputs)
    assert np.array_equal(rows[some].toarray(), sparse.rows(other.example, other.outputs).toarray())


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_scorer_that_knows_only_potentials_finds_the_same_outputs(options: dict[str, Any]) -> None:
    class Potentials:
        w = None

        def __init__(self, problem: Sequence, w: np.ndarray) -> None:
            self.explicit = LinearScorer(problem, w)

        def __call__(self, x: Any, y: Any) -> float:
            return self.explicit(x, y)

        def potentials(self, x: Any) -> tuple[Any, ...]:
            full = tuple(self.explicit.potentials(x))
            return full if full[2] is not None else full[:2]

    rng = np.random.default_rng(5)
    problem = Sequence(L, D, **options)
    X = [rng.normal(size=(T, D)) for T in (3, 1, 5)]
    Y = [np.array(outputs(problem, len(x))[-1]) for x in X]
    w = rng.normal(size=problem.n_weights)
    batch, H = problem.batch(X, Y), FORMULATIONS["SVM2 margin"].H
    explicit = batch.search(LinearScorer(problem, w), np.array([2, 0]), H)
    kernel = batch.search(Potentials(problem, w), np.array([2, 0]), H)
    assert kernel.rows is None
    assert np.array_equal(kernel.losses, explicit.losses)
    assert all(np.array_equal(a, b) for a, b in zip(kernel.outputs, explicit.outputs))
    for a, b in zip(batch.argmax(Potentials(problem, w)), batch.argmax(LinearScorer(problem, w))):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_radius_and_max_delta_bound_all_pairs(options: dict[str, Any], loss: str) -> None:
    rng = np.random.default_rng(1)
    problem = Sequence(L, D, loss=loss, **options)
    for T in (1, 2, 4):
        x = rng.normal(size=(T, D))
        labellings = outputs(problem, T)
        rows = np.array([psi_by_definition(problem, x, y) for y in labellings])
        apart = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2)).max()
        assert apart <= problem.radius(x) + 1e-12
        y = np.array(labellings[0])
        assert max(wrong_labels(loss, tuple(y), ybar) for ybar in labellings) <= problem.max_delta(y)


@pytest.mark.parametrize("triplets", [False, True])
@pytest.mark.parametrize("inputs", [False, True])
def test_radius_is_attained_by_two_constant_labellings_of_equal_tokens(triplets: bool, inputs: bool) -> None:
    """Features of mixed sign: the factor 2 of Proposition 25 is enough, and can be needed."""
    problem = Sequence(2, 2, eta=0.7, triplets=triplets, input_transitions=inputs)
    x = np.tile([1.0, -2.0], (4, 1))
    difference = problem.psi(x, np.zeros(4, dtype=int)) - problem.psi(x, np.ones(4, dtype=int))
    assert np.sqrt(difference.multiply(difference).sum()) == pytest.approx(problem.radius(x))
    assert problem.radius(x) <= np.sqrt(2 * 4**2 * (5 * (1 + inputs) + 0.7**2 * (1 + triplets)))
    assert Sequence(1, 2).radius(x) == 0.0


def test_no_inputs_have_no_outputs() -> None:
    problem = Sequence(L, D)
    assert problem.batch([], None).argmax(LinearScorer(problem, np.zeros(problem.n_weights))) == []


def test_parameters_can_be_read_and_changed() -> None:
    problem = Sequence(L, D, eta=0.5, allowed=[[True] * L] * L)
    changed = problem.with_params(eta=0.25, triplets=True)
    assert changed.get_params() == {**problem.get_params(), "eta": 0.25, "triplets": True}
    assert changed.n_weights == problem.n_weights + L**3
    y = np.array([0, 1, 0])
    assert changed.psi(np.zeros((3, D)), y).toarray().sum() == pytest.approx(0.25 * 3)
