"""What must hold after a fault: the bytes of an undisturbed run, or a sentence and another exit code."""

from __future__ import annotations

import copy
import fcntl
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from helpers.toy_project import TOY, project, write_config
from helpers.workflow_runs import attempt, copied_source, workflow_in
from structmargin_suite.publish.compare import exact
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.seal import SEAL, verified

LANES = ("toy", "second", "third")
"""Experiments of the project: a fault in the files of one must not be seen in another."""
KEPT = ("margin", "any")
CONFIG = {
    **TOY,
    "jobs": {"by": ["method"]},
    "methods": {name: TOY["methods"][name] for name in KEPT},
    "studies": {name: TOY["studies"][name] for name in ("sizes", "solvers")},
}
"""The toy experiment without the method that fails, in two jobs."""
SAMPLE = 20
ALL = int(os.environ.get("STRUCTMARGIN_CASES", str(SAMPLE))) > SAMPLE
"""Whether all faults are tried, or a fixed sample."""


def three_experiments(root: Path, source: Path, config: Mapping[str, Any] = CONFIG) -> Path:
    """A project with the toy experiment under three names, on three corpora."""
    project(workflow_in(root, source), dict(config))
    for position, name in enumerate(LANES[1:], start=1):
        other = copy.deepcopy(dict(config))
        other["data"]["clusters"]["scatter"] += 0.1 * position
        write_config(root, other, name)
    suite = {"seed": 7, "scale": "standard", "experiments": list(LANES)}
    (root / "configs" / "suite.yaml").write_text(yaml.safe_dump(suite))
    return root


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that is made once for all processes of a test run, which share it and do not change it."""
    shared = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / name
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = shared / f"{name}.partial"
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder


def finished_project(folder: Path, config: Mapping[str, Any] = CONFIG) -> None:
    """A project that was run without disturbance, on a source of its own."""
    root = three_experiments(folder / "project", copied_source(folder), config)
    done = attempt(root, "-c2")
    assert done.returncode == 0, done.stdout + done.stderr
    (root / "src").unlink()
    (root / "src").symlink_to(Path("..", "src"))  # the folder gets its name later


def copy_of(finished: Path, root: Path, *, results: bool = True) -> Path:
    """A copy of a project with all dates, on the same source; without results as before the first run."""
    left_out = () if results else ("results", "ready", ".cache", ".snakemake")
    shutil.copytree(finished, root, symlinks=True, ignore=shutil.ignore_patterns("src", *left_out))
    (root / "src").symlink_to((finished / "src").resolve())
    return root


def assert_same(root: Path, reference: Path) -> None:
    """The bytes of the reference, whole files throughout, and nothing left over."""
    differences = exact(reference / "results", root / "results")
    assert not differences, differences
    corpora = {path.relative_to(reference) for path in (reference / "data" / "ready").rglob("*.zip")}
    assert corpora == {path.relative_to(root) for path in (root / "data" / "ready").rglob("*.zip")}
    for name in corpora:
        assert (root / name).read_bytes() == (reference / name).read_bytes(), f"{name} differs"
    for seal in (root / "results").rglob(SEAL):
        verified(seal.parent)
    for bundle in (root / "results").rglob("*.zip"):
        Bundle(bundle).verify()
    left = [path for folder in ("results", "data", ".cache") for path in (root / folder).rglob(".*.tmp*")]
    assert left == []


def recover(
    root: Path, reference: Path, remedy: Callable[[str], None] = lambda output: None, **settings: object
) -> str:
    """Run again after a fault: "healed", or "sentence" where following the sentence heals; else it fails."""
    done = attempt(root, "-c2", **settings)
    output = done.stdout + done.stderr
    assert "Traceback (most recent call last)" not in output, output
    if done.returncode == 0:
        assert_same(root, reference)
        return "healed"
    assert any(word in output for word in ("error:", "Error", "Exception", "failed: ")), output
    remedy(output)
    again = attempt(root, "-c2")
    assert again.returncode == 0, f"{output}\n-- and again --\n{again.stdout}{again.stderr}"
    assert_same(root, reference)
    return "sentence"
