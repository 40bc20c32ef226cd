"""The searches of a problem over given examples, by its batch or one by one, on as many jobs as there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from structmargin.adapted import AdaptedBatch, AdaptedProblem
from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.inputs.containers import count
from structmargin.problem import Scorer
from structmargin.training.parallel.jobs import Jobs, Pace
from structmargin.training.parallel.one_by_one import OneByOne
from structmargin.training.parallel.workers import Workers


class Searches(Protocol):
    """Both searches over the examples."""

    def search(self, f: Scorer, indices: np.ndarray, H: Cost, most: int) -> Cuts:
        """The most violated output of each of the examples, up to `most` where that is cheap."""

    def argmax(self, f: Scorer) -> Sequence[Any]:
        """The best-scoring output of every example."""


class BatchSearches:
    """Those of a batch, divided among threads as finely as it allows."""

    def __init__(self, batch: AdaptedBatch, n: int, jobs: Jobs) -> None:
        self.batch, self.n, self.jobs = batch, n, jobs
        self._search_pace, self._argmax_pace = Pace(), Pace()

    def search(self, f: Scorer, indices: np.ndarray, H: Cost, most: int) -> Cuts:
        batch = self.batch

        def of(part: np.ndarray) -> Cuts:
            return batch.search_many(f, part, H, most) if most > 1 else batch.search(f, part, H)

        return Cuts.joined(self.jobs.divided(of, indices, batch.grain, self._search_pace))

    def argmax(self, f: Scorer) -> Sequence[Any]:
        if self.batch.grain == 0:
            return self.batch.argmax(f)
        return self.batch.combined(
            self.jobs.divided(
                lambda part: self.batch.argmax(f, part),
                np.arange(self.n),
                self.batch.grain,
                self._argmax_pace,
            )
        )


class ExampleSearches:
    """Those of a problem without a batch, or whose batch takes no kernels, on joblib's workers."""

    def __init__(self, searches: OneByOne, n: int, jobs: Jobs) -> None:
        self.n, self.workers = n, Workers(searches, jobs)
        self._search_pace, self._argmax_pace, self._k_best_pace = Pace(), Pace(), Pace()

    def search(self, f: Scorer, indices: np.ndarray, H: Cost, most: int) -> Cuts:
        return Cuts.joined(self.workers.run("search", f, indices, self._search_pace))

    def argmax(self, f: Scorer) -> list[Any]:
        parts = self.workers.run("argmax", f, np.arange(self.n), self._argmax_pace)
        return [output for part in parts for output in part]

    def k_best(self, f: Scorer, k: int) -> list[list[tuple[float, Any]]]:
        """The k best outputs of every example with their scores."""
        parts = self.workers.run("k_best", f, np.arange(self.n), self._k_best_pace, k)
        return [outputs for part in parts for outputs in part]


def example_searches(
    problem: AdaptedProblem, X: Any, Y: Any, H: Cost | None, explicit: bool, jobs: Jobs
) -> ExampleSearches:
    """The searches of examples one by one."""
    return ExampleSearches(OneByOne(problem, X, Y, H, explicit), count(X), jobs)


def searches_of(
    problem: AdaptedProblem,
    batch: AdaptedBatch | None,
    X: Any,
    Y: Any,
    H: Cost | None,
    explicit: bool,
    jobs: Jobs,
) -> Searches:
    """Those of the batch, where there is one that can be used, or else of the problem itself."""
    if batch is None or not (explicit or batch.takes_kernels):
        return example_searches(problem, X, Y, H, explicit, jobs)
    return BatchSearches(batch, count(X), jobs)
