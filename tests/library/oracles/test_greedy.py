"""Budgeted coverage: lazy greedy against plain greedy, the exact search against all subsets, the bound."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from structmargin.oracles.greedy import best_subset, coverage, greedy, union


@st.composite
def collections(draw: Any, signed: bool = True) -> tuple[list[set[int]], np.ndarray, int]:
    """(sets, worths, K) on a coarse grid, so that gains tie."""
    n, m = draw(st.integers(1, 8)), draw(st.integers(1, 7))
    sets = [set(draw(st.lists(st.integers(0, m - 1), max_size=m))) for _ in range(n)]
    low = -3 if signed else 0
    worth = np.array(draw(st.lists(st.integers(low, 4), min_size=m, max_size=m)), dtype=float) / 2
    return sets, worth, draw(st.integers(1, n))


def packed(sets: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
    return indptr, np.array([item for one in sets for item in sorted(one)], dtype=np.int64)


def value(sets: list[set[int]], worth: np.ndarray, chosen: Any) -> float:
    return float(sum(worth[u] for u in set().union(*(sets[int(d)] for d in chosen))))


@given(case=collections())
@settings(max_examples=150, deadline=None)
def test_lazy_greedy_chooses_what_plain_greedy_does(case: Any) -> None:
    sets, worth, K = case
    chosen: list[int] = []
    for _ in range(K):
        gains = {d: value(sets, worth, [*chosen, d]) for d in range(len(sets)) if d not in chosen}
        chosen.append(min(gains, key=lambda d: (-gains[d], d)))
    found = greedy(*packed(sets), worth, K)
    assert found.tolist() == chosen
    assert coverage(*packed(sets), worth, found) == pytest.approx(value(sets, worth, chosen), abs=1e-12)
    covered = union(*packed(sets), len(worth), found)
    assert set(np.flatnonzero(covered)) == set().union(*(sets[d] for d in chosen))


@given(case=collections())
@settings(max_examples=150, deadline=None)
def test_the_exact_search_finds_the_best_of_all_subsets(case: Any) -> None:
    sets, worth, K = case
    values = {y: value(sets, worth, y) for y in combinations(range(len(sets)), K)}
    top, found = best_subset(*packed(sets), worth, K)
    assert top == pytest.approx(max(values.values()), abs=1e-12)
    assert tuple(found) == next(y for y, one in values.items() if one == max(values.values()))


@given(case=collections(signed=False))
@settings(max_examples=100, deadline=None)
def test_greedy_keeps_its_bound_where_nothing_is_worth_less_than_0(case: Any) -> None:
    sets, worth, K = case
    best, _ = best_subset(*packed(sets), worth, K)
    reached = coverage(*packed(sets), worth, greedy(*packed(sets), worth, K))
    assert (1 - (1 - 1 / K) ** K) * best - 1e-12 <= reached <= best + 1e-12


def test_the_papers_figure_3_has_a_set_that_beats_the_three_best_documents() -> None:
    """D2, D3 and D4 cover most each, but overlap: D1, D3 and D5 cover more together."""
    sets = [{0, 1, 2}, {2, 3, 4, 5}, {4, 5, 6, 7, 8}, {6, 7, 8, 9}, {9, 10, 11}]
    worth = np.ones(12)
    assert value(sets, worth, (1, 2, 3)) == 8.0 and value(sets, worth, (0, 2, 4)) == 11.0
    assert sorted(greedy(*packed(sets), worth, 3).tolist()) == [0, 2, 4]
    assert best_subset(*packed(sets), worth, 3)[1].tolist() == [0, 2, 4]
    assert greedy(*packed(sets), worth, 3)[0] == 2


def test_greedy_can_be_far_off_with_negative_worths() -> None:
    """The first set looks best, but whoever takes it can only add what costs."""
    sets = [{0}, {1, 2}, {3, 2}]
    worth = np.array([1.0, 3.0, -2.5, 3.0])
    assert coverage(*packed(sets), worth, greedy(*packed(sets), worth, 2)) == 1.5
    assert best_subset(*packed(sets), worth, 2)[0] == 3.5
