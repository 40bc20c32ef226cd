"""Statements about diversified results, on made-up results under which each comes out each way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.made_up_results import Fake, config_of, judgements, row
from structmargin.problems.diversity.problem import Selection
from structmargin_suite.analysis.experiments.diversity import (
    compared,
    correlation_with_words,
    gain_together,
    ratios,
    share_with_several,
    subtopic_coverage,
    summary,
)
from structmargin_suite.datasets import Examples

N, ROUNDS = 24, 6
METHODS = ("structural SVM", "random", "Okapi", "unweighted words")
PAPER = dict(zip(METHODS, (15, 8, 8, 7), strict=True))
WON = ["diversity-order-svm-random", "diversity-order-svm-okapi", "diversity-order-svm-unweighted"]
NOT_BETTER = ["diversity-order-okapi-random", "diversity-order-unweighted-random"]
NO_SOURCE = ["diversity-order-svm-pages", "diversity-order-pages-random"]


class Documents(SimpleNamespace):
    """What the quantities look at of a query: the words of its documents, and its name."""

    def __len__(self):
        return self.counts.shape[0]


class Queries(Fake):
    """Of 24 queries, six in each of four folds, a selection has so many of 20 subtopics of equal weight.

    Document d has the subtopics below d, so that predicting document d covers d of them; a query adds -1, 0
    or 1 to the level of its method, times the noise for a method that has any.
    """

    noise = 0

    def split(self, run):
        fold = self.rounds[run] % 4
        numbers = range(fold, N, 4)
        X = [Documents(name=f"q{i}", counts=sp.csr_matrix(np.tri(21, 20, -1))) for i in numbers]
        has = np.tri(21, 20, -1, dtype=bool)
        Y = [Selection(np.array([20]), has, np.full(20, 0.05)) for _ in numbers]
        return SimpleNamespace(test=Examples(X, Y))

    def model(self, run):
        level, noise = self.weights[run], self.noise if "structural" in run else 0

        def predict(X):
            numbers = [int(x.name[1:]) for x in X]
            levels = [level + (i // 4 % 3 - 1) + noise * (-1) ** i for i in numbers]
            return [Selection(np.array([np.clip(found, 0, 20)])) for found in levels]

        return SimpleNamespace(predict=predict)


def made(levels=PAPER, kind="real", noise=0):
    rows, weights, rounds = [], {}, {}
    for number in range(ROUNDS):
        for name, level in levels.items():
            run = f"{name} {number}"
            weights[run], rounds[run] = level, number
            rows.append(row("figure_4", run, method=name, corpus="AMBIENT", data="AMBIENT", round=number))
    fake = Queries("diversity", config_of("diversity"), rows, weights)
    fake.rounds, fake.noise = rounds, noise
    fake.summary["data"] = [{"corpus": "AMBIENT", "label": "AMBIENT", "asked": "auto", "kind": kind}]
    return {"diversity": fake}


def order(results):
    return {line["id"]: line for line in judgements(results, "diversity", "diversity-order")}


def test_the_papers_order_is_reproduced():
    lines = order(made())
    assert all(lines[name]["verdict"] == "reproduced" for name in (*WON, *NOT_BETTER))
    assert lines[WON[0]]["effect"] == pytest.approx(0.35) and lines[WON[0]]["n"] == N
    assert lines[WON[0]]["interval"] == "bootstrap over 24 units and 2 repetitions"
    for name in NO_SOURCE:
        assert (
            lines[name]["verdict"] == "not testable"
            and "No source for the formula" in lines[name]["evidence"]
        )


def test_two_methods_swapped_turn_what_is_said_of_them():
    lines = order(made(PAPER | {"structural SVM": 8, "random": 15}))
    assert lines["diversity-order-svm-random"]["verdict"] == "contradicted"
    lines = order(made(PAPER | {"structural SVM": 7, "unweighted words": 15}))
    assert lines["diversity-order-svm-unweighted"]["verdict"] == "contradicted"
    assert lines["diversity-order-unweighted-random"]["verdict"] == "contradicted"
    lines = order(made(PAPER | {"structural SVM": 8, "Okapi": 15}))
    assert lines["diversity-order-svm-okapi"]["verdict"] == "contradicted"
    assert lines["diversity-order-okapi-random"]["verdict"] == "contradicted"


def test_a_gain_within_chance_is_open_and_made_up_queries_decide_nothing():
    lines = order(made(PAPER | {"structural SVM": 8}, noise=8))
    assert lines["diversity-order-svm-random"]["verdict"] == "inconclusive"
    lines = order(made(kind="synthetic"))
    assert lines["diversity-order-svm-random"]["verdict"] == "not testable"
    lines = order(made({name: 8 for name in METHODS if name != "Okapi"}))
    assert lines["diversity-order-svm-okapi"]["verdict"] == "not testable"
    assert "no round has runs of Okapi" in lines["diversity-order-svm-okapi"]["evidence"]


def test_words_that_go_with_subtopics_and_words_that_go_against_them():
    (line,) = judgements(made(), "diversity", "diversity-words")
    assert line["verdict"] == "reproduced"
    against = made()
    split = against["diversity"].split

    def turned(run):
        test = split(run).test
        for x in test.X:
            x.counts = sp.csr_matrix(1.0 - np.tri(21, 20, -1))
        return SimpleNamespace(test=test)

    against["diversity"].split = turned
    (line,) = judgements(against, "diversity", "diversity-words")
    assert line["verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("has", "chosen", "verdict"),
    [
        ([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], [0, 2], "reproduced"),  # the first two say the same
        ([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], [0, 1], "inconclusive"),  # chosen one by one
        ([[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]], [0, 2], "not testable"),  # a partition
    ],
)
def test_documents_chosen_together_cover_more_where_they_share_subtopics(has, chosen, verdict):
    results = made()
    y = Selection(np.array(chosen), np.array(has, dtype=bool), np.array([0.25, 0.25, 0.25, 0.25]))
    split = results["diversity"].split
    results["diversity"].split = lambda run: SimpleNamespace(
        test=Examples(split(run).test.X, [y] * len(split(run).test.X))
    )
    (line,) = judgements(results, "diversity", "diversity-together")
    assert line["verdict"] == verdict
    assert verdict != "not testable" or "0.0% of the documents have several" in line["evidence"]


def test_quantities_of_one_query_by_hand():
    has = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    y = Selection(np.array([0, 2]), has, np.array([0.3, 0.3, 0.2, 0.2]))
    assert gain_together(y) == pytest.approx(0.2)  # documents 0 and 1 cover the most each, and the same
    assert share_with_several([(None, y)]) == pytest.approx(0.5)
    assert subtopic_coverage(y) == (pytest.approx(0.8), pytest.approx(0.8))
    x = Documents(counts=sp.csr_matrix(has.astype(float)))
    assert correlation_with_words(x, y, seed=0) > 0.9
    assert np.isnan(correlation_with_words(Documents(counts=sp.csr_matrix(np.ones((4, 2)))), y, seed=0))


def test_ratios_are_of_the_first_candidates():
    has = np.zeros((30, 3), bool)
    has[0, 0] = has[1, 1] = has[29, 2] = True
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int64)
    items = np.nonzero(has)[1].astype(np.int64)
    assert compared(indptr, items, np.array([1.0, 2.0, 9.0]), 2) == (3.0, 3.0)
    values = ratios([(1.0, 2.0), (3.0, 3.0), (0.0, 0.0)])
    assert summary(values) == (0.5, 0.75, 2) and summary(ratios([(0.0, 0.0)])) is None
