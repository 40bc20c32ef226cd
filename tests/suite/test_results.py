"""Results as frames: the types that tabulate wrote, the committed snapshot without them, and selections."""

from __future__ import annotations

import copy
import doctest
import json
import shutil

import pandas as pd
import pytest

from helpers.toy_project import HERE, TOY, project, run_all
from structmargin_suite import results as module
from structmargin_suite.cli import main
from structmargin_suite.results import NotReadyError, Results, column, has_value
from structmargin_suite.stages.tabulate import RunRow, columns_of
from structmargin_suite.statements.judging import COLUMNS
from structmargin_suite.statements.rule import VERDICTS
from structmargin_suite.storage.bundle import Bundle, write_bundle
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_json, write_json

SNAPSHOT = Results(HERE, HERE / "results" / "snapshot")
IDENTIFIERS = ("run", "method", "corpus", "data", "studies", "status", "reason")


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The toy with methods whose names look like numbers."""
    config = copy.deepcopy(TOY)
    methods = config["methods"]
    config["methods"] = {"007": methods["margin"], "012": methods["any"], "3": methods["hard"]}
    config["methods"]["schedule"] = {
        "formulation": "SVM2 margin", "solver": "staged", "solver_options": {"stages": [0.5]},
        "C_per_example": 2.0, "eps": 0.01,
    }  # fmt: skip
    config["studies"]["schedule"] = {
        "methods": ["schedule"], "vary": {"solver_options.k": [1, 100], "repetition": 1},
    }  # fmt: skip
    config["studies"]["sizes"]["methods"] = ["007"]
    config["studies"]["solvers"]["methods"] = ["012"]
    config["studies"]["hopeless"]["methods"] = ["3"]
    root = project(tmp_path_factory.mktemp("results"), config)
    run_all(root)
    return Results(root)["toy"]


def test_every_column_of_the_runs_has_the_type_it_was_written_from(toy):
    types = {name: str(kind) for name, kind in toy.runs.dtypes.items()}
    assert {types[name] for name in IDENTIFIERS} == {"string"} and types["chosen"] == "boolean"
    assert types["n_train"] == types["repetition"] == types["constraints"] == "Int64"
    assert types["solver"] == types["formulation"] == "string" and types["exact"] == "boolean"
    assert types["C"] == types["test_error"] == types["primal"] == types["bound"] == "float64"
    assert toy.runs["method"].unique().tolist() == ["007", "012", "3", "schedule"], "names stay text"
    known = {name: spec["type"] for name, spec in toy.summary["columns"].items()}
    assert list(known) and set(known) == set(types)
    assert toy.summary["columns"]["n_train"]["holds"] == ["settings"]
    assert toy.summary["columns"]["test_error"]["holds"] == ["metrics"]


def test_missing_values_are_missing_whatever_the_type(toy):
    skipped = toy.runs[toy.runs["status"] != "done"]
    assert len(skipped) and skipped["reason"].notna().all() and skipped["test_error"].isna().all()
    done = toy.runs[toy.runs["status"] == "done"]
    assert done["reason"].isna().all() and done["exact"].notna().all()
    assert toy.select("hopeless", done=False)["C_per_example"].isna().all()


def test_tables_timings_and_traces_have_types(toy):
    table = toy.table("toy")
    assert table.dtypes.astype(str).to_dict() == {
        "n_train": "Int64", "method": "string", "measure": "string", "data": "string", "value": "float64",
        "spread": "float64", "spread_kind": "string", "runs": "Int64", "published": "float64",
        "asked": "Int64", "distance": "float64",
        "distance_unit": "string", "printed": "string",
    }  # fmt: skip
    timings = toy.timings().dtypes.astype(str).to_dict()
    assert timings["run"] == timings["python"] == "string" and timings["cores"] == "Int64"
    assert timings["cpu_seconds"] == timings["job_peak_mb"] == "float64"
    runs = toy.select("sizes")
    assert toy.timed(runs)["run"].tolist() == runs["run"].tolist()
    assert set(toy.trace(runs["run"].iloc[0]).dtypes.astype(str)) == {"float64"}
    gains = toy.gains(runs["run"].iloc[0])  # of every cut: the dual rises from 0 to the final one
    assert len(gains) == runs["constraints"].iloc[0] > 0 and gains["dual_before"].iloc[0] == 0.0
    assert gains["dual_after"].iloc[-1] == pytest.approx(runs["dual"].iloc[0], rel=1e-3)
    other = toy.select("solvers")["run"].iloc[0]
    with pytest.raises(NotReadyError, match=r"left no gains\.csv"):
        toy.gains(other)


def test_a_config_may_say_the_schedule_of_the_authors_program(toy):
    runs = toy.select("schedule")
    assert runs["k"].tolist() == [1, 100] and runs["solver"].tolist() == ["staged"] * 2
    assert (runs["status"] == "done").all() and runs["converged"].all()
    assert runs["constraints"].iloc[0] < runs["constraints"].iloc[1]  # the QP is solved after every cut
    for run in runs.itertuples():
        trace = toy.trace(run.run)
        assert len(trace) == run.iterations + 1  # the certificate comes last
        assert trace["precision"].dropna().unique().tolist() == [0.5, 0.05, 0.01]
        assert trace["constraints"].iloc[-1] == run.constraints
        clocks = toy.timings().set_index("run").loc[run.run]
        assert 0.0 <= clocks["fit_seconds_qp"] <= clocks["fit_seconds_loop"] <= clocks["fit_seconds"]


def test_a_runs_files_are_those_of_the_tables_or_none(toy, tmp_path):
    run = toy.select("sizes")["run"].iloc[0]
    files = toy.files(run)
    assert set(files) == {"run.json", "model.npz", "gains.csv", "clock.json", "trace.csv", "metrics.json"}
    assert json.loads(files["run.json"])["run"] == run == toy.record(run)["run"]
    root = toy.layout.root
    assert main(["--root", str(root), "unpack", "toy", str(tmp_path / "some"), "--run", run]) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "some" / run).iterdir()} == files
    assert main(["--root", str(root), "unpack", "toy", str(tmp_path / "some"), "--run", run[:-1]]) == 1
    other = shutil.copytree(root, tmp_path / "other")
    bundle = next((other / "results" / "scales" / "standard" / "toy" / "jobs").glob("*.trained.zip"))
    whole = Bundle(bundle)
    write_bundle(bundle, {"another": "one"}, whole.taken())
    with pytest.raises(DamagedFile, match="not what the tables of toy were made from"):
        Results(other)["toy"].model(next(iter(whole.entries)))
    bundle.unlink()
    with pytest.raises(NotReadyError, match="make reproduce SCALE=standard ONLY=toy makes them"):
        Results(other)["toy"].record(next(iter(whole.entries)))


def test_a_selection_has_the_study_and_the_settings_asked_for(toy):
    assert toy.select("sizes", n_train=24)["n_train"].tolist() == [24, 24]
    assert set(toy.select(("sizes", "solvers"))["method"]) == {"007", "012"}
    assert toy.select("sizes", nothing_like_it=1).empty and toy.select("no such study").empty
    assert len(toy.select(done=False)) == len(toy.runs) > len(toy.select())


def test_numbers_beside_words_are_compared_as_they_are_written():
    frame = pd.DataFrame({"letters": pd.Series(["all", "10000", pd.NA], dtype="string")})
    assert has_value(frame, "letters", 10000).tolist() == [False, True, False]
    assert column(frame, "letters", "none").tolist() == ["all", "10000", "none"]
    assert has_value(frame, "other", 1).tolist() == [False] * 3


def test_results_without_a_schema_are_read_by_declared_types_and_by_their_cells(toy, tmp_path):
    shutil.copytree(toy.folder, tmp_path / "results" / "toy")
    summary = read_json(tmp_path / "results" / "toy" / "summary.json")
    summary.pop("columns")
    write_json(tmp_path / "results" / "toy" / "summary.json", summary)
    old = Results(tmp_path)["toy"]
    assert old.runs["method"].tolist() == toy.runs["method"].tolist()
    assert old.runs["n_train"].tolist() == toy.runs["n_train"].tolist()
    assert old.runs["test_error"].tolist()[0] == toy.runs["test_error"].tolist()[0]


@pytest.mark.parametrize("name", list(SNAPSHOT))
def test_the_committed_snapshot_is_read_with_types(name):
    mine = SNAPSHOT[name]
    types = mine.runs.dtypes.astype(str)
    assert set(types[list(IDENTIFIERS)]) == {"string"} and types["chosen"] == "boolean"
    assert set(types) <= {"boolean", "Int64", "float64", "string"}
    for table in mine.config["tables"]:
        tidy = mine.table(table)
        assert len(tidy) and str(tidy["value"].dtype) == "float64" and tidy["value"].notna().any()
        assert str(mine.published(table)["value"].dtype) == "float64"
    assert len(mine.timings()) == len(mine.runs)


def test_statements_have_types_and_one_primary_row_each():
    frame = SNAPSHOT.statements()
    assert list(frame.columns) == list(COLUMNS)
    types = frame.dtypes.astype(str)
    assert set(types[["effect", "low", "high", "delta", "published"]]) == {"float64"}
    assert set(types[["primary", "volatile"]]) == {"boolean"} and types["n"] == "Int64"
    assert set(frame["verdict"]) <= set(VERDICTS) and frame["verdict"].notna().all()
    assert (frame.groupby("id")["primary"].sum() == 1).all()
    assert frame.loc[frame["effect"].isna(), "evidence"].notna().all()


def made(settings=None, metrics=None, choices=None):
    return RunRow({"run": "r"}, settings or {}, metrics or {}, choices or {})


def test_no_kind_of_column_hides_another():
    assert made({"C": 1.0}, {"C": 1.0}).cells()["C"] == 1.0
    assert made({"C": None}, {"C": 62.6}).cells()["C"] == 62.6
    with pytest.raises(ValueError, match=r"run 'r': 'gap' is 0.5 among its metrics, but -0.2 already"):
        made({"gap": -0.2}, {"gap": 0.5}).cells()
    with pytest.raises(ValueError, match=r"'margin' is 0.9 among its choices, but 0.1 already"):
        made({}, {"margin": 0.1}, {"margin": 0.9}).cells()
    assert made({"C": 1000.0}, {"C": 10.0}, {"C": 10.0}).cells()["C"] == 10.0, "a choice replaces a setting"


def test_a_name_may_be_a_setting_of_one_method_and_a_metric_of_another():
    columns = columns_of([made({"gap": -0.2}), made({"gap": None}, {"gap": 3})])
    assert columns["gap"] == {"type": "float", "holds": ["settings", "metrics"]}


def test_the_examples_run():
    assert doctest.testmod(module).failed == 0 < doctest.testmod(module).attempted
