"""Verdicts beside the committed run's: which differ, why, and which turned into the opposite."""

from __future__ import annotations

import pytest

from structmargin_suite.publish.stability import changes, reseeded, scattered


def line(name, verdict, n=10, primary=True, **given):
    base = {"id": name, "verdict": verdict, "n": n, "primary": primary, "reading": "r", "data": "d"}
    return {**base, "evidence": "found", "volatile": False, **given}


def test_the_same_verdicts_are_no_change():
    rows = [line("a", "reproduced"), line("b", "contradicted", primary=False)]
    assert changes(rows, [line("a", "reproduced", n=40), line("b", "reproduced")]) == []


@pytest.mark.parametrize(
    ("here", "committed", "why", "opposite"),
    [
        (line("a", "inconclusive", 4), line("a", "reproduced", 40),
         "fewer observations: 4 where the committed run has 40", False),
        (line("a", "contradicted", 40), line("a", "reproduced", 4),
         "more observations: 40 where the committed run has 4", True),
        (line("a", "contradicted"), line("a", "reproduced"), "as many observations, other numbers", True),
        (line("a", "not testable", None, evidence="no results of 'ner' yet"), line("a", "reproduced"),
         "no results of 'ner' yet", False),
        (line("a", "reproduced"), line("a", "not testable", None),
         "the committed run measured nothing", False),
        (line("a", "reproduced", data="e"), line("a", "contradicted"),
         "other data decide: e where the committed run has d", True),
    ],
)  # fmt: skip
def test_a_change_has_its_reason(here, committed, why, opposite):
    (found,) = changes([here], [committed])
    assert (found.here, found.there) == (here["verdict"], committed["verdict"])
    assert (found.why, found.opposite) == (why, opposite)


def test_statements_that_one_run_does_not_know_are_left_out():
    assert changes([line("new", "reproduced")], [line("old", "reproduced")]) == []


def test_verdicts_under_other_seeds_are_compared_statement_by_statement():
    """Two seeds, of which the second ran one experiment only; rows that are not primary do not count."""
    rows = [
        line("a", "reproduced", experiment="ner"),
        line("b", "contradicted", experiment="ocr"),
        line("c", "inconclusive", experiment="ocr", reading=None),
        line("b", "reproduced", primary=False, experiment="ocr", reading="other"),
    ]
    again = {
        ("a", "r", "d"): {1: "reproduced"},
        ("b", "r", "d"): {1: "reproduced", 2: "contradicted"},
        ("c", "", "d"): {1: "reproduced", 2: "inconclusive"},
        ("b", "other", "d"): {1: "contradicted", 2: "contradicted"},
    }
    first, second = reseeded(rows, again)
    assert (first.seed, first.experiments, first.compared) == (1, ("ner", "ocr"), 3)
    assert [(each.id, each.here, each.there, each.opposite) for each in first.changed] == [
        ("b", "contradicted", "reproduced", True),
        ("c", "inconclusive", "reproduced", False),
    ]
    assert (second.seed, second.experiments, second.compared, second.changed) == (2, ("ocr",), 2, ())


def test_seeds_of_another_scale_are_compared_with_each_other():
    """Statements that one of the seeds did not judge do not count; a single seed says nothing."""
    found = {
        "smoke": {("a", "", ""): {1: "reproduced"}},
        "standard": {
            ("a", "", "d"): {1: "reproduced", 2: "reproduced", 3: "reproduced"},
            ("b", "r", "d"): {1: "reproduced", 2: "inconclusive", 3: "contradicted"},
            ("c", "r", "d"): {1: "inconclusive", 2: "not testable", 3: "inconclusive"},
            ("e", "r", "d"): {1: "reproduced", 3: "contradicted"},
        },
    }
    (standard,) = scattered(found)
    assert (standard.scale, standard.seeds, standard.compared) == ("standard", (1, 2, 3), 3)
    assert list(standard.changed) == ["b", "c"] and standard.opposite == ["b"]
