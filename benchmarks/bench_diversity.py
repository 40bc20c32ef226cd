"""Diverse subsets: queries a second, predicted and trained, and greedy beside the exact search.

The made-up collection of the experiment, 50 documents of about 120 words a query, K = 5. Training is
n_slack, 'SVM1 margin', C = 1000, eps = 0.001. Each figure is of a process of its own, one thread, compiled
beforehand. The last table has how long a greedy and an exact search take with the first n documents as
candidates, and what greedy reaches of the best with the weights of Essential Pages, which are not negative.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured, table

SIZES = (10, 20, 40)
CANDIDATES = (10, 15, 20)
K = 5


def queries(n: int) -> tuple[list[Any], list[Any]]:
    from structmargin_suite.datasets import _subtopics, collection

    return _subtopics.examples(collection.synthesize(0, queries=n), K, "labelled")


def training(n: int) -> dict[str, Any]:
    from structmargin import StructuredSVM
    from structmargin.problems import Diversity

    X, Y = queries(n)
    problem = Diversity(X[0].phi.shape[1], K)

    def train(m: int) -> dict[str, Any]:
        model = StructuredSVM(problem, C=1000.0, eps=1e-3, max_iter=300).fit(X[:m], Y[:m])
        began = time.process_time()
        for _ in range(10):
            model.predict(X[:m])
        spent = (time.process_time() - began) / 10
        fit = model.fit_
        return {
            "passes": fit.n_iter, "searches a second": fit.oracle_calls / fit.seconds_search,
            "predicted a second": m / spent,
        }  # fmt: skip

    return measured(lambda: train(2), lambda: train(n))


def searches(n: int) -> dict[str, Any]:
    from structmargin.oracles.greedy import best_subset, coverage, greedy
    from structmargin_suite.baselines.word_coverage import coverage_of

    X, _ = queries(20)
    spent, shares = {"greedy": 0.0, "exact": 0.0}, []
    for _ in range(2):  # the first time compiles
        spent, shares = {"greedy": 0.0, "exact": 0.0}, []
        for x in X:
            indptr, items, worth = coverage_of(x, "entropy")
            few = indptr[: n + 1], items[: indptr[n]]
            began = time.process_time()
            chosen = greedy(*few, worth, K)
            middle = time.process_time()
            best, _ = best_subset(*few, worth, K)
            spent["greedy"] += middle - began
            spent["exact"] += time.process_time() - middle
            shares.append(coverage(*few, worth, chosen) / best)
    return {
        "us a greedy one": 1e6 * spent["greedy"] / len(X), "us an exact one": 1e6 * spent["exact"] / len(X),
        "reached, mean": float(np.mean(shares)), "reached, least": float(np.min(shares)),
    }  # fmt: skip


RUNS = {"training": training, "searches": searches}


def main() -> None:
    rows = [{"queries": n, **in_fresh_process(__file__, "training", str(n))} for n in SIZES]
    print(f"training and prediction, K = {K}")
    print(table(rows, ["queries", "cpu", "passes", "searches a second", "predicted a second", "grew_mb"]))
    found = [{"candidates": n, **in_fresh_process(__file__, "searches", str(n))} for n in CANDIDATES]
    print("\ngreedy beside the exact search")
    print(table(found, list(found[0])))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(RUNS[sys.argv[1]](int(sys.argv[2]))))
    else:
        main()
