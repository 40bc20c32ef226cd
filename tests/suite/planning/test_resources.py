"""What jobs ask of a cluster: more than was measured, a lot where nothing was."""

from __future__ import annotations

import doctest

import pytest

from structmargin_suite.planning import resources as module
from structmargin_suite.planning.resources import UNKNOWN_MB, UNKNOWN_MINUTES, Resources
from structmargin_suite.rerun.measured import measured, write_resources
from structmargin_suite.storage.errors import DamagedFile

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def noted(root, scale, experiment, job, seconds, mb, cpu=1):
    """A benchmark file as Snakemake writes it."""
    path = root / "results" / "scales" / scale / experiment / "benchmarks" / f"{job}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}{seconds}\t0:00:01\t{mb}\t1\t1\t1\t0\t0\t99\t{cpu}\n")
    return path


def test_the_largest_job_of_each_rule_is_what_is_asked_for_with_room_to_spare(tmp_path):
    noted(tmp_path, "paper", "ocr", "train_repetition=0", 100.2, 1500.4)
    noted(tmp_path, "paper", "ocr", "train_repetition=1", 200.7, 900.0, cpu=2.5)
    noted(tmp_path, "paper", "ocr", "show", 0.3, "NA")
    noted(tmp_path, "smoke", "ocr", "train_all", 1.0, 200.0)
    assert measured(tmp_path)["ocr"]["paper"]["train"] == {"cpu": 2, "mb": 1501, "seconds": 201}
    write_resources(tmp_path)
    asked = Resources.read(tmp_path)
    assert asked.asked("ocr", "paper", "train") == (2300, 21)
    assert asked.asked("ocr", "paper", "show") == (1000, 10) == asked.asked("ocr", "smoke", "train")
    assert asked.asked("ocr", "paper", "prepare") == (UNKNOWN_MB, UNKNOWN_MINUTES)
    assert asked.asked("other", "paper", "train") == (UNKNOWN_MB, UNKNOWN_MINUTES)


def test_what_was_not_measured_at_a_scale_asks_by_the_others(tmp_path):
    """As much as at a larger scale; four times the memory and six times the time of a smaller one."""
    noted(tmp_path, "smoke", "ocr", "train_all", 20.0, 300.0)
    noted(tmp_path, "paper", "ocr", "evaluate_all", 200.0, 2000.0)
    noted(tmp_path, "smoke", "ocr", "evaluate_all", 1.0, 100.0)
    write_resources(tmp_path)
    asked = Resources.read(tmp_path)
    assert asked.asked("ocr", "standard", "train") == (1800, 12) == asked.asked("ocr", "paper", "train")
    assert asked.asked("ocr", "standard", "evaluate") == (3000, 20) == asked.asked("ocr", "paper", "evaluate")
    assert asked.asked("ocr", "smoke", "evaluate") == (1000, 10)


def test_a_new_measurement_replaces_its_rule_and_leaves_the_others(tmp_path):
    first = noted(tmp_path, "paper", "ocr", "train_all", 600.0, 4000.0)
    noted(tmp_path, "smoke", "ocr", "train_all", 9.0, 900.0)
    write_resources(tmp_path)
    first.unlink()
    noted(tmp_path, "paper", "ocr", "prepare_ocr", 60.0, 300.0)
    noted(tmp_path, "smoke", "ocr", "train_all", 2.0, 100.0)
    noted(tmp_path, "smoke", "ner", "train_all", 2.0, 100.0)
    text = write_resources(tmp_path).read_text()
    assert Resources.read(tmp_path).measured == {
        "ner": {"smoke": {"train": {"cpu": 1, "mb": 100, "seconds": 2}}},
        "ocr": {
            "paper": {"prepare": {"cpu": 1, "mb": 300, "seconds": 60},
                      "train": {"cpu": 1, "mb": 4000, "seconds": 600}},
            "smoke": {"train": {"cpu": 1, "mb": 100, "seconds": 2}},
        },
    }  # fmt: skip
    assert write_resources(tmp_path).read_text() == text and text.startswith("# Peak memory")
    assert Resources.read(tmp_path / "nowhere").asked("ocr", "paper", "train").mem_mb == UNKNOWN_MB


def test_a_file_of_another_kind_is_named(tmp_path):
    noted(tmp_path, "paper", "ocr", "train_all", 1.0, 1.0).write_text("nothing\n")
    with pytest.raises(DamagedFile, match=r"train_all\.tsv: this is no benchmark file of Snakemake"):
        measured(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ocr: 5", "it has no scales by experiment"),
        ("[1, 2]", "it has no scales by experiment"),
        ("words", "it has no scales by experiment"),
        ("ocr: {paper: [1]}", "ocr.paper has no rules"),
        ("ocr: {paper: {train: 3}}", "ocr.paper.train has not mb and seconds as numbers"),
        ("ocr: {paper: {train: {mb: 3}}}", "ocr.paper.train has not mb and seconds as numbers"),
        ("ocr: {paper: {train: {mb: x, seconds: 3}}}", "ocr.paper.train has not mb and seconds as numbers"),
        ("ocr: {paper: {train: {mb: -1, seconds: 3}}}", "numbers from 0 to 1e\\+09"),
        ("ocr: {paper: {train: {mb: 1.0e+300, seconds: 3}}}", "numbers from 0 to 1e\\+09"),
        ("ocr: b: c", "line 1: not valid YAML"),
    ],
)
def test_values_of_another_kind_are_a_sentence(tmp_path, text, said):
    path = tmp_path / "workflow" / "resources.yaml"
    path.parent.mkdir()
    path.write_text(f"{text}\n")
    with pytest.raises(DamagedFile, match=rf"resources\.yaml: .*{said}.*; correct"):
        Resources.read(tmp_path)


def test_the_examples_run():
    assert doctest.testmod(module).failed == 0 < doctest.testmod(module).attempted
