"""Stage 4: one experiment's tables and figures. runs/R/*.json -> runs.csv, timings.csv, tables, figures.

Every planned run is a row of runs.csv, with its reason if it was skipped or failed. Where a method's
option was chosen on the test set, all its runs are there, and `chosen` marks those that tables use.
Where each training chose an option for itself, its row has the value it chose.
Clocks and memory go to timings.csv, and into figures whose names end in _time; nothing else has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.planning.plan import Experiment, Suite, load
from structmargin_suite.publish import tables
from structmargin_suite.rerun import machine
from structmargin_suite.results import RUN_TYPES, STUDY_SEPARATOR, ExperimentResults, column, has_value
from structmargin_suite.stages._command import arguments, guarded
from structmargin_suite.stages._progress import Progress
from structmargin_suite.storage.files import read_json, write_csv, write_json, write_text
from structmargin_suite.storage.frames import frame_of, is_missing, type_of, write_frame
from structmargin_suite.storage.layout import Layout


def tabulate(suite: Suite, name: str) -> None:
    """Write everything an experiment shows."""
    layout = Layout(suite.root)
    experiment = suite.experiments[name]
    folder = layout.experiment(name)
    figures = list(experiment.config.get("figures", {}))
    progress = Progress(f"tabulate {name}", 2 + len(experiment.config["tables"]) + len(figures))
    rows = list(_rows(experiment, layout))
    runs = _runs(rows)
    _mark_chosen(experiment, runs)
    write_frame(folder / "runs.csv", runs)
    progress.step("runs.csv")
    clocks = list(_clocks(experiment, layout))
    write_csv(
        folder / "timings.csv", clocks, list(dict.fromkeys(["run", *(key for c in clocks for key in c)]))
    )
    write_json(folder / "summary.json", _summary(suite, experiment, layout, runs, columns_of(rows)))
    progress.step("summary.json")
    results = ExperimentResults(suite.root, name)
    for table, spec in experiment.config["tables"].items():
        _table(results, table, spec)
        progress.step(table)
    if figures:
        from structmargin_suite.figures import draw

        for figure in figures:
            draw(results, figure)
            progress.step(figure)
    progress.close()


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


def _rows(experiment: Experiment, layout: Layout) -> Iterator[RunRow]:
    """Every planned run, in the order of the plan."""
    for run in experiment.runs:
        folder = layout.run(experiment.name, run.name)
        record, judged = read_json(folder / "run.json"), read_json(folder / "metrics.json")
        identifiers = {
            "run": run.name,
            "method": run.method,
            "corpus": run.corpus,
            "data": record["data"]["label"],
            "studies": STUDY_SEPARATOR.join(run.studies),
            "status": judged["status"],
            "reason": judged["reason"],
            "chosen": True,
        }
        metrics = {name: _number(value) for name, value in judged["metrics"].items()}
        settings = {name: value for name, value in run.varied.items() if name not in ("method", "corpus")}
        yield RunRow(identifiers, settings, metrics, _choices(record))


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


def _clocks(experiment: Experiment, layout: Layout) -> Iterator[dict[str, Any]]:
    """Clocks, memory and machine of every run that has them."""
    for run in experiment.runs:
        path = layout.run(experiment.name, run.name) / "clock.json"
        if path.is_file():
            clock = read_json(path)
            facts = clock.pop("machine")
            yield {"run": run.name, **clock, **facts}


def _mark_chosen(experiment: Experiment, runs: pd.DataFrame) -> None:
    """Mark the runs with the option's value that does best over all of a method's runs on a corpus."""
    for method, spec in experiment.methods.items():
        choice = spec.choice
        if choice is None or not choice.over_all_runs:
            continue
        option, sign = choice.columns[choice.option], choice.sign
        for _, candidates in runs[runs["method"] == method].groupby("corpus"):
            done = candidates[candidates["status"] == "done"]
            means = {}
            for value in choice.among:
                losses = done[_tried(done, option, value)][choice.by]
                if len(losses):
                    means[value] = sign * float(np.mean(losses.to_numpy(float)))
            if means:
                best = min(means, key=lambda value: means[value])
                runs.loc[candidates.index, "chosen"] = _tried(candidates, option, best)


def _tried(runs: pd.DataFrame, option: str, value: Any) -> pd.Series:
    """Which runs have an option's value; those without a column or value of it have the only one there is."""
    return has_value(runs, option, value) | column(runs, option).isna()


def _summary(
    suite: Suite,
    experiment: Experiment,
    layout: Layout,
    runs: pd.DataFrame,
    columns: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """What the page says of an experiment apart from numbers, and the schema of its runs."""
    statuses = runs["status"].tolist()
    records = [read_json(layout.run(experiment.name, run.name) / "run.json") for run in experiment.runs]
    receipts = [read_json(layout.corpus(experiment.name, corpus)) for corpus in experiment.corpora]
    return {
        "experiment": experiment.name,
        "scale": suite.scale,
        "seed": suite.seed,
        "runs": {status: statuses.count(status) for status in ("done", "skipped", "failed")},
        "shrunk": [{"key": key, "paper": old, "here": new} for key, old, new in experiment.shrunk],
        "data": [{key: receipt[key] for key in receipt if key != "parts"} for receipt in receipts],
        "code": sorted({record["code"] for record in records}),
        "versions": records[0]["versions"],
        "config": experiment.config,
        "columns": columns,
    }


def _table(results: ExperimentResults, name: str, spec: dict[str, Any]) -> None:
    methods = results.methods
    table = tables.tidy(spec, results.select(spec["study"], done=False), results.published(name), methods)
    write_frame(results.folder / f"{name}.csv", table)
    header, cells = tables.wide(spec, table, methods)
    caption = f"{spec['caption']} {note(results, spec)}"
    write_text(results.folder / f"{name}.md", tables.markdown(caption, header, cells))
    write_text(results.folder / f"{name}.tex", tables.latex(caption, name, header, cells))


def note(results: ExperimentResults, spec: dict[str, Any]) -> str:
    """What stands behind a table's numbers: the data, the spread, the scale."""
    data = "; ".join(results.select(spec["study"], done=False)["data"].unique())
    spread = {"se": "standard error", "sd": "standard deviation"}[spec.get("spread", "se")]
    scale = results.summary["scale"]
    shrunk = "" if scale == "paper" else f" Scale {scale}: smaller than the paper."
    over = " and ".join(f"{key}s" for key in spec.get("over", ["repetition"]))
    return f"Mean ± {spread} over {over}. Data: {data}.{shrunk}"


def main(argv: Sequence[str] | None = None) -> None:
    """The command."""
    options = arguments("tabulate", "Make an experiment's tables and figures.", "experiment").parse_args(argv)
    machine.one_thread()
    suite = load(options.root, options.scale, library=False, only=[options.experiment])
    tabulate(suite, options.experiment)


if __name__ == "__main__":
    guarded(main)
