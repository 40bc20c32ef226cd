"""The true workflow in a folder of its own: its files, and calls of Snakemake there."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from helpers.toy_project import HERE

SNAKEMAKE = [sys.executable, "-m", "snakemake"]


def copied_source(folder: Path) -> Path:
    """A copy of the modules, compiled code and all, that nobody edits while tests run."""
    return shutil.copytree(HERE / "src", folder / "src")


def workflow_in(root: Path, source: Path, *folders: str) -> Path:
    """The workflow's own files in a folder, and more of the project's; of its experiments only two."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "Snakefile", root / "Snakefile")
    (root / "src").symlink_to(source)
    for folder in ("workflow", "profiles", *folders):
        shutil.copytree(HERE / folder, root / folder)
    if "configs" in folders:
        suite = {"seed": 1, "scale": "standard", "experiments": ["alignment", "theory"]}
        (root / "configs" / "suite.yaml").write_text(yaml.safe_dump(suite))
    return root


def environment(source: Path) -> dict[str, str]:
    """The environment of a run on the modules in `source`; byte code is kept, or jobs start slowly."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore"}


def attempt(
    root: Path, *options: str, variables: Mapping[str, str | None] | None = None, **settings: Any
) -> subprocess.CompletedProcess[str]:
    """Run the workflow in a folder, on the modules that lie in it.

    `variables` change the environment, None removes one; `settings` go to `subprocess.run`.
    """
    values = {**environment(root / "src"), **(variables or {})}
    return subprocess.run(
        [*SNAKEMAKE, *options],
        cwd=root,
        env={name: value for name, value in values.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=900,
        **settings,
    )


def in_terminal(root: Path, *options: str) -> tuple[int, str]:
    """Run the workflow in a folder as a person does, on a terminal: its exit code, and what it wrote."""
    ours, theirs = pty.openpty()
    variables = {**environment(root / "src"), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*SNAKEMAKE, *options], cwd=root, env=variables, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while block := os.read(ours, 65_536):
            written += block
    os.close(ours)
    return process.wait(timeout=900), written.decode(errors="replace")


def snakemake(root: Path, *options: str) -> str:
    """Run the workflow in a folder and expect success; returns all it says."""
    done = attempt(root, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
