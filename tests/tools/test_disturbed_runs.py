"""Runs of the real workflow that are killed, starved or in odd surroundings, and configurations that change.

Each fault works on a copy of a project whose three experiments are finished, or all but one. After it the
next run has the bytes of an undisturbed one, or there is a sentence and an exit code other than 0, and
following the sentence leads there. `make test` has a fixed sample, `make test-long` all.
"""

from __future__ import annotations

import copy
import os
import random
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from helpers.disturbances import (
    being_written,
    fill,
    half_finished,
    in_every_job,
    kill,
    small_disk,
    started,
    until,
    unwritable,
    whole_files,
)
from helpers.outcomes import ALL, CONFIG, assert_same, copy_of, recover
from helpers.toy_project import write_config
from helpers.workflow_runs import attempt, snakemake


class Place(NamedTuple):
    """Where a fault happens: the finished project that is the reference, and a folder for copies of it."""

    undisturbed: Path
    folder: Path

    def whole(self) -> Path:
        """A copy of the finished project."""
        return copy_of(self.undisturbed, self.folder / "project")

    def half(self) -> Path:
        """A copy in which one experiment of three was never run."""
        return half_finished(self.whole())


FAULTS: dict[str, Callable[[Place], str]] = {}
SAMPLE: list[str] = []


def faults(*values: Any, sample: tuple[Any, ...] = ()) -> Callable[[Callable[[Any, Place], str]], None]:
    """Enter a fault into the list once for each value; those in `sample` are tried by `make test` too."""

    def enter(function: Callable[[Any, Place], str]) -> None:
        for value in values:
            name = f"{function.__name__}: {getattr(value, '__name__', value)}"
            FAULTS[name] = partial(function, value)
            if value in sample:
                SAMPLE.append(name)

    return enter


def unlock(root: Path) -> Callable[[str], None]:
    """What Snakemake's sentence on a locked folder asks for."""

    def remedy(output: str) -> None:
        assert "--unlock" in output, output
        snakemake(root, "--unlock")

    return remedy


def sentence(done: Any) -> str:
    """What a run that was to fail said: no traceback."""
    output: str = done.stdout + done.stderr
    assert done.returncode != 0, output
    assert "Traceback (most recent call last)" not in output, output
    return output


# ---- killed ----

TRIES = 5
WRITES = ("clusters", "method=margin.trained", "method=any.evaluated")


@faults(*range(10), sample=(3,))
def killed_at_a_random_point(seed: int, place: Place) -> str:
    root = place.half()
    files = random.Random(seed).randint(0, 36)
    process = started(root)
    until(lambda: whole_files(root) >= files, process)
    kill(process)
    return recover(root, place.undisturbed, unlock(root))


@faults(*WRITES, sample=WRITES[1:2])
def killed_in_the_middle_of_a_write(stem: str, place: Place) -> str:
    for k in range(TRIES):
        root = place._replace(folder=place.folder / str(k)).half()
        process = started(root)
        until(lambda root=root: being_written(root, stem), process)
        kill(process)
        if being_written(root, stem):  # else the write was over before the signal came
            return recover(root, place.undisturbed, unlock(root))
    raise AssertionError(f"none of {TRIES} signals fell into a write of {stem}")


@faults(*WRITES, sample=WRITES[2:])
def killed_job(stem: str, place: Place) -> str:
    """Of a run only the process that writes, as the kernel does it where memory ends."""
    root = place.half()
    process = started(root)
    for writer in until(lambda: being_written(root, stem), process).values():
        os.kill(writer, signal.SIGKILL)
    output, _ = process.communicate(timeout=900)
    assert process.returncode != 0 and "failed: " in output and "Traceback" not in output, output
    return recover(root, place.undisturbed)


@faults(signal.SIGINT, signal.SIGTERM)
def interrupted(number: int, place: Place) -> str:
    root = place.half()
    process = started(root)
    until(lambda: being_written(root, WRITES[1]), process)
    kill(process, number)
    assert process.returncode != 0
    return recover(root, place.undisturbed, unlock(root))


@faults(0, 4, 12, sample=(0,))
def two_runs_at_once(files: int, place: Place) -> str:
    """The second begins when the first has made so many files."""
    root = place.half()
    first = started(root)
    until(lambda: files == 0 or whole_files(root) >= files, first)
    second = started(root)
    outputs = [process.communicate(timeout=1800)[0] for process in (first, second)]
    codes = [first.returncode, second.returncode]
    assert 0 in codes, outputs
    for code, output in zip(codes, outputs, strict=True):
        assert "Traceback" not in output and (code == 0 or "locked" in output), output
    assert_same(root, place.undisturbed)
    return "healed" if codes == [0, 0] else "sentence"


# ---- starved ----


@faults(0, 10_000, 30_000, 90_000, 250_000, sample=(30_000,))
def full_disk(left: int, place: Place) -> str:
    """So many bytes are left on a disk in memory; where none may be mounted, of a limit on files."""
    with small_disk(place.folder / "disk", megabytes=8) as disk:
        root = half_finished(copy_of(place.undisturbed, (disk or place.folder) / "project"))
        if disk is None:
            sentence(attempt(root, "-c2", variables=in_every_job(place.folder, "ulimit -f 2")))
        else:
            ballast = fill(disk, left)
            done = attempt(root, "-c2", variables={"XDG_CACHE_HOME": str(place.folder)})
            if done.returncode:  # Snakemake, which cannot write its own log either, may add a traceback
                assert "No space left" in done.stdout + done.stderr
                logs = "".join(path.read_text() for path in (root / "results").rglob("*.log"))
                assert "Traceback" not in logs, logs
            ballast.unlink()
        return recover(root, place.undisturbed, unlock(root))


@faults(1, 4)
def files_may_not_grow(kilobytes: int, place: Place) -> str:
    root = place.half()
    done = attempt(root, "-c2", variables=in_every_job(place.folder, f"ulimit -f {kilobytes}"))
    if done.returncode:
        assert "File too large" in sentence(done)
    return recover(root, place.undisturbed)


@faults(100, 360, 520, 560, 600, 640, sample=(560,))
def little_memory(megabytes: int, place: Place) -> str:
    root = place.half()
    done = attempt(root, "-c1", variables=in_every_job(place.folder, f"ulimit -v {megabytes * 1000}"))
    output = done.stdout + done.stderr
    if done.returncode:
        assert "failed: " in output
        assert "failed; the next call" not in output, "too little memory is no result"
    return recover(root, place.undisturbed)


# ---- odd surroundings ----

ODD = ("it's", 'qu"ote `id`', "$HOME", "漢字", "semi;colon &", "x" * 200, "-c", "{toy}", "*", "\\n")
MIXED = "it's $HOME ü"


@faults(*ODD, MIXED, sample=(MIXED,))
def odd_path_and_variables(name: str, place: Place) -> str:
    root = half_finished(copy_of(place.undisturbed, place.folder / name / "project"))
    bare = {"HOME": None, "LC_ALL": "C", "LANG": None, "USER": None, "TERM": None}
    return recover(root, place.undisturbed, variables=bare, umask=0o077)


@faults("a file", "unwritable", sample=("a file",))
def cache_that_cannot_be_written(kind: str, place: Place) -> str:
    root = place.half()
    shutil.rmtree(root / ".cache")
    if kind == "a file":
        (root / ".cache").write_text("")
        return recover(root, place.undisturbed)
    with unwritable(root / ".cache"):
        return recover(root, place.undisturbed)


@faults("a file", "unwritable", "garbage")
def compiled_code_that_cannot_be_kept(kind: str, place: Place) -> str:
    root, cache = place.half(), place.folder / "compiled"
    variables = {"NUMBA_CACHE_DIR": str(cache)}
    if kind == "a file":
        cache.write_text("")
    elif kind == "unwritable":
        with unwritable(cache):
            return recover(root, place.undisturbed, variables=variables)
    else:
        attempt(root, "-c2", variables=variables)
        for path in cache.rglob("*.nb?"):
            path.write_bytes(bytes(100))
        half_finished(root)
    return recover(root, place.undisturbed, variables=variables)


FOLDERS = ("results/toy", "results/scales/standard/toy", "data/ready/standard", "results")


@faults(*FOLDERS)
def folder_that_cannot_be_written(name: str, place: Place) -> str:
    root = place.half()
    with unwritable(root / name):
        assert "Operation not permitted" in sentence(attempt(root, "-c2"))
    return recover(root, place.undisturbed)


SCALE = "results/scales/standard"


@faults(
    *("results/toy", "results/toy/figures", "results/scales", "results/logs", SCALE, f"{SCALE}/toy"),
    *(f"{SCALE}/toy/{name}" for name in ("jobs", "logs", "benchmarks", "figures")),
    *("data/ready", "data/ready/standard", "data/ready/standard/toy"),
)
def file_in_place_of_a_folder(name: str, place: Place) -> str:
    root = place.half()
    shutil.rmtree(root / name, ignore_errors=True)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("")

    def remedy(output: str) -> None:
        assert name in output
        (root / name).unlink()

    return recover(root, place.undisturbed, remedy)


def removed(notes: Path) -> None:
    shutil.rmtree(notes)


def garbled(notes: Path) -> None:
    for path in notes.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0{")


def a_file(notes: Path) -> None:
    shutil.rmtree(notes)
    notes.write_text("")


def locked(notes: Path) -> None:
    (notes / "locks").mkdir(exist_ok=True)
    (notes / "locks" / "0.output.lock").write_text("results/index.html\n")


def incomplete(notes: Path) -> None:
    """Marks of unfinished jobs on every file."""
    (notes / "incomplete").mkdir(exist_ok=True)
    for path in (notes / "metadata").iterdir():
        (notes / "incomplete" / path.name).write_text("")


@faults(removed, garbled, a_file, locked, incomplete, sample=(removed,))
def notes_of_snakemake(damage: Callable[[Path], None], place: Place) -> str:
    root = place.whole()
    notes = root / ".snakemake"
    damage(notes)

    def remedy(output: str) -> None:
        if notes.is_dir():
            unlock(root)(output)
        else:
            assert ".snakemake" in output
            notes.unlink()

    return recover(root, place.undisturbed, remedy)


@faults(0, 10**9, 4 * 10**9)
def all_files_of_one_date(date: int, place: Place) -> str:
    root = place.whole()
    for path in root.rglob("*"):
        if not path.is_symlink() and "src" not in path.relative_to(root).parts:
            os.utime(path, (date, date))
    return recover(root, place.undisturbed)


# ---- there and back ----


def changed(**values: object) -> dict[str, Any]:
    """The toy's configuration with other values, given by keys with __ for the dot."""
    config: dict[str, Any] = copy.deepcopy(CONFIG)
    for key, value in values.items():
        *steps, last = key.split("__")
        inner = config
        for step in steps:
            inner = inner[step]
        inner[last] = value
    return config


def put_back(root: Path, place: Place, *names: str) -> None:
    """Files and folders as they are in the reference, with their dates."""
    for name in names:
        if (root / name).is_dir():
            shutil.rmtree(root / name)
            shutil.copytree(place.undisturbed / name, root / name)
        else:
            shutil.copy2(place.undisturbed / name, root / name)


LAYOUT = {"jobs": {"by": ["method", "repetition"]}}
CHANGES = {
    "eps and layout": changed(methods__margin__eps=0.3, **LAYOUT),
    "C and layout": changed(methods__any__C_per_example=0.1, **LAYOUT),
    "data and layout": changed(data__clusters__scatter=2.0, **LAYOUT),
    "layout": changed(**LAYOUT),
    "eps": changed(methods__margin__eps=0.3),
    "data": changed(data__clusters__n_test=40),
    "repetitions": changed(repetitions=3),
    "caption": changed(tables__toy__caption="Another."),
    "label": changed(methods__any__label="Another"),
    "measures": changed(tables__solvers__measures=["constraints"]),
    "formulation": changed(methods__any__formulation="SVM1 slack"),
    "order": changed(tables=dict(reversed(CONFIG["tables"].items()))),
}
THERE_AND_BACK = [
    *((change, "without notes") for change in CHANGES),
    *((change, "with notes") for change in CHANGES if change.endswith("layout")),
]


@faults(*THERE_AND_BACK, sample=(("eps and layout", "without notes"),))
def another_configuration_and_back(case: tuple[str, str], place: Place) -> str:
    root = place.whole()
    write_config(root, CHANGES[case[0]])
    snakemake(root, "-c2")
    shown = [folder / "results" / "toy" / "summary.json" for folder in (root, place.undisturbed)]
    assert shown[0].read_bytes() != shown[1].read_bytes()
    put_back(root, place, "configs/toy.yaml")
    if case[1] == "without notes":
        shutil.rmtree(root / ".snakemake")
    for path in (root / "results" / "scales" / "standard" / "toy" / "jobs").iterdir():
        if not (place.undisturbed / path.relative_to(root)).exists():
            path.unlink()  # of the other layout: nothing reads it, and the reference does not have it
    return recover(root, place.undisturbed)


@faults("with notes", "without notes")
def another_scale_and_back(notes: str, place: Place) -> str:
    root = place.whole()
    snakemake(root, "-c2", "toy", "--config", "scale=smoke")
    own = Path("results", "scales", "standard", "toy", "runs.csv")
    assert (root / own).read_bytes() == (place.undisturbed / own).read_bytes()
    assert (root / "results" / "toy" / "runs.csv").read_bytes() != (root / own).read_bytes()
    if notes == "without notes":
        shutil.rmtree(root / ".snakemake")
    for name in ("results/scales/smoke", "data/ready/smoke"):
        shutil.rmtree(root / name)
    return recover(root, place.undisturbed)


@faults("toy.csv", "statements.yaml")
def published_numbers_and_back(name: str, place: Place) -> str:
    """Put back with their old date, and Snakemake's notes lost."""
    root = place.whole()
    path = root / "data" / "published" / name
    text = path.read_text()
    path.write_text(text.replace("10.5", "11.5") if name == "toy.csv" else text.replace("bound", "Bound", 1))
    attempt(root, "-c2")
    put_back(root, place, f"data/published/{name}")
    shutil.rmtree(root / ".snakemake")
    return recover(root, place.undisturbed)


@faults("results")
def results_put_back_without_the_page(name: str, place: Place) -> str:
    root = place.whole()
    write_config(root, CHANGES["eps"])
    snakemake(root, "-c2")
    put_back(root, place, "configs/toy.yaml", "results/toy", "results/scales/standard/toy")
    shutil.rmtree(root / ".snakemake")
    return recover(root, place.undisturbed)


@faults("page")
def made_while_another_config_stood_there(name: str, place: Place) -> str:
    root = place.whole()
    write_config(root, CHANGES["eps"])
    snakemake(root, "-c2", "second", "third")
    page = (root / "results" / "index.html").read_text()
    assert page != (place.undisturbed / "results" / "index.html").read_text()
    put_back(root, place, "configs/toy.yaml")
    return recover(root, place.undisturbed)


@pytest.mark.parametrize("name", FAULTS if ALL else SAMPLE)
def test_a_disturbed_run(name, undisturbed, tmp_path, record_property):
    record_property("faults", 1)
    record_property("outcome", FAULTS[name](Place(undisturbed, tmp_path)))
