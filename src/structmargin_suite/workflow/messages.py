"""What a run says: first what it will do and for how long, in the end where to look and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from structmargin_suite.planning.config import short
from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.sources import FETCHED, STAND_IN, SYNTHETIC, Source, forecast, sources
from structmargin_suite.rerun.due import Due, due_runs, reasons
from structmargin_suite.rerun.times import Times
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.layout import ScaleLayout
from structmargin_suite.storage.seal import SEAL
from structmargin_suite.terminal.board import Board, Planned
from structmargin_suite.terminal.durations import duration

NOT_REAL = {FETCHED: "to be fetched", SYNTHETIC: "synthetic", STAND_IN: "stand-ins"}
"""What a run calls the states of data that are not, or not yet, real."""
FEW = 3
"""Smaller settings and reasons that are named; the others are counted."""
OWN_SECONDS = {"report": 8.0, "complete": 2.0}
"""Of rules that serve all experiments, in CPU seconds."""


class Forecast:
    """The jobs that Snakemake will run, the runs that they train, and the CPU seconds expected of them."""

    def __init__(self, suite: Suite, dag_jobs: Iterable[Any]) -> None:
        self.suite, self.times = suite, Times(suite)
        named = [(job, *self._names(job)) for job in dag_jobs if job.shellcmd is not None]
        self.due = {
            name: due_runs(
                suite, name, {job for _, rule, own, job in named if (rule, own) == ("train", name)}
            )
            for name in dict.fromkeys(name for _, rule, name, _ in named if rule == "train")
        }
        self.jobs = {
            job.jobid: Planned(
                " ".join(filter(None, (rule, name, stem))), self._seconds(rule, name, stem), name, rule
            )
            for job, rule, name, stem in named
        }

    def _names(self, job: Any) -> tuple[str, str, str]:
        """(stage, experiment, name of the job or corpus) of a job of Snakemake's."""
        wildcards: Mapping[str, str] = job.wildcards_dict
        stage, _, experiment = job.rule.name.partition("_")
        if experiment in self.suite.experiments:
            return stage, experiment, ""
        name = wildcards.get("experiment", "")
        return job.rule.name, name, wildcards.get("job", wildcards.get("corpus", ""))

    def _seconds(self, rule: str, name: str, stem: str) -> float:
        if not name:
            return OWN_SECONDS.get(rule, 0.0)
        runs = [each.run for each in self.due.get(name, ())]
        if rule == "train":
            members = {run.name for run in self.suite.experiments[name].job(stem).runs}
            runs = [run for run in runs if run.name in members]
        return self.times.job(name, rule, stem, runs)

    def summary(self, at_once: int, unit: str = "cores") -> str:
        """How many jobs, and about how long; so many at a time, as cores or as jobs of a cluster."""
        board = Board(self.jobs, at_once)
        parallel = f"{at_once} {unit}" if unit == "cores" else f"{min(at_once, len(self.jobs))} {unit}"
        parallel = "one core" if parallel == "1 cores" else parallel
        source = "partly guessed" if self.times.guesses else "from recorded times"
        return (
            f"{len(self.jobs)} jobs to do, about {duration(board.left)} on {parallel} "
            f"({duration(board.total)} of CPU time, {source})"
        )


def announcement(suite: Suite, asked: Sequence[str], planned: Forecast | None = None) -> list[str]:
    """What is about to run and for how long, what was shrunk, what is left out and why, and on which data."""
    lines = []
    for name in asked:
        experiment = suite.experiments[name]
        jobs = f"{len(experiment.jobs)} job{'s' if len(experiment.jobs) > 1 else ''}"
        head = f"{name}: {len(experiment.runs)} runs in {jobs}, scale {suite.scale}"
        if planned is not None:
            head += f"; {will_train(planned.due.get(name, []), planned.times, name)}"
        lines += [head, *(_smaller(experiment) if len(asked) <= FEW else ())]
    if len(asked) > FEW and any(suite.experiments[name].shrunk for name in asked):
        lines.append("smaller than in the papers (structmargin explain lists what)")
    corpora = list(sources(suite, asked))
    return [*lines, _data(corpora), *forecast([source for source in corpora if source.state == FETCHED])]


def _data(corpora: Sequence[Source]) -> str:
    """How many corpora are real, and which are not, or not yet: fetching may fail."""
    parts = [f"real: {sum(source.state not in NOT_REAL for source in corpora)} corpora"]
    for state, what in NOT_REAL.items():
        named = [f"{source.experiment}: {source.corpus}" for source in corpora if source.state == state]
        parts += [f"{what}: {len(named)} ({'; '.join(named)})"] if named else []
    return f"data: {'; '.join(parts)}"


def will_train(due: Sequence[Due], times: Times, name: str) -> str:
    """How many runs of an experiment will train, about how long, and why."""
    if not due:
        return "none will train"
    why = [f"{reason} ({count})" for reason, count in reasons(due).items()]
    more = f" and {len(why) - FEW} more reasons" if len(why) > FEW else ""
    seconds = times.training(name, [each.run for each in due])
    return f"{len(due)} will train, about {duration(seconds)}: {', '.join(why[:FEW])}{more}"


def _smaller(experiment: Experiment) -> list[str]:
    """What is smaller than in the paper, in a line, and what is left out."""
    shrunk = [f"{key} {short(new)} instead of {short(old)}" for key, old, new in experiment.shrunk]
    n_more = len(shrunk) - FEW
    more = f", and {n_more} more (structmargin explain {experiment.name})" if n_more > 0 else ""
    lines = [f"  smaller than the paper: {', '.join(shrunk[:FEW])}{more}"] if shrunk else []
    skipped = dict.fromkeys(run.skip for run in experiment.runs if run.skip)
    return [*lines, *(f"  left out: {reason}" for reason in skipped)]


def outcome(layout: ScaleLayout, asked: Sequence[str]) -> list[str]:
    """Where to look, which data were real, and how many statements have which verdict."""
    if not layout.statements.is_file() or not (layout.results / SEAL).is_file():
        return [f"no page yet: {layout.page} is written once an experiment is done"]
    rows = [
        row for row in read_csv(layout.statements) if row["primary"] == "true" and row["experiment"] in asked
    ]
    score = ", ".join(
        f"{n} {verdict}" for verdict, n in Counter(row["verdict"] for row in rows).most_common()
    )
    of = f"{len(rows)} statement{'' if len(rows) == 1 else 's'} of the papers"
    if len(asked) <= FEW:
        of += f" about {' and '.join(asked)}"
    pages = [str(layout.page_of(name)) for name in asked] if len(asked) <= FEW else []
    return [
        data_kinds(layout, asked),
        f"see {layout.page}: {f'of {of} {score}' if rows else 'no statement of the papers rests on this'}",
        *(f"see {page}" for page in pages),
    ]


def data_kinds(layout: ScaleLayout, asked: Sequence[str]) -> str:
    """How many corpora were real, and which were not; stand-ins for real ones are marked."""
    summaries = {name: layout.shown(name) / "summary.json" for name in asked}
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
