"""The time on the wall with one job and with two: on threads, and in processes for a problem in Python.

One process does all trainings, one job and two in turn, and shows the best of REPEATS of each; that the
models are the same to the bit is checked on the way. Trees are GUM's where the data are there, else made up.
"""

from __future__ import annotations

import time
import warnings
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from ledger import Ledger
from samples import data_folder

from structmargin import StructuredSVM
from structmargin.problem import best_of, top_of
from structmargin.problems import Grammar, Sequence
from structmargin_suite.datasets import gum, pcfg
from structmargin_suite.datasets._treebanks import view

REPEATS, N_TREES, N_CHAINS, N_ORDERS = 2, 500, 350, 120
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


class Orders:
    """Five items in the order of their scores, searched among all orders in Python."""

    orders = tuple(permutations(range(5)))

    def psi(self, x: np.ndarray, y: tuple[int, ...]) -> np.ndarray:
        return np.array([5.0, 4.0, 3.0, 2.0, 1.0]) @ x[list(y)]

    def delta(self, y: tuple[int, ...], ybar: tuple[int, ...]) -> float:
        return float(sum(a != b for a, b in zip(y, ybar, strict=True)))

    def argmax(self, f: Any, x: np.ndarray) -> tuple[int, ...]:
        return top_of(f, x, self.orders)

    def augmented_argmax(self, f: Any, x: np.ndarray, y: tuple[int, ...], H: Any) -> tuple[int, ...]:
        return best_of(self, f, x, y, H, self.orders)


def ranked(n: int) -> tuple[list[np.ndarray], list[tuple[int, ...]]]:
    """Features of items, and their orders by a score with noise."""
    rng = np.random.default_rng(0)
    X, w = list(rng.normal(size=(n, 5, 8))), rng.normal(size=8)
    return X, [tuple(map(int, np.argsort(-(x @ w + rng.normal(size=5))))) for x in X]


def parsed() -> tuple[Any, str]:
    """(training examples, the name of the corpus): GUM if it is available, else the made-up language."""
    files = {remote.name: data_folder() / remote.mirror for remote in gum.FILES}
    if all(path.is_file() for path in files.values()):
        return view(gum.parse(files, 0, longest=10, roots="clauses"), 0).train, "GUM"
    return view(pcfg.synthesize(0, longest=10, at_most=1500), 0).train, "made up"


def trainings() -> list[Training]:
    """Trees with the F1 loss by margin and slack, a chain, and a problem whose search is a loop in Python."""
    train, origin = parsed()
    X, Y = train.X[:N_TREES], train.Y[:N_TREES]
    rows = [
        Training(f"trees ({origin}), {name}, F1 loss", StructuredSVM(Grammar(), name, C=1.0, eps=0.01), X, Y)
        for name in ("SVM1 margin", "SVM2 margin", "SVM2 slack")
    ]
    chain = StructuredSVM(Sequence(26, 128), C_per_example=0.1, gap_tol=1e-3)
    by_squares = StructuredSVM(Sequence(26, 128), "SVM2 slack", C_per_example=0.1, gap_tol=1e-2)
    sequences = chains(N_CHAINS, 26, 128)
    rows += [
        Training("chains, SVM1 margin", chain, *sequences),
        Training("chains, SVM2 slack", by_squares, *sequences),
        Training("orders, a loop in Python", StructuredSVM(Orders(), C_per_example=0.1), *ranked(N_ORDERS)),
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
        "1 job, s": one,
        "2 jobs, s": two,
        "ratio": two / one,
    }


def main() -> None:
    """Measure the table."""
    columns = ["training", "n", "search", "1 job, s", "2 jobs, s", "ratio"]
    with Ledger("jobs") as ledger:
        rows = [row(training) for training in trainings()]
        ledger.add("One job and two", rows, columns, "Seconds on the wall; the same model to the bit.")


if __name__ == "__main__":
    main()
