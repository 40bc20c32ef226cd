"""F1, break-even point, ROC area and error rate beside SVM-perf, growth with the rows, and the searches.

See `tasks.py` for the task and `duel.py` for how programs are compared. The last table has a search over all
P N contingency tables, which slack re-scaling needs, beside the search of margin re-scaling, which takes
O(n log n). With words after the name, only these measures: `python benchmarks/bench_measures.py f1`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from duel import COLUMNS, GROWTH, compare, growth
from fresh import in_fresh_process
from ledger import Ledger
from peers.svm_perf import LOSS
from tasks import TASKS, measure_rows

SIZES = (5_000, 10_000, 20_000)


def searches(n: int) -> dict[str, Any]:
    """Milliseconds of one search over n rows, for each measure and scaling."""
    from structmargin.formulation import FORMULATIONS
    from structmargin.oracles.contingency import worst_labelling
    from structmargin.problems import Measure

    data = measure_rows(n, "f1")
    y = data.Y
    scores = data.X @ np.random.default_rng(1).standard_normal(data.X.shape[1])
    figures: dict[str, Any] = {}
    for measure in ("f1", "prbep", "error_rate"):
        for name in ("SVM1 margin", "SVM1 slack"):
            losses, H = Measure(measure).table(y), FORMULATIONS[name].H
            worst_labelling(scores[:100], y[:100], Measure(measure).table(y[:100]), H)
            seconds = []
            for _ in range(3):
                began = time.process_time()
                worst_labelling(scores, y, losses, H)
                seconds.append(time.process_time() - began)
            figures[f"{measure}, {name}"] = 1e3 * min(seconds)
    return figures


def main(measures: list[str]) -> None:
    """Measure all, or some."""
    with Ledger("measures") as ledger:
        for name in measures:
            ledger.add(TASKS[name].title, compare(name), COLUMNS, TASKS[name].text)
        if measures != list(LOSS):
            raise SystemExit("Only some measures: nothing is kept for README.md")
        for name in ("f1", "roc_area"):
            ledger.add(f"{TASKS[name].title}, more and more rows", growth(name), GROWTH)
        by_size = [{"rows": n, **in_fresh_process(__file__, "searches", str(n))} for n in SIZES]
        ledger.add("Milliseconds of one search, given the scores", by_size, list(by_size[0]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["searches"]:
        print(json.dumps(searches(int(sys.argv[2]))))
    else:
        main(sys.argv[1:] or list(LOSS))
