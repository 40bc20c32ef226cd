"""The time on the wall with one job and with two: on threads, and in processes for a problem in Python.

One process does all trainings, one job and two in turn, and shows the best of three of each; that the models
are the same to the bit is checked on the way. Trees are GUM's where the data are there, else made up.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, NamedTuple

from fresh import ONE_THREAD, table

os.environ.update(ONE_THREAD)

import numpy as np
from bench_cky import training_part
from bench_guide import Tags

from structmargin import StructuredSVM
from structmargin.problems import Grammar, Sequence

REPEATS = 3
JOBS = (1, 2)


class Training(NamedTuple):
    """One row of the table."""

    name: str
    model: StructuredSVM
    X: Any
    Y: Any


def chains(n: int, n_labels: int, n_features: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Dense sequences of 5 to 12 tokens, with noise."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(int(T), n_features)) for T in rng.integers(5, 13, size=n)]
    W = rng.normal(size=(n_features, n_labels))
    return X, [np.argmax(x @ W + 3.0 * rng.normal(size=(len(x), n_labels)), axis=1) for x in X]


def tagged(n: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Items with features and their tags."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    scores = X @ rng.normal(size=(10, 5)) + rng.normal(size=(n, 5))
    return X, [tuple(int(on) for on in row) for row in scores > 0]


def trainings() -> list[Training]:
    """Trees with the F1 loss by margin and slack, a chain, and a problem whose search is a loop in Python."""
    train, origin = training_part()
    X, Y = train.X[:1500], train.Y[:1500]
    rows = [
        Training(f"trees ({origin}), {name}, F1 loss", StructuredSVM(Grammar(), name, C=1.0, eps=0.01), X, Y)
        for name in ("SVM1 margin", "SVM2 margin", "SVM2 slack")
    ]
    chain = StructuredSVM(Sequence(26, 128), C_per_example=0.1, gap_tol=1e-3)
    by_squares = StructuredSVM(Sequence(26, 128), "SVM2 slack", C_per_example=0.1, gap_tol=1e-2)
    sequences = chains(700, 26, 128)
    rows += [
        Training("chains, SVM1 margin", chain, *sequences),
        Training("chains, SVM2 slack", by_squares, *sequences),
        Training("tags, a loop in Python", StructuredSVM(Tags(), C_per_example=0.1), *tagged(300)),
    ]
    return rows


def row(training: Training) -> dict[str, Any]:
    """Seconds on the wall for each number of jobs, the share of the search, and the ratio."""
    name, model, X, Y = training
    seconds: dict[int, list[float]] = {n_jobs: [] for n_jobs in JOBS}
    weights = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n_jobs in JOBS:
            model.set_params(n_jobs=n_jobs).fit(X[:20], Y[:20])
        for _ in range(REPEATS):
            for n_jobs in JOBS:
                began = time.perf_counter()
                model.set_params(n_jobs=n_jobs).fit(X, Y)
                seconds[n_jobs].append(time.perf_counter() - began)
                weights.append(model.w_.tobytes())
    assert len(set(weights)) == 1
    one, two = (min(seconds[n_jobs]) for n_jobs in JOBS)
    return {
        "training": name,
        "n": len(Y),
        "search": f"{model.fit_.seconds_search / model.fit_.seconds:.0%}",
        "1 job": f"{one:.2f} s",
        "2 jobs": f"{two:.2f} s",
        "ratio": f"{two / one:.2f}",
    }


if __name__ == "__main__":
    rows = [row(training) for training in trainings()]
    print(table(rows, ["training", "n", "search", "1 job", "2 jobs", "ratio"]))
