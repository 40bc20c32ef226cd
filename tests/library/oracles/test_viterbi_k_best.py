"""The k best labellings against a sorted list of all, on integer scores so that ties occur."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from structmargin.oracles.viterbi import Chains, best
from structmargin.oracles.viterbi_k_best import k_best


def listed(chains: Chains, order: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every labelling with a score above -inf, straight from the definition; ties by states from the end."""
    E, _, A, which = chains
    (T, _), L = E.shape, A.shape[2]
    everything = []
    for y in np.ndindex(*[L] * T):
        states = [y[t - 1] * L + y[t] if order == 2 and t else y[t] for t in range(T)]
        score = sum(E[t, states[t]] for t in range(T))
        score += sum(A[which[t], states[t - 1], y[t]] for t in range(1, T))
        if score > -np.inf:
            everything.append((-score, states[::-1], y))
    return [(-negative, y) for negative, _, y in sorted(everything)]


@st.composite
def sequences(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[Chains, int]:
    """One sequence of length 1 to 5 with 1 to 4 labels, or of length 1 to 4 in a chain of order 2."""
    order = draw(st.sampled_from([1, 1, 2]))
    L = draw(st.integers(1, 4 if order == 1 else 3))
    T = draw(st.integers(1, 5 if order == 1 else 4))
    K = draw(st.integers(1, 3))
    E = draw(arrays(float, (T, L**order), elements=numbers))
    E[0, L:] = -np.inf
    A = draw(arrays(float, (K, L**order, L), elements=numbers))
    which = draw(arrays(np.int64, T, elements=st.integers(0, K - 1)))
    return Chains(E, np.array([0, T]), A, which), order


whole = st.sampled_from([0.0, 1.0, -1.0, 2.0, -2.0, -np.inf])
quarters = st.integers(-4000, 4000).map(lambda number: number / 4.0)


@settings(max_examples=200)
@given(sequences(whole), st.integers(1, 12))
def test_ties_and_forbidden_labels(case: tuple[Chains, int], k: int) -> None:
    chains, order = case
    labels, scores = k_best(chains, k)
    found = [(score, tuple(y)) for score, y in zip(scores.tolist(), labels.tolist(), strict=True)]
    assert found == listed(chains, order)[:k]


@settings(max_examples=60)
@given(sequences(quarters))
def test_every_k_up_to_all_labellings_and_beyond(case: tuple[Chains, int]) -> None:
    chains, order = case
    everything = listed(chains, order)
    for k in {1, 2, 3, len(everything) // 2 + 1, len(everything) - 1, len(everything), len(everything) + 3}:
        if k > 0:
            labels, scores = k_best(chains, k)
            assert [tuple(y) for y in labels.tolist()] == [y for _, y in everything[:k]]
            assert scores.tolist() == [score for score, _ in everything[:k]]


@settings(max_examples=100)
@given(sequences(st.floats(-3, 3)))
def test_the_first_is_the_labelling_that_viterbi_finds(case: tuple[Chains, int]) -> None:
    """To the last bit, and whatever rounding does: the two add up in the same order."""
    chains, _ = case
    labels, scores = k_best(chains, 2)
    viterbi, score = best(chains)
    assert labels[0].tolist() == viterbi.tolist() and scores[0] == score[0]


@pytest.mark.parametrize("k", [1, 5])
def test_nothing_where_nothing_is_allowed(k: int) -> None:
    chains = Chains(np.zeros((2, 2)), np.array([0, 2]), np.full((1, 2, 2), -np.inf), np.zeros(2, np.int64))
    labels, scores = k_best(chains, k)
    assert labels.shape == (0, 2) and scores.shape == (0,)


def test_a_known_answer() -> None:
    """Emissions 0, 1 / 0, 0 and a change of label worth 2: 01 has 2, 10 has 3, 11 has 1, 00 has 0."""
    E, A = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[[0.0, 2.0], [2.0, 0.0]]])
    labels, scores = k_best(Chains(E, np.array([0, 2]), A, np.zeros(2, np.int64)), 4)
    assert labels.tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]] and scores.tolist() == [3.0, 2.0, 1.0, 0.0]
