"""Which files a job reads and writes, and the key that makes it run again; the rules name these functions."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import SCALE_VARIABLE, Suite, load
from structmargin_suite.planning.resources import Asked, Resources
from structmargin_suite.planning.runs import Job
from structmargin_suite.planning.sources import missing_files, own_files_of
from structmargin_suite.rerun import job_keys, seeds
from structmargin_suite.rerun.machine import THREAD_VARIABLES
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.layout import ScaleLayout, tabulated
from structmargin_suite.storage.seal import SEAL
from structmargin_suite.terminal.durations import duration
from structmargin_suite.terminal.handler import LogHandler
from structmargin_suite.terminal.screen import say
from structmargin_suite.workflow import checking, messages


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
        self.refusal: str | None = None
        self.began = time.monotonic()
        self.targets = {name: name for name in suite.experiments}

    @classmethod
    def open(cls, workflow: Any, config: dict[str, str]) -> Pipeline:
        """Plan from the configs of the working folder; every fault of theirs ends the workflow at once."""
        extra = [name for name in config if name != "scale"]
        if extra:
            raise checking.workflow_error(
                f"--config takes scale=smoke|standard|paper, but not {', '.join(extra)}"
            )
        checking.require_folders(Path(name) for name in checking.FOLDERS)
        try:
            suite = load(Path("."), config.get("scale"))
            pipeline = cls(suite, workflow)
        except (ConfigError, DataError) as error:
            raise checking.workflow_error(str(error)) from None
        layout = ScaleLayout(suite.root, suite.scale)
        checking.require_folders(folder for name in suite.experiments for folder in layout.folders(name))
        equip(suite.scale)
        # Another workflow may have given the rules other names (use rule * from structmargin as papers_*).
        pipeline.targets = {name: workflow.modifier.modify_rulename(name) for name in suite.experiments}
        if (terminal := pipeline._terminal) is not None:
            terminal.reword = pipeline.reworded
        return pipeline

    def reworded(self, message: str) -> str | None:
        """A better sentence than one of Snakemake's errors, where there is one.

        What an input function refuses is shown by Snakemake with the whole way there.
        """
        if self.refusal is not None and self.refusal.splitlines()[0] in message:
            return self.refusal
        return checking.mistyped(message, self.experiments)

    def check(self) -> None:
        """Look at all files once, before Snakemake does.

        Not where another run is under way in this folder, in its jobs, or where nothing is to be run.
        """
        workflow = self.workflow
        if self.checked or not workflow.is_main_process or workflow.executor_plugin is None:
            return
        missing = missing_files(self.suite, self.asked)
        if missing:
            self.refusal = "\n".join(missing)
            raise checking.workflow_error(self.refusal)
        if checking.locked():
            return
        self.checked = True
        checking.remove_unfit(self.suite, self.asked, workflow.dryrun)
        checking.date_back(self.files, workflow.dryrun)

    def begin(self) -> None:
        """Say what is about to run, and hand it to the terminal, where ours is used (profiles/)."""
        self.began = time.monotonic()
        checking.without_rate_limit(self.workflow)
        terminal, settings = self._terminal, self.workflow.resource_settings
        cores, nodes = settings.cores, settings.nodes
        at_once = int(cores or nodes or 1)
        planned = None
        try:
            planned = messages.Forecast(self.suite, self.workflow.dag.needrun_jobs())
            summary = planned.summary(at_once, "cores" if cores else "jobs at a time")
        except Exception as error:  # a forecast is no reason to end a run
            summary = f"how long it takes cannot be said ({type(error).__name__}: {error})"
        say(summary, *messages.announcement(self.suite, self.asked, planned))
        if terminal is not None and planned is not None:
            terminal.begin(planned.jobs, at_once)

    def end(self, failed: bool = False) -> None:
        """Say where to look and what was found, or what to do; last of all, where the terminal is ours."""
        lines = []
        if failed:
            logs = ", ".join(map(os.path.relpath, self.workflow.logger_manager.get_logfile()))
            lines.append(f"not all jobs are done; the next call goes on from here (Snakemake's log: {logs})")
        else:
            lines.append(f"done in {duration(time.monotonic() - self.began)}")
        if self.workflow.storage_settings.default_storage_provider:
            lines.append(f"{self.layout.page} is in the storage that was named")
        else:
            with contextlib.suppress(OSError, DataError):  # a page that is not whole is made again next time
                lines += messages.outcome(self.layout, self.asked)
        if self._terminal is None:
            say(*lines)
        else:
            self._terminal.end(*lines)

    @property
    def _terminal(self) -> LogHandler | None:
        """The logger that shows a run, if it is ours."""
        handlers = self.workflow.logger_manager.get_log_handlers()
        return next((handler for handler in handlers if isinstance(handler, LogHandler)), None)

    @property
    def experiments(self) -> list[str]:
        return list(self.suite.experiments)

    @property
    def asked(self) -> list[str]:
        """The experiments asked for by name, or all of them."""
        targets = {str(target) for target in self.workflow.dag_settings.targets}
        return [name for name in self.experiments if self.targets[name] in targets] or self.experiments

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
        beside = [*([committed] if committed.is_file() else []), *seeds.files(self.suite.root)]
        return [str(path) for path in (*printed, *beside)]

    @property
    def page(self) -> list[str]:
        """What the report writes: the overview, two pages for each experiment, the verdicts, their seal."""
        written = (
            self.layout.page,
            self.layout.statements,
            self.layout.distances,
            *(self.layout.page_of(name) for name in self.experiments),
            *(self.layout.sentences_of(name) for name in self.experiments),
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


def _in_report(
    file: str, caption: str, category: str, subcategory: str | None, labels: dict[str, str]
) -> Any:
    from snakemake.io import report

    labels = {key: value.replace("{", "{{").replace("}", "}}") for key, value in labels.items()}
    return report(file, caption=caption, category=category, subcategory=subcategory, labels=labels)
