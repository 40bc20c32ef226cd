"""Effects for diversified search results (cacm09 Section 3.1, Figures 3 and 4).

Queries are the fixed units. Four rounds test every query once, and then the folds are drawn again: four
rounds are one draw, and queries are resampled crossed with draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin.problems.diversity.problem import Selection
from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap, counterexamples
from structmargin_suite.analysis.experiments import diversity as analysis
from structmargin_suite.baselines.word_coverage import coverage_of
from structmargin_suite.datasets._subtopics import FOLDS
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

STUDY = "figure_4"
SVM, RANDOM, OKAPI, UNWEIGHTED = "structural SVM", "random", "Okapi", "unweighted words"
LOSS_OF = {
    "diversity-order-svm-random": (RANDOM, SVM),
    "diversity-order-svm-okapi": (OKAPI, SVM),
    "diversity-order-svm-unweighted": (UNWEIGHTED, SVM),
    "diversity-order-okapi-random": (OKAPI, RANDOM),
    "diversity-order-unweighted-random": (UNWEIGHTED, RANDOM),
}
"""By statement: the loss of the first method minus that of the second is the effect."""
NON_NEGATIVE = ("unweighted", "entropy")
"""Rules whose word benefits are not negative."""


@effect(*LOSS_OF, study=STUDY, methods=(SVM, RANDOM, OKAPI, UNWEIGHTED))
def difference_of_losses(case: Case) -> Estimate:
    """Mean difference of the subtopic losses of two methods."""
    first, second = (_by_round(case, method) for method in LOSS_OF[case.statement.id])
    rounds = sorted(set(first) & set(second))
    if not rounds:
        raise NotTestable(f"no round has runs of {' and '.join(LOSS_OF[case.statement.id])}")
    draws = sorted({number // FOLDS for number in rounds})
    names = sorted({name for number in rounds for name in first[number]})
    values = np.zeros((len(draws), len(names), 2))  # sums of differences, and how many
    for number in rounds:
        for name, loss in first[number].items():
            place = draws.index(number // FOLDS), names.index(name)
            values[place] += loss - second[number][name], 1.0
    return bootstrap(values, case.level, lambda s: s[:, 0] / s[:, 1])


@effect("diversity-words-cover", study=STUDY, methods=(SVM,))
def words_and_subtopics(case: Case) -> Estimate:
    """Rank correlation of distinct words and covered subtopics over random sets, averaged over queries."""
    pairs = _queries(case).values()
    found = np.array([analysis.correlation_with_words(x, y, seed) for seed, (x, y) in enumerate(pairs)])
    return bootstrap(found[np.isfinite(found)], case.level)


@effect("diversity-together-more", study=STUDY, methods=(SVM,))
def together(case: Case) -> Estimate:
    """What a set chosen together covers beyond the documents that each cover the most."""
    pairs = list(_queries(case).values())
    several = analysis.share_with_several(pairs)
    if several < 0.5:
        raise NotTestable(
            f"{100 * several:.1f}% of the documents have several subtopics: most of the data are a partition"
        )
    return bootstrap(np.array([analysis.gain_together(y) for _, y in pairs]), case.level)


@effect("greedy-bound-good", study=STUDY, methods=(SVM,))
def greedy_from_subtopics(case: Case) -> Estimate:
    """Coverage of the greedy choice over the best, where the subtopics are known."""
    pairs = [analysis.subtopic_coverage(y) for _, y in _queries(case).values()]
    return bootstrap(analysis.ratios(pairs), case.level)


@effect("greedy-bound-holds", study=STUDY, methods=(SVM,))
def greedy_bound(case: Case) -> Estimate:
    """Searches with benefits that are not negative in which greedy covers less than 1 - 1/e of the best.

    With learnt benefits of either sign, and for the most violated constraint, there is no bound: the note has
    what was measured.
    """
    found: list[tuple[float, float]] = []
    for x, y in _queries(case).values():
        K = len(y.documents)
        found += [analysis.compared(*coverage_of(x, rule), K) for rule in NON_NEGATIVE]
        found.append(analysis.subtopic_coverage(y))
    values = analysis.ratios(found)
    broken = int((values < analysis.BOUND - 1e-9).sum())
    return counterexamples(broken, len(values), f"{analysis.summary(values)}; {_learnt(case)}")


def _learnt(case: Case) -> str:
    """What greedy reaches with the benefits that were learnt."""
    reached: list[tuple[float, float]] = []
    short: list[float] = []
    for run in case.runs(STUDY, SVM)["run"]:
        test, model = case.experiment.split(run).test, case.experiment.model(run)
        for x, y in zip(test.X, test.Y, strict=True):
            worth = model.problem_.potentials(model.w_, x)
            reached.append(analysis.compared(x.indptr, x.items, worth, model.problem_.K))
            short.append(analysis.short_of_most_violated(model.problem_, x, y, worth))
    return (
        f"with learnt benefits {analysis.summary(analysis.ratios(reached))}; the H of the violated "
        f"constraint falls short of the largest by {np.mean(short):.4f} on average"
    )


def _by_round(case: Case, method: str) -> dict[int, dict[str, float]]:
    """Losses by query for each round of a method."""
    runs = case.runs(STUDY, method)
    numbered = zip(column(runs, "round", 0), runs["run"], strict=True)
    return {int(number): analysis.losses(case.experiment, run) for number, run in numbered}


def _queries(case: Case) -> dict[str, tuple[Any, Selection]]:
    return analysis.queries(case.experiment, case.runs(STUDY, SVM))
