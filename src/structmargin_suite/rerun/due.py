"""Which runs the next call will train, and why: what `structmargin status` and the workflow say beforehand.

A run is trained again when its job's bundles do not fit the plan and the cache has no run with its key. Why
that is so is read from what is left of the last training: the settings, the code and the data that it
recorded, beside those of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from structmargin_suite.planning.config import changes, short
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.runs import Job, Run
from structmargin_suite.rerun import job_keys
from structmargin_suite.rerun.unfit import OTHER, Check, opened
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import plain
from structmargin_suite.storage.layout import RECORD_FILE, ScaleLayout

NEVER = "no finished training yet"
NOT_PREPARED = "the data are not prepared yet"
FAILED = "failed last time"
CODE = "the code has changed"
DATA = "the data have changed"
GONE = "the last training's files are gone"
IDENTITY = ("experiment", "run", "part", "skip", "seed", "view_seed")
"""Entries of a run's specification that follow from the others."""


class Due(NamedTuple):
    """A run that will be trained, and why."""

    run: Run
    why: str


def due_runs(suite: Suite, name: str, jobs: Collection[str] | None = None) -> list[Due]:
    """The runs of an experiment that the next call trains.

    Parameters
    ----------
    suite : Suite
        The plan.
    name : str
        The experiment.
    jobs : collection of str, optional
        The training jobs that will run; by default those whose bundles do not fit the plan.
    """
    return list(_Forecast(suite, suite.experiments[name]).due(jobs))


class _Forecast:
    """One experiment's files, looked at run by run."""

    def __init__(self, suite: Suite, experiment: Experiment) -> None:
        self.suite, self.experiment = suite, experiment
        self.layout = ScaleLayout(suite.root, suite.scale)
        self.check = Check(suite, experiment, self.layout)
        self.corpora: dict[str, Bundle] = {}
        self.outdated: dict[str, Bundle] = {}
        self.unprepared: dict[str, str] = {}
        for corpus in experiment.corpora:
            bundle, _ = opened(self.layout.corpus(experiment.name, corpus))
            problem = None if bundle is None else self.check.corpus_problem(corpus, bundle)
            if bundle is None:
                self.unprepared[corpus] = NOT_PREPARED
            elif problem is None:
                self.corpora[corpus] = bundle
            else:
                self.unprepared[corpus] = DATA
                if problem == OTHER and experiment.parts_of(corpus)[0].source != "file":
                    self.outdated[corpus] = bundle

    def due(self, jobs: Collection[str] | None) -> Iterator[Due]:
        """The runs to train of these jobs, or of those whose bundles do not fit."""
        for job in self.experiment.jobs:
            trained, _ = opened(self.layout.trained(self.experiment.name, job.name))
            if job.name not in jobs if jobs is not None else self._fits(job, trained):
                continue
            for run in job.runs:
                if run.skip is None and (why := self._why(run, trained)) is not None:
                    yield Due(run, why)

    def _fits(self, job: Job, trained: Bundle | None) -> bool:
        """Whether what a job's training wrote is what the plan asks for."""
        clocks, _ = opened(self.layout.clocks(self.experiment.name, job.name))
        if trained is None or clocks is None or any(run.corpus not in self.corpora for run in job.runs):
            return False
        return self.check.training_problem(job, trained, clocks, self.corpora) is None

    def _corpus(self, run: Run) -> Bundle | None:
        """The prepared corpus that a run reads; None where it cannot be told what it will be.

        A corpus that is prepared again because other parts are asked for keeps the parts that it has: their
        seed and parameters, and the code of the data set, are in what a run's key is compared by.
        """
        outdated = self.outdated.get(run.corpus)
        if outdated is not None and run.part in outdated.entries:
            same = outdated.about.get("seeds", {}).get(run.part) == self.experiment.part(run.part).seed
            return outdated if same else None
        return self.corpora.get(run.corpus)

    def _why(self, run: Run, trained: Bundle | None) -> str | None:
        """Why a run is trained again; None where the cache has it."""
        cache = _entered(self.layout.cached(self.experiment.name, run.name, "train"))
        corpus = self._corpus(run)
        if cache is not None and corpus is not None:
            key = job_keys.training_key(self.experiment, run, corpus)
            if cache.key(run.name) == key:
                return None
        record = next((found for each in (trained, cache) if (found := _record(each, run.name))), None)
        if record is None:
            return self.unprepared.get(run.corpus, NEVER) if not self._ever() else NEVER
        if record.get("status") == "failed":
            return FAILED
        changed = _changed(record, run)
        if changed:
            return changed
        if record.get("code") != job_keys.run_code(self.experiment, run):
            return CODE
        if corpus is None:
            return self.unprepared[run.corpus]
        data = plain(job_keys.data_of(run, corpus))
        return GONE if record.get("data") == data else DATA

    def _ever(self) -> bool:
        """Whether anything of the experiment was trained before at this scale."""
        return any(self.layout.cached(self.experiment.name, "x", "train").parent.glob("*.train.zip"))


def _entered(path: Path) -> Bundle | None:
    """A bundle of the cache, as far as its manifest tells; None where there is none."""
    try:
        return Bundle(path)
    except (OSError, DamagedFile):
        return None


def _record(bundle: Bundle | None, run: str) -> dict[str, Any] | None:
    """What a training recorded of a run; None where the bundle has no such run."""
    if bundle is None or run not in bundle.entries:
        return None
    try:
        record = bundle.json(run, RECORD_FILE)
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _changed(record: Mapping[str, Any], run: Run) -> str:
    """Which settings of a run are not those of its last training, in words."""
    now = {key: value for key, value in plain(run.spec).items() if key not in IDENTITY}
    before = {key: record.get(key) for key in now}
    told = [
        f"{'.'.join(key[1:] or key)} {short(old)} -> {short(new)}" for key, old, new in changes(before, now)
    ]
    gone = [f"no {key}" for key in _keys_of(before) if key not in _keys_of(now)]
    return ", ".join([*told, *gone][:3])


def _keys_of(spec: Mapping[str, Any]) -> list[str]:
    """The settings of a run's method, of its data and of its view, by name."""
    return [
        key for part in ("prepare", "view", "model") if isinstance(spec.get(part), dict) for key in spec[part]
    ]


def reasons(due: Collection[Due]) -> dict[str, int]:
    """How many runs are trained for which reason, most frequent first."""
    counts: dict[str, int] = {}
    for each in due:
        counts[each.why] = counts.get(each.why, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
