"""Statements about taxonomies: made-up documents under which each is reproduced, contradicted, or open."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.made_up_results import Fake, config_of, judgements, row
from structmargin_suite.analysis import estimates
from structmargin_suite.analysis.experiments.taxonomy import by_cross_validation
from structmargin_suite.datasets import Examples
from structmargin_suite.datasets.patents import FOLDS

N = 600
LOSSES = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
LEVELS = {"flt 0/1": (100, 100), "tax 0/1": (140, 120), "flt delta": (140, 160), "tax delta": (200, 180)}
"""Documents that are right, and documents that a sibling is taken for."""
PRIMARY, OTHER = "slack re-scaling", "margin re-scaling"
BEST = {f"taxonomy-best-{what}-{size}" for what in ("accuracy", "tree") for size in (4, 2)}
BETWEEN = {f"taxonomy-best-accuracy-{size}-{kind}" for size in (4, 2) for kind in ("tax", "flt")}
FEATURES = {f"taxonomy-features-{size}{kind}" for size in (4, 2) for kind in ("", "-delta")}
LOSS = {f"taxonomy-loss-{size}-{kind}" for size in (4, 2) for kind in ("flt", "tax")}
ALL = BEST | BETWEEN | FEATURES | LOSS


class Documents(Fake):
    """Made-up results: each run is right on some documents, a sibling away on others, else far away."""

    def split(self, run):
        _, _, tested = self.weights[run]
        part = Examples(None, np.zeros(len(self.of(run)), dtype=int))
        return SimpleNamespace(test=part, problem={"loss": LOSSES}, tested=tested)

    def of(self, run):
        """What the run predicts."""
        right, near, tested = self.weights[run]
        yhat = np.full(N, 2)
        yhat[: right + near] = 1
        yhat[:right] = 0
        yhat = np.random.default_rng(9).permutation(yhat)  # so that all folds are alike
        return yhat if tested is None else yhat[tested]

    def model(self, run):
        return SimpleNamespace(predict=lambda X: self.of(run))


def made(levels=LEVELS, corpus="wipo-d", study="patents", noise=3, rounds=15, readings=(PRIMARY,)):
    """Results in the order of the paper, but for what is given; `noise` is in documents.

    A round tests a fold of the documents of wipo-d, and all of the newsgroups.
    """
    rng, rows, found = np.random.default_rng(1), [], {}
    for size in (4, 2):
        for method, (right, near) in levels.items():
            for reading in readings if method.endswith("delta") else ["drawn"]:
                for k in range(rounds):
                    run = f"{corpus} {size} {method} {reading} {k}"
                    moved = int(np.clip(right + noise * rng.normal(), 0, N - near))
                    fold = np.arange(k % FOLDS[size], N, FOLDS[size])
                    found[run] = (moved, near, fold if corpus == "wipo-d" else None)
                    rows.append(
                        row(study, run, method=method, reading=reading, corpus=corpus, round=k,
                            instances_per_class=size)
                    )  # fmt: skip
    return {"taxonomy": Documents("taxonomy", config_of("taxonomy"), rows, found)}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(estimates, "RESAMPLES", 500)


def _verdicts(results):
    return {one["id"]: one["verdict"] for one in judgements(results, "taxonomy") if one["primary"]}


@pytest.mark.parametrize(("corpus", "study"), [("wipo-d", "patents"), ("newsgroups", "newsgroups")])
def test_all_is_reproduced_where_all_is_in_the_papers_order(corpus, study):
    assert _verdicts(made(corpus=corpus, study=study)) == dict.fromkeys(ALL, "reproduced")


def _swapped(a, b):
    return {**LEVELS, a: LEVELS[b], b: LEVELS[a]}


@pytest.mark.parametrize(("corpus", "study"), [("wipo-d", "patents"), ("newsgroups", "newsgroups")])
@pytest.mark.parametrize(
    ("levels", "contradicted"),
    [
        (_swapped("flt 0/1", "tax delta"), ALL),
        (_swapped("flt 0/1", "tax 0/1"), {f"taxonomy-features-{size}" for size in (4, 2)}),
        (_swapped("flt 0/1", "flt delta"),
         {f"taxonomy-{name}" for name in ("loss-4-flt", "loss-2-flt", "features-4", "features-2")}),
        (_swapped("tax 0/1", "tax delta"),
         {f"taxonomy-best-accuracy-{size}-tax" for size in (4, 2)}
         | {f"taxonomy-features-{size}-delta" for size in (4, 2)}
         | {f"taxonomy-loss-{size}-tax" for size in (4, 2)}),
    ],
)  # fmt: skip
def test_swapping_two_methods_turns_the_statements_about_them(levels, contradicted, corpus, study):
    verdicts = _verdicts(made(levels, corpus, study))
    assert {name for name, verdict in verdicts.items() if verdict == "contradicted"} == contradicted


def test_a_lead_within_chance_is_inconclusive():
    verdicts = _verdicts(made(dict.fromkeys(LEVELS, (150, 100)), noise=10))
    assert set(verdicts.values()) == {"inconclusive"}


def test_documents_are_resampled_crossed_with_cross_validations_or_rounds():
    """15 rounds are five 3-fold or three 5-fold cross-validations, each of which tests every document."""
    intervals = {one["id"]: one["interval"] for one in judgements(made(), "taxonomy")}
    assert intervals["taxonomy-best-tree-4"] == f"bootstrap over {N} units and 5 repetitions"
    assert intervals["taxonomy-best-tree-2"] == f"bootstrap over {N} units and 3 repetitions"
    results = made(corpus="newsgroups", study="newsgroups", rounds=6)
    intervals = {one["interval"] for one in judgements(results, "taxonomy")}
    assert intervals == {f"bootstrap over {N} units and 6 repetitions"}


def test_a_document_counts_with_its_mean_over_the_rounds_that_test_it():
    values = {k: np.array([10.0 * k + d for d in range(2)]) for k in range(6)}
    folds = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    drawn = by_cross_validation({k: (folds[k % 3], values[k]) for k in range(6)}, 3)
    assert drawn.tolist() == [[0, 1, 10, 11, 20, 21], [30, 31, 40, 41, 50, 51]]
    others = [np.setdiff1d(np.arange(6), fold) for fold in folds]
    one_fold = by_cross_validation({k: (others[k], np.full(4, 6.0 * k)) for k in range(3)}, 3)
    assert one_fold.tolist() == [[9.0, 9.0, 6.0, 6.0, 3.0, 3.0]]
    # of four rounds the last begins a cross-validation that is not whole; of two, none is, even where the
    # rounds that are there test every document between them
    assert by_cross_validation({k: (folds[k % 3], values[k]) for k in range(4)}, 3).tolist() == [
        [0, 1, 10, 11, 20, 21]
    ]
    assert len(by_cross_validation({k: (folds[k], values[k]) for k in range(2)}, 3)) == 0
    assert len(by_cross_validation({k: (others[k], np.full(4, 6.0 * k)) for k in range(2)}, 3)) == 0


@pytest.mark.parametrize(("corpus", "study"), [("wipo-d", "patents"), ("newsgroups", "newsgroups")])
def test_one_round_is_no_evidence(corpus, study):
    assert set(_verdicts(made(corpus=corpus, study=study, rounds=1)).values()) == {"not testable"}


def test_one_cross_validation_is_no_evidence():
    """Five rounds hold one whole cross-validation of either kind; ten hold at least two."""
    assert set(_verdicts(made(rounds=5)).values()) == {"not testable"}
    verdicts = _verdicts(made(rounds=6))
    assert {name: verdicts[name] for name in ("taxonomy-best-tree-4", "taxonomy-best-tree-2")} == {
        "taxonomy-best-tree-4": "reproduced",
        "taxonomy-best-tree-2": "not testable",
    }
    assert "not testable" not in _verdicts(made(rounds=10)).values()


def test_margin_rescaling_has_rows_of_its_own():
    results = made(readings=(PRIMARY, OTHER))
    mine = results["taxonomy"]
    for run, (right, near, tested) in mine.weights.items():
        if OTHER in run:
            mine.weights[run] = (right - 150, near, tested)
    rows = [one for one in judgements(results, "taxonomy") if one["id"] == "taxonomy-best-accuracy-4"]
    verdicts = {one["reading"]: (one["verdict"], one["primary"]) for one in rows}
    assert verdicts == {PRIMARY: ("reproduced", True), OTHER: ("contradicted", False)}
    # methods that do not know the tree loss are judged once
    assert [
        one["reading"] for one in judgements(results, "taxonomy") if one["id"] == "taxonomy-features-4"
    ] == ["drawn"]
