"""Many sequences with heavy tokens: CPU seconds and peak memory until the default gap is certified.

Each token has 25 features out of 100,000, some of them frequent, and one of six labels that follows a linear
rule and the label before, with noise: some labels cannot be learnt. C is 0.1 per example. Each row comes from
a fresh process with one thread; `held` is the largest number of cuts at a time.
STRUCTMARGIN_BENCH_LONG=1 adds 64,000 sequences, which take minutes and gigabytes.
"""

from __future__ import annotations

import json
import math
import os
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from fresh import in_fresh_process, measured
from ledger import Ledger
from race import solvers

SIZES = (1_000, 4_000, 64_000) if os.environ.get("STRUCTMARGIN_BENCH_LONG") else (1_000, 4_000)
SLOW = {"one_slack": "which takes minutes"}
D, L, PER_TOKEN, C_PER_EXAMPLE = 100_000, 6, 25, 0.1


def heavy(n: int) -> tuple[list[sp.csr_matrix], list[np.ndarray]]:
    """n sequences of 8 to 12 tokens, and their labels."""
    rng = np.random.default_rng(0)
    W, T = rng.normal(size=(D, L)).astype(np.float32), rng.normal(size=(L, L))
    lengths = rng.integers(8, 13, size=n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.sort((D * rng.random((offsets[-1], PER_TOKEN)) ** 2).astype(np.int32), axis=1)
    starts = PER_TOKEN * np.arange(offsets[-1] + 1)
    tokens = sp.csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(offsets[-1], D))
    tokens.sum_duplicates()
    scores = (tokens @ W) / np.sqrt(PER_TOKEN) + rng.normal(size=(offsets[-1], L))
    X, Y = [], []
    for lo, hi in pairwise(offsets):
        y = [int(np.argmax(scores[lo]))]
        for row in scores[lo + 1 : hi]:
            y.append(int(np.argmax(row + 0.5 * T[y[-1]])))
        X.append(tokens[lo:hi])
        Y.append(np.array(y))
    return X, Y


def trained(solver: str, X: Any, Y: Any) -> dict[str, Any]:
    """Train to the default gap."""
    from structmargin import StructuredSVM
    from structmargin.problems import Sequence

    fit = StructuredSVM(Sequence(), solver=solver, C_per_example=C_PER_EXAMPLE).fit(X, Y).fit_
    return {
        "objective": fit.primal,
        "gap": fit.relative_gap,
        "passes": fit.n_iter,
        "cuts": fit.n_constraints,
        "held": max(row["held"] for row in fit.trace),
    }


def measurement(n: int, solver: str) -> dict[str, Any]:
    """One row."""
    X, Y = heavy(n)
    return measured(lambda: trained(solver, X[:50], Y[:50]), lambda: trained(solver, X, Y))


def main() -> None:
    """Print the table."""
    from structmargin.problems import Sequence

    rows: list[dict[str, Any]] = []
    for solver in solvers(Sequence(L, D), "SVM1 margin"):
        if solver in SLOW:
            continue
        before: dict[str, Any] = {}
        for n in SIZES:
            row = {"n": n, "solver": solver, **in_fresh_process(__file__, str(n), solver)}
            if before:
                row["growth"] = math.log(row["cpu"] / before["cpu"]) / math.log(n / before["n"])
            rows.append(row)
            before = row
    text = f"8 to 12 tokens with {PER_TOKEN} of {D} features, {L} labels, C = {C_PER_EXAMPLE} per example."
    text += "".join(f" Left out: {name}, {why}." for name, why in SLOW.items())
    columns = ["n", "solver", "objective", "gap", "cpu", "growth", "mb", "grew_mb", "passes", "cuts", "held"]
    with Ledger("sequences") as ledger:
        ledger.add("Many sequences with heavy tokens", rows, columns, text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(int(sys.argv[1]), sys.argv[2])))
    else:
        main()
