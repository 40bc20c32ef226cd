"""A task of the literature: all handwritten words with a normalised loss, lambda = 1e-3 and 1e-4.

Every solver of the registry that certifies a gap is trained once to the smallest gap of the task, within
LIMIT CPU seconds, or a tenth of that where it adds one cut at a time, which needs hours here
(STRUCTMARGIN_BENCH_LIMIT sets another number); the trace says when it passed the larger ones.
Passes are searches over the number of examples. `bench_tagging.py` is the other task, part-of-speech tagging.
"""

from __future__ import annotations

import os
from typing import Any

from curves import draw
from duel import RUN, peer_row, relative_gap, tabled
from fresh import in_fresh_process
from ledger import Ledger
from race import AS_IN_THE_PAPERS, solvers
from samples import tagged_file
from task_data import cached, load
from tasks import TASKS, ocr_file

LIMIT = float(os.environ.get("STRUCTMARGIN_BENCH_LIMIT") or 20.0)


def passed(trace: list[dict[str, float]], gap: float) -> dict[str, float] | None:
    """The first row of a trace that has certified a relative gap, or None."""
    return next((row for row in trace if "gap" in row and row["gap"] <= gap * abs(row["primal"])), None)


def race(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """(rows of the table, traces by solver) of one task."""
    task = TASKS[name]
    rows, traces = [], {}
    for solver in solvers(load(name).problem, task.formulation, every=True):
        limit = LIMIT / 10 if solver in AS_IN_THE_PAPERS else LIMIT
        figures = in_fresh_process(RUN, name, "0", "trace", solver, str(limit), str(min(task.gaps)))
        trace, n = figures["trace"], figures["examples"]
        traces[solver] = {"n": n, "trace": trace}
        row: dict[str, Any] = {"program": f"ours, {solver}", "dual": figures["dual"]}
        for gap in task.gaps:
            reached = passed(trace, gap)
            if reached is not None:
                row |= {
                    f"CPU s to {gap:g}": reached["seconds"],
                    f"passes to {gap:g}": reached["oracle_calls"] / n,
                }
        if figures["gap"] is None:
            last = min((t["gap"] / abs(t["primal"]) for t in trace if "gap" in t), default=None)
            row["note"] = f"ended after {limit:g} s" + ("" if last is None else f" at a gap of {last:.1g}")
        rows.append({**row, "peak MB": figures["mb"], "grew MB": figures["grew_mb"]})
    return rows, traces


def main(benchmark: str = "literature", names: tuple[str, ...] = ("words 3", "words 4")) -> None:
    """Measure the tasks that there are data for."""
    with Ledger(benchmark) as ledger:
        for name in names:
            task = TASKS[name]
            there = ocr_file() is not None if name != "tagging" else tagged_file().is_file()
            if not there:
                ledger.add(task.title, [{"note": "the real data are not in STRUCTMARGIN_DATA"}], ["note"])
                continue
            with cached():
                compare(name, ledger)


def compare(name: str, ledger: Ledger) -> None:
    """The tables and the figure of one task."""
    task = TASKS[name]
    rows, traces = race(name)
    dual = max(row["dual"] for row in rows if row["dual"] is not None)
    columns = [f"{what} to {gap:g}" for gap in task.gaps for what in ("CPU s", "passes")]
    limits = f" Limits: {LIMIT:g} CPU seconds a solver, {LIMIT / 10:g} where it adds one cut at a time."
    ledger.add(task.title, rows, ["program", *columns, "peak MB", "grew MB", "note"], task.text + limits)
    draw(name.replace(" ", "_"), task.title, traces)
    ledger.figure(
        f"{name.replace(' ', '_')}.svg", f"{task.title}: relative gap against CPU seconds and passes"
    )
    peers = [peer_row(name, peer, setting) for peer, settings in task.peers.items() for setting in settings]
    for row in peers:
        if row.get("objective") is not None:
            row["gap"] = relative_gap(row["objective"], dual)
            ours = fastest(traces, row["gap"])
            if ours is not None:
                row |= {"ours, CPU s": ours[0], "times": row["cpu"] / ours[0]}
                row["note"] = "; ".join(filter(None, [f"ours by {ours[1]}", row["note"]]))
    if peers:
        columns = [
            "program",
            "asked for",
            "relative gap",
            "CPU s",
            "ours, CPU s",
            "times",
            "peak MB",
            "error %",
            "note",
        ]
        ledger.add(f"{task.title}: peers", [tabled(row) for row in peers], columns)


def fastest(traces: dict[str, Any], gap: float) -> tuple[float, str] | None:
    """(CPU seconds, solver) of ours that was first at a gap."""
    times = [
        (row["seconds"], name) for name, t in traces.items() if (row := passed(t["trace"], gap)) is not None
    ]
    return min(times, default=None)


if __name__ == "__main__":
    main()
