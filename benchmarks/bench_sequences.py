"""Many sequences with heavy tokens: CPU seconds and peak memory until the default gap is certified.

Each token has 25 features out of 100,000, some of them frequent, and one of six labels that follows a linear
rule and the label before, with noise: some labels cannot be learnt. C is 0.1 per example. Each row comes from
a fresh process with one thread; `held` is the largest number of cuts at a time.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from fresh import in_fresh_process, measured, table

SIZES = (4_000, 64_000)
SOLVERS = ("n_slack", "bcfw")
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
    rows = [
        {"n": n, "solver": solver, **in_fresh_process(__file__, str(n), solver)}
        for n in SIZES
        for solver in SOLVERS
    ]
    print(f"sequences of 8 to 12 tokens with {PER_TOKEN} of {D} features, {L} labels")
    print(table(rows, ["n", "solver", "objective", "gap", "cpu", "mb", "grew_mb", "passes", "cuts", "held"]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measurement(int(sys.argv[1]), sys.argv[2])))
    else:
        main()
