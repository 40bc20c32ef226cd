"""Diversified search results: losses by query, what greedy reaches (cacm09 Section 3.1, Figures 3 and 4)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin.oracles.greedy import best_subset, coverage, greedy
from structmargin.problems.diversity.problem import Candidates, Selection, best_selection, joined, missed
from structmargin_suite.results import ExperimentResults

MAX_CANDIDATES = 16  # documents of a query of which the best subset is found by trying all
SETS = 200  # random sets of a query, for the correlation of words with subtopics
BOUND = 1.0 - 1.0 / np.e


@functools.cache  # used by several statements
def losses(experiment: ExperimentResults, run: str) -> dict[str, float]:
    """The subtopic loss of each test query of a run."""
    test: Any = experiment.split(run).test
    selections = experiment.model(run).predict(test.X)
    return {x.name: missed(y, yhat.documents) for x, y, yhat in zip(test.X, test.Y, selections, strict=True)}


def queries(experiment: ExperimentResults, runs: pd.DataFrame) -> dict[str, tuple[Any, Selection]]:
    """The test queries of some runs with their subtopics, each once."""
    found: dict[str, tuple[Any, Selection]] = {}
    for run in runs["run"]:
        test: Any = experiment.split(run).test
        for x, y in zip(test.X, test.Y, strict=True):
            found.setdefault(x.name, (x, y))
    return found


def share_with_several(pairs: Iterable[tuple[Any, Selection]]) -> float:
    """The share of documents that have two subtopics or more."""
    several = [has for _, y in pairs if y.subtopics is not None for has in y.subtopics.sum(axis=1) > 1]
    return float(np.mean(several)) if several else 0.0


def gain_together(y: Selection) -> float:
    """What the best set found covers beyond the documents that each cover the most, as a share."""
    assert y.subtopics is not None and y.weights is not None
    each = np.argsort(-(y.subtopics @ y.weights), kind="stable")[: len(y.documents)]
    return missed(y, each) - missed(y, y.documents)


def correlation_with_words(x: Any, y: Selection, seed: int) -> float:
    """Rank correlation of distinct words and covered subtopics over random sets; nan if one is constant."""
    from scipy.stats import spearmanr  # takes most of a second to load

    rng = np.random.default_rng(seed)
    has = np.asarray((x.counts > 0).todense(), dtype=bool)
    sets = [rng.permutation(len(x))[: len(y.documents)] for _ in range(SETS)]
    words = [int(has[chosen].any(axis=0).sum()) for chosen in sets]
    covered = [1.0 - missed(y, chosen) for chosen in sets]
    if np.ptp(words) == 0 or np.ptp(covered) < 1e-12:
        return float("nan")
    return float(spearmanr(words, covered).statistic)


class Ratio(NamedTuple):
    """Greedy coverage over the best, smallest and mean, and how many searches could be compared."""

    least: float
    mean: float
    n: int

    def __str__(self) -> str:
        return f"at least {self.least:.3f}, {self.mean:.3f} on average, of {self.n} searches"


def ratios(pairs: Sequence[tuple[float, float]]) -> np.ndarray:
    """Greedy over best, of (greedy, best) pairs with a best above 0."""
    return np.array([reached / best for reached, best in pairs if best > 1e-12])


def summary(values: np.ndarray) -> Ratio | None:
    """Ratios in three numbers; None without any."""
    return Ratio(float(values.min()), float(values.mean()), len(values)) if len(values) else None


def compared(indptr: np.ndarray, items: np.ndarray, worth: np.ndarray, K: int) -> tuple[float, float]:
    """(coverage that greedy reaches, the best) of K of the first `MAX_CANDIDATES` sets."""
    n = min(MAX_CANDIDATES, len(indptr) - 1)
    subset = indptr[: n + 1], items[: indptr[n]]
    reached = coverage(*subset, worth, greedy(*subset, worth, K))
    return float(reached), float(best_subset(*subset, worth, K)[0])


def subtopic_coverage(y: Selection) -> tuple[float, float]:
    """(coverage that greedy reaches, the best), with the query's subtopics as items."""
    import scipy.sparse as sp

    assert y.subtopics is not None and y.weights is not None
    has = sp.csr_matrix(y.subtopics, dtype=float)
    return compared(has.indptr.astype(np.int64), has.indices.astype(np.int64), y.weights, len(y.documents))


def short_of_most_violated(problem: Any, x: Any, y: Selection, worth: np.ndarray) -> float:
    """By how much greedy misses the largest H, with the first `MAX_CANDIDATES` documents as candidates."""
    n = min(MAX_CANDIDATES, len(x))
    subset = Candidates(x.indptr[: n + 1], x.items[: x.indptr[n]], x.phi)
    assert y.subtopics is not None
    subtopics = y.subtopics[:n]
    truth = best_selection(subset, subtopics[:, subtopics.any(axis=0)], problem.K)
    whole = joined(subset, truth.subtopics)  # type: ignore[arg-type]
    values = []
    for exact in (False, True):
        documents = problem.with_params(exact=exact).violator(worth, subset, truth, *whole).documents
        covered = coverage(subset.indptr, subset.items, worth, documents)
        values.append(problem.delta(truth, Selection(documents)) + covered)
    return float(values[1] - values[0])
