"""One pass over the runs of a job, shared by training and evaluation: what is done already is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.files import read_arrays, read_json, sha256, write_json
from structmargin_suite.storage.layout import Layout


class Work(Protocol):
    """What a stage does with each run.

    `file` is the record that it writes; `tries_failures_again` says whether a run whose record says "failed"
    is done again.
    """

    @property
    def stage(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def tries_failures_again(self) -> bool: ...

    def key(self, run: Run) -> str:
        """What the run's record depends on, as one short text."""
        ...

    def do(self, run: Run, key: str, parts: PreparedParts) -> Mapping[str, object]:
        """Do one run; returns its record, with a `status` and a `reason`."""
        ...


class PreparedParts:
    """Prepared parts of an experiment's data.

    The last one stays in memory, as the next run often reads the same.
    """

    def __init__(self, layout: Layout, experiment: str) -> None:
        self.layout, self.experiment = layout, experiment
        self.last: tuple[str, dict[str, np.ndarray]] | None = None

    def __getitem__(self, name: str) -> dict[str, np.ndarray]:
        if self.last is None or self.last[0] != name:
            self.last = None  # so that two parts are never in memory at once
            self.last = name, read_arrays(self.layout.part(self.experiment, name))
        return self.last[1]


def do_runs(layout: Layout, job: Job, work: Work, receipt: Path) -> None:
    """Do every run of a job that is not done yet, then write the job's receipt."""
    progress = Progress(f"{work.stage} {job.experiment} {job.name}", len(job.runs))
    parts = PreparedParts(layout, job.experiment)
    for run in job.runs:
        path = layout.run(job.experiment, run.name) / work.file
        key = work.key(run)
        if not intact(path, key, work.tries_failures_again):
            record = work.do(run, key, parts)
            write_json(path, record)
            if record["status"] == "failed":
                progress.tell(f"{run.name} failed: {record['reason']}")
        progress.step(run.name)
    progress.close()
    write_json(
        receipt, {run.name: sha256(layout.run(job.experiment, run.name) / work.file) for run in job.runs}
    )


def intact(path: Path, key: str, tries_failures_again: bool) -> bool:
    """Whether a record with this key is there, and every file that it names as it was written."""
    try:
        record = read_json(path)
        files = record.get("files", {})
        if record["key"] != key or (tries_failures_again and record["status"] == "failed"):
            return False
        return all(sha256(path.parent / name) == total for name, total in files.items())
    except (OSError, ValueError, KeyError):
        return False
