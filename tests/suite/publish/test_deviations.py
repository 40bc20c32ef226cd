"""Where tables differ from the paper's: filled in from the config, shown on the page, wrong paths refused."""

from __future__ import annotations

import copy

import pytest
import yaml

from helpers.markup import PageReader
from helpers.toy_project import HERE, TOY, project, run_all, write_config
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.publish.tables.deviations import deviations

FIGURES_AS_TABLES = {"diversity": ["diversity"], "proteins": ["proteins"]}
"""Tables of a figure of which the paper prints no numbers, by experiment."""
DIFFERENCE = {"what": "C", "paper": "C = 5", "ours": "ours is {methods.margin.C}", "pushes": "higher errors"}
HOSTILE = """<script>alert("x")</script> <!-- volatile --> </details> </td> &amp; {{ 7 * 7 }} {% raw %} 'q'"""


def toy(**changes):
    """The toy with one difference under its first table; `changes` are texts of that difference."""
    config = copy.deepcopy(TOY)
    config["tables"]["toy"]["deviations"] = [{**DIFFERENCE, **changes}]
    return config


def ours(text, **sections):
    config = {**copy.deepcopy(TOY), **sections}
    config["tables"]["toy"]["deviations"] = [{**DIFFERENCE, "ours": text}]
    return deviations(config, "toy")[0].ours


def test_every_table_beside_the_papers_numbers_says_where_it_differs():
    listed = yaml.safe_load((HERE / "configs" / "suite.yaml").read_text(encoding="utf-8"))["experiments"]
    for experiment in listed:
        text = (HERE / "configs" / f"{experiment}.yaml").read_text(encoding="utf-8")
        tables = yaml.safe_load(text)["tables"]
        wanted = {name for name, spec in tables.items() if "published" in spec}
        wanted |= set(FIGURES_AS_TABLES.get(experiment, ()))
        few = [name for name in wanted if not 4 <= len(tables[name].get("deviations", [])) <= 8]
        assert not few, f"configs/{experiment}.yaml: list 4 to 8 deviations under {few}"
        for name in wanted:
            said = {row["what"] for row in tables[name]["deviations"]}
            assert len(said) == len(tables[name]["deviations"]), f"{experiment}, {name}: one row per matter"


@pytest.mark.parametrize("scale", ["standard", "paper"])
def test_values_are_those_of_the_scale(scale):
    config = load(HERE, scale, only=["alignment"]).experiments["alignment"].config
    shown = {row.what: row.ours for row in deviations(config, "alignment")}
    samples, n_test = {"standard": (4, 200), "paper": (40, 500)}[scale]
    assert shown["samples and test sets"] == f"{samples} samples with {n_test} test examples each."
    gaps = "-0.2, -0.5, -0.8, -1.1, -1.4"
    assert shown["gap score of the generative model"] == f"The best on the test set among {gaps}."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{methods.margin.C}, {repetitions}", "1, 2"),
        ("{data.clusters.loss} {studies.sizes.vary.n_train}", "tree 12, 24"),
        ("{number of studies.sizes.vary.n_train} sizes", "2 sizes"),
        ("{number of repetitions} samples", "2 samples"),
        ("{methods.S-SVM, C = 0.1.gap_tol}", "0.001"),
        ("{readings.far.sets.choose.among} {readings.far.sets.kind}", "1, 0.5 true"),
        ("} no path {", "} no path {"),
    ],
)
def test_paths_stand_for_values(text, shown):
    methods = {**TOY["methods"], "S-SVM, C = 0.1": {"gap_tol": 1e-3}}
    readings = {"far": {"sets": {"choose.among": [1.0, 0.5], "kind": True}}}
    assert ours(text, methods=methods, readings=readings) == shown


def test_only_ours_is_filled_in():
    row = deviations(toy(paper="{methods.margin.C}", pushes="{x}", what="{y}"), "toy")[0]
    assert row == ("{y}", "{methods.margin.C}", "ours is 1", "{x}")
    assert deviations(toy(), "solvers") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{methods.margin.c}", "unknown path 'methods.margin.c'; the nearest known is 'methods.margin.C'"),
        ("{methods.margn.C} {repetition}", "unknown path 'repetition'; the nearest known is 'repetitions'"),
        ("{methods.margin}", "unknown path 'methods.margin'"),
        ("{title}", "unknown path 'title'"),
        ("{}", "unknown path ''"),
        ("{number of methods.margin.C}", "methods.margin.C is 1.0, which cannot be counted"),
        ("{number of studies.sizes.vary.n_trian}", "the nearest known is 'studies.sizes.vary.n_train'"),
    ],
)
def test_a_wrong_path_is_a_fault_with_file_and_line(tmp_path, text, said):
    root = project(tmp_path, toy(ours=f"C = {text}"))
    path = root / "configs" / "toy.yaml"
    line = next(n for n, each in enumerate(path.read_text().splitlines(), 1) if "ours: " in each)
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert f"{path}, line {line}: tables.toy.deviations.0.ours: " in str(caught.value)
    assert said in str(caught.value)


def test_a_path_that_only_one_scale_has_is_a_fault(tmp_path):
    config = toy(ours="{methods.margin.max_iter}")
    config["scales"]["smoke"]["methods"] = {"margin": {"max_iter": 50}}
    with pytest.raises(ConfigError, match=r"ours: unknown path 'methods\.margin\.max_iter'"):
        load(project(tmp_path, config))


def test_a_misspelt_key_that_a_text_names_is_one_fault(tmp_path):
    config = toy(ours="{data.clusters.scatter}")
    config["data"]["clusters"]["scater"] = config["data"]["clusters"].pop("scatter")
    with pytest.raises(ConfigError, match=r"^1 problem in the configuration") as caught:
        load(project(tmp_path, config))
    assert "unknown key 'scater'" in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "tables.toy.deviations: is [], but must hold at least 1 item"),
        ([{**DIFFERENCE, "pushs": "up"}], "the nearest known is 'pushes'"),
        ([{"what": "C", "paper": "5", "ours": "1"}], "the key 'pushes' is missing"),
        ([{**DIFFERENCE, "ours": 3}], "tables.toy.deviations.0.ours: is 3, but must be text"),
    ],
)
def test_a_row_of_another_form_is_a_fault(tmp_path, rows, said):
    config = toy()
    config["tables"]["toy"]["deviations"] = rows
    with pytest.raises(ConfigError) as caught:
        load(project(tmp_path, config))
    assert said in str(caught.value)


def test_the_page_shows_the_value_that_was_run_and_hostile_texts_as_they_are(tmp_path):
    root = project(tmp_path, toy())
    page = root / "results" / "toy" / "index.html"
    run_all(root, "smoke")
    plain = PageReader(page.read_text(encoding="utf-8"))
    assert "Where this differs from the paper" in plain.text and "ours is 1" in plain.text
    texts = {"what": "1" + HOSTILE, "paper": "2" + HOSTILE, "pushes": "3" + HOSTILE}
    config = toy(**texts, ours="ours is {methods.margin.C} <b> {methods.margin.note}")
    config["methods"]["margin"] |= {"C": 0.002, "note": "4" + HOSTILE}
    write_config(root, config)
    run_all(root, "smoke")
    hostile = PageReader(page.read_text(encoding="utf-8"))
    assert all(text in hostile.text for text in texts.values())
    assert f"ours is 0.002 <b> 4{HOSTILE}" in hostile.text and "ours is 1" not in hostile.text
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert hostile.comments == plain.comments
