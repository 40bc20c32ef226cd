"""The table searches against all 2^n labellings, and the pair counts against all pairs."""

from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from structmargin.formulation import FORMULATIONS
from structmargin.oracles.contingency import (
    Table,
    beaten,
    best_table,
    best_table_folded,
    best_table_of_k,
    highest,
    pair_weights,
    worst_labelling,
)

MARGIN = FORMULATIONS["SVM1 margin"].H


@st.composite
def scored(draw: Any, most: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Scores on a coarse grid, so that ties abound, and labels of both classes."""
    n = draw(st.integers(2, most))
    values = st.sampled_from([-6.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 6.0])
    scores = draw(st.lists(values, min_size=n, max_size=n))
    P = draw(st.integers(1, n - 1))
    y = np.where(np.array(draw(st.permutations(range(n)))) < P, 1, -1)
    return np.array(scores), y


def f_table(P: int, beta2: float) -> Table:
    return Table(beta2 * P, -beta2, 1.0, beta2 * P, 1.0, 1.0)


def error_table(P: int, N: int) -> Table:
    return Table(float(P), -1.0, 1.0, float(P + N), 0.0, 0.0)


def enumerated(scores: np.ndarray, y: np.ndarray, table: Table, H: Any) -> float:
    """The largest H over all labellings, or those that call k rows positive."""
    best = -np.inf
    for labels in product((-1, 1), repeat=len(y)):
        ybar = np.array(labels)
        a, b = int(np.sum((y > 0) & (ybar > 0))), int(np.sum((y < 0) & (ybar > 0)))
        if table.k in (-1, a + b):
            margin = float((y - ybar) @ scores) / len(y)
            numerator = table.p0 + table.pa * a + table.pb * b
            best = max(best, float(H(numerator / (table.q0 + table.qa * a + table.qb * b), margin)))
    return best


def reached(scores: np.ndarray, y: np.ndarray, ybar: np.ndarray, table: Table, H: Any) -> float:
    a, b = int(np.sum((y > 0) & (ybar > 0))), int(np.sum((y < 0) & (ybar > 0)))
    assert table.k in (-1, a + b)
    return float(H(table.loss(a, b), float((y - ybar) @ scores) / len(y)))


@pytest.mark.parametrize("name", FORMULATIONS)
@given(case=scored(), beta2=st.sampled_from([None, 0.09, 1.0, 4.0]))
@settings(max_examples=25)
def test_free_tables_agree_with_all_labellings(name: str, case: Any, beta2: float | None) -> None:
    (scores, y), H = case, FORMULATIONS[name].H
    P = int(np.sum(y > 0))
    table = error_table(P, len(y) - P) if beta2 is None else f_table(P, beta2)
    ybar = worst_labelling(scores, y, table, H)
    assert reached(scores, y, ybar, table, H) == pytest.approx(enumerated(scores, y, table, H), abs=1e-12)


@pytest.mark.parametrize("name", FORMULATIONS)
@given(case=scored(), data=st.data())
@settings(max_examples=25)
def test_tables_of_k_agree_with_all_labellings_that_call_k_positive(name: str, case: Any, data: Any) -> None:
    (scores, y), H = case, FORMULATIONS[name].H
    k = data.draw(st.integers(1, len(y)))
    P = int(np.sum(y > 0))
    table = Table(float(min(k, P)), -1.0, 0.0, float(k), 0.0, 0.0, k)
    ybar = worst_labelling(scores, y, table, H)
    assert reached(scores, y, ybar, table, H) == pytest.approx(enumerated(scores, y, table, H), abs=1e-12)


@given(seed=st.integers(0, 10**6), beta2=st.sampled_from([None, 0.01, 1.0, 9.0]), k=st.integers(0, 60))
@settings(max_examples=100)
def test_negatives_that_are_not_sorted_are_not_missed(seed: int, beta2: float | None, k: int) -> None:
    """The same labels, ties and all, as where every row is sorted; scores on a grid or not."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(60) < rng.uniform(0.1, 0.9), 1, -1)
    y[:2] = 1, -1
    P, N, step = int(np.sum(y > 0)), int(np.sum(y < 0)), rng.choice([1e-9, 0.5])
    scores = np.round(rng.normal(0.5 * y, rng.choice([0.1, 1.0, 5.0])) / step) * step
    table = error_table(P, N) if beta2 is None else f_table(P, beta2)
    search = best_table_folded
    if k:
        table, search = Table(float(min(k, P)), -1.0, 0.0, float(k), 0.0, 0.0, k), best_table_of_k
    positives, negatives = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    positives = positives[np.argsort(scores[positives], kind="stable")]
    negatives = negatives[np.argsort(-scores[negatives], kind="stable")]
    c, b = search(scores[positives], scores[negatives], 2.0 / len(y), table, MARGIN)
    want = y.copy()
    want[positives[:c]], want[negatives[:b]] = -1, 1
    np.testing.assert_array_equal(worst_labelling(scores, y, table, MARGIN), want)


@given(
    seed=st.integers(0, 10**6),
    P=st.integers(1, 60),
    N=st.integers(1, 60),
    beta2=st.sampled_from([None, 0.01, 0.25, 1.0, 9.0]),
)
@settings(max_examples=150)
def test_the_bisection_finds_what_all_tables_do(seed: int, P: int, N: int, beta2: float | None) -> None:
    rng = np.random.default_rng(seed)
    step = rng.choice([0.01, 0.5])
    pos = np.sort(np.round(rng.normal(0.3, 1.0, size=P) / step) * step)
    neg = -np.sort(np.round(rng.normal(0.3, 1.0, size=N) / step) * step)
    table, scale = error_table(P, N) if beta2 is None else f_table(P, beta2), 2.0 / (P + N)

    def value(c: int, b: int) -> float:
        return table.loss(P - c, b) - scale * (pos[:c].sum() - neg[:b].sum())

    slow, fast = best_table(pos, neg, scale, table, MARGIN), best_table_folded(pos, neg, scale, table, MARGIN)
    assert value(*fast) == pytest.approx(value(*slow), abs=1e-12)


def test_a_known_table() -> None:
    """Two positives, three negatives, w = 0: F1 loses most, 1, where no positive is found at all."""
    table, zeros = f_table(2, 1.0), np.zeros(5)
    for H in (MARGIN, FORMULATIONS["SVM1 slack"].H):
        ybar = worst_labelling(zeros, np.array([1, 1, -1, -1, -1]), table, H)
        np.testing.assert_array_equal(ybar[:2], [-1, -1])
    assert table.loss(1, 1) == 0.5  # precision 1/2, recall 1/2
    assert best_table_of_k(
        np.zeros(2), np.zeros(3), 0.4, Table(2.0, -1.0, 0.0, 2.0, 0.0, 0.0, 2), MARGIN
    ) == (
        2,
        2,
    )


@given(case=scored(12))
@settings(max_examples=100)
def test_pair_counts_agree_with_all_pairs(case: Any) -> None:
    r, y = case
    mine, others = np.sort(r[y > 0]), r[y < 0]
    out = np.empty(len(mine)), np.empty(len(others))
    beaten(mine, others, *out)
    for counts, own, beating in ((out[0], mine, others), (out[1], others, mine)):
        want = [sum((o > m) + 0.5 * (o == m) for o in beating) for m in own]
        np.testing.assert_array_equal(counts, want)

    X = np.random.default_rng(len(y)).normal(size=(len(y), 3))
    want = sum(
        np.sign(r[i] - r[j]) * (X[i] - X[j]) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)
    ) / (2 * len(mine) * len(others))
    np.testing.assert_allclose(pair_weights(y > 0, r) @ X, want, atol=1e-12)


def test_the_highest_are_called_positive_first_of_equals() -> None:
    np.testing.assert_array_equal(highest(np.array([0.0, 2.0, 1.0, 2.0, 1.0]), 3), [-1, 1, 1, 1, -1])
