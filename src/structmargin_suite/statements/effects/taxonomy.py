"""Classes in taxonomies (jmlr05 Section 5.1, Table 1).

The rounds of the patents are folds of cross-validations, which share documents: intervals over rounds are
corrected for it (Nadeau and Bengio). The rounds of the newsgroups have one test set: intervals are by a
bootstrap over its postings crossed with the rounds.
"""

from __future__ import annotations

import functools

import numpy as np

from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap, corrected_t
from structmargin_suite.analysis.experiments.taxonomy import predicted
from structmargin_suite.datasets.patents import FOLDS
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

FOLDED = ("patents", "margin")
ONE_TEST_SET = "newsgroups"
FLAT, TREE_FEATURES, FLAT_DELTA, BOTH = "flt 0/1", "tax 0/1", "flt delta", "tax delta"
ACCURACY, LOSS = "test_accuracy", "test_loss"

COMPARED = {
    "taxonomy-best-accuracy-{}": (ACCURACY, BOTH, FLAT),
    "taxonomy-best-tree-{}": (LOSS, BOTH, FLAT),
    "taxonomy-best-accuracy-{}-tax": (ACCURACY, BOTH, TREE_FEATURES),
    "taxonomy-best-accuracy-{}-flt": (ACCURACY, BOTH, FLAT_DELTA),
    "taxonomy-features-{}": (LOSS, TREE_FEATURES, FLAT),
    "taxonomy-features-{}-delta": (LOSS, BOTH, FLAT_DELTA),
    "taxonomy-loss-{}-flt": (LOSS, FLAT_DELTA, FLAT),
    "taxonomy-loss-{}-tax": (LOSS, BOTH, TREE_FEATURES),
}
"""Statement, for so many documents per class: (measure, the method that it says is better, the other)."""
SIGN = {ACCURACY: 1.0, LOSS: -1.0}
"""A higher accuracy is better, and a lower loss."""


def lead(measure: str, size: int, better: str, other: str, case: Case) -> Estimate:
    """By how much one method is better than another: percent of documents, or tree loss."""
    if len(case.runs(ONE_TEST_SET, better)):
        return bootstrap(_by_document(case, measure, size, better, other), case.level)
    by_round = case.paired(FOLDED, measure, better, other, "round", instances_per_class=size)
    return corrected_t(SIGN[measure] * by_round, case.level, 1.0 / (FOLDS[size] - 1))


def _by_document(case: Case, measure: str, size: int, better: str, other: str) -> np.ndarray:
    """The same for every round and test document, an array of shape (rounds, documents)."""
    by_method = []
    for method in (better, other):
        runs = case.runs(ONE_TEST_SET, method, instances_per_class=size)
        rounds = zip(column(runs, "round", 0), runs["run"], strict=True)
        by_method.append({number: _measured(case, measure, run) for number, run in rounds})
    common = [number for number in by_method[0] if number in by_method[1]]
    if len(common) < 2:  # one training set says nothing of others
        raise NotTestable(f"{len(common)} rounds with {size} per class; at least 2 are needed")
    return SIGN[measure] * np.array([by_method[0][k] - by_method[1][k] for k in common])


def _measured(case: Case, measure: str, run: str) -> np.ndarray:
    y, yhat, losses = predicted(case.experiment, run)
    return 100.0 * (y == yhat) if measure == ACCURACY else losses[y, yhat]


for _id, (_measure, _better, _other) in COMPARED.items():
    for _size in FOLDS:
        effect(_id.format(_size), study=(*FOLDED, ONE_TEST_SET), methods=[_better, _other])(
            functools.partial(lead, _measure, _size, _better, _other)
        )
