"""Readings through every stage: trained with what they set, side by side in tables and on the page."""

from __future__ import annotations

import copy

import pytest

from helpers.toy_project import TOY, project, run_all
from structmargin_suite.results import ExperimentResults, Results
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.frames import records

EVIDENCE = "The authors' program charges twice C for every slack."


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    config = copy.deepcopy(TOY)
    config["repetitions"] = 1
    config["readings"] = {
        "printed": {"label": "C/n as printed", "evidence": "the formula", "chosen": "before"},
        "twice": {
            "label": "2C per example", "about": "Slacks cost 2C.", "evidence": EVIDENCE,
            "chosen": "after first look", "primary": True, "sets": {"price": 2.0},
        },
        "chosen C": {"evidence": "custom", "chosen": "before", "sets": {"choose.among": [0.5, 5.0]}},
    }  # fmt: skip
    config["methods"]["margin"] |= {
        "readings": ["printed", "twice", "chosen C"],
        "choose": {"option": "C", "among": [1.0, 3.0], "by": "test_error"},
    }
    config["methods"]["plain"] = {**TOY["methods"]["margin"], "published_as": "margin"}
    config["studies"]["sizes"] = {"methods": ["margin", "plain"], "vary": {"n_train": [12, 24]}}
    root = project(tmp_path_factory.mktemp("readings"), config)
    run_all(root)
    return root


@pytest.fixture(scope="module")
def toy(root):
    return Results(root)["toy"]


def test_every_run_is_trained_with_what_its_reading_sets(toy):
    for run in records(toy.select("sizes", done=False, method="margin")):
        n, C = int(run["n_train"]), float(run["C"])
        told = toy.record(run["run"])
        assert told["reading"] == run["reading"]
        assert told["numbers"]["C"] == (2.0 * C * n if run["reading"] == "twice" else C)
    tried = toy.select("sizes", done=False, method="margin").groupby("reading")["C"].unique()
    assert {reading: sorted(values) for reading, values in tried.items()} == {
        "printed": [1.0, 3.0], "twice": [1.0, 3.0], "chosen C": [0.5, 5.0],
    }  # fmt: skip


def test_a_value_is_chosen_for_each_reading_by_itself(toy):
    for reading in ("printed", "twice", "chosen C"):
        runs = toy.select("sizes", done=False, method="margin", reading=reading)
        means = runs.groupby("C")["test_error"].mean()
        chosen = runs.loc[runs["chosen"], "C"].unique().tolist()
        assert len(chosen) == 1 and means[chosen[0]] == means.min(), reading


def test_a_table_has_the_readings_side_by_side_with_the_same_published_number(toy):
    table = toy.table("toy")
    assert list(table.columns[:4]) == ["n_train", "method", "reading", "measure"]
    rows = {(row["n_train"], row["method"], row["reading"]): row for row in records(table)
            if row["measure"] == "test_error"}  # fmt: skip
    assert set(rows) == {
        (n, *pair) for n in (12, 24)
        for pair in (("margin", "printed"), ("margin", "twice"), ("margin", "chosen C"), ("plain", None))
    }  # fmt: skip
    for (n, method, reading), row in rows.items():
        assert row["published"] == {12: 10.5, 24: 9.0}[n]
        runs = toy.select("sizes", method=method, reading=reading or "", n_train=n)
        assert row["runs"] == len(runs) == 1 and row["value"] == runs["test_error"].iloc[0]
    written = read_csv(toy.folder / "toy.csv")
    assert {row["reading"] for row in written} == {"printed", "twice", "chosen C", ""}


def test_readers_see_labels_and_the_evidence(root, toy):
    for kind in ("md", "tex"):
        text = (toy.folder / f"toy.{kind}").read_text()
        assert "C/n as printed" in text and "2C per example (primary)" in text
        assert "twice" not in text
    page = (root / "results" / "toy" / "index.html").read_text()
    assert (
        '2C per example <span class="soft">(primary)</span></th><td>Slacks cost 2C. Evidence: The auth'
        in page
    )
    assert "Primary, chosen after first look." in page
    assert "margin, chosen C: C in 2 runs: " in page


def test_results_tell_readings_by_name_and_by_label(toy):
    assert toy.pairs("sizes") == [
        ("margin", "printed"), ("margin", "twice"), ("margin", "chosen C"), ("plain", ""),
    ]  # fmt: skip
    assert (toy.primary("margin"), toy.primary("plain")) == ("twice", "")
    assert toy.label("margin", "twice") == "margin, 2C per example" and toy.label("margin") == "margin"
    assert toy.readings["twice"].sets == {"price": 2.0} and toy.methods["margin"].readings[0] == "printed"
    assert set(toy.select(method="plain")["reading"]) == {""}
    assert list(toy.runs.columns[:4]) == ["run", "method", "reading", "corpus"]


def test_results_older_than_readings_have_none(root, tmp_path, toy):
    for name in ("runs.csv", "timings.csv", "summary.json"):
        (tmp_path / name).write_bytes((toy.folder / name).read_bytes())
    rows = [
        {key: value for key, value in row.items() if key != "reading"}
        for row in read_csv(toy.folder / "runs.csv")
    ]
    write_csv(tmp_path / "runs.csv", rows, list(rows[0]))
    old = ExperimentResults(root, "toy", tmp_path)
    assert set(old.runs["reading"]) == {""} and list(old.runs.columns[:3]) == ["run", "method", "reading"]
