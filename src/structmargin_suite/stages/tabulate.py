"""Stage 4: one experiment's tables and figures. jobs/*.zip -> runs.csv, timings.csv, tables, figures.

Every planned run is a row of runs.csv, with its reason if it was skipped or failed. Where one value of a
method's option was chosen for several runs, all its runs are there, and `chosen` marks those that tables use.
Where each training chose an option for itself, its row has the value it chose.
Clocks and memory go to timings.csv, and into figures whose names end in _time; nothing else has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.publish import tables
from structmargin_suite.publish.tables import printed
from structmargin_suite.publish.tables.layout import tabs
from structmargin_suite.rerun import job_keys, machine
from structmargin_suite.results import RUN_TYPES, STUDY_SEPARATOR, ExperimentResults
from structmargin_suite.stages._choosing import mark_chosen
from structmargin_suite.stages._command import arguments, guarded, layout_of, suite_of
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import sha256, write_json, write_text
from structmargin_suite.storage.frames import frame_of, is_missing, type_of, write_frame
from structmargin_suite.storage.layout import (
    CLOCK_FILE,
    METRICS_FILE,
    RECORD_FILE,
    ScaleLayout,
    tabulated,
)
from structmargin_suite.storage.seal import write_seal


def tabulate(suite: Suite, name: str, layout: ScaleLayout | None = None) -> None:
    """Write everything an experiment shows, and the seal last."""
    layout = layout or ScaleLayout(suite.root, suite.scale)
    experiment = suite.experiments[name]
    folder = layout.experiment(name)
    figures = list(experiment.config.get("figures", {}))
    progress = Progress(f"tabulate {name}", 2 + len(experiment.config["tables"]) + len(figures))
    finished = FinishedRuns(experiment, layout)
    rows = list(_rows(experiment, finished))
    runs = _runs(rows)
    mark_chosen(experiment, runs)
    write_frame(folder / "runs.csv", runs)
    progress.step("runs.csv")
    clocks = list(_clocks(experiment, finished))
    write_csv(
        folder / "timings.csv", clocks, list(dict.fromkeys(["run", *(key for c in clocks for key in c)]))
    )
    write_json(folder / "summary.json", _summary(suite, experiment, finished, runs, columns_of(rows)))
    progress.step("summary.json")
    results = ExperimentResults(suite.root, name, folder, base=layout.root)
    for table, spec in experiment.config["tables"].items():
        _table(results, table, spec)
        progress.step(table)
    if figures:
        from structmargin_suite.figures import draw

        for figure in figures:
            draw(results, figure)
            progress.step(figure)
    write_seal(folder, job_keys.tables_key(suite, name, layout), tabulated(experiment.config))
    progress.close()


class FinishedRuns:
    """The bundles of an experiment's jobs; refused where one does not fit the plan.

    Attributes
    ----------
    corpora : dict of str to Bundle
        The prepared corpora by name.
    sums : dict of str to dict
        For each job the names of its runs, and the sums of the bundles with their models and metrics.
    """

    def __init__(self, experiment: Experiment, layout: ScaleLayout) -> None:
        name = experiment.name
        self.corpora = {corpus: Bundle(layout.corpus(name, corpus)) for corpus in experiment.corpora}
        self.sums: dict[str, dict[str, Any]] = {}
        self._bundles: dict[str, tuple[Bundle, Bundle, Bundle]] = {}
        for job in experiment.jobs:
            trained = Bundle(layout.trained(name, job.name))
            clocks = Bundle(layout.clocks(name, job.name))
            evaluated = Bundle(layout.evaluated(name, job.name))
            keys = {
                run.name: job_keys.training_key(experiment, run, self.corpora[run.corpus]) for run in job.runs
            }
            trained.expect(keys)
            clocks.expect(keys)
            evaluated.expect({run.name: job_keys.evaluation_key(run, trained) for run in job.runs})
            self._bundles |= dict.fromkeys(keys, (trained, clocks, evaluated))
            self.sums[job.name] = {
                "runs": list(keys),
                "trained": sha256(trained.path),
                "evaluated": sha256(evaluated.path),
            }

    def record(self, run: str) -> dict[str, Any]:
        """What training recorded of a run."""
        record: dict[str, Any] = self._bundles[run][0].json(run, RECORD_FILE)
        return record

    def clock(self, run: str) -> dict[str, Any] | None:
        """What clocks said of a run's training; None where it was not trained."""
        bundle = self._bundles[run][1]
        return bundle.json(run, CLOCK_FILE) if bundle.has(run, CLOCK_FILE) else None

    def judged(self, run: str) -> dict[str, Any]:
        """What evaluation recorded of a run."""
        record: dict[str, Any] = self._bundles[run][2].json(run, METRICS_FILE)
        return record


REPORTED = ("C", "nu")
"""Options of which evaluation reports the value that the fit had, under the same name."""


class RunRow(NamedTuple):
    """One run as a row of runs.csv, each kind of column by itself."""

    identifiers: dict[str, Any]
    settings: dict[str, Any]
    metrics: dict[str, Any]
    choices: dict[str, Any]

    def cells(self) -> dict[str, Any]:
        """All columns together.

        A choice replaces the setting that the training began with, and the value that a run was given or
        chose replaces what evaluation reports of the same option (`REPORTED`). Otherwise a name that has two
        different values is refused: neither may hide the other.
        """
        cells: dict[str, Any] = {}
        settings = {name: self.choices.get(name, value) for name, value in self.settings.items()}
        given = {name for name, value in {**settings, **self.choices}.items() if not is_missing(value)}
        hidden = given.intersection(REPORTED)
        metrics = {name: value for name, value in self.metrics.items() if name not in hidden}
        for kind, values in {**self._asdict(), "settings": settings, "metrics": metrics}.items():
            for name, value in values.items():
                known = cells.get(name)
                if is_missing(known):
                    cells[name] = value
                elif not is_missing(value) and value != known:
                    raise ValueError(
                        f"run {self.identifiers['run']!r}: {name!r} is {value!r} among its {kind}, but "
                        f"{known!r} already; give one of them another name"
                    )
        return cells


def _rows(experiment: Experiment, finished: FinishedRuns) -> Iterator[RunRow]:
    """Every planned run, in the order of the plan."""
    for run in experiment.runs:
        record, judged = finished.record(run.name), finished.judged(run.name)
        identifiers = {
            "run": run.name,
            "method": run.method,
            "reading": run.reading,
            "corpus": run.corpus,
            "data": record["data"]["label"],
            "studies": STUDY_SEPARATOR.join(run.studies),
            "status": judged["status"],
            "reason": judged["reason"],
            "chosen": True,
        }
        counted = {**judged["metrics"], **_per_example(record, judged["metrics"])}
        measured = {**counted, **record.get("held_out", {})}
        metrics = {name: _number(value) for name, value in measured.items()}
        named = ("method", "reading", "corpus")
        settings = {name: value for name, value in run.varied.items() if name not in named}
        yield RunRow(identifiers, settings, metrics, _choices(record))


def _per_example(record: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, float]:
    """Constraints added for each training example, of a training that counted them."""
    constraints, n = metrics.get("constraints"), record.get("n_train")
    return {} if constraints is None or not n else {"constraints_per_example": constraints / n}


def _number(value: Any) -> Any:
    """A metric as it was measured: JSON has no infinities, so that they are stored as text."""
    return float(value) if value in ("inf", "-inf") else value


def _choices(record: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a training chose for itself, by their last name."""
    chosen = record.get("chosen") or {}
    values = {chosen["option"]: chosen["value"], **chosen.get("with", {})} if chosen else {}
    return {option.rpartition(".")[2]: value for option, value in values.items()}


def _runs(rows: Sequence[RunRow]) -> pd.DataFrame:
    """runs.csv as a frame: identifiers, settings, then metrics and choices as they first appear."""
    cells = [row.cells() for row in rows]
    settings = rows[0].settings if rows else {}
    names = dict.fromkeys([*RUN_TYPES, *settings, *(name for row in cells for name in row)])
    return frame_of(cells, list(names), RUN_TYPES)


def columns_of(rows: Sequence[RunRow]) -> dict[str, dict[str, Any]]:
    """The schema of runs.csv: for each column its type, and what it holds (a setting, a metric, ...).

    A name may be a setting of one method and a metric of another: `holds` then names both.
    """
    holds: dict[str, dict[str, None]] = {}
    for row in rows:
        for kind, values in row._asdict().items():
            for name, value in values.items():
                known = holds.setdefault(name, {})
                if kind == "identifiers" or not is_missing(value):
                    known[kind] = None
    cells = [row.cells() for row in rows]
    return {
        name: {
            "type": RUN_TYPES.get(name) or type_of(row.get(name) for row in cells),
            "holds": [kind for kind in RunRow._fields if kind in kinds],
        }
        for name, kinds in holds.items()
    }


def _clocks(experiment: Experiment, finished: FinishedRuns) -> Iterator[dict[str, Any]]:
    """Clocks, memory and machine of every run that has them."""
    for run in experiment.runs:
        clock = finished.clock(run.name)
        if clock is not None:
            facts = clock.pop("machine")
            yield {"run": run.name, **clock, **facts}


def _summary(
    suite: Suite,
    experiment: Experiment,
    finished: FinishedRuns,
    runs: pd.DataFrame,
    columns: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """What the page says of an experiment apart from numbers, and the schema of its runs."""
    statuses = runs["status"].tolist()
    records = [finished.record(run.name) for run in experiment.runs]
    sources = [corpus.about for corpus in finished.corpora.values()]
    return {
        "experiment": experiment.name,
        "scale": suite.scale,
        "seed": suite.seed,
        "runs": {status: statuses.count(status) for status in ("done", "skipped", "failed")},
        "shrunk": [{"key": key, "paper": old, "here": new} for key, old, new in experiment.shrunk],
        "data": [{key: about[key] for key in about if key not in ("key", "seeds")} for about in sources],
        "code": sorted({record["code"] for record in records}),
        "versions": records[0]["versions"],
        "config": experiment.config,
        "columns": columns,
        "jobs": finished.sums,
    }


def _table(results: ExperimentResults, name: str, spec: dict[str, Any]) -> None:
    runs, methods = results.select(spec["study"], done=False), results.methods
    corpora = dict(zip(runs["data"], runs["corpus"], strict=True))
    own = {data for data, corpus in corpora.items() if results.papers_own(corpus)}
    listed = listed_values(results.config, spec)
    table = tables.tidy(spec, runs, results.published(name), methods, own, listed)
    write_frame(results.folder / f"{name}.csv", table)
    shown = tabs(spec, table, methods, results.readings)
    caption = f"{spec['caption']} {note(results, spec, table)}"
    write_text(results.folder / f"{name}.md", printed.markdown(caption, shown))
    write_text(results.folder / f"{name}.tex", printed.latex(caption, name, shown))


def listed_values(config: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Setting -> its values in the order in which a table's studies list them, and its methods as it does.

    Of numbers that rise, or fall, in each of several studies, all together do.
    """
    lists: dict[str, list[list[Any]]] = {"method": [spec.get("methods", [])]}
    for study in [spec["study"]] if isinstance(spec["study"], str) else spec["study"]:
        given = config["studies"][study]
        single = {name: [value] for name, value in given.get("fixed", {}).items()}
        for name, values in {**single, **given.get("vary", {})}.items():
            if isinstance(values, list):
                lists.setdefault(name.rpartition(".")[2], []).append(values)
    return {name: _joined(found) for name, found in lists.items()}


def _joined(lists: Sequence[list[Any]]) -> list[Any]:
    """The values of several lists, each once, in an order that they have in each if there is one."""
    values = list(dict.fromkeys(value for each in lists for value in each))
    if all(isinstance(value, (int, float)) for value in values):
        for falls in (False, True):
            if all(each == sorted(each, reverse=falls) for each in lists):
                return sorted(values, reverse=falls)
    return values


def note(results: ExperimentResults, spec: dict[str, Any], table: pd.DataFrame) -> str:
    """What stands behind a table's numbers: the spread where it has any, the data, the scale."""
    data = "; ".join(results.select(spec["study"], done=False)["data"].unique())
    spread = {"se": "standard error", "sd": "standard deviation"}[spec.get("spread", "se")]
    scale = results.summary["scale"]
    shrunk = "" if scale == "paper" else f" Scale {scale}: smaller than the paper."
    over = " and ".join(f"{key}s" for key in spec.get("over", ["repetition"]))
    if table.empty:
        shows = "No values at this scale"
    elif not (table["runs"] > 1).any():
        shows = "One run each"
    elif spec.get("shows") == "largest":
        shows = f"The largest over {over}"
    else:
        shows = f"Mean{f' ± {spread}' if table['spread'].notna().any() else ''} over {over}"
    return f"{shows}. Data: {data}.{shrunk}"


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("tabulate", "Make an experiment's tables and figures.", "experiment").parse_args(argv)
    machine.one_thread()
    suite = suite_of(options, [options.experiment])
    tabulate(suite, options.experiment, layout_of(options, suite))


if __name__ == "__main__":
    guarded(main)
