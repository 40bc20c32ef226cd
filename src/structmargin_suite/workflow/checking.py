"""What is done before Snakemake looks at any file: what does not fit the plan is removed, and said."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from structmargin.names import nearest
from structmargin_suite.planning.config import unknown
from structmargin_suite.planning.plan import Suite
from structmargin_suite.rerun.kept import keep_tables, replaced
from structmargin_suite.rerun.unfit import MISSING, OTHER, unfit
from structmargin_suite.storage.layout import ScaleLayout

FOLDERS = (".snakemake", "data", "data/ready", "results", "results/scales")
"""Folders that files of all experiments are written to."""


def workflow_error(text: str) -> Exception:
    """What ends the workflow with a sentence and without a traceback."""
    from snakemake.exceptions import WorkflowError

    return WorkflowError(text)


def require_folders(paths: Iterable[Path]) -> None:
    """End the workflow where something else stands in place of a folder: Snakemake would show a traceback."""
    for path in paths:
        if os.path.lexists(path) and not path.is_dir():
            raise workflow_error(f"{path} is a file where a folder belongs: remove it and run again")


def mistyped(message: str, experiments: Sequence[str]) -> str | None:
    """A better sentence than Snakemake's for an unknown target that is nearly an experiment's name.

    Examples
    --------
    >>> mistyped("MissingRuleException: No rule to produce aligment (if you ...", ["alignment", "ner"])
    "unknown experiment 'aligment'; the nearest known is 'alignment'; use one of alignment, ner"
    """
    match = re.search(r"No rule to produce (\S+)", message)
    if match is None or not nearest(match[1], experiments):
        return None
    return unknown(match[1], experiments, "experiment")


def locked() -> bool:
    """Whether a run of Snakemake has locked the working folder."""
    return any(Path(".snakemake", "locks").glob("*"))


def without_rate_limit(workflow: Any) -> None:
    """Take away Snakemake's limit of jobs per second, where jobs run on this machine.

    With the limit, its scheduler looks at all waiting jobs again a second after every look. Every job that
    ends begins another such series, so that after a hundred jobs it looks a hundred times a second. Without
    the limit it looks when a job has ended.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


def remove_unfit(suite: Suite, experiments: Sequence[str], dry: bool) -> None:
    """Remove files that do not fit the plan, and say so; in a dry run only say so.

    Where runs were made from another configuration, code or data, their tables are kept for `compare`.
    """
    outdated: dict[str, list[Path]] = {}
    misfits = list(unfit(suite, experiments))
    if not dry:
        layout = ScaleLayout(suite.root, suite.scale)
        of_another = [misfit.path for misfit in misfits if misfit.why == OTHER]
        for name in replaced(of_another, layout, experiments):
            keep_tables(layout, name)
    for path, why, damaged, later in misfits:
        if damaged:
            print(f"{path} {why}: it is made again", file=sys.stderr)
        elif why != MISSING or any(path.parent.glob("*")):  # else the experiment is run for the first time
            outdated.setdefault(why, []).append(path)
        for file in () if dry else (path, *later):
            remove(file)
    for why, paths in outdated.items():
        others = f", and so are {len(paths) - 1} more files like it" if len(paths) > 1 else ""
        print(f"{paths[0]} {why}: it is made again{others}", file=sys.stderr)


def date_back(files: Iterable[str], dry: bool) -> None:
    """Give files from the future the date of now: Snakemake ends a run whose inputs are newer than it.

    All get the same date, which makes nothing run again; what they hold was compared with its key.
    """
    now = time.time()
    for path in map(Path, files):
        if path.is_file() and path.stat().st_mtime > now:
            print(f"{path} has a date in the future: it gets the date of now", file=sys.stderr)
            if not dry:
                with contextlib.suppress(PermissionError):  # Snakemake's own sentence names the file
                    os.utime(path, (now, now))


def remove(path: Path) -> None:
    """Remove a file, or whatever else stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
