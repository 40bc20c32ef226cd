"""Tables in the papers' own form: pivoted as the config says, named as people say, the paper's as printed."""

from __future__ import annotations

import copy
import itertools
import re

import pytest

from helpers.made_up_results import frame
from helpers.markup import read_latex
from helpers.toy_project import HERE, TOY, project
from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import readings_of
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.publish import tables
from structmargin_suite.publish.tables.cells import cell_of
from structmargin_suite.publish.tables.layout import tabs
from structmargin_suite.publish.tables.printed import latex, markdown
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.frames import frame_of

METHODS = {
    "flt": Method.parse("flt", {"label": "flat"}),
    "tax": Method.parse("tax", {"readings": ["slack", "margin"]}),
}
READINGS = readings_of(
    {
        "readings": {
            "slack": {"evidence": "e", "chosen": "before", "primary": True},
            "margin": {"evidence": "e", "chosen": "before", "label": "margin re-scaling"},
        }
    }
)
SPEC = {
    "keys": ["n", "method", "reading"],
    "measures": ["acc", "loss"],
    "rows": ["n", "measure"],
    "columns": ["method"],
    "names": {"n": "{} instances", "flt": "flat, 0/1", "loss": "tree loss"},
    "cells": {"acc": "highest"},
    "digits": {"loss": 2},
}


def run(method, reading, data, n, acc, loss):
    fixed = {"status": "done", "chosen": True}
    return {"method": method, "reading": reading, "data": data, "n": n, "acc": acc, "loss": loss, **fixed}


PLACES = list(itertools.product(("real", "made up"), (4, 2)))
RUNS = frame([
    *(run("flt", "", data, n, 30.0 + n, 1.5) for data, n in PLACES),
    *(run("tax", "slack", data, n, 31.0 + n, 1.25) for data, n in PLACES),
    *(run("tax", "margin", "real", n, 20.0 + n, 1.75) for n in (4, 2)),
])  # fmt: skip
PRINTED = frame_of(
    [
        {"n": 4, "method": "flt", "measure": "acc", "value": 28.3, "printed": "28.30"},
        {"n": 4, "method": "tax", "measure": "acc", "value": 27.0, "printed": "27.0 ± 1.1"},
    ]
)


@pytest.fixture(scope="module")
def shown():
    table = tables.tidy(SPEC, RUNS, PRINTED, METHODS, own={"real"})
    return tabs(SPEC, table, METHODS, READINGS)


def ours(tab):
    return [(line.section, line.name, [cell and cell.ours for cell in line.cells]) for line in tab.lines]


def test_rows_columns_and_names_are_those_of_the_config(shown):
    first = shown[0]
    assert [[heading.text for heading in line] for line in first.header] == [["flat, 0/1", "tax"]]
    assert ours(first) == [
        ("4 instances", "acc", ["34.0", "35.0"]), ("4 instances", "tree loss", ["1.50", "1.25"]),
        ("2 instances", "acc", ["32.0", "33.0"]), ("2 instances", "tree loss", ["1.50", "1.25"]),
    ]  # fmt: skip


def test_what_stands_nowhere_makes_tabs_and_each_is_a_whole_table(shown):
    assert [list(tab.chosen.values()) for tab in shown] == [
        ["real", "slack (primary)"], ["real", "margin re-scaling"], ["made up", "slack (primary)"],
    ]  # fmt: skip
    margin = shown[1]
    assert ours(margin)[0] == ("4 instances", "acc", ["34.0", "24.0"])  # flat has no readings, and is there


def test_methods_under_readings_of_different_names_are_listed_with_them():
    twice = {**METHODS, "flt": Method.parse("flt", {"label": "flat", "readings": ["slack", "margin"]})}
    both = RUNS.assign(reading=["margin" if method == "flt" else "slack" for method in RUNS["method"]])
    made = tabs(SPEC, tables.tidy(SPEC, both, PRINTED, twice), twice, READINGS)
    assert made[0].under == "Readings: flat, 0/1 (margin re-scaling); tax (slack)"
    assert f"{made[0].under}." in markdown("T.", made[:1])


def test_the_papers_number_stays_as_printed_and_both_have_their_best(shown):
    flat, tax = shown[0].lines[0].cells
    assert (flat.paper, tax.paper) == ("28.30", "27.0 ± 1.1")
    assert (flat.best, tax.best) == (False, True) and (flat.paper_best, tax.paper_best) == (True, False)
    flat, tax = shown[0].lines[1].cells  # the lower loss is better, by its name
    assert (flat.best, tax.best) == (False, True)
    flat, tax = shown[1].lines[0].cells
    assert (flat.best, tax.best) == (True, False)


def test_a_tint_is_for_the_papers_own_data_only(shown):
    assert [cell.tint for cell in shown[0].lines[0].cells] == ["far", "far"]  # 5.7 and 8 points: over a fifth
    assert {cell.tint for tab in shown[2:] for line in tab.lines for cell in line.cells} == {""}


@pytest.mark.parametrize(
    ("value", "se", "tint"), [(29.0, 1.0, "near"), (31.5, 1.0, "apart"), (40.0, 1.0, "far")]
)
def test_two_standard_errors_are_near_and_four_are_far(value, se, tint):
    runs = frame([run("flt", "", "real", 4, value + d, 1.0) for d in (-1.0, 1.0)])  # a standard error of 1
    printed = frame_of(
        [{"n": 4, "method": "flt", "measure": "acc", "value": 28.3, "spread": se, "spread_kind": "se"}]
    )
    table = tables.tidy(SPEC, runs, printed, METHODS, own={"real"})
    assert tabs(SPEC, table, METHODS, READINGS)[0].lines[0].cells[0].tint == tint


def test_columns_stand_in_groups_and_empty_ones_are_left_out():
    spec = {
        "keys": ["method"], "splits": ["train", "test"], "measures": ["f1", "count", "gone"],
        "columns": {
            "Train": {"split": "train", "measure": ["f1"]},
            "Test": {"split": "test", "measure": ["f1"]},
            "Efficiency": {"split": "train", "measure": ["count", "gone"]},
        },
    }  # fmt: skip
    runs = frame([
        {"method": "flt", "data": "d", "status": "done", "chosen": True, "train_f1": 90.0, "test_f1": 80.0,
         "count": 7}
    ])  # fmt: skip
    (tab,) = tabs(spec, tables.tidy(spec, runs, frame_of([]), METHODS), METHODS)
    assert [[(h.text, h.span) for h in line] for line in tab.header] == [
        [("Train", 1), ("Test", 1), ("Efficiency", 1)], [("F1", 1), ("F1", 1), ("count", 1)]
    ]  # fmt: skip
    assert ours(tab) == [("", "flat", ["90.0", "80.0", "7.0"])]


def test_without_a_layout_keys_run_down_and_measures_across():
    spec = {key: value for key, value in SPEC.items() if key in ("keys", "measures")}
    tab = tabs(spec, tables.tidy(spec, RUNS, PRINTED, METHODS), METHODS, READINGS)[0]
    assert [heading.text for heading in tab.header[0]] == ["acc", "loss"] and tab.corner == "method"
    assert ours(tab)[:2] == [("4", "flat", ["34.0", "1.5"]), ("4", "tax", ["35.0", "1.2"])]


def test_numbers_that_another_study_ran_first_stand_in_order_and_falling_ones_stay():
    def lines(*order):
        runs = frame([run("flt", "", "real", n, 1.0, 2.0) for n in order])
        spec = {"keys": ["n", "method"], "measures": ["acc"], "rows": ["n"], "columns": ["method"]}
        (tab,) = tabs(spec, tables.tidy(spec, runs, frame_of([], ["n"]), METHODS), METHODS, READINGS)
        return [line.name for line in tab.lines]

    assert lines(5, 3, 10) == ["3", "5", "10"]
    assert lines(3, 5, 10) == ["3", "5", "10"]
    assert lines(10, 5, 3) == ["10", "5", "3"]


def test_a_key_that_does_not_vary_at_this_scale_makes_no_lines_of_its_own():
    runs = frame([run("flt", "", "real", n, 1.0, 2.0) for n in (2, 3)])
    spec = {
        "keys": ["n", "m", "method"], "measures": ["acc"], "rows": ["n", "m"], "columns": ["method"],
        "names": {"n": "from {}", "m": "scales: {}"},
    }  # fmt: skip
    (tab,) = tabs(spec, tables.tidy(spec, runs, frame_of([], ["n"]), METHODS), METHODS, READINGS)
    assert [(line.section, line.name) for line in tab.lines] == [("", "from 2"), ("", "from 3")]


def test_a_mean_over_fewer_runs_than_were_asked_for_says_so_and_no_run_is_said():
    rows = [
        run("flt", "", "real", 4, 1.0, 1.0),
        {**run("flt", "", "real", 4, None, None), "status": "failed"},
    ]
    rows.append({**run("flt", "", "real", 2, None, None), "status": "failed"})
    lines = tabs(SPEC, tables.tidy(SPEC, frame(rows), PRINTED, METHODS), METHODS)[0].lines
    assert lines[0].cells[0].plain == "1.0 (1 of 2 runs)" and lines[2].cells[0].plain == "no run"


def test_a_mean_over_fewer_runs_than_those_it_stands_with_says_so_and_is_not_the_best():
    rows = [
        *(run("flt", "", "real", 4, 30.0 + k, 1.0) for k in range(2)),
        run("few", "", "real", 4, 90.0, 1.0),
    ]
    flat, tax = (tabs(SPEC, tables.tidy(SPEC, frame([*rows, *more]), PRINTED, METHODS), METHODS)[0].lines[0]
                 for more in ([], [run("tax", "slack", "real", 4, 20.0, 1.0)] * 2))  # fmt: skip
    assert [(cell.plain, cell.best) for cell in flat.cells] == [
        ("30.5 ± 0.5", False),
        ("90.0 (1 run)", False),
    ]
    assert [cell.best for cell in tax.cells] == [True, False, False]


def test_markdown_and_latex_have_the_same_cells(shown):
    text = markdown("Caption", shown)
    assert "| acc | 34.0 (**28.30**) | **35.0** (27.0 ± 1.1) |" in text.splitlines()
    legend = "*In cells: the paper's numbers stand in brackets, the best are bold.*"
    way = "[What the paper states, and what came out](statements.md), sentence by sentence."
    assert text.splitlines()[:5] == ["Caption", "", legend, "", way]
    assert text.count("*4 instances*") == 3 and "**real, margin re-scaling**" in text
    lines = latex("Caption", "t", shown).splitlines()
    assert r"acc & 34.0 & \textbf{35.0} \\" in lines
    grey = r"\textcolor{gray}{\footnotesize "
    assert rf" & {grey}\textbf{{28.30}}}} & {grey}27.0 $\pm$ 1.1}} \\" in lines
    assert lines.count(r"\end{tabular}") == 3


def parsed(text):
    """Check LaTeX as a compiler would: groups and environments close, every row fits its tabular."""
    opened, columns = [], 0
    for line in text.splitlines():
        if line.startswith("%"):
            continue
        assert line.replace("\\{", "").replace("\\}", "").count("{") == line.replace("\\{", "").replace(
            "\\}", ""
        ).count("}")
        if begin := re.match(r"\\begin\{(\w+)\}(?:\{([lrc]+)\})?$", line):
            opened.append(begin[1])
            columns = len(begin[2] or "")
        elif end := re.match(r"\\end\{(\w+)\}$", line):
            assert opened.pop() == end[1]
        elif line.endswith(r"\\"):
            cells = re.split(r"(?<!\\)&", line[:-2])
            spans = [re.match(r"\s*\\multicolumn\{(\d+)\}", cell) for cell in cells]
            assert (
                opened[-1] == "tabular" and sum(int(span[1]) if span else 1 for span in spans) == columns
            ), line
            for cell in cells:
                bare = re.sub(
                    r"\\(multicolumn\{\d+\}\{[lc]\}|textbf|textit|textcolor\{gray\}|footnotesize ?)", "", cell
                )
                read_latex(
                    re.sub(r"(?<!\\)[{}](?![\[\]*])", "", bare.replace("{}", "")).replace("\\textless", "")
                )
    assert opened == []


def test_latex_of_every_table_of_the_committed_results_can_be_parsed():
    """Where there is a TeX, `pdflatex` would do as well: the packages are booktabs and xcolor."""
    snapshot = HERE / "results" / "snapshot"
    seen = 0
    for name, experiment in load(HERE, "standard", library=False).experiments.items():
        if not (snapshot / name / "summary.json").is_file():
            continue
        results = ExperimentResults(HERE, name, snapshot / name)
        for table, spec in experiment.config["tables"].items():
            if (snapshot / name / f"{table}.csv").is_file():
                kept = results.table(table)
                if not set(spec["keys"]) <= set(kept):  # a table of other keys: as it was laid out then
                    spec = results.config["tables"][table]
                parsed(latex(spec["caption"], table, tabs(spec, kept, results.methods, results.readings)))
                seen += 1
    assert seen >= 20


def toy(**layout):
    config = copy.deepcopy(TOY)
    config["tables"]["toy"] |= layout
    return config


@pytest.mark.parametrize(
    ("layout", "where", "said"),
    [
        ({"rows": ["n_trian"]}, "rows.0", "the nearest known is 'n_train'"),
        ({"columns": ["measures"]}, "columns.0", "the nearest known is 'measure'"),
        ({"columns": ["split"]}, "columns.0", "unknown key of the table 'split'"),
        ({"rows": ["n_train"], "columns": ["n_train"]}, "rows.0", "'n_train' runs across already"),
        ({"columns": {"G": {"measure": ["test_eror"]}}}, "columns.G.measure", "known is 'test_error'"),
        ({"columns": {"G": {"mesure": "x"}}}, "columns.G.mesure", "the nearest known is 'measure'"),
        ({"columns": {"G": {"n_train": [12, 25]}}}, "columns.G.n_train", "unknown value '25'"),
        ({"names": {"margn": "m"}}, "names.margn", "the nearest known is 'margin'"),
        ({"names": {"n_train=13": "m"}}, "names.n_train=13", "unknown name 'n_train=13'"),
        ({"cells": {"test_eror": "lowest"}}, "cells.test_eror", "the nearest known is 'test_error'"),
        ({"cells": {"test_error": "low"}}, "cells.test_error", "the nearest known is 'lowest'"),
    ],
)  # fmt: skip
def test_a_layout_that_names_what_is_not_there_is_a_fault_with_file_and_line(tmp_path, layout, where, said):
    root = project(tmp_path, toy(**layout))
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert re.search(rf"toy\.yaml, line \d+: tables\.toy\.{re.escape(where)}: ", str(caught.value))
    assert said in str(caught.value)


def test_a_layout_may_name_values_that_only_another_scale_runs(tmp_path):
    config = toy(names={"n_train=24": "many", "12": "few"}, rows=["n_train"], columns=["measure"])
    config["scales"]["smoke"]["studies"] = {"sizes": {"vary": {"n_train": [12]}}}
    assert load(project(tmp_path, config), "smoke").scale == "smoke"


def test_a_number_that_would_be_mostly_zeros_is_written_by_its_power_of_ten():
    spec = {"keys": ["method"], "measures": ["gap"], "digits": {"gap": 9}}
    row = {"measure": "gap", "value": 2.64e-9, "spread": 0.0, "runs": 2, "asked": 2}
    cell = cell_of(spec, row, {})
    assert (cell.ours, cell.spread) == ("2.6e-9", "0")
    assert cell_of({**spec, "digits": {"gap": 3}}, row, {}).ours == "0.000"


def test_large_numbers_have_commas_and_the_papers_stay_as_printed():
    spec = {"keys": ["method"], "digits": {"bound": 0, "area": 1}}
    row = {
        "value": 173588398.4,
        "spread": 37653.0,
        "runs": 3,
        "asked": 3,
        "published": 12345.0,
        "printed": "12345",
    }
    cell = cell_of(spec, {**row, "measure": "bound", "method": "a"}, {})
    assert (cell.ours, cell.spread, cell.paper) == ("173,588,398", "37,653", "12345")
    few = cell_of(spec, {**row, "value": 9999.94, "spread": 2.0, "measure": "area", "method": "a"}, {})
    assert (few.ours, few.spread) == ("9999.9", "2.0")
