"""Claims about diversified search results (cacm09 Section 3.1, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin.oracles.greedy import best_subset, coverage, greedy
from structmargin.problems.diversity.problem import Selection, missed
from structmargin_suite.analysis.statistics import p_value_lower
from structmargin_suite.baselines.word_coverage import coverage_of
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, first_decides, untested

STUDY, OTHER = "figure_4", "everything"
SVM, PAGES, RANDOM, NOT_BETTER = "structural SVM", "Essential Pages", "random", ("Okapi", "unweighted words")
LEVEL, FEWEST = 0.05, 16
SMALL, BOUND = 16, 1.0 - 1.0 / np.e


def by_query(mine: ExperimentResults, runs: pd.DataFrame) -> dict[str, float]:
    """The mean subtopic loss of each query over the rounds in which it is tested."""
    losses: dict[str, list[float]] = {}
    for run in runs["run"]:
        split: Any = mine.split(run)
        found = mine.model(run).predict(split.test.X)
        for x, y, yhat in zip(split.test.X, split.test.Y, found, strict=True):
            losses.setdefault(x.name, []).append(missed(y, yhat.documents))
    return {name: float(np.mean(values)) for name, values in losses.items()}


def on_shared_queries(
    first: Mapping[str, float], second: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The losses of two methods on the queries that both were tested on, in one order."""
    shared = sorted(set(first) & set(second))
    return np.array([first[name] for name in shared]), np.array([second[name] for name in shared])


@claim("diversity-order")
def order(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Structural SVM below Essential Pages below random in the mean, the gain over Essential Pages
    significant (signed rank over queries, one-sided, 5%), and neither Okapi nor unweighted words
    significantly below random; not tested with fewer than 16 queries. The verdict is that of the first
    corpus; the others, and all results as candidates, are told."""
    mine = results["diversity"]
    told = []
    for study in (STUDY, OTHER):
        for _, runs in mine.select(study).groupby("corpus", sort=False):
            verdict = _on(mine, runs)
            data = runs["data"].iloc[0]
            where = data if study == STUDY else f"{data}, all results as candidates,"
            told.append(verdict._replace(evidence=f"{where} {verdict.verdict}: {verdict.evidence}"))
    return first_decides(told, "no runs on any corpus")


def _on(mine: ExperimentResults, runs: pd.DataFrame) -> Verdict:
    methods = (SVM, PAGES, RANDOM, *NOT_BETTER)
    losses = {name: by_query(mine, runs[runs["method"] == name]) for name in methods}
    missing = [name for name in methods if not losses[name]]
    if missing:
        return untested(f"no runs of {', '.join(missing)}")
    if len(losses[SVM]) < FEWEST:
        return untested(f"{len(losses[SVM])} queries are too few, {FEWEST} would do")
    mean = {name: float(np.mean(list(found.values()))) for name, found in losses.items()}
    p = p_value_lower(*on_shared_queries(losses[SVM], losses[PAGES]))
    better = {name: p_value_lower(*on_shared_queries(losses[name], losses[RANDOM])) for name in NOT_BETTER}
    ordered = mean[SVM] < mean[PAGES] < mean[RANDOM]
    beaten = [name for name in NOT_BETTER if better[name] < LEVEL]
    text = ", ".join(f"{name} {mean[name]:.3f}" for name in methods)
    evidence = (
        f"loss over {len(losses[SVM])} queries: {text}; below Essential Pages p {p:.2g}; below random "
        + ", ".join(f"{name} p {better[name]:.2g}" for name in NOT_BETTER)
    )
    if ordered and not beaten and p >= LEVEL:
        return untested(f"in order, but the gain is not beyond chance: {evidence}")
    return decided(ordered and not beaten, evidence)


class Ratio(NamedTuple):
    """Greedy coverage over the best, smallest and mean, and how many searches could be compared."""

    least: float
    mean: float
    n: int

    def __str__(self) -> str:
        return f"at least {self.least:.3f}, {self.mean:.3f} on average, of {self.n}"


def ratios(found: Sequence[tuple[float, float]]) -> Ratio | None:
    """Of (greedy, best) pairs with a best above 0."""
    values = [reached / best for reached, best in found if best > 1e-12]
    return Ratio(min(values), float(np.mean(values)), len(values)) if values else None


def compared(indptr: np.ndarray, items: np.ndarray, worth: np.ndarray, K: int) -> tuple[float, float]:
    """(coverage that greedy reaches, the best) of K of the first `SMALL` sets."""
    n = min(SMALL, len(indptr) - 1)
    few = indptr[: n + 1], items[: indptr[n]]
    return float(coverage(*few, worth, greedy(*few, worth, K))), float(best_subset(*few, worth, K)[0])


@claim("greedy-bound")
def greedy_bound(results: Mapping[str, ExperimentResults]) -> Verdict:
    """With the non-negative worths of unweighted words and of Essential Pages, greedy covers at least 1 - 1/e
    of the best, for the first 16 candidates of every test query. With learnt worths of either sign, and for
    the search for a violated constraint, the ratio is measured and told, not judged."""
    mine = results["diversity"]
    fixed: list[tuple[float, float]] = []
    learnt: list[tuple[float, float]] = []
    violated: list[float] = []
    for run in mine.select(STUDY, method=SVM)["run"]:
        split: Any = mine.split(run)
        model: Any = mine.model(run)
        problem = model.problem_
        for x, y in zip(split.test.X, split.test.Y, strict=True):
            fixed += [compared(*coverage_of(x, rule), problem.K) for rule in ("unweighted", "entropy")]
            worth = problem.potentials(model.w_, x)
            learnt.append(compared(x.indptr, x.items, worth, problem.K))
            violated.append(_short(problem, x, y, worth))
    kept = ratios(fixed)
    if kept is None:
        return untested("no query to compare on")
    told = ratios(learnt)
    return decided(
        kept.least >= BOUND - 1e-9,
        f"greedy over best with fixed non-negative worths {kept} searches ({BOUND:.3f} is the bound); "
        f"with learnt worths {told}; the H of the violated constraint falls short of the largest by "
        f"{np.mean(violated):.4f} on average, {max(violated):.4f} at most, and is found in "
        f"{100 * np.mean(np.array(violated) < 1e-9):.0f}%",
    )


def _short(problem: Any, x: Any, y: Selection, worth: np.ndarray) -> float:
    """By how much greedy misses the largest H, with the first `SMALL` documents as candidates."""
    from structmargin.problems.diversity.problem import Candidates, best_selection, joined

    n = min(SMALL, len(x))
    few = Candidates(x.indptr[: n + 1], x.items[: x.indptr[n]], x.phi)
    assert y.subtopics is not None
    subtopics = y.subtopics[:n]
    truth = best_selection(few, subtopics[:, subtopics.any(axis=0)], problem.K)
    whole = joined(few, truth.subtopics)  # type: ignore[arg-type]
    values = []
    for exact in (False, True):
        documents = problem.with_params(exact=exact).violator(worth, few, truth, *whole).documents
        values.append(
            problem.delta(truth, Selection(documents)) + coverage(few.indptr, few.items, worth, documents)
        )
    return float(values[1] - values[0])
