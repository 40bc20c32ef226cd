"""Many sequences: CPU seconds and peak memory until the default gap is certified, and how both grow.

A token has some of many features, some of them frequent, and one of six labels that follows a linear rule and
the label before, with noise: some labels cannot be learnt. 8 to 12 heavy tokens have 25 features of 100,000
each; 4 to 6 light ones, with which growth is measured to 64,000 sequences, 5 of 10,000. Each row
comes from a fresh process with one thread; `held` is the largest number of cuts at a time. A training that is
not done after LIMIT CPU seconds has a row that says so. STRUCTMARGIN_BENCH_LONG=1 adds 64,000 sequences with
heavy tokens, which take minutes and gigabytes, and has no limit.
"""

from __future__ import annotations

import json
import math
import os
import sys
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from fresh import in_fresh_process, measured
from ledger import Ledger
from race import OutOfTime, solvers, within

L = 6
LONG = bool(os.environ.get("STRUCTMARGIN_BENCH_LONG"))
LIMIT = None if LONG else 40.0


class Tokens(NamedTuple):
    """So many of so many features a token has, and what is trained on: C, sizes, solvers left out."""

    D: int
    per_token: int
    lengths: tuple[int, int]  # the shortest and the longest sequence
    C_per_example: float
    sizes: tuple[int, ...]
    slow: dict[str, str] = {}  # noqa: RUF012


TOKENS = {
    "heavy": Tokens(
        100_000,
        25,
        (8, 12),
        0.1,
        (1_000, 4_000, 64_000) if LONG else (1_000, 2_000),
        {"one_slack": "which takes minutes"},
    ),
    "light": Tokens(10_000, 5, (4, 6), 0.02, (4_000, 64_000)),
}


def sequences(kind: str, n: int) -> tuple[list[sp.csr_matrix], list[np.ndarray]]:
    """n sequences and their labels."""
    D, PER_TOKEN, (shortest, longest), *_ = TOKENS[kind]
    rng = np.random.default_rng(0)
    W, T = rng.normal(size=(D, L)).astype(np.float32), rng.normal(size=(L, L))
    lengths = rng.integers(shortest, longest + 1, size=n)
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


def trained(solver: str, C_per_example: float, X: Any, Y: Any) -> dict[str, Any]:
    """Train to the default gap."""
    from structmargin import StructuredSVM
    from structmargin.problems import Sequence

    try:
        with within(LIMIT):
            fit = StructuredSVM(Sequence(), solver=solver, C_per_example=C_per_example).fit(X, Y).fit_
    except OutOfTime:
        return {"note": f"not within {LIMIT:g} s"}
    return {
        "objective": fit.primal,
        "gap": fit.relative_gap,
        "passes": fit.n_iter,
        "cuts": fit.n_constraints,
        "held": max(row["held"] for row in fit.trace),
    }


def measurement(kind: str, n: int, solver: str) -> dict[str, Any]:
    """One row."""
    X, Y = sequences(kind, n)
    C = TOKENS[kind].C_per_example
    return measured(lambda: trained(solver, C, X[:50], Y[:50]), lambda: trained(solver, C, X, Y))


def rows_of(kind: str) -> list[dict[str, Any]]:
    """All solvers on all sizes, with the exponent from size to size."""
    from structmargin.problems import Sequence

    tokens = TOKENS[kind]
    rows: list[dict[str, Any]] = []
    for solver in solvers(Sequence(L, tokens.D), "SVM1 margin"):
        if solver in tokens.slow:
            continue
        before: dict[str, Any] = {}
        for n in tokens.sizes:
            row = {"n": n, "solver": solver, **in_fresh_process(__file__, kind, str(n), solver)}
            if "note" in row:
                del row["cpu"]
            elif before:
                row["growth"] = math.log(row["cpu"] / before["cpu"]) / math.log(n / before["n"])
            rows.append(row)
            before = row if "cpu" in row else before
    return rows


def main() -> None:
    """Print the tables."""
    columns = [
        "n", "solver", "objective", "gap", "cpu", "growth", "mb", "grew_mb", "passes", "cuts", "held", "note",
    ]  # fmt: skip
    with Ledger("sequences") as ledger:
        for kind, tokens in TOKENS.items():
            text = (
                f"{tokens.lengths[0]} to {tokens.lengths[1]} tokens with {tokens.per_token} of {tokens.D} "
                f"features, {L} labels, C = {tokens.C_per_example} per example."
            )
            text += "".join(f" Left out: {name}, {why}." for name, why in tokens.slow.items())
            ledger.add(f"Many sequences with {kind} tokens", rows_of(kind), columns, text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        kind, n, solver = sys.argv[1:]
        print(json.dumps(measurement(kind, int(n), solver)))
    else:
        main()
