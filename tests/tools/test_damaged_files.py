"""Every kind of file, damaged in every way: the next run of the real workflow makes the same bytes again.

A round damages one file in each of three experiments, so that one call of Snakemake tries three faults that
do not touch each other. `make test` has a fixed sample, `make test-long` all; helpers/damage.py lists them.
"""

from __future__ import annotations

import copy
import os
import shutil
import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.damage import A_YEAR, COMMON_KINDS, DAMAGES, KINDS, inflict, place
from helpers.outcomes import ALL, CONFIG, LANES, copy_of, finished_project, once, recover
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun.unfit import unfit
from structmargin_suite.workflow import Pipeline
from structmargin_suite.workflow.checking import remove

FEW = ("flip", "empty", "folder", "swap", "delete")
"""What is tried on files that are checked by the same lines as others on which all is tried."""
LIKE_OTHERS = ("timings.csv", "toy.csv", "toy.tex", "summary.json")
FAULTS = [
    (kind, damage)
    for kind, damage in product(KINDS, DAMAGES)
    if not (kind.endswith(LIKE_OTHERS) and damage not in FEW)
    and not (kind == "Snakemake's note" and damage == "other configuration")
]
SAMPLE = [
    ("corpus", "flip"), ("trained", "edit"), ("evaluated", "swap"),
    ("clocks", "truncate"), ("cached training", "swap"), ("tabulated runs.csv", "edit"),
    ("tabulated toy.tex", "delete"), ("shown toy.md", "folder"), ("trained", "meaningless"),
]  # fmt: skip
COMMON_FAULTS = [fault for fault in product(COMMON_KINDS, DAMAGES) if fault[1] != "other configuration"]
COMMON_SAMPLE = [("a page", "flip")]


@pytest.fixture(scope="session")
def another(tmp_path_factory):
    """The same experiments with another value that is in no run's name."""
    config = copy.deepcopy(CONFIG)
    config["methods"]["margin"]["eps"] = 0.3
    config["data"]["clusters"]["scatter"] = 1.5
    config["tables"]["toy"]["caption"] = "Another."
    return once(tmp_path_factory, "another", lambda folder: finished_project(folder, config)) / "project"


def rounds(faults):
    """The faults in groups, one for each experiment."""
    return [faults[first : first + len(LANES)] for first in range(0, len(faults), len(LANES))]


@pytest.mark.parametrize(
    "kind", ["the page's seal", "complete.json", "tabulated files.json", "shown files.json"]
)
def test_damage_that_is_found_before_a_run(kind, undisturbed, tmp_path, monkeypatch):
    monkeypatch.chdir(copy_of(undisturbed, tmp_path / "project"))
    suite, what = load(Path(".")), {**KINDS, **COMMON_KINDS}[kind]
    path, twin = (place(Path("."), each, LANES[0]) for each in (what.path, what.twin))
    assert list(unfit(suite, LANES)) == []
    for damage in set(DAMAGES) - {"age", "postdate", "delete", "other configuration"}:
        inflict(Path("."), LANES[0], kind, damage)
        assert list(unfit(suite, LANES)), damage
        for changed in (path, twin):
            remove(changed)
            shutil.copy2(undisturbed / changed, changed)


def test_a_note_of_snakemakes_that_is_no_text_is_found_before_a_run(undisturbed, tmp_path, monkeypatch):
    monkeypatch.chdir(copy_of(undisturbed, tmp_path / "project"))
    note = next(path for path in sorted(Path(".snakemake", "metadata").rglob("*")) if path.is_file())
    note.write_bytes(b"\x89PNG")
    assert [(fault.path, fault.damaged) for fault in unfit(load(Path()), LANES)] == [(note, True)]


def test_files_from_the_future_get_the_date_of_now(undisturbed, tmp_path, monkeypatch, capsys):
    """Snakemake ends a run that reads a file from the future, and would do so on each call."""
    monkeypatch.chdir(copy_of(undisturbed, tmp_path / "project"))
    later = time.time() + A_YEAR
    kinds = {**KINDS, **COMMON_KINDS}
    made = [place(Path(), kinds[name].path, LANES[1]) for name in ("corpus", "evaluated", "statements.csv")]
    files = [*made, *(Path("data", "published", name) for name in ("toy.csv", "statements.yaml"))]
    for path in files:
        os.utime(path, (later, later))
    before = {path: path.stat().st_mtime for path in Path().rglob("*.*") if path.is_file()}
    state = {
        "is_main_process": True,
        "executor_plugin": object(),
        "dag_settings": SimpleNamespace(targets=()),
    }
    for dry in (True, False):
        assert {path for path, date in before.items() if path.stat().st_mtime != date} == set()
        Pipeline(load(Path()), SimpleNamespace(dryrun=dry, **state)).check()
        said = capsys.readouterr().err
        assert all(f"{path} has a date in the future" in said for path in files) and "again" not in said
    assert {path for path, date in before.items() if path.stat().st_mtime != date} == set(files)
    assert len({path.stat().st_mtime for path in files}) == 1 and files[0].stat().st_mtime <= time.time()


@pytest.mark.parametrize("faults", rounds(FAULTS if ALL else SAMPLE), ids=str)
def test_a_damaged_file_of_an_experiment(faults, undisturbed, tmp_path, request, record_property):
    root = copy_of(undisturbed, tmp_path / "project")
    swaps_first = sorted(zip(LANES, faults, strict=False), key=lambda fault: fault[1][1] != "swap")
    for experiment, (kind, damage) in swaps_first:
        other = request.getfixturevalue("another") if damage == "other configuration" else None
        inflict(root, experiment, kind, damage, other)
    record_property("faults", len(faults))
    record_property("outcome", recover(root, undisturbed))


@pytest.mark.parametrize(("kind", "damage"), COMMON_FAULTS if ALL else COMMON_SAMPLE)
def test_a_damaged_file_of_all(kind, damage, undisturbed, tmp_path, record_property):
    root = copy_of(undisturbed, tmp_path / "project")
    inflict(root, LANES[0], kind, damage)
    record_property("faults", 1)
    record_property("outcome", recover(root, undisturbed))
