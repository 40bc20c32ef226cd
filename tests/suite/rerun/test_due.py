"""What the next call will train, and why; how long that takes, from what was recorded; and what has moved."""

from __future__ import annotations

import copy
import json
import re

import pytest

from helpers.toy_project import TOY, project, run_all, write_config
from structmargin_suite.cli import main
from structmargin_suite.planning.plan import load
from structmargin_suite.publish.moved import moves
from structmargin_suite.rerun import due
from structmargin_suite.rerun.kept import keep_tables, replaced
from structmargin_suite.rerun.times import START, UNKNOWN, Times
from structmargin_suite.results import ExperimentResults, Results
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.layout import ScaleLayout
from structmargin_suite.workflow.checking import remove_unfit


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The toy experiment, run, and the same with another C for one of its methods."""
    root = project(tmp_path_factory.mktemp("due"))
    run_all(root)
    return root


@pytest.fixture
def root(finished):
    yield finished
    write_config(finished, TOY)


def changed(root, method, **options):
    config = copy.deepcopy(TOY)
    config["methods"][method] |= options
    write_config(root, config)
    return load(root)


def said(root, capsys, *words):
    assert main(["--root", str(root), *words]) == 0
    return capsys.readouterr().out


def test_nothing_is_due_after_a_run_and_everything_before(root, tmp_path, capsys):
    assert due.due_runs(load(root), "toy") == []
    assert "toy is up to date: 10 runs" in said(root, capsys, "status")
    fresh = load(project(tmp_path))
    found = due.due_runs(fresh, "toy")
    assert len(found) == 8, "two of ten are skipped"
    assert due.reasons(found) == {due.NOT_PREPARED: 8}


def test_a_changed_setting_is_the_reason_and_only_its_runs_are_due(root, capsys):
    found = due.due_runs(changed(root, "margin", C=0.5), "toy")
    trained = [each.run.name for each in found]
    assert due.reasons([each for each in found if each.run.method == "margin"]) == {"C 1.0 -> 0.5": 4}
    assert {each.run.method for each in found} == {"margin", "hard"} and len(trained) == len(set(trained))
    assert due.reasons([each for each in found if each.run.method == "hard"]) == {due.FAILED: 2}
    output = said(root, capsys, "status", "toy")
    told = r"6 of 10 runs of toy will train, about \d+ s\n  4: C 1.0 -> 0.5\n  2: failed last time\n"
    assert re.search(told, output), output


def test_more_repetitions_train_only_those_that_are_new(root):
    write_config(root, {**TOY, "repetitions": 3})
    found = due.due_runs(load(root), "toy")
    new = [each for each in found if each.why == due.NEVER]
    assert {each.run.settings["repetition"] for each in new} == {2}
    assert {each.run.method for each in found if each.why != due.NEVER} == {"hard"}


def test_changed_code_is_the_reason(root, monkeypatch):
    suite = load(root)
    monkeypatch.setattr(due.job_keys, "run_code", lambda experiment, run: "another")
    assert due.reasons(due.due_runs(suite, "toy")) == {due.CODE: 6, due.FAILED: 2}


def test_times_are_those_of_the_runs_then_of_the_method_then_of_the_rule(root):
    layout = ScaleLayout(root, "standard")
    clocks = layout.experiment("toy") / "timings.csv"
    rows = read_csv(clocks)
    before = clocks.read_bytes()
    write_csv(
        clocks,
        [{**row, "cpu_seconds": 10.0 if "n_train=12" in row["run"] else 30.0} for row in rows],
        list(rows[0]),
    )
    try:
        write_config(root, {**TOY, "repetitions": 3})
        suite = load(root)
        times, runs = Times(suite), {run.name: run for run in suite.experiments["toy"].runs}
        known = [runs[f"margin,n_train={n},repetition=0"] for n in (12, 24)]
        assert times.training("toy", known) == pytest.approx(40.0)
        assert times.job("toy", "train", "all", known) == pytest.approx(START + 40.0)
        assert times.training("toy", [runs["margin,n_train=12,repetition=2"]]) == pytest.approx(20.0)
        assert times.guesses == 0 and times.job("toy", "evaluate", "x") == UNKNOWN and times.guesses == 1
        noted = layout.experiment("toy") / "benchmarks" / "evaluate_x.tsv"
        noted.parent.mkdir()
        noted.write_text("s\tmax_rss\tcpu_time\n9.0\t100\t4.0\n")
        (noted.parent / "evaluate_y.tsv").write_text("cut short")
        times = Times(suite)
        assert times.job("toy", "evaluate", "x") == times.job("toy", "evaluate", "other") == 4.0
        assert times.guesses == 0
    finally:
        clocks.write_bytes(before)


def test_compare_tells_what_moved_since_the_run_before_in_standard_errors(tmp_path, capsys):
    root = project(tmp_path)
    run_all(root)
    layout = ScaleLayout(root, "standard")
    assert main(["--root", str(root), "compare", "toy"]) == 1
    assert "no earlier run of toy is kept" in capsys.readouterr().err
    suite = changed(root, "margin", C=0.002)
    remove_unfit(suite, ["toy"], dry=True)
    assert not layout.before("toy").exists()
    remove_unfit(suite, ["toy"], dry=False)
    assert "was made from another configuration" in capsys.readouterr().err
    assert {path.name for path in layout.before("toy").iterdir()} >= {"summary.json", "toy.csv", "runs.csv"}
    run_all(root)
    output = said(root, capsys, "compare", "toy")
    assert "toy (scale standard) beside the run before the last change" in output
    assert "config: methods.margin.C: 1.0 -> 0.002" in output
    before = ExperimentResults(root, "toy", layout.before("toy"))
    found = moves(before, Results(root)["toy"])
    assert found.total == 2 * 2 + 2 and {move.table for move in found.moves} == {"toy"}
    folders = (layout.before("toy"), layout.shown("toy"))
    old, new = ({row["run"]: row for row in read_csv(folder / "runs.csv")} for folder in folders)
    for move in found.moves:
        measure = next(key for key in move.keys if key in ("test_error", "constraints"))
        names = [f"margin,n_train={move.keys[0]},repetition={repetition}" for repetition in (0, 1)]
        moved = [float(new[name][measure]) - float(old[name][measure]) for name in names]
        assert move.now - move.before == pytest.approx(sum(moved) / 2)
        error = abs(moved[0] - moved[1]) / 2  # of the mean of two
        assert move.errors == (pytest.approx(sum(moved) / 2 / error) if error else None)
    far = sum(move.errors is not None and abs(move.errors) > 2 for move in found.moves)
    assert f"{len(found.moves)} of 6 numbers moved, {far} by more than 2 standard errors" in output
    kept = layout.before("toy") / "summary.json"
    summary = json.loads(kept.read_text())
    kept.write_text(json.dumps({**summary, "scale": "smoke"}))
    assert main(["--root", str(root), "compare", "toy", "before"]) == 1
    assert "is of scale smoke, toy of scale standard" in capsys.readouterr().err
    assert main(["--root", str(root), "compare", "tyo"]) == 1
    assert "unknown experiment 'tyo'; the nearest known is 'toy'" in capsys.readouterr().err
    (root / "configs" / "later.yaml").touch()
    assert main(["--root", str(root), "compare", "later"]) == 1
    assert "no results of later yet: run make reproduce ONLY=later first" in capsys.readouterr().err
    assert main(["--root", str(root), "compare", "toy", "later"]) == 1
    assert "no results of later yet: run make reproduce ONLY=later first" in capsys.readouterr().err
    (root / "configs" / "later.yaml").unlink()


def test_tables_that_are_not_whole_are_not_kept_and_only_replaced_runs_count(root, tmp_path):
    layout = ScaleLayout(root, "standard")
    table = layout.experiment("toy") / "toy.csv"
    whole = table.read_bytes()
    table.write_bytes(whole + b"\n")
    assert not keep_tables(layout, "toy") and not layout.before("toy").exists()
    table.write_bytes(whole)
    assert keep_tables(layout, "toy") and (layout.before("toy") / "toy.csv").read_bytes() == whole
    layout = ScaleLayout(tmp_path, "standard")
    assert not keep_tables(layout, "toy")
    paths = [layout.trained("toy", "a"), layout.experiment("ner") / "files.json", layout.corpus("ocr", "ocr")]
    assert replaced(paths, layout, ["toy", "ner", "ocr", "theory"]) == ["toy", "ocr"]
