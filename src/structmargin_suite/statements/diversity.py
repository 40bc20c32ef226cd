"""Claims about diversified search results (cacm09 Section 3.1, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin.oracles.greedy import best_subset, coverage, greedy
from structmargin.problems.diversity.problem import Selection, missed
from structmargin_suite.analysis.statistics import SIGNIFICANCE, p_value_lower
from structmargin_suite.baselines.word_coverage import coverage_of
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, first_decides, untested

STUDY, OTHER = "figure_4", "everything"
SVM, PAGES, RANDOM, NOT_BETTER = "structural SVM", "Essential Pages", "random", ("Okapi", "unweighted words")
MIN_QUERIES = 16  # fewer observations than this are not judged
MAX_CANDIDATES = 16  # documents of a query of which the best subset is found by trying all
BOUND = 1.0 - 1.0 / np.e


def by_query(experiment: ExperimentResults, runs: pd.DataFrame) -> dict[str, float]:
    """The mean subtopic loss of each query over the rounds in which it is tested."""
    losses: dict[str, list[float]] = {}
    for run in runs["run"]:
        split: Any = experiment.split(run)
        selections = experiment.model(run).predict(split.test.X)
        for x, y, yhat in zip(split.test.X, split.test.Y, selections, strict=True):
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
    corpus; the evidence has the others, and all results as candidates."""
    experiment = results["diversity"]
    verdicts = []
    for study in (STUDY, OTHER):
        for _, runs in experiment.select(study).groupby("corpus", sort=False):
            verdict = _on_corpus(experiment, runs)
            data = runs["data"].iloc[0]
            where = data if study == STUDY else f"{data}, all results as candidates,"
            verdicts.append(verdict._replace(evidence=f"{where} {verdict.verdict}: {verdict.evidence}"))
    return first_decides(verdicts, "no runs on any corpus")


def _on_corpus(experiment: ExperimentResults, runs: pd.DataFrame) -> Verdict:
    """The verdict on one corpus."""
    methods = (SVM, PAGES, RANDOM, *NOT_BETTER)
    losses = {
        name: by_query(
            experiment, runs[(runs["method"] == name) & (runs["reading"] == experiment.primary(name))]
        )
        for name in methods
    }
    missing = [name for name in methods if not losses[name]]
    if missing:
        return untested(f"no runs of {', '.join(missing)}")
    if len(losses[SVM]) < MIN_QUERIES:
        return untested(f"{len(losses[SVM])} queries are too few, {MIN_QUERIES} would do")
    mean = {name: float(np.mean(list(by_name.values()))) for name, by_name in losses.items()}
    p = p_value_lower(*on_shared_queries(losses[SVM], losses[PAGES]))
    better = {name: p_value_lower(*on_shared_queries(losses[name], losses[RANDOM])) for name in NOT_BETTER}
    ordered = mean[SVM] < mean[PAGES] < mean[RANDOM]
    beaten = [name for name in NOT_BETTER if better[name] < SIGNIFICANCE]
    text = ", ".join(f"{name} {mean[name]:.3f}" for name in methods)
    evidence = (
        f"loss over {len(losses[SVM])} queries: {text}; below Essential Pages p {p:.2g}; below random "
        + ", ".join(f"{name} p {better[name]:.2g}" for name in NOT_BETTER)
    )
    if ordered and not beaten and p >= SIGNIFICANCE:
        return untested(f"in order, but the gain is not beyond chance: {evidence}")
    return decided(ordered and not beaten, evidence)


class Ratio(NamedTuple):
    """Greedy coverage over the best, smallest and mean, and how many searches could be compared."""

    least: float
    mean: float
    n: int

    def __str__(self) -> str:
        return f"at least {self.least:.3f}, {self.mean:.3f} on average, of {self.n}"


def ratios(pairs: Sequence[tuple[float, float]]) -> Ratio | None:
    """Of (greedy, best) pairs with a best above 0."""
    values = [reached / best for reached, best in pairs if best > 1e-12]
    return Ratio(min(values), float(np.mean(values)), len(values)) if values else None


def compared(indptr: np.ndarray, items: np.ndarray, worth: np.ndarray, K: int) -> tuple[float, float]:
    """(coverage that greedy reaches, the best) of K of the first `MAX_CANDIDATES` sets."""
    n = min(MAX_CANDIDATES, len(indptr) - 1)
    subset = indptr[: n + 1], items[: indptr[n]]
    reached = coverage(*subset, worth, greedy(*subset, worth, K))
    return float(reached), float(best_subset(*subset, worth, K)[0])


@claim("greedy-bound")
def greedy_bound(results: Mapping[str, ExperimentResults]) -> Verdict:
    """With the non-negative worths of unweighted words and of Essential Pages, greedy covers at least 1 - 1/e
    of the best, for the first 16 candidates of every test query. With learnt worths of either sign, and for
    the search for a violated constraint, the ratio is measured and shown, not judged."""
    experiment = results["diversity"]
    fixed: list[tuple[float, float]] = []
    learnt: list[tuple[float, float]] = []
    violated: list[float] = []
    for run in experiment.select(STUDY, method=SVM)["run"]:
        split: Any = experiment.split(run)
        model: Any = experiment.model(run)
        problem = model.problem_
        for x, y in zip(split.test.X, split.test.Y, strict=True):
            fixed += [compared(*coverage_of(x, rule), problem.K) for rule in ("unweighted", "entropy")]
            worth = problem.potentials(model.w_, x)
            learnt.append(compared(x.indptr, x.items, worth, problem.K))
            violated.append(_short(problem, x, y, worth))
    with_fixed = ratios(fixed)
    if with_fixed is None:
        return untested("no query to compare on")
    with_learnt = ratios(learnt)
    return decided(
        with_fixed.least >= BOUND - 1e-9,
        f"greedy over best with fixed non-negative worths {with_fixed} searches ({BOUND:.3f} is the bound); "
        f"with learnt worths {with_learnt}; the H of the violated constraint falls short of the largest by "
        f"{np.mean(violated):.4f} on average, {max(violated):.4f} at most, and is found in "
        f"{100 * np.mean(np.array(violated) < 1e-9):.0f}%",
    )


def _short(problem: Any, x: Any, y: Selection, worth: np.ndarray) -> float:
    """By how much greedy misses the largest H, with the first `MAX_CANDIDATES` documents as candidates."""
    from structmargin.problems.diversity.problem import Candidates, best_selection, joined

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
