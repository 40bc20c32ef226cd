"""What pages are put together from: numbers of figures in words, drawings inside the page, sentences."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import pytest

from structmargin_suite.figures._plotted import plotted
from structmargin_suite.figures._style import Series, house
from structmargin_suite.methods.method import Method
from structmargin_suite.publish.page.cards import card, drawing, sentence, with_labels
from structmargin_suite.publish.page.contents import Item, number_of, numbers_in
from structmargin_suite.publish.page.facts import _fell_on, _set_by, method_sentence
from structmargin_suite.publish.page.overview import EACH_ITS_OWN, shares, untestable
from structmargin_suite.publish.page.pictures import inline, plot_data
from structmargin_suite.publish.page.plots import in_words, names_of, panels_of
from structmargin_suite.publish.page.section import (
    _wide,
    answer,
    first_words,
    holds,
    main_claims,
    other_data,
)  # fmt: skip
from structmargin_suite.publish.page.sentences import sentences, with_verdicts
from structmargin_suite.publish.tables.layout import Heading, Tab
from structmargin_suite.publish.tables.printed import TO_VERDICTS
from structmargin_suite.storage.frames import frame_of
from structmargin_suite.storage.statements_file import Claim, Statement

STATEMENT = {
    "id": "s", "claim": "c", "paper": "jmlr05", "where": "Table 1", "says": "A beats B.", "experiment": "e",
    "kind": "order", "unit": "rounds", "published": 2.0,
}  # fmt: skip
ROW = {
    "effect": 1.0,
    "low": -3.0,
    "high": 5.0,
    "verdict": "inconclusive",
    "cause": "power: more",
    "evidence": "",
}


@pytest.fixture(scope="module")
def panels():
    """Two curves that cross, the paper's points without a name, and a panel with words along y."""
    with house() as plt:
        fig = plt.figure()
        left, right = fig.subplots(1, 2)
        left.plot([1, 10, 100], [3.0, 2.0, 1.0], "o-", color="#0072B2", label="A")
        left.plot([1, 10, 100], [1.0, 1.5, 4.0], "s-", color="#D55E00", label="B")
        left.plot([1, 10], [2.5, 2.25], ":", marker="o", color="#0072B2", markerfacecolor="white")
        left.set(xscale="log", xlabel="n", ylabel="error", title="Curves")
        right.errorbar([20.0, 30.0], [0, 1], xerr=[1.0, 1.0], fmt="o", label="ours")
        right.set(xlabel="accuracy")
        right.set_yticks([0, 1], ["flat", "tree"])
        made = plotted(fig)
        plt.close(fig)
    return made


def test_a_figure_is_kept_as_the_numbers_that_it_plots(panels):
    left, right = panels
    assert (left["title"], left["x"], left["y"], left["log_x"], left["log_y"]) == (
        "Curves", "n", "error", True, False,
    )  # fmt: skip
    assert [(s["name"], s["paper"]) for s in left["series"]] == [
        ("A", False), ("B", False), ("the paper", True),
    ]  # fmt: skip
    assert left["series"][1]["points"] == [[1.0, 1.0], [10.0, 1.5], [100.0, 4.0]]
    assert right["labels"] == [[0.0, "flat"], [1.0, "tree"]] and right["y"] == "accuracy"
    assert right["series"][0]["points"] == [[0.0, 20.0], [1.0, 30.0]]


def test_its_words_name_the_largest_the_smallest_and_where_curves_cross(panels):
    words = in_words(panels_of(panels))
    assert words.startswith("Curves: error against n. A: smallest 1 at 100, largest 3 at 1.")
    assert "the paper: smallest 2.25 at 10, largest 2.5 at 1." in words
    assert "A and B cross between 10 and 100." in words
    assert words.endswith("ours: smallest 20 at flat, largest 30 at tree.")
    shown = plot_data(panels_of(panels))
    assert [panel["title"] for panel in shown] == ["Curves"]  # words along an axis are no curve


@pytest.fixture(scope="module")
def shared():
    """Two rows of panels: words along a shared y, dots that nothing joins, bars; names at the rim only."""
    with house() as plt:
        fig = plt.figure()
        top, bottom = fig.subplots(2, 2, sharey="row")
        for ax, shift in zip(top, (0.0, 50.0), strict=True):
            ax.plot([shift + 10.0, shift + 30.0], [0, 1], "o", label="ours")
            ax.plot([shift + 1.0, shift + 2.0], [0, 1], ".", color="#123456")  # draws, without a name
            ax.set_yticks([0, 1], ["flat", "tree,\nall"])
        top[0].set(title="F1", ylabel="corpus\nmethod")
        top[1].set(title="ROC area")
        bottom[0].bar([0.8, 1.8], [4.0, 5.0], 0.4, label="A")
        bottom[0].bar([1.2, 2.2], [7.0, 6.0], 0.4, label="B")
        bottom[0].set(xlabel="wrong labels", ylabel="share")
        for place, (left, width) in enumerate(((0.0, 3.0), (3.0, 2.0))):
            bottom[1].barh(place, width, left=left)  # a picture made of bars
        for ax in fig.axes:
            ax.label_outer()
        made = plotted(fig)
        plt.close(fig)
    return made


def test_panels_that_share_an_axis_have_its_words_and_names(shared):
    left, right, bars = shared
    assert left["labels"] == right["labels"] == [[0.0, "flat"], [1.0, "tree, all"]]
    assert right["series"][0]["points"] == [[0.0, 60.0], [1.0, 80.0]]
    assert (left["title"], left["x"], right["title"], right["x"]) == (
        "F1", "corpus, method", "ROC area", "corpus, method",
    )  # fmt: skip
    assert not any(series["joined"] for panel in shared for series in panel["series"])
    words = in_words(panels_of(shared))
    assert "ours: smallest 60 at flat, largest 80 at tree, all." in words
    assert "Values" not in words, "draws without a name are no sentence of their own"
    assert bars["title"] == "F1", "a column has one title"


def test_bars_are_values_where_they_have_a_name_or_begin_at_0(shared):
    assert len(shared) == 3, "bars that begin anywhere are a picture"
    first, second = shared[2]["series"]
    assert (first["name"], first["points"]) == ("A", [[0.8, 4.0], [1.8, 5.0]])
    assert (second["name"], second["points"]) == ("B", [[1.2, 7.0], [2.2, 6.0]])
    assert "B: smallest 6 at 2.2, largest 7 at 1.2." in in_words(panels_of(shared))


def test_panels_are_chosen_by_names_that_tell_them_apart(panels):
    (left, _) = panels_of(panels)
    titled = [replace(left, title="F1"), replace(left, title="ROC area")]
    assert names_of(titled) == ["F1", "ROC area"]
    by_axis = [replace(left, title="", y=y) for y in ("accuracy", "tree loss")]
    assert names_of(by_axis) == ["accuracy", "tree loss"]
    by_x = [replace(left, title="", y="constraints", x=x) for x in ("n", "C")]
    assert names_of(by_x) == ["constraints, n", "constraints, C"]
    assert names_of([left, left]) == ["panel 1", "panel 2"]


def test_a_drawing_inside_a_page_has_ids_of_its_own_runs_nothing_and_follows_the_theme():
    svg = (
        b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" '
        b'height="36pt" viewBox="0 0 72 36" onload="alert(1)"><script>alert(1)</script><defs><path id="p" '
        b'd="M0 0"/></defs><g clip-path="url(#p)" style="fill: #ffffff; stroke: #000000">'
        b'<use xlink:href="#p"/><rect fill="#0072B2"/></g></svg>'
    )
    text = inline(svg, "e-f")
    root = ET.fromstring(text)
    assert root.get("width") is None and root.get("viewBox") == "0 0 72 36"
    assert "alert" not in text and "<script" not in text
    assert 'id="e-f-p"' in text and 'href="#e-f-p"' in text and "url(#e-f-p)" in text
    assert "fill: var(--plot-back); stroke: var(--plot-ink)" in text and "#0072B2" in text


def test_an_interval_is_drawn_to_scale_beside_0_delta_and_the_papers():
    drawn = drawing(Statement(**STATEMENT, delta=3.0), ROW)
    assert (drawn["low"], drawn["high"], drawn["effect"]) == (12.0, 288.0, 150.0)
    assert drawn["paper"] == pytest.approx(12.0 + 276.0 * 5 / 8, abs=0.1)
    assert drawn["marks"] == [(115.5, "0"), (219.0, "δ")]
    both = drawing(Statement(**{**STATEMENT, "kind": "equivalence"}, delta=4.0), ROW)
    assert [name for _, name in both["marks"]] == ["−δ", "δ"] and both["marks"][0][0] == 12.0
    assert drawing(Statement(**STATEMENT), {**ROW, "effect": None}) is None
    assert drawing(Statement(**STATEMENT), {**ROW, "high": float("inf")}) is None


@pytest.mark.parametrize(
    ("kind", "verdict", "said"),
    [
        ("order", "reproduced", "We find 1 (−3 to 5), the paper 2: the interval lies on the claimed side."),
        ("order", "inconclusive", "We find 1 (−3 to 5), the paper 2: the interval holds both outcomes; more"),
        ("order", "paper outside", "the paper 2, outside this interval: the interval lies on"),
        ("bound", "contradicted", "there are runs that break it."),
        ("equivalence", "reproduced", "the difference is within what counts as none."),
        ("order", "used", "so that it is not judged."),
    ],
)
def test_a_verdict_is_one_plain_sentence(kind, verdict, said):
    statement = Statement(**{**STATEMENT, "kind": kind})
    row = {**ROW, "verdict": verdict}
    if verdict == "paper outside":
        row |= {"verdict": "reproduced", "effect": 3.0, "low": 2.5}
    assert said in sentence(statement, row)
    assert sentence(statement, {**ROW, "effect": None, "evidence": "no such data"}) == "No such data."


@pytest.mark.parametrize(
    ("kind", "cause", "said"),
    [
        ("order", "reading: holds under a", "side. It depends on how the paper is read: holds under a."),
        ("time", "engineering: a search takes 1 ms", "side. Our program is faster: a search takes 1 ms."),
        ("order", "claim: contradicted on the paper's own data", "side. It is so on the paper's own data."),
        ("bound", "claim: there are counterexamples", "there are runs that break it."),
        ("order", "open: no test of a cause decides", "side. No cause that was tested explains it."),
    ],
)  # fmt: skip
def test_the_sentence_on_what_is_contradicted_ends_with_the_cause(kind, cause, said):
    statement = Statement(**{**STATEMENT, "kind": kind})
    found = sentence(statement, {**ROW, "verdict": "contradicted", "cause": cause})
    assert said in found and (not said.endswith(".") or found.endswith(said)), found


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("reproduced", "what speaks against it is too small to matter."),
        ("contradicted", "what speaks against it is large enough to matter."),
    ],
)
def test_where_only_one_side_counts_an_effect_on_the_other_is_not_called_none(verdict, said):
    statement = Statement(**{**STATEMENT, "kind": "equivalence", "side": "above"})
    assert said in sentence(statement, {**ROW, "verdict": verdict, "cause": ""})


def test_a_bound_that_holds_needs_no_number():
    statement = Statement(**{**STATEMENT, "kind": "bound"})
    row = {**ROW, "effect": 0.0, "low": 0.0, "high": 0.0, "verdict": "reproduced"}
    assert sentence(statement, row) == "No run breaks it."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"formulation": "SVM1 slack", "solver": "n_slack", "C_per_example": 1.0, "gap_tol": 0.01,
             "view": {"features": "flat"},
             "choose": {"option": "C_per_example", "among": [0.1, 1.0], "by": "inner_error"}},
            "a structural SVM, SVM1 slack, trained by n-slack, to a relative gap of 0.01, features flat; "
            "C per example among 0.1, 1 is chosen by the lowest error on examples held out of the training "
            "set.",
        ),
        (
            {"model": "JKSE", "nu": 0.1, "kernel": {"name": "product", "kx": {"name": "rbf", "gamma": 0.02}}},
            "joint kernel support estimation (JKSE), ν = 0.1, kernel product (kx rbf (gamma 0.02)).",
        ),
        ({"baseline": "box_prior", "prior": "random"}, "the baseline box prior, prior random."),
        (
            {"baseline": "crf", "choose": {"option": "c2", "among": [1.0], "by": "inner_error"}},
            "the baseline crf; c2 = 1, with nothing to choose from.",
        ),
    ],
)  # fmt: skip
def test_a_method_is_a_sentence_and_no_dictionary(given, said):
    assert method_sentence(Method.parse("m", given)) == said


def test_what_a_reading_sets_is_said_in_words():
    choose = {"option": "C_per_example", "among": [0.1, 1.0], "by": "inner_error"}
    shown = Method.parse("m", {"formulation": "SVM2", "choose": choose})
    assert list(_set_by(shown, {"choose.among": [1.0], "view.features": "linear"})) == [
        "features linear", "C per example = 1",
    ]  # fmt: skip
    assert list(_set_by(shown, {"choose.option": "C"})) == ["C among 0.1, 1"]


def test_a_choice_at_an_end_of_its_grid_is_counted():
    method = Method.parse("m", {
        "formulation": "SVM1", "choose": {"option": "C", "among": [0.1, 1.0, 10.0], "by": "inner_error"},
    })  # fmt: skip
    runs = frame_of([{"C": 1.0}, {"C": 10.0}, {"C": 10.0}, {"C": 0.1}])
    found = _fell_on(method.choice, "C", (0.1, 1.0, 10.0), runs)
    assert found["at_ends"] == 3 and found["times"] == [("10", 2), ("1", 1), ("0.1", 1)]
    method = method.with_options({"choose.among": [10.0]})
    assert _fell_on(method.choice, "C", (10.0,), runs)["at_ends"] == 0  # a grid of one has no ends


def test_the_greatest_nu_is_no_end_that_a_wider_grid_would_go_beyond():
    choose = {"option": "nu", "among": [0.1, 0.5, 1.0], "by": "inner_error"}
    method = Method.parse("m", {"model": "JKSE", "nu": 0.1, "choose": choose})
    runs = frame_of([{"nu": 1.0}, {"nu": 1.0}, {"nu": 0.1}])
    found = _fell_on(method.choice, "nu", (0.1, 0.5, 1.0), runs)
    assert found["at_ends"] == 1 and found["times"] == [("1", 2), ("0.1", 1)]


def test_a_value_of_several_numbers_is_at_an_end_where_one_of_them_is():
    among = ["11/1/0", "11/1/1", "8/1/1.5", "8/1/2"]
    choose = {"option": "costs", "among": among, "by": "validation_q4", "largest": True}
    method = Method.parse("m", {"baseline": "blosum", "mode": "local", "choose": choose})
    runs = frame_of([{"costs": "8/1/2"}, {"costs": "8/1/2"}, {"costs": "8/1/1.5"}, {"costs": "11/1/0"}])
    assert _fell_on(method.choice, "costs", tuple(among), runs)["at_ends"] == 3
    method = method.with_options({"choose.among": ["a/b", "c/d", "e/f"]})
    words = ("a/b", "c/d", "e/f")
    assert _fell_on(method.choice, "costs", words, frame_of([{"costs": "a/b"}]))["at_ends"] == 0


def test_numbers_of_tables_and_figures_are_found_and_a_chip_has_the_weakest_verdict():
    assert numbers_in("Table 1, Figure 3 and Section 2") == ["Table 1", "Figure 3"]
    assert number_of("Table 4: errors") == "Table 4" and number_of("Errors of Table 4") == ""
    for counts, verdict in (
        ({"reproduced": 3}, "reproduced"),
        ({"reproduced": 3, "inconclusive": 1}, "inconclusive"),
        ({"reproduced": 3, "inconclusive": 1, "contradicted": 1}, "contradicted"),
        ({"used": 2}, "not testable"),
        ({}, "shown"),
    ):
        assert Item("Table 1", "e", "t", "a", counts).verdict == verdict


def test_an_answer_counts_verdicts_and_names_the_usual_cause():
    def row(verdict, cause=""):
        return {"verdict": verdict, "cause": cause, "primary": True}

    rows = [row("reproduced"), row("inconclusive", "power: a"), row("inconclusive", "power: b")]
    assert answer(rows) == (
        "Of 3 statements 1 is reproduced, 2 inconclusive; "
        "what is inconclusive needs more repetitions or larger test sets."
    )
    assert answer([*rows, row("contradicted", "open: c")]) == (
        "Of 4 statements 1 is reproduced, 2 inconclusive, 1 contradicted; "
        "what is inconclusive needs more repetitions or larger test sets; "
        "for some no cause that was tested explains it."
    )
    assert answer(rows[:1]) == "Its one statement is reproduced."
    assert answer([row("reproduced")] * 2) == "All 2 statements are reproduced."
    assert answer([row("used")] * 2) == (
        "All 2 statements are used: the paper's numbers showed how it is read, so they are not judged."
    )
    assert answer([{**rows[0], "primary": False}]) == "No statement of the papers rests on it."
    assert shares({"a": 3, "b": 0, "c": 1}) == [("a", 3, 75.0), ("c", 1, 25.0)]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (["reproduced"] * 2, "Yes: all its 2 statements are reproduced."),
        (["contradicted"], "No: its one statement is contradicted."),
        (["reproduced", "contradicted"], "In part: of its 2 statements 1 is reproduced, 1 contradicted."),
        (
            ["inconclusive", "inconclusive", "not testable"],
            "These runs cannot tell: of its 3 statements 2 are inconclusive, 1 not testable.",
        ),
        (
            ["inconclusive", "contradicted"],
            "Not as far as it could be told: of its 2 statements 1 is inconclusive, 1 contradicted.",
        ),
        (["used"], "It was not judged: its one statement is used."),
    ],
)
def test_whether_a_claim_holds_is_one_sentence(verdicts, said):
    assert holds([{"verdict": verdict, "primary": True} for verdict in verdicts]) == said


def test_a_page_asks_about_the_claims_on_its_own_tables():
    def claim(paper, where):
        return {"claim": SimpleNamespace(paper=paper, where=where)}

    listed = [claim("jkse09", "Section 5"), claim("cacm09", "Table 1"), claim("jkse09", "Table 1, Figure 3")]
    listed.append(claim("jkse09", "Table 2"))
    assert main_claims(listed, "jkse09", ["Table 1"]) == listed[2:3]
    assert main_claims(listed, "jkse09", ["Table 1", "Table 2"]) == listed[2:]
    assert main_claims(listed, "jkse09", ["Table 9"]) == listed[:1]
    assert main_claims([], "jkse09", ["Table 1"]) == []


@pytest.mark.parametrize(
    ("caption", "heading"),
    [
        ("Cost of training: searches, constraints. More.", "Cost of training"),
        ("Error by C (one draw).", "Error by C"),
        ("The solvers at C = 0.1 per example.", "The solvers at C = 0.1 per example"),
    ],
)
def test_a_table_without_a_number_is_called_as_its_caption_begins(caption, heading):
    assert first_words(caption) == heading


def test_readings_have_the_names_that_people_say():
    row = {"reading": "printed", "cause": "reading: reproduced under per example, far, also with seed 1"}
    labels = {"printed": "C/n as printed", "far": "boxes far from cars"}
    assert with_labels(row, labels) == {
        "reading": "C/n as printed",
        "cause": "reading: reproduced under per example, boxes far from cars, also with seed 1",
    }
    open_cause = (
        "open: no test of a cause decides; inconclusive under far, printed; "
        "reproduced under far, and no other seed was run"
    )
    assert with_labels({"reading": "", "cause": open_cause}, labels)["cause"] == (
        "open: no test of a cause decides; inconclusive under boxes far from cars, C/n as printed; "
        "reproduced under boxes far from cars, and no other seed was run"
    )
    assert with_labels({"reading": None, "cause": None}, labels) == {"reading": None, "cause": None}


def test_reasons_of_several_statements_stand_alone_and_the_others_with_their_statement():
    def row(statement, evidence):
        return {
            "primary": True, "volatile": False, "verdict": "not testable", "paper": "jkse09",
            "where": "Table 1", "statement": statement, "evidence": evidence,
        }  # fmt: skip

    assert untestable([row("A.", "no data"), row("B.", "no run."), row("C.", "no data")]) == [
        ("no data", ["MLJ 2009, Table 1: A.", "MLJ 2009, Table 1: C."]),
        (EACH_ITS_OWN, ["MLJ 2009, Table 1: B. (no run)"]),
    ]


def test_an_answer_says_where_no_data_are_the_papers():
    def results(published, own):
        tables = {"t": {"published": "t.csv"} if published else {}}
        data = [{"corpus": "a"}, {"corpus": "b"}]
        return SimpleNamespace(
            config={"tables": tables}, summary={"data": data}, papers_own=lambda corpus: corpus == own
        )

    assert other_data(results(True, None)) == " None of the data are the paper's own."
    assert other_data(results(True, "b")) == other_data(results(False, None)) == ""


def test_statements_stand_as_markdown_below_their_places_with_what_a_clock_decides_marked():
    row = {**ROW, "volatile": False, "reading": "printed", "data": ""}
    other = {**row, "reading": "per example", "data": "gum", "verdict": "reproduced"}
    first = {"statement": Statement(**STATEMENT), "row": row, "others": [other]}
    clocked = {**row, "verdict": "reproduced", "volatile": True}
    second = {"statement": Statement(**{**STATEMENT, "says": "A is *faster*."}), "row": clocked, "others": []}
    third = {**first, "statement": Statement(**{**STATEMENT, "where": "Section 5"}), "others": []}
    claim = Claim("c", "jmlr05", "Table 1", "A is best.", "e", ())
    text = sentences(
        {
            "config": {"title": "Trees"}, "in_all": "Of 3 statements 1 is reproduced.", "stands_in": "",
            "tables": [{"heading": "Table 1", "name": "trees"}], "more_tables": [],
            "claims": [{"claim": claim, "statements": [card(one) for one in (first, second, third)]}],
        }
    )  # fmt: skip
    found = "We find 1 (−3 to 5), the paper 2: "
    told = "the interval holds both outcomes; more repetitions or a larger test set would tell."
    unclear = f"A beats B.<br>**? inconclusive.** {found}{told}"
    clear = f"**✓ reproduced.** {found}the interval lies on the claimed side."
    begin, end = "<!-- volatile -->", "<!-- /volatile -->"
    assert text.split("\n") == [
        "# Trees: what the papers state, and what came out",
        "",
        f"**In short:** {begin}Of 3 statements 1 is reproduced.{end}",
        "",
        "Our numbers beside the paper's: [Table 1](trees.md).",
        "",
        "## JMLR 2005, Table 1",
        "",
        f"- {unclear} Otherwise: per example on gum *reproduced*.",
        f"- A is \\*faster\\*.<br>{begin}{clear}{end}",
        "",
        "## JMLR 2005, Section 5",
        "",
        f"- {unclear}",
        "",
    ]


def test_a_table_in_markdown_says_how_many_statements_about_it_have_which_verdict():
    row = {"experiment": "trees", "paper": "jmlr05", "where": "Table 1", "primary": True, "volatile": False}
    shown = {**row, "verdict": "reproduced", "cause": ""}
    open_ = {**row, "verdict": "inconclusive", "cause": "power: more repetitions"}
    rows = [
        shown,
        {**shown, "where": "Tables 1 and 2"},
        open_,
        {**open_, "primary": False},
        {**shown, "volatile": True, "verdict": "contradicted"},
        {**shown, "where": "Table 2"},
        {**shown, "where": "Table 10"},
        {**shown, "paper": "cacm09"},
        {**shown, "experiment": "others"},
    ]
    begin, end = "<!-- volatile -->", "<!-- /volatile -->"

    def said(caption, given=rows):
        text = with_verdicts(f"{caption}\n\n{TO_VERDICTS}\n\n| a |\n", caption, "jmlr05", "trees", given)
        head, rest = text.split(TO_VERDICTS)
        assert (
            head == f"{caption}\n\n" and rest.startswith(f"{begin} ") and rest.endswith(f"{end}\n\n| a |\n")
        )
        return rest[len(begin) + 1 : -len(f"{end}\n\n| a |\n")]

    assert said("Table 1: errors.") == (
        "Statements on Table 1: 2 reproduced, 1 inconclusive (too few data 1); on its times: 1 contradicted."
    )
    assert said("Table 3.") == "Statements on Table 3: none."
    assert said("Sizes.") == (
        "Statements that rest on this experiment: 5 reproduced, 1 inconclusive, 1 contradicted."
    )
    assert said("Sizes.", []) == "Statements that rest on this experiment: none."


def test_a_table_is_wide_for_a_phone_by_its_columns_or_by_their_headings():
    def labelled(*labels):
        return Tab({}, "", "", (tuple(Heading(label, 1) for label in labels),), ())

    assert not _wide(labelled("flat, 0/1", "taxonomy, 0/1", "flat + Δ", "taxonomy + Δ"))
    assert _wide(labelled("a", "b", "c", "d", "e"))
    long = (
        "equal error rate (%), r = 0",
        "ROC area (validation), r = 0",
        "searches for boxes",
        "relative gap",
    )
    assert _wide(labelled(*long))


def test_eight_series_of_a_figure_look_different():
    looks = list(map(Series, range(8)))
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 8
