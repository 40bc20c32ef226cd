"""What the Snakefile asks: which files a job reads and writes, and the key that makes it run again.

All logic of the workflow is here, where it can be tested; the rules only name these functions.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import SCALE_VARIABLE, Suite, load
from structmargin_suite.planning.resources import Asked, Resources
from structmargin_suite.planning.runs import Job
from structmargin_suite.planning.sources import forecast, own_files_of, sources
from structmargin_suite.rerun import job_keys, seeds
from structmargin_suite.rerun.machine import THREAD_VARIABLES
from structmargin_suite.rerun.unfit import unfit
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.layout import ScaleLayout, tabulated
from structmargin_suite.storage.seal import SEAL

FOLDERS = (".snakemake", "data", "data/ready", "results", "results/scales")
"""Folders that files of all experiments are written to."""


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

    def __init__(self, suite: Suite, workflow: Any) -> None:
        self.suite, self.workflow = suite, workflow
        self.layout = ScaleLayout(suite.root, suite.scale)
        self.resources = Resources.read(suite.root)
        self.checked = False

    @classmethod
    def open(cls, workflow: Any, config: dict[str, str]) -> Pipeline:
        """Plan from the configs of the working folder; every fault of theirs ends the workflow at once."""
        extra = [name for name in config if name != "scale"]
        if extra:
            raise _workflow_error(f"--config takes scale=smoke|standard|paper, but not {', '.join(extra)}")
        _are_folders(Path(name) for name in FOLDERS)
        try:
            suite = load(Path("."), config.get("scale"))
        except (ConfigError, DataError) as error:
            raise _workflow_error(str(error)) from None
        layout = ScaleLayout(suite.root, suite.scale)
        _are_folders(folder for name in suite.experiments for folder in layout.folders(name))
        equip(suite.scale)
        return cls(suite, workflow)

    def check(self) -> None:
        """Remove files that do not fit the plan, once, and say so; in a dry run only say so.

        Not where another run is under way in this folder, in its jobs, or where nothing is to be run.
        """
        workflow = self.workflow
        if self.checked or not workflow.is_main_process or workflow.executor_plugin is None or _locked():
            return
        self.checked = True
        outdated: dict[str, list[Path]] = {}
        for path, why, damaged, later in list(unfit(self.suite, self.asked)):
            if damaged:
                print(f"{path} {why}: it is made again", file=sys.stderr)
            else:
                outdated.setdefault(why, []).append(path)
            for file in () if workflow.dryrun else (path, *later):
                remove(file)
        for why, paths in outdated.items():
            others = f", and so are {len(paths) - 1} more files like it" if len(paths) > 1 else ""
            print(f"{paths[0]} {why}: it is made again{others}", file=sys.stderr)
        self._date_back()

    def _date_back(self) -> None:
        """Give files from the future the date of now: Snakemake ends a run whose inputs are newer than it.

        All get the same date, which makes nothing run again; what they hold was compared with its key.
        """
        now = time.time()
        for path in map(Path, self.files):
            if path.is_file() and path.stat().st_mtime > now:
                print(f"{path} has a date in the future: it gets the date of now", file=sys.stderr)
                if not self.workflow.dryrun:
                    with contextlib.suppress(PermissionError):  # Snakemake's own sentence names the file
                        os.utime(path, (now, now))

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
        return "\n".join([*lines, *forecast(list(sources(self.suite, self.asked)))])

    def outcome(self) -> str:
        """One line at the end: where to look, and how many statements have which verdict."""
        if self.workflow.storage_settings.default_storage_provider:
            return f"done: {self.layout.page} is in the storage that was named"
        if not self.layout.statements.is_file():
            return f"no page yet: {self.layout.page} is written once an experiment is done"
        rows = [row for row in read_csv(self.layout.statements) if row["primary"] == "true"]
        score = ", ".join(
            f"{n} {verdict}" for verdict, n in Counter(row["verdict"] for row in rows).most_common()
        )
        return f"{self._kinds()}\nsee {self.layout.page}: of {len(rows)} statements of the papers {score}"

    def _kinds(self) -> str:
        """How many corpora were real, and which were not; stand-ins for real ones are marked."""
        summaries = {name: self.layout.shown(name) / "summary.json" for name in self.asked}
        data = [
            (name, about)
            for name, path in summaries.items()
            if path.is_file()
            for about in read_json(path, ("data",))["data"]
        ]
        synthetic = [
            f"{name}: {about['corpus']}{' as a stand-in' if about['asked'] == 'auto' else ''}"
            for name, about in data
            if about["kind"] == "synthetic"
        ]
        listed = f" ({'; '.join(synthetic)})" if synthetic else ""
        return f"real: {len(data) - len(synthetic)} corpora; synthetic: {len(synthetic)}{listed}"

    @property
    def experiments(self) -> list[str]:
        return list(self.suite.experiments)

    @property
    def asked(self) -> list[str]:
        """The experiments asked for by name, or all of them."""
        targets = {str(target) for target in self.workflow.dag_settings.targets}
        return [name for name in self.experiments if name in targets] or self.experiments

    @property
    def files(self) -> list[str]:
        """All files that the workflow reads and writes for the experiments asked for, but users' own data."""
        listed = (self.bundles, self.published, self.tabulated, self.shown)
        own = [file for name in self.asked for files in listed for file in files(name)]
        return [*dict.fromkeys([*own, *self.report_inputs, *self.page, self.complete])]

    @property
    def scale(self) -> str:
        return self.suite.scale

    @property
    def report_inputs(self) -> list[str]:
        """What the papers print and state, and the verdicts of the committed run and under other seeds."""
        committed = self.layout.snapshot / self.layout.statements.name
        printed = [path.relative_to(self.suite.root) for path in job_keys.published_files(self.suite)]
        beside = [*([committed] if committed.is_file() else []), *seeds.files(self.layout)]
        return [str(path) for path in (*printed, *beside)]

    @property
    def page(self) -> list[str]:
        """What the report writes: the overview, a page for each experiment, the verdicts, and their seal."""
        written = (
            self.layout.page,
            self.layout.statements,
            self.layout.distances,
            *(self.layout.page_of(name) for name in self.experiments),
            self.layout.results / SEAL,
        )
        return [str(path) for path in written]

    @property
    def complete(self) -> str:
        return str(self.layout.complete)

    def tabulated(self, experiment: str) -> list[str]:
        """The tables and figures of an experiment at this scale."""
        return self._files(experiment, self.layout.experiment(experiment))

    def shown(self, experiment: str) -> list[str]:
        """The same where readers look for them."""
        return self._files(experiment, self.layout.shown(experiment))

    def shown_in_report(self, experiment: str, caption: str) -> list[Any]:
        """The same, the tables and figures marked for `snakemake --report`; `caption` is a file in RST."""
        config = self.suite.experiments[experiment].config
        marked = {f"{name}.csv": ("tables", spec) for name, spec in config["tables"].items()}
        marked |= {f"figures/{n}.svg": ("figures", spec) for n, spec in config.get("figures", {}).items()}
        folder = self.layout.shown(experiment)
        files = []
        for file in self.shown(experiment):
            kind, spec = marked.get(Path(file).relative_to(folder).as_posix(), ("", {}))
            labels = {"name": Path(file).stem, "caption": " ".join(str(spec.get("caption", "")).split())}
            files.append(_in_report(file, caption, config["title"], kind, labels) if kind else file)
        return files

    def page_in_report(self, caption: str) -> list[Any]:
        """What the report writes, the page and the verdicts marked for `snakemake --report`."""
        marked = {
            self.layout.page: "the page",
            self.layout.statements: "verdicts",
            self.layout.distances: "distances",
        }
        return [
            _in_report(file, caption, "Overview", None, {"name": marked[Path(file)]})
            if Path(file) in marked
            else file
            for file in self.page
        ]

    def _files(self, experiment: str, folder: Path) -> list[str]:
        names = tabulated(self.suite.experiments[experiment].config)
        return [str(folder / name) for name in (*names, SEAL)]

    def bundles(self, experiment: str) -> list[str]:
        """What an experiment's tables are made from."""
        return [str(path) for path in job_keys.bundles(self.suite, experiment, self.layout)]

    def published(self, experiment: str) -> list[str]:
        """The files with the papers' numbers that an experiment's tables show."""
        names = job_keys.published(self.suite.experiments[experiment])
        return [str(self.layout.published / name) for name in names]

    def wanted(self, wildcards: Wildcards) -> list[str]:
        """The tables and figures of the experiments asked for.

        Snakemake asks for it before it looks at any file, and knows by then what it was called for: so this
        is where the files are checked.
        """
        self.check()
        return [file for name in self.asked for file in self.shown(name)]

    def reported(self, wildcards: Wildcards) -> list[str]:
        """What the report reads: the same, and the runs and data behind them, which some verdicts rest on."""
        bundles = [file for name in self.asked for file in self.bundles(name)]
        return [*self.wanted(wildcards), *bundles]

    def own_files(self, wildcards: Wildcards) -> list[str]:
        """A user's own data files, so that a changed file is read again."""
        part = self.suite.experiments[wildcards.experiment].parts_of(wildcards.corpus)[0]
        if part.source != "file":
            return []
        return [str(path) for path in own_files_of(part, self.suite.root).values()]

    def corpora(self, wildcards: Wildcards) -> list[str]:
        """The corpora that a job reads."""
        job = self.suite.experiments[wildcards.experiment].job(wildcards.job)
        names = dict.fromkeys(run.corpus for run in job.runs)
        return [str(self.layout.corpus(wildcards.experiment, name)) for name in names]

    def threads(self, wildcards: Wildcards) -> int:
        """How many threads a job's trainings use; Snakemake gives no more than there are cores."""
        return self._job(wildcards).threads

    def asked_of(self, rule: str, experiment: str | None = None) -> dict[str, Any]:
        """What a rule's jobs ask of the machine, by experiment."""

        def asked(wildcards: Wildcards) -> Asked:
            return self.resources.asked(experiment or wildcards.experiment, self.suite.scale, rule)

        return {
            "mem_mb": lambda wildcards: asked(wildcards).mem_mb,
            "runtime": lambda wildcards: asked(wildcards).runtime,
        }

    def prepare_key(self, wildcards: Wildcards) -> str:
        return job_keys.prepare_key(self.suite, wildcards.experiment, wildcards.corpus)

    def train_key(self, wildcards: Wildcards) -> str:
        return job_keys.train_key(self.suite, self._job(wildcards))

    def evaluate_key(self, wildcards: Wildcards) -> str:
        return job_keys.evaluate_key(self.suite, self._job(wildcards))

    def _job(self, wildcards: Wildcards) -> Job:
        return self.suite.experiments[wildcards.experiment].job(wildcards.job)

    def tabulate_key(self, experiment: str) -> str:
        return job_keys.tabulate_key(self.suite, experiment)

    @property
    def report_key(self) -> str:
        return job_keys.report_key(self.suite)


def _are_folders(paths: Iterable[Path]) -> None:
    """End the workflow where something else stands in place of a folder: Snakemake would show a traceback."""
    for path in paths:
        if os.path.lexists(path) and not path.is_dir():
            raise _workflow_error(f"{path} is a file where a folder belongs: remove it and run again")


def _locked() -> bool:
    """Whether a run of Snakemake has locked the working folder."""
    return any(Path(".snakemake", "locks").glob("*"))


def remove(path: Path) -> None:
    """Remove a file, or whatever else stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _in_report(
    file: str, caption: str, category: str, subcategory: str | None, labels: dict[str, str]
) -> Any:
    from snakemake.io import report

    labels = {key: value.replace("{", "{{").replace("}", "}}") for key, value in labels.items()}
    return report(file, caption=caption, category=category, subcategory=subcategory, labels=labels)


def _workflow_error(text: str) -> Exception:
    from snakemake.exceptions import WorkflowError

    return WorkflowError(text)
