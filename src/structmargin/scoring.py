"""Measures of structured predictions beside the loss, and scorers of them for scikit-learn.

    span_f1       F1 of labelled spans, such as named entities, from labels of tokens (BIO)
    token_error   the share of labels that are wrong
    bracket_f1    F1 of the labelled brackets of trees

All counts are added up over all examples before a share is taken (micro-average). Each measure takes
(Y, Yhat) like those of `sklearn.metrics`; `span_f1_scorer`, `token_error_scorer` and `bracket_f1_scorer` go
to `scoring=` of `cross_val_score` and `GridSearchCV`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import make_scorer

from structmargin.problems.grammar.trees import Tree, brackets

Labelling = Sequence[Any] | np.ndarray
"""One label per token, names or numbers."""
Span = tuple[int, int, str]
"""(begin, end, kind), end not included."""


class Matches(NamedTuple):
    """How many parts are in truth and prediction, in the truth, and in the prediction."""

    both: int
    true: int
    predicted: int

    @property
    def f1(self) -> float:
        """2 both / (true + predicted), and 1 where there is nothing to find and nothing was found."""
        return 2.0 * self.both / (self.true + self.predicted) if self.true + self.predicted else 1.0


def spans(labels: Sequence[str]) -> list[Span]:
    """The spans that the labels of a sequence mark.

    Labels are "O" outside of spans, and "B-" or "I-" with a kind inside. A span begins at each B-, and at an
    I- whose predecessor is O or of another kind, as the script conlleval of the CoNLL tasks has it: so labels
    in IOB2, where every span begins with B-, and in IOB1, where only one next to a span of its kind does, are
    both read right. A span goes on as long as I- of its kind follow.

    Parameters
    ----------
    labels : sequence of str
        One label per token.

    Returns
    -------
    list of (begin, end, kind)
        From left to right; `end` is not included.

    Examples
    --------
    >>> from structmargin.scoring import spans
    >>> spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    """
    found: list[Span] = []
    begin, open_kind = 0, None
    for t, label in enumerate([*labels, "O"]):
        place, _, kind = str(label).partition("-")
        if place not in ("B", "I", "O") or (place == "O" and kind):
            raise ValueError(f"label {label!r} of token {t} is neither O nor B- or I- with a kind: recode it")
        if open_kind is not None and (place != "I" or kind != open_kind):
            found.append((begin, t, open_kind))
            open_kind = None
        if place != "O" and open_kind is None:
            begin, open_kind = t, kind
    return found


def span_matches(
    Y: Sequence[Labelling], Yhat: Sequence[Labelling], labels: Sequence[str] | None = None
) -> Matches:
    """Count the spans of labellings and those that predictions have right: begin, end and kind.

    Parameters
    ----------
    Y, Yhat : sequence of label sequences
        The right ones and the predicted ones, of the same lengths.
    labels : sequence of str, default=None
        The names of labels that are numbers: label k is labels[k]. None: they are names themselves.

    Returns
    -------
    Matches
    """
    pairs = []
    for i, (y, yhat) in enumerate(_labellings(Y, Yhat)):
        try:
            pairs.append((spans(_names(y, labels)), spans(_names(yhat, labels))))
        except ValueError as fault:
            raise ValueError(f"example {i}: {fault}") from None
    return _matches(pairs)


def span_f1(Y: Sequence[Labelling], Yhat: Sequence[Labelling], labels: Sequence[str] | None = None) -> float:
    """F1 of labelled spans, such as named entities: a span is right if begin, end and kind are.

    F1 is twice the number of right spans, divided by the number of true spans and of predicted ones, each
    over all sequences together; it is 1 where there are neither. `spans` says what a span is.

    Parameters
    ----------
    Y, Yhat : sequence of label sequences
        The right ones and the predicted ones, of the same lengths.
    labels : sequence of str, default=None
        The names of labels that are numbers: label k is labels[k]. None: they are names themselves.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    One of two true spans is found, and one of the two that are found is right:

    >>> from structmargin.scoring import span_f1
    >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]])
    0.5

    For choosing C by it where the labels of `Sequence` are numbers:

    >>> from sklearn.metrics import make_scorer
    >>> scorer = make_scorer(span_f1, labels=["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    """
    return span_matches(Y, Yhat, labels).f1


def token_error(Y: Sequence[Labelling], Yhat: Sequence[Labelling]) -> float:
    """The share of labels that are wrong, over all tokens of all sequences.

    Parameters
    ----------
    Y, Yhat : sequence of label sequences
        The right ones and the predicted ones, of the same lengths.

    Returns
    -------
    float
        From 0, the best, to 1; 0 where there are no tokens.

    Examples
    --------
    >>> from structmargin.scoring import token_error
    >>> token_error([[0, 1, 1], [2]], [[0, 1, 0], [2]])
    0.25
    """
    wrong = [np.asarray(y) != np.asarray(yhat) for y, yhat in _labellings(Y, Yhat)]
    n_tokens = sum(map(len, wrong))
    return float(sum(int(np.count_nonzero(part)) for part in wrong) / n_tokens) if n_tokens else 0.0


def bracket_matches(Y: Sequence[Tree], Yhat: Sequence[Tree | None]) -> Matches:
    """Count the labelled brackets of trees and those that predictions have right.

    Parameters
    ----------
    Y : sequence of trees
        The right ones, as nested tuples (label, child, ...).
    Yhat : sequence of trees or None
        The predicted ones; None, for a sentence without a parse, has no brackets.

    Returns
    -------
    Matches
    """
    if len(Y) != len(Yhat):
        raise ValueError(f"Y has {len(Y)} trees but Yhat has {len(Yhat)}: give one prediction per tree")
    return _matches(
        (brackets(y), [] if yhat is None else brackets(yhat)) for y, yhat in zip(Y, Yhat, strict=True)
    )


def bracket_f1(Y: Sequence[Tree], Yhat: Sequence[Tree | None]) -> float:
    """F1 of labelled brackets: a bracket is right if its label, its first and its last word are.

    Every node but a tag has a bracket, the outermost one too. F1 is twice the number of right brackets,
    divided by the number of true brackets and of predicted ones, each over all trees together, as evalb has
    it. (The loss of `Grammar` is 1 less the F1 of a single tree.)

    Parameters
    ----------
    Y : sequence of trees
        The right ones, as nested tuples (label, child, ...).
    Yhat : sequence of trees or None
        The predicted ones; None, for a sentence without a parse, has no brackets.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    The first prediction has its two brackets right, the second sentence, with two, has no parse:

    >>> from structmargin.scoring import bracket_f1
    >>> y = ("S", ("NP", "DT", "NN"), "VBZ")
    >>> round(bracket_f1([y, y], [y, None]), 3)
    0.667
    """
    return bracket_matches(Y, Yhat).f1


span_f1_scorer = make_scorer(span_f1)
"""`span_f1` of an estimator's predictions where labels are names; for numbers see its example."""
token_error_scorer = make_scorer(token_error, greater_is_better=False)
"""Minus `token_error` of an estimator's predictions: the larger, the better."""
bracket_f1_scorer = make_scorer(bracket_f1)
"""`bracket_f1` of an estimator's predictions."""


def _matches(pairs: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> Matches:
    both = true = predicted = 0
    for in_truth, in_prediction in pairs:
        both += len(set(in_truth) & set(in_prediction))
        true += len(in_truth)
        predicted += len(in_prediction)
    return Matches(both, true, predicted)


def _labellings(Y: Sequence[Any], Yhat: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Pairs of labellings, checked to be of one length."""
    if len(Y) != len(Yhat):
        raise ValueError(f"Y has {len(Y)} sequences but Yhat has {len(Yhat)}: give one prediction for each")
    for i, (y, yhat) in enumerate(zip(Y, Yhat, strict=True)):
        if len(y) != len(yhat):
            raise ValueError(
                f"example {i} has {len(y)} labels but its prediction has {len(yhat)}: give one per token"
            )
        yield y, yhat


def _names(y: Labelling, labels: Sequence[str] | None) -> Sequence[str]:
    return [str(label) for label in y] if labels is None else [labels[int(k)] for k in y]
