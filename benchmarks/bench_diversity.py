"""Diverse subsets: queries per second in training and prediction, and greedy search beside exact search.

The made-up collection of the experiment, 50 documents of about 120 words per query, K = 5. Training is
n_slack, 'SVM1 margin', C = 1000, eps = 0.001. Each figure comes from a fresh process with one thread, code
compiled beforehand. The last table has the time of a greedy and of an exact search with the first n documents
as candidates, and the share of the best value that greedy reaches, with the weights r log 1/r, which
are not negative.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from fresh import in_fresh_process, measured
from ledger import Ledger

SIZES = (10, 20, 40)
CANDIDATES = (10, 15, 20)
K = 5


def queries(n: int) -> tuple[list[Any], list[Any]]:
    """n queries of the made-up collection, and their true selections."""
    from structmargin_suite.datasets import _subtopics, collection

    return _subtopics.examples(collection.synthesize(0, queries=n), K, "labelled")


def training(n: int) -> dict[str, Any]:
    """Train and predict on n queries."""
    from structmargin import StructuredSVM
    from structmargin.problems import Diversity

    X, Y = queries(n)
    problem = Diversity(X[0].phi.shape[1], K)

    def train(m: int) -> dict[str, Any]:
        model = StructuredSVM(problem, C=1000.0, eps=1e-3, max_iter=300).fit(X[:m], Y[:m])
        began = time.process_time()
        for _ in range(10):
            model.predict(X[:m])
        seconds = (time.process_time() - began) / 10
        fit = model.fit_
        return {
            "passes": fit.n_iter, "searches per second": fit.oracle_calls / fit.seconds_search,
            "predicted per second": m / seconds,
        }  # fmt: skip

    return measured(lambda: train(2), lambda: train(n))


def searches(n: int) -> dict[str, Any]:
    """Greedy and exact search with n candidates per query."""
    from structmargin.oracles.greedy import best_subset, coverage, greedy
    from structmargin_suite.baselines.word_coverage import coverage_of

    X, _ = queries(20)
    for _ in range(2):  # the first time compiles
        spent, shares = {"greedy": 0.0, "exact": 0.0}, []
        for x in X:
            indptr, items, worth = coverage_of(x, "entropy")
            first = indptr[: n + 1], items[: indptr[n]]
            began = time.process_time()
            chosen = greedy(*first, worth, K)
            middle = time.process_time()
            best, _ = best_subset(*first, worth, K)
            spent["greedy"] += middle - began
            spent["exact"] += time.process_time() - middle
            shares.append(coverage(*first, worth, chosen) / best)
    return {
        "greedy, us": 1e6 * spent["greedy"] / len(X), "exact, us": 1e6 * spent["exact"] / len(X),
        "share reached, mean": float(np.mean(shares)), "share reached, smallest": float(np.min(shares)),
    }  # fmt: skip


RUNS = {"training": training, "searches": searches}


def main() -> None:
    """Print the tables."""
    rows = [{"queries": n, **in_fresh_process(__file__, "training", str(n))} for n in SIZES]
    columns = ["queries", "cpu", "passes", "searches per second", "predicted per second", "grew_mb"]
    comparison = [{"candidates": n, **in_fresh_process(__file__, "searches", str(n))} for n in CANDIDATES]
    with Ledger("diversity") as ledger:
        ledger.add(f"Diverse subsets: training and prediction, K = {K}", rows, columns)
        ledger.add("Diverse subsets: greedy beside exact search", comparison, list(comparison[0]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(RUNS[sys.argv[1]](int(sys.argv[2]))))
    else:
        main()
