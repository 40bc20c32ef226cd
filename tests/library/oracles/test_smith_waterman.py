"""Local alignment against an enumeration of every path, ties included, and against two known answers."""

from __future__ import annotations

import numpy as np
import pytest
from Bio import Align
from Bio.Align import substitution_matrices
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structmargin.oracles.smith_waterman import Path, align, count_steps, pack, scores

MOVES = {"M": (1, 1), "D": (1, 0), "I": (0, 1)}


def all_paths(n: int, m: int) -> list[Path]:
    """Every path between any two cells of an (n + 1) x (m + 1) grid, the empty ones included."""
    found = []

    def extend(i0: int, j0: int, i: int, j: int, ops: str) -> None:
        found.append(Path(i0, j0, ops))
        for op, (di, dj) in MOVES.items():
            if i + di <= n and j + dj <= m:
                extend(i0, j0, i + di, j + dj, ops + op)

    for i in range(n + 1):
        for j in range(m + 1):
            extend(i, j, i, j, "")
    return found


def walk(path: Path) -> list[tuple[str, int, int]]:
    """Each step with the cell it leaves."""
    i, j, steps = path.i, path.j, []
    for op in path.ops:
        steps.append((op, i, j))
        i, j = i + MOVES[op][0], j + MOVES[op][1]
    return steps


def score(path: Path, a: list[int], b: list[int], substitution: np.ndarray, gap: float) -> float:
    return sum(substitution[a[i], b[j]] if op == "M" else gap for op, i, j in walk(path))


def order(path: Path) -> tuple[int, int, str]:
    """The documented order among equals: the end cell, then the steps from the end, M before D before I."""
    ends = path.i + sum(op != "I" for op in path.ops), path.j + sum(op != "D" for op in path.ops)
    return (*ends, path.ops[::-1].translate(str.maketrans("MDI", "012")))


N_LETTERS = 3
STRINGS = st.lists(st.lists(st.integers(0, N_LETTERS - 1), max_size=4), min_size=1, max_size=4)
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6)


def weights(one: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(one, min_size=N_LETTERS**2 + 1, max_size=N_LETTERS**2 + 1).map(
        lambda w: np.array(w, float)
    )


@settings(max_examples=120, deadline=None)
@given(STRINGS, PAIRS, weights(st.integers(-3, 3)))
@example([[0, 1, 2, 0]], [(0, 0)], np.zeros(10))
@example([[0, 1, 2, 0], [1, 1]], [(0, 1), (1, 0)], np.full(10, -1.0))
@example([[0, 1, 2, 0], [1, 1], []], [(0, 1), (2, 0), (0, 2), (2, 2)], np.append(np.full(9, -1.0), 2.0))
@example([[0, 1, 2, 0], [1, 0]], [(0, 1), (1, 0)], np.append(np.full(9, 3.0), 1.0))
@example([[0, 1, 2, 0], [0, 2, 0]], [(0, 1), (1, 0)], np.append(np.eye(3).ravel(), 0.0))
def test_whole_numbers_pick_the_documented_path(strings, pairs, w):
    pairs = [(s % len(strings), t % len(strings)) for s, t in pairs]
    substitution, gap = w[:-1].reshape(N_LETTERS, N_LETTERS), w[-1]
    aligned = align(pack(strings), np.array(pairs), substitution, gap)
    for p, (s, t) in enumerate(pairs):
        a, b = strings[s], strings[t]
        values = {path: score(path, a, b, substitution, gap) for path in all_paths(len(a), len(b))}
        best = max(values.values())
        assert aligned.score[p] == best
        assert aligned.path(p) == min((path for path in values if values[path] == best), key=order)
    assert np.array_equal(scores(pack(strings), np.array(pairs), substitution, gap), aligned.score)


@settings(max_examples=80, deadline=None)
@given(STRINGS, PAIRS, weights(st.floats(-2, 2)))
def test_real_weights_reach_the_best_score_of_all_paths(strings, pairs, w):
    pairs = [(s % len(strings), t % len(strings)) for s, t in pairs]
    substitution, gap = w[:-1].reshape(N_LETTERS, N_LETTERS), w[-1]
    packed = pack(strings)
    aligned = align(packed, np.array(pairs), substitution, gap)
    counts = count_steps(packed, np.array(pairs), aligned, substitution.shape)
    for p, (s, t) in enumerate(pairs):
        a, b, path = strings[s], strings[t], aligned.path(p)
        paths = all_paths(len(a), len(b))
        assert path in paths
        best = max(score(path, a, b, substitution, gap) for path in paths)
        assert aligned.score[p] == pytest.approx(best, abs=1e-12)
        assert score(path, a, b, substitution, gap) == pytest.approx(best, abs=1e-12)
        expected = np.zeros(len(w))
        for op, i, j in walk(path):
            expected[N_LETTERS * a[i] + b[j] if op == "M" else -1] += 1
        assert np.array_equal(counts[p], expected)


def test_rows_and_columns_of_the_substitution_matrix_may_be_of_different_numbers():
    substitution = np.array([[-1.0, -1.0, 2.0], [-1.0, 3.0, -1.0]])
    aligned = align(pack([[0, 1], [0, 2, 1]]), np.array([[0, 1]]), substitution, -0.5)
    assert (aligned.score[0], aligned.path(0)) == (5.0, Path(0, 1, "MM"))


def test_a_textbook_pair():
    """TGTTACGG and GGTTGACTA with 3 for equal letters, -3 for others and -2 a gap: GTT-AC on GTTGAC, 13."""
    a, b = (["ACGT".index(letter) for letter in string] for string in ("TGTTACGG", "GGTTGACTA"))
    aligned = align(pack([a, b]), np.array([[0, 1]]), 6.0 * np.eye(4) - 3.0, -2.0)
    assert (aligned.score[0], aligned.path(0)) == (13.0, Path(1, 1, "MMMIMM"))


def test_long_strings_of_mixed_lengths_score_as_in_biopython():
    rng = np.random.default_rng(3)
    strings = [rng.integers(0, 20, size=rng.integers(1, 90)) for _ in range(22)]
    pairs = np.arange(22).reshape(11, 2)
    substitution, gap = rng.normal(-0.3, 1.0, size=(20, 20)), -0.7
    letters = "ACDEFGHIKLMNPQRSTVWY"
    aligner = Align.PairwiseAligner(mode="local", open_gap_score=gap, extend_gap_score=gap)
    aligner.substitution_matrix = substitution_matrices.Array(letters, dims=2, data=substitution)
    text = ["".join(letters[c] for c in string) for string in strings]
    expected = [aligner.score(text[s], text[t]) for s, t in pairs]
    assert scores(pack(strings), pairs, substitution, gap) == pytest.approx(expected)
    assert align(pack(strings), pairs, substitution, gap).score == pytest.approx(expected)


def test_no_pairs_have_no_scores():
    assert align(pack([[0, 1]]), np.zeros((0, 2), int), np.eye(2), -1.0).score.tolist() == []


@pytest.mark.parametrize(("value", "gap"), [(np.nan, -1.0), (np.inf, -1.0), (1.0, np.nan)])
def test_weights_must_be_finite(value, gap):
    with pytest.raises(ValueError, match="must be finite"):
        scores(pack([[0], [1]]), np.array([[0, 1]]), np.array([[0.0, value], [0.0, 0.0]]), gap)
