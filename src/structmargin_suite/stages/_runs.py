"""One pass over the runs of a job, shared by training and evaluation.

A run that was finished before, from the same specification, data and code, is taken from the cache: a job
that was killed goes on where it stopped, and a changed config does again only what it changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.bundle import Bundle, Entry, write_bundle
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.layout import PART_FILE, ScaleLayout

Corpora = Mapping[str, Bundle]
"""The prepared corpora of a job by name."""


class Work(Protocol):
    """What a stage does with each run; `record` is the file in which its outcome is written."""

    @property
    def stage(self) -> str: ...
    @property
    def record(self) -> str: ...

    def key(self, run: Run) -> str:
        """What the run's outcome depends on, as one short text."""
        ...

    def do(self, run: Run, key: str) -> Entry:
        """Do one run; its record has a `status` and a `reason`."""
        ...


def corpora_of(layout: ScaleLayout, job: Job) -> dict[str, Bundle]:
    """The corpora that a job's runs read."""
    names = dict.fromkeys(run.corpus for run in job.runs)  # others may not be there yet
    return {name: Bundle(layout.corpus(job.experiment, name)) for name in names}


class PreparedParts:
    """Prepared parts of an experiment's data.

    The last one stays in memory, as the next run often reads the same.
    """

    def __init__(self, corpora: Corpora) -> None:
        self.corpora = corpora
        self.last: tuple[str, dict[str, np.ndarray]] | None = None

    def of(self, run: Run) -> dict[str, np.ndarray]:
        """The arrays of the part that a run reads."""
        if self.last is None or self.last[0] != run.part:
            self.last = None  # so that two parts are never in memory at once
            self.last = run.part, self.corpora[run.corpus].arrays(run.part, PART_FILE)
        return self.last[1]


def finished(layout: ScaleLayout, job: Job, work: Work) -> Iterator[Entry]:
    """The runs of a job in their order, each done now unless it is in the cache, which has no failed ones."""
    progress = Progress(f"{work.stage} {job.experiment} {job.name}", len(job.runs))
    for run in job.runs:
        key = work.key(run)
        cache = layout.cached(job.experiment, run.name, work.stage)
        entry = cached(cache, run.name, key)
        if entry is None:
            entry = work.do(run, key)
            if entry.status == "failed":
                progress.tell(f"{run.name} failed: {json.loads(entry.files[work.record])['reason']}")
            elif entry.status == "done":
                _keep(cache, entry, progress)
        progress.step(run.name)
        yield entry
    progress.close()


def refuse_as_result(error: BaseException) -> None:
    """Raise an error of the machine, not of the run: too little memory, a full disk.

    The library may have put it into words of its own: then it is the cause of what arrives here.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (OSError, MemoryError)):
            raise cause
        cause = cause.__cause__


def cached(path: Path, name: str, key: str) -> Entry | None:
    """The entry with this name and key in the cache, whole, or None."""
    try:
        bundle = Bundle(path)
        if bundle.key(name) != key:
            return None
        bundle.verify()
        return next(entry for entry in bundle.taken() if entry.name == name)
    except (OSError, DamagedFile):
        return None


def _keep(path: Path, entry: Entry, progress: Progress) -> None:
    """Put a finished run into the cache; a cache that cannot be written is done without."""
    try:
        write_bundle(path, {}, [entry])
    except OSError as error:
        progress.tell(f"{entry.name} is not cached: {error}")
