"""Local alignment with gaps that depend on the place, against every chain of short pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.protein_chains import chains, score
from structmargin.oracles.chains import best_chain

NUMBER = st.integers(-3, 3) | st.floats(-3, 3, allow_nan=False)


RARE = st.sampled_from([-9, -9, -9, 4, 5])
"""Few matches worth making: long gaps of either kind between them."""


@st.composite
def cases(draw):
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    S = draw(st.lists(draw(st.sampled_from([NUMBER, RARE])), min_size=n * m, max_size=n * m))
    gaps = draw(st.lists(draw(st.sampled_from([NUMBER, st.integers(-2, 1)])), min_size=4 * n, max_size=4 * n))
    return np.array(S, float).reshape(n, m), np.array(gaps, float).reshape(n, 4)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_best_of_all_chains(case):
    S, gaps = case
    value, chain = best_chain(S, gaps)
    best = max(score(one, S, gaps) for one in chains(*S.shape))
    assert value == pytest.approx(best, abs=1e-9)
    found = tuple(map(tuple, chain.tolist()))
    assert found in chains(*S.shape)
    assert score(found, S, gaps) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("shape", [(5, 2), (2, 5), (4, 3)])
def test_long_gaps_of_either_kind(shape):
    """Narrow pairs have few chains and long gaps, whose prices are often nearly alike."""
    rng = np.random.default_rng(0)
    every = chains(*shape)
    for _ in range(400):
        S = rng.choice([-9.0, 4.0, 5.0, 5.5], size=shape)
        gaps = rng.choice([-3.0, -2.5, -0.25, 0.5], size=(shape[0], 4))
        value, chain = best_chain(S, gaps)
        best = max(score(one, S, gaps) for one in every)
        assert value == best == score(tuple(map(tuple, chain.tolist())), S, gaps)


def test_known_gaps():
    """Two good matches three template places and two target places apart, one price for each step."""
    S = np.full((5, 4), -9.0)
    S[0, 0] = S[4, 3] = 10.0
    gaps = np.zeros((5, 4))
    gaps[1, 0], gaps[2, 1], gaps[3, 1] = -1.0, -2.0, -4.0  # the first left out, then two more
    gaps[3, 2], gaps[3, 3] = -0.5, -0.25  # inserted after the last of them
    value, chain = best_chain(S, gaps)
    assert value == 20.0 - 7.0 - 0.75
    assert chain.tolist() == [[0, 0], [4, 3]]


def test_nothing_is_aligned_where_nothing_scores_above_zero():
    value, chain = best_chain(np.full((3, 2), -1.0), np.ones((3, 4)))
    assert value == 0.0
    assert chain.tolist() == []


def test_positive_gaps_are_used_between_matches_only():
    """With gap scores above 0 the longest detour wins, and none is taken before the first match."""
    value, chain = best_chain(np.ones((3, 3)), np.full((3, 4), 5.0))
    assert chain.tolist() == [[0, 0], [2, 2]]
    assert value == 12.0


def test_of_equal_ends_the_first_is_taken():
    S = np.array([[-1.0, 2.0, 2.0], [2.0, -9.0, -9.0]])
    _, chain = best_chain(S, np.full((2, 4), -9.0))
    assert chain.tolist() == [[0, 1]]


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="must be finite"):
        best_chain(np.array([[np.nan]]), np.zeros((1, 4)))
