"""F1, break-even point, ROC area and error rate: CPU seconds to epsilon, for growing numbers of rows.

Two Gaussian clouds, 100 features, 5% positive; one_slack, 'SVM1 margin', C = 500, eps = 0.001, an intercept
where prediction is by sign. Each figure comes from a fresh process with one thread, code compiled beforehand.
Where STRUCTMARGIN_SVM_PERF names a folder with `svm_perf_learn`, it runs on the same rows with C and epsilon
on its own scale (see `PERF_C`); its seconds are those it prints, without reading the file. The last table has
a search over all P N contingency tables, which slack re-scaling needs, beside the search of margin
re-scaling, which takes O(n log n).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured, table

C, EPS, N_FEATURES = 500.0, 1e-3, 100
MEASURES = {"f1": 1, "prbep": 3, "roc_area": 10, "error_rate": 2}  # with SVM-perf's numbers for them
# SVM-perf's losses run to 100, so its eps is 100 times ours; a gap of 2/n <w, x> is there 100/n <w, x>, so
# that its w is twice ours at C / 25, and with the ROC area, whose gaps have no 2, w is the same at C / 100.
PERF_C = {"f1": C / 25, "prbep": C / 25, "roc_area": C / 100, "error_rate": C / 25}
SIZES = (5_000, 10_000, 20_000, 40_000, 80_000)


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (n, N_FEATURES) and labels (n,) of -1 and +1."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 20 == 0, 1, -1)
    shift = rng.standard_normal(N_FEATURES)
    return rng.standard_normal((n, N_FEATURES)) + np.outer(y > 0, 2.5 * shift / np.linalg.norm(shift)), y


def intercept(measure: str) -> float:
    """The value of the constant feature: 0 where only the ranking counts."""
    return 1.0 if measure in ("f1", "error_rate") else 0.0


def ours(measure: str, n: int) -> dict[str, Any]:
    """Train on n rows by one_slack."""
    from structmargin import StructuredSVM
    from structmargin.problems import Measure

    X, y = sample(n)
    problem = Measure(measure, intercept=intercept(measure))

    def train(rows: int, eps: float) -> dict[str, Any]:
        model = StructuredSVM(problem, solver="one_slack", C=C, eps=eps).fit(X[:rows], y[:rows])
        fit = model.fit_
        return {
            "objective": fit.primal, "gap": fit.relative_gap, "passes": fit.n_iter,
            "ms per search": 1e3 * fit.seconds_search / fit.oracle_calls, "train loss": -model.score(X, y),
        }  # fmt: skip

    return measured(lambda: train(400, 0.1), lambda: train(n, EPS))


def svm_perf(measure: str, n: int) -> dict[str, Any]:
    """Train on the same n rows by SVM-perf."""
    X, y = sample(n)
    program = Path(os.environ["STRUCTMARGIN_SVM_PERF"]) / "svm_perf_learn"
    with tempfile.TemporaryDirectory() as name:
        rows, model = Path(name) / "rows", Path(name) / "model"
        with open(rows, "w") as out:
            for x, label in zip(X, y, strict=True):
                out.write(f"{label} " + " ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(x)) + "\n")
        options = {"-c": PERF_C[measure], "-e": 100 * EPS, "-l": MEASURES[measure], "--b": intercept(measure)}
        words = [word for option, value in options.items() for word in (option, f"{value:g}")]
        done = subprocess.run(
            [str(program), *words, str(rows), str(model)], check=True, capture_output=True, text=True
        )
        printed = re.search(r"cpu-seconds: *([0-9.]+)", done.stdout)
        if printed is None or not model.exists():
            raise RuntimeError(f"svm_perf_learn wrote no model or no time:\n{done.stdout[-500:]}")
        return {"cpu": float(printed[1])}


def searches(n: int) -> dict[str, Any]:
    """Milliseconds of one search over n rows, for each measure and scaling."""
    from structmargin.formulation import FORMULATIONS
    from structmargin.oracles.contingency import worst_labelling
    from structmargin.problems import Measure

    X, y = sample(n)
    scores = X @ np.random.default_rng(1).standard_normal(N_FEATURES)
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


RUNS = {"ours": ours, "svm_perf": svm_perf}


def main() -> None:
    """Print the tables."""
    rows = []
    for measure in MEASURES:
        row = in_fresh_process(__file__, "ours", measure, "20000")
        rows.append({"measure": measure, **row})
        if os.environ.get("STRUCTMARGIN_SVM_PERF"):
            peer = in_fresh_process(__file__, "svm_perf", measure, "20000")
            rows[-1] |= {"SVM-perf cpu": peer["cpu"], "ratio": peer["cpu"] / row["cpu"]}
    print(f"20,000 x {N_FEATURES}, 5% positive, C = {C:g}, eps = {EPS:g}")
    columns = ["measure", "cpu", "passes", "ms per search", "objective", "gap", "train loss", "grew_mb"]
    print(table(rows, [*columns, "SVM-perf cpu", "ratio"]))
    if not os.environ.get("STRUCTMARGIN_SVM_PERF"):
        print("SVM-perf is left out: STRUCTMARGIN_SVM_PERF names no folder")

    rows = [
        {"rows": n, **{m: in_fresh_process(__file__, "ours", m, str(n))["cpu"] for m in MEASURES}}
        for n in SIZES
    ]
    print("\nCPU seconds by number of rows")
    print(table(rows, ["rows", *MEASURES]))

    by_size = [{"rows": n, **in_fresh_process(__file__, "searches", "", str(n))} for n in SIZES[:3]]
    print("\nmilliseconds of one search, given the scores")
    print(table(by_size, ["rows", *list(by_size[0])[1:]]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        what, measure, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
        print(json.dumps(searches(n) if what == "searches" else RUNS[what](measure, n)))
    else:
        main()
