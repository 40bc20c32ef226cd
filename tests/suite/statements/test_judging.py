"""From results to rows: readings, corpora, the primary row, made-up data, used statements, causes."""

from __future__ import annotations

import pytest

from helpers.made_up_results import Fake, row
from structmargin_suite.analysis.estimates import Estimate, NotTestable, counterexamples, t_interval
from structmargin_suite.results import NotReadyError
from structmargin_suite.statements import cases
from structmargin_suite.statements.cases import effect
from structmargin_suite.statements.judging import COLUMNS, judge
from structmargin_suite.storage.statements_file import Claim, Statement

NOISE = (-0.2, 0.1, 0.1, -0.1, 0.1)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Effects of these tests alone."""
    monkeypatch.setattr(cases, "EFFECTS", {})
    monkeypatch.setattr(cases, "CAUSE_TESTS", {})
    monkeypatch.setattr("structmargin_suite.statements.judging.CAUSE_TESTS", cases.CAUSE_TESTS)
    monkeypatch.setattr("structmargin_suite.statements.judging.effects", lambda: dict(cases.EFFECTS))


def claim(*names, kind="order", **given):
    heads = ("c", "jmlr05", "Table 9", "A is better.", "toy")
    statements = [
        Statement(name, "c", "jmlr05", "Table 9", "A beats B.", "toy", kind, "samples", **given)
        for name in names
    ]
    return [Claim(*heads, statements=tuple(statements))]


def toy(gains, data=None, uses=(), own=False, asked="synthetic"):
    """B's error minus A's by corpus and reading; B has no readings. The second reading is primary."""
    corpora = list(dict.fromkeys(corpus for corpus, _ in gains))
    readings = {
        name: {"evidence": "e", "chosen": chosen, "primary": chosen == "before", "uses": list(uses)}
        for name, chosen in (("loose", "after first look"), ("strict", "before"))
    }
    config = {
        "data": {corpus: {"from": "x", "source": "auto", "papers_own": own} for corpus in corpora},
        "methods": {"A": {"baseline": "a", "readings": list(readings)}, "B": {"baseline": "b"}},
        "readings": readings,
        "studies": {"s": {"methods": ["A", "B"]}},
    }
    runs = []
    for (corpus, reading), gain in gains.items():
        for r, noise in enumerate(NOISE):
            common = {"corpus": corpus, "data": f"{corpus}!", "repetition": r}
            name = f"{corpus}{reading}{r}"
            runs.append(row("s", f"A{name}", method="A", reading=reading, error=5.0 - gain + noise, **common))
            if not any(run["run"] == f"B{corpus}{r}" for run in runs):
                runs.append(row("s", f"B{corpus}{r}", method="B", reading="", error=5.0, **common))
    fake = Fake("toy", config, runs)
    fake.summary["data"] = [
        {"corpus": c, "label": c, "asked": asked, "kind": (data or {}).get(c, "real")} for c in corpora
    ]
    return {"toy": fake}


def lower_error(name="c-1"):
    @effect(name, study="s", methods=["A"])
    def difference(case):
        return t_interval(case.paired("s", "error", "B", "A"), case.level)


BOTH = {("x", "loose"): 1.0, ("x", "strict"): -1.0, ("y", "loose"): 1.0, ("y", "strict"): 1.0}


def by_case(rows):
    return {(line["data"], line["reading"]): line for line in rows}


def test_a_row_for_each_reading_and_corpus_and_one_is_primary():
    lower_error()
    rows = judge(toy(BOTH), claim("c-1"))
    assert all(tuple(line) == COLUMNS for line in rows)
    found = by_case(rows)
    assert {key: line["verdict"] for key, line in found.items()} == {
        ("x!", "loose"): "reproduced",
        ("x!", "strict"): "contradicted",
        ("y!", "loose"): "reproduced",
        ("y!", "strict"): "reproduced",
    }
    assert [key for key, line in found.items() if line["primary"]] == [("x!", "strict")]
    first = found["x!", "strict"]
    assert first["effect"] == pytest.approx(-1.0) and first["n"] == 5 and first["low"] < -1.0 < first["high"]
    assert (first["chosen"], found["x!", "loose"]["chosen"]) == ("before", "after first look")
    assert first["cause"] == "data: reproduced on y"
    assert found["x!", "loose"]["cause"] == ""


def test_more_statements_in_a_claim_have_wider_intervals():
    lower_error()
    lower_error("c-2")
    alone = by_case(judge(toy(BOTH), claim("c-1")))["x!", "strict"]
    beside = by_case(judge(toy(BOTH), claim("c-1", "c-2"))[:4])["x!", "strict"]
    assert beside["low"] < alone["low"] and beside["high"] > alone["high"]


def test_two_methods_swapped_turn_the_verdict():
    lower_error()
    results = toy({("x", "strict"): 1.0})
    assert judge(results, claim("c-1"))[0]["verdict"] == "reproduced"
    runs = results["toy"].runs
    a = (runs["method"] == "A").to_numpy()
    errors = runs["error"].to_numpy(copy=True)
    errors[a], errors[~a] = runs["error"].to_numpy()[~a], runs["error"].to_numpy()[a]
    results["toy"].runs = runs.assign(error=errors)
    assert judge(results, claim("c-1"))[0]["verdict"] == "contradicted"


def test_made_up_data_never_decide_a_statement_about_real_data():
    lower_error()
    results = toy(BOTH, data={"x": "synthetic"})
    found = by_case(judge(results, claim("c-1")))
    assert found["x!", "loose"]["verdict"] == found["x!", "strict"]["verdict"] == "not testable"
    assert found["x!", "strict"]["evidence"].endswith(
        "made-up data do not decide a statement about real data"
    )
    assert found["x!", "strict"]["cause"] == "" and found["y!", "strict"]["primary"]
    decided = by_case(judge(results, claim("c-1", data="any")))
    assert decided["x!", "strict"]["verdict"] == "contradicted" and decided["x!", "strict"]["primary"]
    own = by_case(judge(toy(BOTH, data={"x": "synthetic"}, own=True), claim("c-1")))
    assert own["x!", "strict"]["verdict"] == "contradicted"
    stand_in = by_case(judge(toy(BOTH, data={"x": "synthetic"}, own=True, asked="auto"), claim("c-1")))
    assert stand_in["x!", "strict"]["verdict"] == "not testable"


def test_a_statement_that_chose_the_reading_is_used_and_not_judged():
    lower_error()
    rows = judge(toy(BOTH, uses=["c-1"]), claim("c-1"))
    assert {line["verdict"] for line in rows} == {"used"} and {line["cause"] for line in rows} == {""}
    assert sum(line["primary"] for line in rows) == 1
    assert {line["verdict"] for line in judge(toy(BOTH, uses=["c-7"]), claim("c-1"))} != {"used"}


def test_causes_in_their_order():
    lower_error()
    bad = {("x", "strict"): -1.0, ("x", "loose"): -1.0}
    (first, _) = (line for line in judge(toy(bad), claim("c-1")) if line["reading"] in ("strict", "loose"))
    assert first["cause"] == "open: no test of a cause decides"
    alone = judge(toy({("x", "strict"): -1.0}, own=True), claim("c-1"))[0]
    assert alone["cause"] == "open: no test of a cause decides; only one reading was run"
    own = by_case(judge(toy(bad, own=True), claim("c-1")))["x!", "strict"]
    assert own["cause"] == "claim: contradicted on the paper's own data under all 2 readings"
    elsewhere = by_case(judge(toy({**bad, ("y", "strict"): 1.0}, own=True), claim("c-1")))["x!", "strict"]
    assert elsewhere["cause"] == "data: reproduced on y"
    undecided = by_case(judge(toy({("x", "strict"): 0.01}), claim("c-1")))["x!", "strict"]
    assert undecided["verdict"] == "inconclusive" and undecided["cause"].startswith(
        "power: the effect is positive"
    )

    @effect("c-1", study="s", methods=["A"], cause="baseline")
    def against_the_papers_rival(case):
        return Estimate(2.0, 1.0, 3.0, 5, "t", note="against the rival as printed it is 2")

    tested = by_case(judge(toy({**bad, ("y", "strict"): 1.0}, own=True), claim("c-1")))["x!", "strict"]
    assert tested["cause"] == "baseline: against the rival as printed it is 2"


def test_a_theorem_with_counterexamples_is_itself_the_cause():
    @effect("c-1")
    def broken(case):
        return counterexamples(2, 30)

    assert judge({}, claim("c-1", kind="bound", data="any"))[0]["cause"] == "claim: there are counterexamples"
    assert judge({}, claim("c-1", kind="bound"))[0]["cause"].startswith("open: ")


def test_a_test_of_a_cause_that_fails_is_no_cause():
    lower_error()

    @effect("c-1", study="s", methods=["A"], cause="engineering")
    def in_counts(case):
        return Estimate(-2.0, -3.0, -1.0, 5, "t")

    rows = judge(toy({("x", "strict"): -1.0}), claim("c-1"))
    assert rows[0]["cause"] == "open: no test of a cause decides; only one reading was run"


@pytest.mark.parametrize(
    ("seeds", "cause"),
    [
        ({}, "open: no test of a cause decides; reproduced under loose, and no other seed was run"),
        ({7: "reproduced"}, "reading: reproduced under loose, also with seed 7"),
        (
            {8: "reproduced", 7: "reproduced"},
            "reading: reproduced under loose, also with seeds 7, 8",
        ),
        (
            {7: "reproduced", 8: "inconclusive"},
            "open: no test of a cause decides; reproduced under loose, not with every other seed",
        ),
    ],
)
def test_another_reading_is_a_cause_where_other_seeds_agree(seeds, cause):
    lower_error()
    again = {("c-1", "loose", "x!"): seeds, ("c-1", "loose", "y!"): {9: "contradicted"}}
    rows = judge(toy({("x", "loose"): 1.0, ("x", "strict"): -1.0}), claim("c-1"), again=again)
    assert by_case(rows)["x!", "strict"]["cause"] == cause


def test_a_reading_or_corpus_with_the_same_effect_is_no_cause():
    """What is reproduced elsewhere by a narrower interval around the same effect lacks power here."""
    wide, narrow = Estimate(1.0, -0.5, 2.5, 5, "t"), Estimate(1.0, 0.5, 1.5, 50, "t")
    far = Estimate(2.0, 1.5, 2.5, 5, "t")
    for other, cause in ((narrow, "power"), (far, "data")):

        @effect("c-1", study="s", methods=["A"])
        def computed(case, other=other):
            return wide if (case.corpus, case.reading) == ("x", "strict") else other

        gains = {("x", "strict"): 1.0, ("y", "strict"): 1.0, ("x", "loose"): 1.0}
        again = {("c-1", "loose", "x!"): {7: "reproduced"}}
        first = by_case(judge(toy(gains), claim("c-1"), again=again))["x!", "strict"]
        assert first["verdict"] == "inconclusive"
        assert first["cause"].partition(":")[0] == (cause if other is narrow else "reading")
        del gains["x", "loose"]
        assert by_case(judge(toy(gains), claim("c-1")))["x!", "strict"]["cause"].partition(":")[0] == cause
        cases.EFFECTS.pop("c-1")


@pytest.mark.parametrize(
    ("low", "said"),
    [(-0.2, "; another effect, but inconclusive under loose"), (-3.0, "; inconclusive under loose")],
)
def test_what_is_open_says_which_reading_has_another_effect_without_a_verdict(low, said):
    """-2 is contradicted under the one reading; the other is inconclusive, near it or far from it."""

    @effect("c-1", study="s", methods=["A"])
    def computed(case):
        return (
            Estimate(-2.0, -3.0, -1.0, 5, "t")
            if case.reading == "strict"
            else Estimate(1.0, low, 2.2, 5, "t")
        )

    rows = by_case(judge(toy({("x", "strict"): 1.0, ("x", "loose"): 1.0}), claim("c-1")))
    assert rows["x!", "loose"]["verdict"] == "inconclusive"
    assert rows["x!", "strict"]["cause"] == f"open: no test of a cause decides{said}"


@pytest.mark.parametrize(
    ("published", "said"), [(0.5, "above it"), (-2.0, "below it"), (None, ""), (0.0, "")]
)
def test_a_paper_whose_number_is_not_in_the_interval_is_said_to_be_outside(published, said):
    @effect("c-1")
    def computed(case):
        return Estimate(0.0, -1.0, 0.25, 5, "t")

    (line,) = judge({}, claim("c-1", published=published))
    assert (f"lies {said}" in line["evidence"]) == bool(said)
    assert ("the paper's" in line["evidence"]) == bool(said)


def test_what_is_inconclusive_lacks_power_and_names_a_reading_that_was_not_repeated():
    lower_error()
    gains = {("x", "loose"): 1.0, ("x", "strict"): 0.01}
    cause = by_case(judge(toy(gains), claim("c-1")))["x!", "strict"]["cause"]
    assert cause.startswith("power: the effect is positive")
    assert cause.endswith("; reproduced under loose, and no other seed was run")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotTestable("two draws; three are needed"), "two draws; three are needed"),
        (NotReadyError("the data are gone: make reproduce"), "the data are gone: make reproduce"),
    ],
)
def test_what_cannot_be_told_is_a_reason(error, said):
    @effect("c-1", study="s")
    def raising(case):
        raise error

    rows = judge(toy({("x", "strict"): 1.0}), claim("c-1"))
    assert [(line["verdict"], line["evidence"]) for line in rows] == [("not testable", said)]
    assert rows[0]["primary"] and rows[0]["effect"] is None


def test_an_error_of_ours_is_raised():
    @effect("c-1", study="s")
    def wrong(case):
        return case.runs("s")["no such column"]

    with pytest.raises(KeyError, match="no such column"):
        judge(toy({("x", "strict"): 1.0}), claim("c-1"))


def test_no_results_no_effect_and_no_runs_are_reasons():
    rows = judge({}, claim("c-1"))
    assert rows[0]["evidence"] == "nothing computes its effect yet"
    lower_error()
    assert judge({}, claim("c-1"))[0]["evidence"] == "no results of 'toy' yet"
    rows = judge({}, claim("c-1", untestable="the data are closed"))
    assert (rows[0]["verdict"], rows[0]["evidence"]) == ("not testable", "the data are closed")

    @effect("c-2", study="another")
    def other(case):
        return Estimate(1.0, 0.5, 1.5, 3, "t")

    rows = judge(toy({("x", "strict"): 1.0}), claim("c-2"))
    assert rows[0]["evidence"] == "no finished runs of any method in another at this scale"


def test_one_statement_has_one_effect():
    lower_error()
    with pytest.raises(ValueError, match="c-1: two functions compute its effect"):
        lower_error()
    with pytest.raises(ValueError, match="'luck' is no cause that a comparison can test"):
        effect("c-1", cause="luck")
