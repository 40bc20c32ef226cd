"""The Alignment problem against an enumeration of every output, under every formulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers.all_outputs import STEP
from helpers.all_outputs import alignments as outputs
from structmargin.formulation import FORMULATIONS
from structmargin.problem import Problem
from structmargin.problems.alignment.problem import Alignment
from structmargin.scorer import LinearScorer

PROBLEM = Alignment(n_letters=2)


def features(x, y):
    """Psi counted by hand: (native letter, candidate letter) pairs, then gaps."""
    c, (i, j, ops) = y
    counts = np.zeros(5)
    for op in ops:
        if op == "M":
            counts[2 * x[0][i] + x[1][c][j]] += 1
        else:
            counts[4] += 1
        i, j = i + STEP[op][0], j + STEP[op][1]
    return counts


STRING = st.lists(st.integers(0, 1), max_size=3).map(lambda s: np.array(s, dtype=int))


@st.composite
def examples(draw):
    x = draw(STRING), draw(st.lists(STRING, min_size=2, max_size=4))
    return x, draw(st.sampled_from(list(outputs(x))))


DATA = st.lists(examples(), min_size=1, max_size=3)
WEIGHTS = st.lists(st.integers(-2, 2) | st.floats(-2, 2), min_size=5, max_size=5).map(
    lambda w: np.array(w, float)
)


@settings(max_examples=60, deadline=None)
@given(DATA, WEIGHTS, st.data())
def test_search_finds_the_best_decoy_under_every_formulation(data, w, more):
    X, Y = [x for x, _ in data], [y for _, y in data]
    f = LinearScorer(PROBLEM, w)
    batch = PROBLEM.batch(X, Y)
    indices = np.array(more.draw(st.lists(st.integers(0, len(X) - 1), max_size=4)), dtype=int)
    margins = [(features(x, y) - [features(x, z) for z in outputs(x) if z[0] != y[0]]) @ w for x, y in data]
    for formulation in FORMULATIONS.values():
        found = batch.search(f, indices, formulation.H)
        assert found.rows.shape == (len(indices), 5)
        for k, e in enumerate(indices):
            x, y, ybar = X[e], Y[e], found.outputs[k]
            assert found.losses[k] == PROBLEM.delta(y, ybar) == 1.0
            row = features(x, y) - features(x, ybar)
            assert np.array_equal(found.rows[[k]].toarray()[0], row)
            assert formulation.H(1.0, row @ w) == pytest.approx(
                formulation.H(1.0, margins[e]).max(), abs=1e-9
            )
            assert PROBLEM.augmented_argmax(f, x, y, formulation.H) == ybar


@settings(max_examples=60, deadline=None)
@given(DATA, WEIGHTS)
def test_argmax_is_the_first_best_candidate(data, w):
    X = [x for x, _ in data]
    f = LinearScorer(PROBLEM, w)
    for x, yhat in zip(X, PROBLEM.batch(X, None).argmax(f), strict=True):
        values = {y: float(features(x, y) @ w) for y in outputs(x)}
        best = max(values.values())
        assert values[yhat] == pytest.approx(best, abs=1e-9)
        assert PROBLEM.psi(x, yhat) @ w == pytest.approx(best, abs=1e-9)
        earlier = [values[y] for y in values if y[0] < yhat.candidate]
        assert max(earlier, default=-np.inf) < best + 1e-12
        assert PROBLEM.argmax(f, x) == yhat


def test_equal_scores_go_to_the_first_candidate_and_to_the_first_decoy():
    x = np.array([0, 1]), [np.array([0, 1])] * 4
    f = LinearScorer(PROBLEM, np.array([1.0, -1.0, -1.0, 1.0, -1.0]))
    assert PROBLEM.argmax(f, x).candidate == 0
    for homolog, decoy in ((0, 1), (1, 0), (3, 0)):
        ybar = PROBLEM.augmented_argmax(f, x, (homolog, (0, 0, "MM")), FORMULATIONS["SVM2"].H)
        assert ybar == (decoy, (0, 0, "MM"))


@settings(max_examples=60, deadline=None)
@given(examples())
def test_psi_is_the_histogram_of_operations_and_the_radius_bounds_its_differences(example):
    x, y = example
    assert isinstance(PROBLEM, Problem)
    assert np.array_equal(PROBLEM.psi(x, y), features(x, y))
    every = np.unique([features(x, z) for z in outputs(x)], axis=0)
    largest = max(np.linalg.norm(every - row, axis=1).max() for row in every)
    assert largest <= PROBLEM.radius(x) + 1e-9
    assert PROBLEM.max_delta(y) == max(PROBLEM.delta(y, z) for z in outputs(x))


def test_the_radius_is_reached_and_is_within_the_papers_bound():
    x = np.zeros(3, int), [np.zeros(3, int)] * 2
    gaps, pairs = features(x, (0, (0, 0, "DDDIII"))), features(x, (1, (0, 0, "MMM")))
    assert PROBLEM.radius(x) == pytest.approx(np.linalg.norm(gaps - pairs)) == pytest.approx(np.sqrt(45.0))
    assert PROBLEM.radius(x) <= 2 * np.sqrt(2) * 3


def test_clones_and_changed_copies():
    assert clone(Alignment(n_letters=4)) == Alignment(n_letters=4)
    assert Alignment().with_params(n_letters=3).n_weights == 10
    assert Alignment().n_weights == 401


GOOD = (np.array([0, 1, 0]), [np.array([0, 1]), np.array([1])]), (0, (0, 0, "MM"))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (
            (np.array([0, 7]), GOOD[0][1]),
            GOOD[1],
            "native string of example 1 has the letter 7 at position 1",
        ),
        (
            (GOOD[0][0], [np.array([0, -1]), np.array([1])]),
            GOOD[1],
            "candidate 0 of example 1 has the letter -1",
        ),
        (
            (GOOD[0][0], [np.array([0.5, 1]), np.array([1])]),
            GOOD[1],
            "candidate 0 of example 1 must be a 1-d",
        ),
        (("ACGT", GOOD[0][1]), GOOD[1], "native string of example 1 is of type str: give a list"),
        ((GOOD[0][0], []), GOOD[1], "example 1 has no candidates"),
        ((GOOD[0][0],), GOOD[1], "example 1 is not a pair"),
        ((GOOD[0][0], GOOD[0][1][:1]), GOOD[1], "example 1 has no decoys"),
        (GOOD[0], (2, (0, 0, "M")), "example 1 has the homolog 2, but its candidates are 0 to 1"),
        (GOOD[0], (0, (0, 0, "MX")), "alignment of example 1 is 'MX'; use only"),
        (
            GOOD[0],
            (0, (2, 0, "MM")),
            r"alignment of example 1 does not fit its pair: it reads 2:4 of a native of length 3",
        ),
        (GOOD[0], (0, (0, 1, "MI")), "and 1:3 of a homolog of length 2"),
        (GOOD[0], (0, (-1, 0, "M")), "does not fit"),
        (GOOD[0], (0, "MM"), r"output of example 1 is not \(candidate, \(i, j, ops\)\)"),
        (GOOD[0], 0, "output of example 1 is not"),
    ],
)
def test_what_does_not_fit_is_named(x, y, message):
    with pytest.raises(ValueError, match=message):
        PROBLEM.check([GOOD[0], x], [GOOD[1], y])
    with pytest.raises(ValueError, match=message):
        PROBLEM.batch([GOOD[0], x], [GOOD[1], y])


def test_an_output_too_few_is_named():
    with pytest.raises(ValueError, match="X has 2 examples but Y has 1"):
        PROBLEM.check([GOOD[0]] * 2, [GOOD[1]])


def test_psi_refuses_a_path_that_leaves_its_strings():
    with pytest.raises(ValueError, match="does not fit"):
        PROBLEM.psi(GOOD[0], (0, (0, 0, "MMM")))
    with pytest.raises(ValueError, match="has the letter 5"):
        PROBLEM.psi((np.array([5]), [np.array([1])]), (0, (0, 0, "M")))
