"""Span F1, token error and bracket F1: answers known by hand, other definitions, scikit-learn's searches."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

from helpers.trees import example, seeds
from helpers.trees import spans as counted_brackets
from structmargin import StructuredSVM
from structmargin.problems import Grammar, Sequence
from structmargin.scoring import (
    bracket_f1,
    bracket_f1_scorer,
    bracket_matches,
    span_f1,
    span_f1_scorer,
    span_matches,
    spans,
    token_error,
    token_error_scorer,
)

KNOWN = [
    ("", []),
    ("O O", []),
    ("B-PER", [(0, 1, "PER")]),
    ("B-PER I-PER O", [(0, 2, "PER")]),
    ("B-PER B-PER", [(0, 1, "PER"), (1, 2, "PER")]),
    ("I-PER I-PER O I-LOC", [(0, 2, "PER"), (3, 4, "LOC")]),  # IOB1: a span may begin with I-
    ("I-PER B-PER I-PER", [(0, 1, "PER"), (1, 3, "PER")]),  # IOB1: B- where two of a kind meet
    ("B-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
    ("I-PER I-LOC I-LOC", [(0, 1, "PER"), (1, 3, "LOC")]),
    ("B-PER O I-PER", [(0, 1, "PER"), (2, 3, "PER")]),
    ("B-NP-SBJ I-NP-SBJ", [(0, 2, "NP-SBJ")]),
    ("B I O I", [(0, 2, ""), (3, 4, "")]),
]


@pytest.mark.parametrize(("labels", "expected"), KNOWN)
def test_spans_known_by_hand(labels: str, expected: list[tuple[int, int, str]]) -> None:
    assert spans(labels.split()) == expected


tags = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=8)


@given(tags)
def test_spans_by_the_rules_of_conlleval(labels: list[str]) -> None:
    """startOfChunk and endOfChunk of the script, tag by tag, for the prefixes B, I and O."""
    begins, ends = [], []
    before, kind_before = "O", ""
    for t, label in enumerate([*labels, "O"]):
        tag, kind = label[0], label[2:]
        ends_here = (before in "BI" and tag in "BO") or (before != "O" and kind_before != kind)
        begins_here = tag == "B" or (tag == "I" and before == "O") or (tag != "O" and kind_before != kind)
        if ends_here:
            ends.append(t)
        if begins_here:
            begins.append((t, kind))
        before, kind_before = tag, kind
    assert spans(labels) == [(t, end, kind) for (t, kind), end in zip(begins, ends, strict=True)]


@given(tags)
def test_iob1_and_iob2_mean_the_same(labels: list[str]) -> None:
    """Written anew in either style, the spans stay."""
    marked = spans(labels)
    iob2, iob1 = ["O"] * len(labels), ["O"] * len(labels)
    for begin, end, kind in marked:
        meets = any(e == begin and k == kind for _, e, k in marked)
        iob2[begin:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - begin - 1)
        iob1[begin:end] = [f"{'B' if meets else 'I'}-{kind}"] + [f"I-{kind}"] * (end - begin - 1)
    assert spans(iob2) == spans(iob1) == marked


def test_span_f1_known_by_hand() -> None:
    Y = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"], ["O"]]
    Yhat = [["B-PER", "O", "O", "B-LOC"], ["B-ORG", "I-ORG"], ["O"]]
    # true: PER 0-2, LOC 3-4, ORG 1-2; predicted: PER 0-1, LOC 3-4, ORG 0-2; LOC is right
    assert span_matches(Y, Yhat) == (1, 3, 3)
    assert span_f1(Y, Yhat) == pytest.approx(2 * 1 / 6)
    assert span_f1(Y[:1], Yhat[:1]) == 0.5
    assert span_f1([["B-PER", "I-PER"]], [["I-PER", "I-PER"]]) == 1.0
    assert span_f1([["B-PER"]], [["B-LOC"]]) == 0.0
    assert span_f1([["B-PER"], ["O"]], [["O"], ["B-PER"]]) == 0.0  # at the same place of another sentence
    assert span_f1([["O"]], [["O"]]) == span_f1([], []) == 1.0


def test_labels_that_are_numbers_have_names() -> None:
    names = ["O", "B-PER", "I-PER"]
    Y, Yhat = [np.array([1, 2, 0]), np.array([1])], [np.array([1, 2, 0]), np.array([0])]
    assert span_f1(Y, Yhat, names) == pytest.approx(2 * 1 / 3)


def test_token_error_known_by_hand() -> None:
    assert token_error([[0, 1, 1], [2]], [[0, 1, 0], [2]]) == 0.25
    assert token_error([np.array([0, 1]), ["a", "b"]], [[1, 0], np.array(["a", "c"])]) == 0.75
    assert token_error([], []) == token_error([[]], [[]]) == 0.0


def test_bracket_f1_known_by_hand() -> None:
    Y = [("S", ("NP", "a"), ("VP", "b")), ("S", "a", "b"), ("S", ("NP", "a"), "b")]
    Yhat = [("S", ("NP", "a"), ("NP", "b")), ("S", "a", "b"), None]
    # of 3, 1 and 2 true brackets and 3, 1 and 0 predicted ones, 2, 1 and 0 are right
    assert bracket_matches(Y[:1], Yhat[:1]) == (2, 3, 3) and bracket_matches(Y[2:], [None]) == (0, 2, 0)
    assert bracket_f1(Y, Yhat) == pytest.approx(2 * 3 / (6 + 4))
    assert bracket_f1(Y, Y) == 1.0 and bracket_f1(Y, [None] * 3) == 0.0


@given(seeds)
def test_of_a_single_tree_it_is_one_less_the_loss(seed: int) -> None:
    rng, _, _, _, trees = example(seed, least=1)
    y, yhat = (trees[k] for k in rng.integers(len(trees), size=2))
    assert bracket_f1([y], [yhat]) == pytest.approx(1.0 - Grammar().delta(y, yhat))
    several = [(trees[a], trees[b]) for a, b in rng.integers(len(trees), size=(4, 2))]
    counts = [(counted_brackets(a)[0], counted_brackets(b)[0]) for a, b in several]
    both = sum(((a & b) for a, b in counts), Counter()).total()
    everything = sum((a.total() + b.total() for a, b in counts), 0)
    assert bracket_f1(*zip(*several, strict=True)) == pytest.approx(2 * both / everything)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: span_f1([["B-PER"]], [["S-PER"]]),
            "example 0: label 'S-PER' of token 0 is neither O",
        ),
        (
            lambda: span_f1([["O"], ["O", 3]], [["O"], ["O", "O"]]),
            "example 1: label '3' of token 1 is neither",
        ),
        (lambda: span_f1([["O"]], []), "Y has 1 sequences but Yhat has 0"),
        (lambda: span_f1([["O"]], [["O", "O"]]), "example 0 has 1 labels but its prediction has 2"),
        (lambda: token_error([[1], [1]], [[1], [1, 0]]), "example 1 has 1 labels but its prediction has 2"),
        (lambda: bracket_f1([("S", "a")], []), "Y has 1 trees but Yhat has 0"),
    ],
)
def test_what_cannot_be_compared(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def sentences(n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Three labels, each with a feature of its own, blurred."""
    rng = np.random.default_rng(0)
    Y = [rng.integers(3, size=rng.integers(2, 6)) for _ in range(n)]
    return [np.eye(3)[y] + 0.4 * rng.normal(size=(len(y), 3)) for y in Y], Y


def test_scorers_in_cross_validation() -> None:
    X, Y = sentences(24)
    names = ["O", "B-A", "I-A"]
    model = StructuredSVM(Sequence(3, 3), eps=0.01)
    error = cross_val_score(model, X, Y, cv=2, scoring=token_error_scorer)
    f1 = cross_val_score(model, X, Y, cv=2, scoring=make_scorer(span_f1, labels=names))
    for k, (train, test) in enumerate([(slice(12, 24), slice(0, 12)), (slice(0, 12), slice(12, 24))]):
        yhat = model.fit(X[train], Y[train]).predict(X[test])
        assert error[k] == -token_error(Y[test], yhat) and f1[k] == span_f1(Y[test], yhat, names)
    assert np.all(error > -0.5)


def test_a_search_chooses_by_the_scorer() -> None:
    X, Y = sentences(24)
    grid = {"C": [1e-6, 10.0]}
    search = GridSearchCV(StructuredSVM(Sequence(3, 3), eps=0.01), grid, cv=2, scoring=token_error_scorer)
    search.fit(X, Y)
    assert search.best_params_ == {"C": 10.0}
    assert search.score(X, Y) == -token_error(Y, search.predict(X))


class Parrot(BaseEstimator):
    """Predicts what it was given."""

    def __init__(self, yhat: list) -> None:
        self.yhat = yhat

    def predict(self, X: list) -> list:
        return self.yhat


def test_scorers_of_names_and_trees() -> None:
    assert span_f1_scorer(Parrot([["I-PER", "O"]]), [None], [["B-PER", "O"]]) == 1.0
    y = ("S", ("NP", "DT", "NN"), "VBZ")
    assert bracket_f1_scorer(Parrot([y, None]), [None] * 2, [y, y]) == pytest.approx(2 / 3)
    X, Y = [("DT", "NN", "VBZ")] * 4, [y] * 4
    assert cross_val_score(StructuredSVM(Grammar()), X, Y, cv=2, scoring=bracket_f1_scorer).tolist() == [1, 1]
