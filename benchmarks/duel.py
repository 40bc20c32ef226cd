"""Our solvers beside the peers of a task, at equal relative gaps.

The peer's model is scored by our primal P, and its relative gap is (P - D) / P with D the best certified dual
bound of our own trainings. Then each of our solvers is asked for that gap, and the fastest is what the peer
is compared with. Each program runs in processes of its own, with one thread.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from fresh import in_fresh_process
from peers import known
from race import solvers
from task_data import cached, load
from tasks import TASKS

RUN = str(Path(__file__).resolve().parent / "run.py")
LIMIT = 60.0
"""CPU seconds that a training may take."""
PEER_LIMIT = 60.0
"""Seconds on the wall that a row of a peer may take, with writing its files and repeating short trainings."""
COLUMNS = [
    "program", "asked for", "relative gap", "CPU s", "ours, CPU s", "times", "peak MB", "grew MB",
    "passes", "error %", "note",
]  # fmt: skip
GROWTH = ["n", "program", "relative gap", "CPU s", "growth", "peak MB", "grew MB", "note"]


def ours(task: str, solver: str, gaps: list[float], n: int = 0) -> list[dict[str, Any]]:
    """Trainings of one solver, one per gap."""
    return in_fresh_process(RUN, task, str(n), "ours", solver, str(LIMIT), *map(repr, gaps))


def peer_row(task: str, name: str, setting: float, n: int = 0) -> dict[str, Any]:
    """A peer's training, or a sentence why there is none."""
    peer = known()[name]
    head = {"program": name, "asked for": f"{peer.asks} {setting:g}"}
    missing = peer.missing()
    if missing is not None:
        return {"program": name, "note": missing}
    try:
        row = in_fresh_process(RUN, task, str(n), "peer", name, repr(setting), limit=PEER_LIMIT)
    except TimeoutError as late:
        row = {"note": str(late)}
    except RuntimeError as failed:
        row = {"note": f"failed: {str(failed).strip().splitlines()[-1][:200]}"}
    return {**head, **row, "note": row.get("note") or peer.remark}


def our_row(solver: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table from a training of ours."""
    missed = {} if row["gap"] is not None else {"note": f"not within {LIMIT:g} s"}
    return {"program": f"ours, {solver}", "asked for": f"gap {row['asked']:.2g}", **row, **missed}


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P."""
    return max(primal - dual, 0.0) / abs(primal)


def compare(task: str, names: list[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a task's table: peers, then our solvers, or those named."""
    with cached():
        return _compared(task, names)


def _compared(task: str, names: list[str] | None) -> list[dict[str, Any]]:
    goal, default = TASKS[task], "n_slack"
    problem = load(task).problem
    names = names or solvers(problem, goal.formulation)
    first = default if default in names else names[0]
    dual = ours(task, first, [min(goal.gaps)])[0]["dual"]
    peers = [
        peer_row(task, name, setting)
        for name, settings in goal.peers.items()
        for setting in (settings if known()[name].missing() is None else settings[:1])
    ]
    for row in peers:
        if row.get("objective") is not None:
            row["gap"] = relative_gap(row["objective"], dual)
    # A gap below the smallest that we are asked for cannot be told from it: the dual bound is no closer.
    asked = {max(row["gap"], min(goal.gaps)) for row in peers if row.get("gap") is not None} | set(goal.gaps)
    rows = {name: ours(task, name, sorted(asked)) for name in names}
    for row in peers:
        if row.get("gap") is None:
            continue
        same = max(row["gap"], min(goal.gaps))
        at_gap = {
            name: r["cpu"]
            for name, trainings in rows.items()
            for r in trainings
            if r["asked"] == same and r["gap"] is not None
        }
        if at_gap:
            fastest = min(at_gap, key=at_gap.__getitem__)
            row |= {
                "ours, CPU s": at_gap[fastest],
                "by": fastest,
                "times": at_gap[fastest] and row["cpu"] / at_gap[fastest],
            }
            row["note"] = "; ".join(filter(None, [f"ours by {fastest}", row["note"]]))
    lines = peers + [
        our_row(name, row)
        for name, trainings in rows.items()
        for row in trainings
        if row["asked"] in goal.gaps
    ]
    return [tabled(row) for row in lines]


def tabled(row: dict[str, Any]) -> dict[str, Any]:
    """The names that columns have."""
    names = {"gap": "relative gap", "cpu": "CPU s", "mb": "peak MB", "grew_mb": "grew MB", "error": "error %"}
    return {names.get(key, key): value for key, value in row.items()}


def growth(task: str, names: list[str] | None = None) -> list[dict[str, Any]]:
    """CPU seconds and memory for growing numbers of examples, with the exponent from size to size."""
    with cached():
        return _grown(task, names)


def _grown(task: str, names: list[str] | None) -> list[dict[str, Any]]:
    goal = TASKS[task]
    rows: list[dict[str, Any]] = []
    before: dict[str, tuple[int, float]] = {}

    def add(n: int, row: dict[str, Any]) -> None:
        name = row["program"]
        if row.get("cpu") and name in before:
            m, seconds = before[name]
            row["growth"] = math.log(row["cpu"] / seconds) / math.log(n / m)
        if row.get("cpu"):
            before[name] = (n, row["cpu"])
        rows.append({"n": n, **tabled(row)})

    names = names or solvers(load(task, goal.sizes[0]).problem, goal.formulation)
    for n in goal.sizes:
        duals = []
        for name in names:
            row = ours(task, name, [max(goal.gaps)], n)[0]
            duals.append(row["dual"])
            add(n, our_row(name, row))
        for name, settings in goal.peers.items():
            row = peer_row(task, name, settings[0], n)
            if row.get("objective") is not None:
                row["gap"] = relative_gap(row["objective"], max(duals))
            add(n, row)
    return rows
