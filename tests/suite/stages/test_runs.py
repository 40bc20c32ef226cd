"""What training and evaluation share: rows without silent precedence, and records that are still whole."""

from __future__ import annotations

import pytest

from structmargin_suite.stages._runs import intact, row_of
from structmargin_suite.stages.evaluate import Measured
from structmargin_suite.storage.files import sha256, write_json, write_text
from structmargin_suite.storage.records import NameClash

HEADS = {"run": "r", "status": "done"}


def test_a_row_shows_the_chosen_value_then_the_given_one_then_the_reported_one():
    metrics = {"test_error": 5.0, "C": 7.0, "gap": 0.1}
    row = row_of(HEADS, {"n_train": 12, "C": None}, metrics, {})
    assert row == {**HEADS, "n_train": 12, "C": 7.0, "test_error": 5.0, "gap": 0.1}
    assert list(row) == ["run", "status", "n_train", "C", "test_error", "gap"]
    assert row_of(HEADS, {"C": 1.0}, metrics, {})["C"] == 1.0
    assert (
        row_of(HEADS, {"gap": None}, metrics, {})["gap"] == 0.1
    )  # an option of other methods, not of this one
    assert row_of(HEADS, {"C": 1.0}, metrics, {"C": 30.0})["C"] == 30.0


@pytest.mark.parametrize(
    ("settings", "metrics", "chosen", "words"),
    [
        ({"gap": -0.2}, {"gap": 0.1}, {}, "'gap' is a name in both the settings of a run and its metrics"),
        ({}, {"status": 1.0}, {}, "'status' is a name in both every row and its metrics"),
        ({"run": 3}, {}, {}, "'run' is a name in both every row and the settings of a run"),
        ({}, {"gap": 0.1}, {"gap": 2.0}, "'gap' is a name in both the chosen options and the metrics"),
    ],
)
def test_a_clash_of_settings_metrics_and_choices_is_refused(settings, metrics, chosen, words):
    with pytest.raises(NameClash, match=words):
        row_of(HEADS, settings, metrics, chosen)


def test_a_measure_of_the_data_set_must_not_have_the_name_of_a_number_of_ours():
    measured = Measured(scores={"train": {"error": 1.0}, "test": {"error": 2.0}}, training={"C": 1.0})
    assert list(measured.metrics) == ["train_error", "test_error", "C"]
    measured.certificate["test_error"] = 3.0
    words = "'test_error' is a name in both the data set's measures on the test part and the certificate"
    with pytest.raises(NameClash, match=words):
        _ = measured.metrics


def test_a_record_is_intact_with_its_key_and_its_files_unless_failures_are_tried_again(tmp_path):
    record = tmp_path / "run.json"
    assert not intact(record, "k", False)
    write_text(tmp_path / "model", "m")
    written = {"key": "k", "status": "done", "files": {"model": sha256(tmp_path / "model")}}
    write_json(record, written)
    assert intact(record, "k", True) and not intact(record, "other", True)
    write_text(tmp_path / "model", "changed")
    assert not intact(record, "k", False)
    (tmp_path / "model").unlink()
    assert not intact(record, "k", False)
    write_json(record, {"key": "k", "status": "failed", "files": {}})
    assert intact(record, "k", False) and not intact(record, "k", True)
