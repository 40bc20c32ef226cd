"""The synthetic alignment data replayed from its own alignments, and the generative baseline by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from structmargin.problems.alignment.problem import Alignment
from structmargin_suite.baselines.generative_alignment import fit, predict
from structmargin_suite.datasets.alignment import generate

X, Y = generate(np.random.default_rng(7), 600)


def replay(x, y):
    """(operation, native letter or None, homolog letter or None) of each step of an alignment."""
    c, (i, j, ops) = y
    for op in ops:
        yield op, int(x[0][i]) if op != "I" else None, int(x[1][c][j]) if op != "D" else None
        i, j = i + (op != "I"), j + (op != "D")


def test_alignments_turn_natives_into_homologs_by_the_papers_operations():
    Alignment().check(X, Y)
    steps = [step for x, y in zip(X, Y, strict=True) for step in replay(x, y)]
    assert all(len(y[1][2]) == 30 for y in Y)
    assert all((b - a) % 20 in (0, 1) for op, a, b in steps if op == "M")
    counted = [
        sum(op == "M" and a == b for op, a, b in steps),
        sum(op == "M" and a != b for op, a, b in steps),
        sum(op == "I" for op, _, _ in steps),
        sum(op == "D" for op, _, _ in steps),
    ]
    assert stats.chisquare(counted, np.array([0.2, 0.4, 0.2, 0.2]) * len(steps)).pvalue > 0.001


def test_letters_other_than_copied_ones_follow_the_papers_probabilities():
    expected = np.arange(1, 21) / 210
    inserted = [b for x, y in zip(X, Y, strict=True) for op, _, b in replay(x, y) if op == "I"]
    padding = []
    for x, y in zip(X, Y, strict=True):
        c, (_, j, ops) = y
        padding += [*x[1][c][:j], *x[1][c][j + len(ops) - ops.count("D") :]]
    decoys = np.concatenate([s for x, y in zip(X, Y, strict=True) for c, s in enumerate(x[1]) if c != y[0]])
    for letters in (np.concatenate([x[0] for x in X]), decoys, inserted, padding):
        counted = np.bincount(letters, minlength=20)
        assert stats.chisquare(counted, expected * len(letters)).pvalue > 0.001


def test_homologs_and_substrings_stand_anywhere():
    assert all(len(x[0]) == 50 and [len(s) for s in x[1]] == [50] * 11 for x in X)
    assert stats.chisquare(np.bincount([y[0] for y in Y], minlength=11)).pvalue > 0.001
    room = [(50 - len(ops) + ops.count("I"), 50 - len(ops) + ops.count("D")) for _, (_, _, ops) in Y]
    for k in (0, 1):
        share = np.array([y[1][k] / r[k] for y, r in zip(Y, room, strict=True)])
        assert share.min() == 0.0
        assert share.max() == 1.0
        assert share.mean() == pytest.approx(0.5, abs=0.05)


def test_one_seed_gives_one_data_set():
    again, other = generate(np.random.default_rng(7), 600), generate(np.random.default_rng(8), 600)
    assert again[1] == Y
    assert other[1] != Y
    assert all(
        np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in zip(again[0], X, strict=True)
    )


def test_pure_matches_copy_and_pure_substitutions_shift():
    options = {"n_letters": 5, "length": 12, "n_decoys": 2, "n_operations": 12, "insert": 0.0, "delete": 0.0}
    for match, shift in ((1.0, 0), (0.0, 1)):
        inputs, outputs = generate(
            np.random.default_rng(1), 20, match=match, substitute=1.0 - match, **options
        )
        for (native, candidates), (homolog, path) in zip(inputs, outputs, strict=True):
            assert path == (0, 0, "M" * 12)
            assert np.array_equal(candidates[homolog], (native + shift) % 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n and n_decoys must be at least 1, but are 0 and 10"),
        ({"n_decoys": 0}, "n and n_decoys must be at least 1"),
        ({"n_operations": 51}, "n_operations must be from 0 to length=50, but is 51"),
        ({"match": 0.5}, "must add up to 1, but are 0.5, 0.4, 0.2, 0.2"),
        ({"n_letters": 300}, "n_letters must be from 1 to 255"),
    ],
)
def test_impossible_data_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        generate(np.random.default_rng(0), **{"n": 3, **options})


@pytest.mark.parametrize(
    ("letters", "native", "homolog"),
    [
        ("strings", [4 / 6, 2 / 6], [4 / 7, 3 / 7]),
        ("aligned", [4 / 5, 1 / 5], [3 / 5, 2 / 5]),
        ("joint", [5 / 7, 2 / 7], [4 / 7, 3 / 7]),
        ("all", [7 / 13, 6 / 13], [7 / 13, 6 / 13]),
    ],
)
def test_log_odds_by_hand(letters, native, homolog):
    """Three aligned pairs 0-0, 0-0, 0-1 of a two-letter alphabet, and two gaps."""
    x = np.array([0, 0, 0, 1]), [np.array([1, 1]), np.array([0, 0, 1, 0, 1])]
    w = fit([x], [(1, (0, 0, "MMMDI"))], gap_score=-0.2, n_letters=2, letters=letters)
    joint = np.array([[3, 2], [1, 1]]) / 7
    assert w == pytest.approx([*np.log(joint / np.outer(native, homolog)).ravel(), -0.2])


def test_an_unknown_place_to_count_letters_is_refused():
    with pytest.raises(
        ValueError, match="letters is 'native', but must be one of strings, aligned, joint, all"
    ):
        fit(X[:1], Y[:1], gap_score=0.0, letters="native")


def test_the_generative_model_recognises_clear_homologs():
    clear = {"match": 0.9, "substitute": 0.0, "insert": 0.05, "delete": 0.05}
    w = fit(*generate(np.random.default_rng(0), 30, **clear), gap_score=-1.0)
    inputs, outputs = generate(np.random.default_rng(1), 60, **clear)
    assert [y.candidate for y in predict(w, inputs)] == [y[0] for y in outputs]
