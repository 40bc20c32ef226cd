"""What training and evaluation share: rows without silent precedence, and records that are still whole."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.toy_project import project
from structmargin_suite.stages._command import base_of
from structmargin_suite.stages._runs import cached
from structmargin_suite.stages.evaluate import Measured
from structmargin_suite.stages.tabulate import RunRow
from structmargin_suite.storage.bundle import Entry, write_bundle
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.names import NameClash

HEADS = {"run": "r", "status": "done"}


def test_a_row_shows_the_chosen_value_then_the_given_one_then_the_reported_one():
    metrics = {"test_error": 5.0, "C": 7.0, "gap": 0.1}
    row = RunRow(HEADS, {"n_train": 12, "C": None}, metrics, {}).cells()
    assert row == {**HEADS, "n_train": 12, "C": 7.0, "test_error": 5.0, "gap": 0.1}
    assert RunRow(HEADS, {"C": 1.0}, metrics, {}).cells()["C"] == 1.0
    assert RunRow(HEADS, {"C": 1.0}, metrics, {"C": 30.0}).cells()["C"] == 30.0
    # an option of other methods, not of this one
    assert RunRow(HEADS, {"gap": None}, metrics, {}).cells()["gap"] == 0.1


@pytest.mark.parametrize(
    ("settings", "metrics", "chosen", "words"),
    [
        ({"gap": -0.2}, {"gap": 0.1}, {}, "'gap' is 0.1 among its metrics, but -0.2 already"),
        ({}, {"status": 1.0}, {}, "'status' is 1.0 among its metrics, but 'done' already"),
        ({"run": 3}, {}, {}, "'run' is 3 among its settings, but 'r' already"),
        ({}, {"gap": 0.1}, {"gap": 2.0}, "'gap' is 2.0 among its choices, but 0.1 already"),
    ],
)
def test_a_clash_of_settings_metrics_and_choices_is_refused(settings, metrics, chosen, words):
    with pytest.raises(ValueError, match=words):
        RunRow(HEADS, settings, metrics, chosen).cells()


def test_a_measure_of_the_data_set_must_not_have_the_name_of_a_number_of_ours():
    measured = Measured(scores={"train": {"error": 1.0}, "test": {"error": 2.0}}, training={"C": 1.0})
    assert list(measured.metrics) == ["train_error", "test_error", "C"]
    measured.certificate["test_error"] = 3.0
    words = "'test_error' is a name in both the data set's measures on the test set and the certificate"
    with pytest.raises(NameClash, match=words):
        _ = measured.metrics


def test_the_cache_has_a_run_under_its_key_and_only_while_it_is_whole(tmp_path):
    path = tmp_path / "r.train.zip"
    entry = Entry("r", "k", "done", {"model": bytes(1000), "run.json": b"{}"})
    assert cached(path, "r", "k") is None
    write_bundle(path, {}, [entry])
    assert cached(path, "r", "k") == entry
    assert cached(path, "r", "other") is None and cached(path, "s", "k") is None
    whole = path.read_bytes()
    flipped = whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]  # in the compressed model
    for damaged in (whole[:-30], whole[:40], b"", flipped):
        path.write_bytes(damaged)
        assert cached(path, "r", "k") is None


@pytest.mark.parametrize(
    ("path", "base"),
    [
        ("results/scales/smoke/toy/runs.csv", "."),
        ("data/ready/smoke/toy/c.zip", "."),
        ("/some/results/store/results/toy/files.json", "/some/results/store"),
        ("/some/data/ready/x/data/ready/smoke/toy/c.zip", "/some/data/ready/x"),
    ],
)
def test_a_command_finds_its_folders_from_a_file_that_it_writes(path, base):
    assert base_of(Path(path)) == Path(base)


def test_a_command_that_is_to_write_elsewhere_says_so():
    with pytest.raises(DataError, match=r"x/y\.csv is neither in results/ nor in data/ready/"):
        base_of(Path("x/y.csv"))


@pytest.mark.parametrize("megabytes", [360, 900])
def test_a_job_with_too_little_address_space_ends_in_a_sentence(megabytes, tmp_path):
    """With less than its libraries need, a job would wait for ever in one of them."""
    command = f"ulimit -v {megabytes * 1024}; exec '{sys.executable}' -m structmargin_suite.stages.prepare"
    command += " --experiment toy --corpus clusters"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert ("not enough memory" in done.stderr) is (megabytes == 360), done.stderr


@pytest.mark.parametrize(
    ("stage", "words", "said"),
    [
        ("prepare", "--experiment nothing --corpus x", "no experiment 'nothing' in configs/suite.yaml"),
        ("prepare", "--experiment toy --corpus ../../x", "unknown corpus '../../x'; use one of clusters"),
        ("train", "--experiment toy --job ../x", "unknown job '../x'; use one of repetition=0, repetition=1"),
        ("evaluate", "--experiment ../toy --job all", "no experiment '../toy'"),
        ("tabulate", "--experiment nothing", "no experiment 'nothing'"),
        ("show", "--experiment ../x", "no experiment '../x'"),
        ("complete", "--experiments toy nothing", "no experiment 'nothing'"),
    ],
)
def test_a_stage_that_is_called_for_what_is_not_planned_says_so(tmp_path, stage, words, said):
    main = importlib.import_module(f"structmargin_suite.stages.{stage}").main
    with pytest.raises(DataError, match=re.escape(said)):
        main(["--root", str(project(tmp_path)), *words.split()])
    assert not (tmp_path / "results").exists()
