"""The chain oracles against enumeration of all labellings, on integer scores so that ties occur."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from structmargin.formulation import FORMULATIONS
from structmargin.oracles.viterbi import Chains, best, best_folded, best_other
from structmargin.oracles.viterbi_by_distance import MAX_BOUNDS, best_by_loss, by_distance

thorough = settings(max_examples=150, deadline=None)


class Case(NamedTuple):
    """Packed sequences with a labelling y of each that is allowed."""

    chains: Chains
    y: np.ndarray
    L: int
    order: int

    @property
    def n(self) -> int:
        return len(self.chains.offsets) - 1

    def span(self, i: int) -> slice:
        return slice(self.chains.offsets[i], self.chains.offsets[i + 1])


class Listing(NamedTuple):
    """All labellings of one sequence, their states, scores and distances from y."""

    labels: np.ndarray  # (L^T, T)
    states: np.ndarray  # (L^T, T)
    scores: np.ndarray  # (L^T,)
    distance: np.ndarray  # (L^T,)


def enumerate_all(case: Case, i: int) -> Listing:
    """Straight from the definition of the score."""
    E, _, A, which = case.chains
    tokens = range(case.span(i).start, case.span(i).stop)
    T, L = len(tokens), case.L
    labels = np.array(list(np.ndindex(*[L] * T)))
    states = labels.copy()
    if case.order == 2:
        states[:, 1:] = labels[:, :-1] * L + labels[:, 1:]
    scores = np.zeros(len(labels))
    for t, token in enumerate(tokens):
        scores += E[token, states[:, t]]
        if t > 0:
            scores += A[which[token], states[:, t - 1], labels[:, t]]
    return Listing(labels, states, scores, np.sum(labels != case.y[case.span(i)], axis=1))


def first_of_equals(listing: Listing, values: np.ndarray) -> np.ndarray:
    """The maximiser whose states, read from the last to the first, are smallest."""
    equal = np.flatnonzero(values == values.max())
    return listing.labels[min(equal, key=lambda k: tuple(listing.states[k, ::-1]))]


@st.composite
def cases(draw: st.DrawFn, forbid: bool = True) -> Case:
    """One to three sequences of length 1 to 6, 2 to 4 labels; or of length 1 to 4 in a chain of order 2."""
    order = draw(st.sampled_from([1, 1, 2]))
    L = draw(st.integers(2, 4 if order == 1 else 3))
    lengths = draw(st.lists(st.integers(1, 6 if order == 1 else 4), min_size=1, max_size=3))
    N, S, K = sum(lengths), L**order, draw(st.integers(1, 3))
    numbers = st.sampled_from([0.0, 1.0, -1.0, 2.0, -2.0, 3.0] + [-np.inf] * forbid)
    E = draw(arrays(float, (N, S), elements=numbers))
    A = draw(arrays(float, (K, S, L), elements=numbers))
    which = draw(arrays(np.int64, N, elements=st.integers(0, K - 1)))
    y = draw(arrays(np.int64, N, elements=st.integers(0, L - 1)))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for lo, hi in pairwise(offsets):
        E[lo, L:] = -np.inf
        state = y[lo]
        for t in range(lo, hi):
            if t > lo:
                previous, state = state, (state * L + y[t]) % S
                A[which[t], previous, y[t]] = max(A[which[t], previous, y[t]], -2.0)
            E[t, state] = max(E[t, state], -2.0)
    return Case(Chains(E, offsets, A, which), y, L, order)


@thorough
@given(cases())
def test_best_is_the_first_of_the_best_labellings(case: Case) -> None:
    labels, scores = best(case.chains)
    for i in range(case.n):
        listing = enumerate_all(case, i)
        assert scores[i] == listing.scores.max()
        assert np.array_equal(labels[case.span(i)], first_of_equals(listing, listing.scores))


@thorough
@given(cases(), st.sampled_from([0.5, 1.0, 3.0]))
def test_best_folded_maximises_score_plus_distance(case: Case, lam: float) -> None:
    lams = lam * np.arange(1, case.n + 1)
    labels, values = best_folded(case.chains, case.y, lams)
    for i in range(case.n):
        listing = enumerate_all(case, i)
        folded = listing.scores + lams[i] * listing.distance
        assert values[i] == folded.max()
        assert np.array_equal(labels[case.span(i)], first_of_equals(listing, folded))


@thorough
@given(cases())
def test_best_other_is_the_best_labelling_but_y(case: Case) -> None:
    labels, scores = best_other(case.chains, case.y)
    for i in range(case.n):
        listing = enumerate_all(case, i)
        others = listing.scores[listing.distance > 0]
        assert scores[i] == others.max()
        found = np.all(listing.labels == labels[case.span(i)], axis=1)
        if others.max() == -np.inf:
            assert np.array_equal(labels[case.span(i)], case.y[case.span(i)])
        else:
            assert listing.scores[found] == scores[i]
            assert listing.distance[found] > 0


@thorough
@given(cases())
def test_the_two_best_by_asking_for_another_than_the_best(case: Case) -> None:
    labels, first = best(case.chains)
    second = best_other(case.chains, labels)[1]
    for i in range(case.n):
        ranked = np.sort(enumerate_all(case, i).scores)
        assert (first[i], second[i]) == (ranked[-1], ranked[-2])


@thorough
@given(cases())
def test_by_distance_has_the_best_labelling_at_each_distance(case: Case) -> None:
    scores, paths = by_distance(case.chains, case.y)
    for i in range(case.n):
        listing = enumerate_all(case, i)
        T = listing.labels.shape[1]
        for d in range(T + 1):
            at = listing.distance == d
            score, scores = scores[0], scores[1:]
            path, paths = paths[:T], paths[T:]
            assert score == listing.scores[at].max()
            if score > -np.inf:
                found = np.all(listing.labels == path, axis=1)
                assert listing.distance[found] == d
                assert listing.scores[found] == score
            else:
                assert np.array_equal(path, case.y[case.span(i)])
    assert len(scores) == len(paths) == 0


@pytest.mark.parametrize("name", FORMULATIONS)
@settings(max_examples=60, deadline=None)
@given(case=cases(), share=st.booleans(), rounds=st.sampled_from([0, 1, MAX_BOUNDS, 10]))
def test_best_by_loss_maximises_every_H(name: str, case: Case, share: bool, rounds: int) -> None:
    H = FORMULATIONS[name].H
    lengths = np.diff(case.chains.offsets)
    scale = 1.0 / lengths if share else np.ones(case.n)
    labels, losses, values = best_by_loss(case.chains, case.y, scale, H, rounds)
    for i in range(case.n):
        listing = enumerate_all(case, i)
        truth = listing.scores[listing.distance == 0][0]
        allowed = listing.scores > -np.inf
        every = np.asarray(H(scale[i] * listing.distance[allowed], truth - listing.scores[allowed]))
        found = np.all(listing.labels[allowed] == labels[case.span(i)], axis=1)
        assert values[i] == pytest.approx(every.max(), abs=1e-9)
        assert every[found] == pytest.approx(every.max(), abs=1e-9)
        assert losses[i] == pytest.approx(scale[i] * listing.distance[allowed][found][0])


@pytest.mark.parametrize("name", ["SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"])
@pytest.mark.parametrize("favour", [0.0, 0.3, 1.0, 4.0])
def test_bounds_on_the_distance_leave_no_winner_out(name: str, favour: float) -> None:
    """Longer sequences, with the truth ahead by `favour` a token, against the whole table by distance."""
    rng = np.random.default_rng(7)
    H, L, n = FORMULATIONS[name].H, 4, 30
    lengths = rng.integers(1, 25, size=n)
    N, offsets = lengths.sum(), np.concatenate([[0], np.cumsum(lengths)])
    y = rng.integers(L, size=N)
    E = rng.normal(scale=0.4, size=(N, L))
    E[np.arange(N), y] += favour
    chains = Chains(E, offsets, rng.normal(scale=0.4, size=(1, L, L)), np.zeros(N, dtype=np.int64))
    scores, _ = by_distance(chains, y)
    values = best_by_loss(chains, y, np.ones(n), H, MAX_BOUNDS)[2]
    for i, table in enumerate(np.split(scores, np.cumsum(lengths + 1)[:-1])):
        assert values[i] == pytest.approx(np.max(H(np.arange(lengths[i] + 1), table[0] - table)), abs=1e-9)


@thorough
@given(cases())
def test_sequences_packed_together_are_searched_as_if_alone(case: Case) -> None:
    H = FORMULATIONS["SVM2 slack"].H
    E, offsets, A, which = case.chains
    together = [
        best(case.chains)[0],
        best_other(case.chains, case.y)[0],
        best_by_loss(case.chains, case.y, np.ones(case.n), H, MAX_BOUNDS)[0],
    ]
    for i in range(case.n):
        part = case.span(i)
        one = Chains(E[part].copy(), offsets[i : i + 2] - offsets[i], A, which[part].copy())
        y = case.y[part].copy()
        alone = [best(one)[0], best_other(one, y)[0], best_by_loss(one, y, np.ones(1), H, MAX_BOUNDS)[0]]
        for labels, own in zip(together, alone):
            assert np.array_equal(labels[part], own)


def test_a_known_hidden_markov_model() -> None:
    """Healthy or feverish, seen as normal, cold, dizzy: the path H H F has probability 0.01512."""
    start = np.log([0.6, 0.4])
    step = np.log([[0.7, 0.3], [0.4, 0.6]])
    seen = np.log([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    E = np.ascontiguousarray(seen.T)
    E[0] += start
    chains = Chains(E, np.array([0, 3]), step[None], np.zeros(3, dtype=np.int64))
    labels, scores = best(chains)
    assert labels.tolist() == [0, 0, 1]
    assert np.exp(scores[0]) == pytest.approx(0.01512)


def test_the_only_labelling_is_returned_when_no_other_exists() -> None:
    chains = Chains(np.ones((3, 1)), np.array([0, 1, 3]), np.ones((1, 1, 1)), np.zeros(3, dtype=np.int64))
    y = np.zeros(3, dtype=np.int64)
    labels, scores = best_other(chains, y)
    assert labels.tolist() == [0, 0, 0]
    assert scores.tolist() == [-np.inf, -np.inf]
    labels, losses, values = best_by_loss(chains, y, np.ones(2), FORMULATIONS["SVM2 margin"].H, MAX_BOUNDS)
    assert labels.tolist() == [0, 0, 0]
    assert losses.tolist() == values.tolist() == [0.0, 0.0]
