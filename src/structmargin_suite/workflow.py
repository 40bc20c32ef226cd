"""What the Snakefile asks: which files a job reads and writes, and the key that makes it run again.

All logic of the workflow is here, where it can be tested; the rules only name these functions.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from structmargin_suite.datasets import dataset
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import SCALE_VARIABLE, Suite, load
from structmargin_suite.rerun import job_keys
from structmargin_suite.rerun.machine import THREAD_VARIABLES
from structmargin_suite.storage.fetch import own_files
from structmargin_suite.storage.files import read_csv, read_json
from structmargin_suite.storage.layout import Layout

KINDS = ("svg", "pdf", "png")
SCORE = {"holds": "hold", "fails": "fail", "not tested": "are not tested"}


def outputs(suite: Suite, experiment: str) -> list[Path]:
    """Every file that `tabulate` writes for an experiment."""
    layout = Layout(suite.root)
    folder = layout.experiment(experiment)
    config = suite.experiments[experiment].config
    tables = [folder / f"{table}.{kind}" for table in config["tables"] for kind in ("csv", "md", "tex")]
    figures = [
        layout.figure(experiment, figure, kind) for figure in config.get("figures", {}) for kind in KINDS
    ]
    return [folder / "summary.json", folder / "runs.csv", folder / "timings.csv", *tables, *figures]


def equip(scale: str) -> None:
    """The environment of every job: this Python first, one thread, the scale, and a name for the run."""
    folder = str(Path(sys.executable).parent)
    if os.environ.get("PATH", "").split(os.pathsep)[0] != folder:
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"), **{SCALE_VARIABLE: scale})
    os.environ.setdefault("STRUCTMARGIN_RUN", f"{os.getpid()}-{time.time():.0f}")
    os.environ.setdefault("PYTHONHASHSEED", "0")


class Wildcards(Protocol):
    """What Snakemake knows of a job: the wildcards in its files' names."""

    experiment: str
    corpus: str
    job: str


class Pipeline:
    """A plan as Snakemake sees it: relative paths as text."""

    def __init__(self, suite: Suite, targets: Callable[[], list[str]]) -> None:
        self.suite, self.targets, self.layout = suite, targets, Layout(suite.root)
        self.lost = self._lost()

    @classmethod
    def open(cls, workflow: Any, config: dict[str, str]) -> Pipeline:
        """Plan from the configs of the working folder; every fault of theirs ends the workflow at once."""
        extra = [name for name in config if name != "scale"]
        if extra:
            raise _workflow_error(f"--config takes scale=smoke|standard|paper, but not {', '.join(extra)}")
        try:
            suite = load(Path("."), config.get("scale"))
        except ConfigError as error:
            raise _workflow_error(str(error)) from None
        equip(suite.scale)
        return cls(suite, lambda: [str(target) for target in workflow.dag_settings.targets])

    def announcement(self) -> str:
        """What is about to run, what was shrunk, and what is left out and why."""
        lines = []
        for name in self.asked:
            experiment = self.suite.experiments[name]
            runs, jobs = len(experiment.runs), len(experiment.jobs)
            lines.append(f"{name}: {runs} runs in {jobs} jobs, scale {self.suite.scale}")
            for key, old, new in experiment.shrunk:
                lines.append(f"  smaller than the paper: {key} {new} instead of {old}")
            reasons = dict.fromkeys(run.skip for run in experiment.runs if run.skip)
            lines += [f"  left out: {reason}" for reason in reasons]
        return "\n".join(lines)

    def outcome(self) -> str:
        """One line at the end: where to look, and the score of the claims."""
        if not self.layout.claims.is_file():
            return f"no page yet: {self.layout.page} is written once an experiment is done"
        counts = Counter(row["verdict"] for row in read_csv(self.layout.claims))
        score = ", ".join(f"{counts[verdict]} {word}" for verdict, word in SCORE.items())
        return f"see {self.layout.page}: of the papers' claims {score}"

    @property
    def experiments(self) -> list[str]:
        return list(self.suite.experiments)

    @property
    def asked(self) -> list[str]:
        """The experiments asked for by name, or all of them."""
        return [name for name in self.experiments if name in self.targets()] or self.experiments

    @property
    def page(self) -> str:
        return str(self.layout.page)

    @property
    def claims(self) -> str:
        return str(self.layout.claims)

    def tabulated(self, experiment: str) -> list[str]:
        """The tables and figures of an experiment."""
        return [str(path) for path in outputs(self.suite, experiment)]

    def evaluated(self, experiment: str) -> list[str]:
        """The receipts of an experiment's evaluations."""
        jobs = self.suite.experiments[experiment].jobs
        return [str(self.layout.evaluated(experiment, job.name)) for job in jobs]

    def published(self, experiment: str) -> list[str]:
        """The files with the papers' numbers that an experiment's tables show."""
        tables = self.suite.experiments[experiment].config["tables"].values()
        return sorted(
            {str(self.layout.published / table["published"]) for table in tables if "published" in table}
        )

    def wanted(self, wildcards: Wildcards) -> list[str]:
        """What the report needs: the summaries of the experiments asked for."""
        summaries = [str(self.layout.experiment(name) / "summary.json") for name in self.asked]
        return [*summaries, str(self.layout.published / "claims.yaml")]

    def own_files(self, wildcards: Wildcards) -> list[str]:
        """A user's own data files, so that a changed file is read again."""
        part = self.suite.experiments[wildcards.experiment].parts_of(wildcards.corpus)[0]
        if part.source != "file":
            return []
        return [
            str(path) for path in own_files(part.path, dataset(part.module).FILES, self.suite.root).values()
        ]

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """The receipts of the corpora that a job reads."""
        job = self.suite.experiments[wildcards.experiment].job(wildcards.job)
        names = dict.fromkeys(run.corpus for run in job.runs)
        return [str(self.layout.corpus(wildcards.experiment, name)) for name in names]

    def prepare_key(self, wildcards: Wildcards) -> str:
        return job_keys.prepare_key(self.suite, wildcards.experiment, wildcards.corpus)

    def train_key(self, wildcards: Wildcards) -> str:
        """The job's key, and which finished run has lost a file: the job then does that run again."""
        job = self.suite.experiments[wildcards.experiment].job(wildcards.job)
        return (
            job_keys.train_key(self.suite, job)
            + self.lost[str(self.layout.trained(job.experiment, job.name))]
        )

    def evaluate_key(self, wildcards: Wildcards) -> str:
        """As `train_key`, for evaluations."""
        job = self.suite.experiments[wildcards.experiment].job(wildcards.job)
        return (
            job_keys.evaluate_key(self.suite, job)
            + self.lost[str(self.layout.evaluated(job.experiment, job.name))]
        )

    def _lost(self) -> dict[str, str]:
        """For each receipt, a note on a file of a finished run that somebody has removed since, or nothing.

        Looked up once, before any job runs, since a key must not change on the way.
        """
        notes = {}
        for experiment in self.suite.experiments.values():
            for job in experiment.jobs:
                trained = self.layout.trained(experiment.name, job.name)
                evaluated = self.layout.evaluated(experiment.name, job.name)
                notes[str(trained)] = self._missing(experiment.name, trained, ("run.json", "model.npz"))
                notes[str(evaluated)] = self._missing(experiment.name, evaluated, ("metrics.json",))
        return notes

    def _missing(self, experiment: str, receipt: Path, names: tuple[str, ...]) -> str:
        """Where a run of a receipt lacks a file; runs without a clock were not trained and have no model."""
        if not receipt.is_file():
            return ""
        for run in read_json(receipt):
            folder = self.layout.run(experiment, run)
            made = names if (folder / "clock.json").is_file() or not folder.is_dir() else names[:1]
            for name in made:
                if not (folder / name).is_file():
                    return f"; lost {run}/{name}"
        return ""

    def tabulate_key(self, experiment: str) -> str:
        return job_keys.tabulate_key(self.suite, experiment)

    @property
    def report_key(self) -> str:
        return job_keys.report_key(self.suite)


def _workflow_error(text: str) -> Exception:
    from snakemake.exceptions import WorkflowError

    return WorkflowError(text)
