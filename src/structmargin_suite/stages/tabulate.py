"""Stage 4: one experiment's tables and figures. runs/R/*.json -> runs.csv, timings.csv, tables, figures.

Every planned run is a row of runs.csv, with its reason if it was skipped or failed. Where a method's
option was chosen on the test set, all its runs are there, and `chosen` marks those that tables use.
Where each training chose an option for itself, its row has the value it chose.
Clocks and memory go to timings.csv, and into figures whose names end in _time; nothing else has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structmargin_suite.planning.plan import Experiment, Suite, load
from structmargin_suite.publish import tables
from structmargin_suite.rerun import machine
from structmargin_suite.results import ExperimentResults
from structmargin_suite.stages._command import arguments, guarded
from structmargin_suite.stages._progress import Progress
from structmargin_suite.stages._runs import row_of
from structmargin_suite.storage.files import read_json, write_csv, write_json, write_text
from structmargin_suite.storage.layout import Layout

FIRST = ("run", "method", "corpus", "data", "studies", "status", "reason", "chosen")


def tabulate(suite: Suite, name: str) -> None:
    """Write everything an experiment shows."""
    layout = Layout(suite.root)
    experiment = suite.experiments[name]
    folder = layout.experiment(name)
    figures = list(experiment.config.get("figures", {}))
    progress = Progress(f"tabulate {name}", 2 + len(experiment.config["tables"]) + len(figures))
    rows, clocks = _collected(experiment, layout)
    _choose(experiment, rows)
    varied = list(experiment.runs[0].varied) if experiment.runs else []
    heads = [*FIRST, *(key for key in varied if key not in FIRST)]
    write_csv(folder / "runs.csv", rows, [*heads, *_others(rows, heads)])
    progress.step("runs.csv")
    write_csv(folder / "timings.csv", clocks, ["run", *_others(clocks, ["run"])])
    write_json(folder / "summary.json", _summary(suite, experiment, layout, rows))
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


def _collected(experiment: Experiment, layout: Layout) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(a row of settings and metrics, a row of clocks) for every planned run."""
    rows, clocks = [], []
    for run in experiment.runs:
        folder = layout.run(experiment.name, run.name)
        record, judged = read_json(folder / "run.json"), read_json(folder / "metrics.json")
        heads = {
            "run": run.name,
            "method": run.method,
            "corpus": run.corpus,
            "data": record["data"]["label"],
            "studies": "; ".join(run.studies),
            "status": judged["status"],
            "reason": judged["reason"],
            "chosen": True,
        }
        settings = {key: value for key, value in run.varied.items() if key not in ("method", "corpus")}
        rows.append(row_of(heads, settings, judged["metrics"], _chosen(record)))
        if (folder / "clock.json").is_file():
            clock = read_json(folder / "clock.json")
            facts = clock.pop("machine")
            clocks.append({"run": run.name, **clock, **facts})
    return rows, clocks


def _chosen(record: dict[str, Any]) -> dict[str, Any]:
    """The options that a training chose for itself, by their last name."""
    chosen = record.get("chosen") or {}
    values = {chosen["option"]: chosen["value"], **chosen.get("with", {})} if chosen else {}
    return {option.rpartition(".")[2]: value for option, value in values.items()}


def _choose(experiment: Experiment, rows: list[dict[str, Any]]) -> None:
    """Mark the runs with the option's value that does best over all of a method's runs on a corpus."""
    for method, spec in experiment.methods.items():
        choice = spec.choice
        if choice is None or not choice.over_all_runs:
            continue
        option, sign = choice.columns[choice.option], choice.sign
        for corpus in {row["corpus"] for row in rows if row["method"] == method}:
            mine = [row for row in rows if row["method"] == method and row["corpus"] == corpus]
            means = {}
            for value in choice.among:
                found = [
                    row[choice.by]
                    for row in mine
                    if row.get(option, value) == value and row["status"] == "done"
                ]
                if found:
                    means[value] = sign * float(np.mean(found))
            best = min(means, key=lambda value: means[value]) if means else None
            for row in mine:
                row["chosen"] = best is None or row.get(option, best) == best


def _others(rows: Sequence[dict[str, Any]], heads: Sequence[str]) -> list[str]:
    return [key for key in dict.fromkeys(key for row in rows for key in row) if key not in heads]


def _summary(
    suite: Suite, experiment: Experiment, layout: Layout, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the page tells of an experiment apart from numbers."""
    statuses = [row["status"] for row in rows]
    records = [read_json(layout.run(experiment.name, run.name) / "run.json") for run in experiment.runs]
    receipts = [read_json(layout.corpus(experiment.name, corpus)) for corpus in experiment.corpora]
    return {
        "experiment": experiment.name,
        "scale": suite.scale,
        "seed": suite.seed,
        "runs": {status: statuses.count(status) for status in ("done", "skipped", "failed")},
        "shrunk": [{"key": key, "paper": old, "here": new} for key, old, new in experiment.shrunk],
        "data": [{key: one[key] for key in one if key != "parts"} for one in receipts],
        "code": sorted({record["code"] for record in records}),
        "versions": records[0]["versions"],
        "config": experiment.config,
    }


def _table(results: ExperimentResults, name: str, spec: dict[str, Any]) -> None:
    methods = results.methods
    rows = tables.tidy(spec, results.rows(spec["study"], done=False), results.published(name), methods)
    write_csv(results.folder / f"{name}.csv", rows, tables.columns(spec))
    header, cells = tables.wide(spec, rows, methods)
    caption = f"{spec['caption']} {note(results, spec)}"
    write_text(results.folder / f"{name}.md", tables.markdown(caption, header, cells))
    write_text(results.folder / f"{name}.tex", tables.latex(caption, name, header, cells))


def note(results: ExperimentResults, spec: dict[str, Any]) -> str:
    """What stands behind a table's numbers: the data, the spread, the scale."""
    data = "; ".join(dict.fromkeys(str(row["data"]) for row in results.rows(spec["study"], done=False)))
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
