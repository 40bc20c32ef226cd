"""One measurement in a process of its own, printed as JSON.

run.py TASK N ours SOLVER LIMIT GAP...     rows of our solver, one per gap
run.py TASK N peer NAME SETTING            a peer's training, scored by our primal
run.py TASK N trace SOLVER LIMIT GAP       the trace of one training
"""

from __future__ import annotations

import json
import sys
from typing import Any

from fresh import measured
from peers import PeerFailed, known
from race import error, gaps_of, primal, small, trained
from task_data import load
from tasks import TASKS


def main(name: str, n: str, what: str, *rest: str) -> Any:
    """The measurement that the words ask for."""
    task = TASKS[name]
    data = load(name, int(n) or None)
    if what == "ours":
        solver, limit, *gaps = rest
        return gaps_of(data, task, solver, [float(gap) for gap in gaps], float(limit))
    if what == "trace":
        solver, limit, gap = rest
        figures = measured(
            lambda: trained(data, task, solver, 0.3, small(data)),
            lambda: trained(data, task, solver, float(gap), limit=float(limit)),
        )
        figures.pop("model")
        return {**figures, "examples": len(data.Y)}
    peer, setting = known()[rest[0]], float(rest[1])
    try:
        outcome = peer.train(data, task.C_per_example, setting)
    except PeerFailed as failed:
        return {"note": str(failed)}
    figures = {"cpu": outcome.cpu, "mb": outcome.mb}
    if outcome.w is not None:
        figures["objective"] = primal(data, task, outcome.w)
    if data.test is not None and (outcome.w is not None or outcome.yhat is not None):
        figures["error"] = error(data, outcome.w, outcome.yhat)
    return figures


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
