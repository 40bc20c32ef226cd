"""Classes in taxonomies (jmlr05 Section 5.1, Table 1).

The unit is a document. The rounds of the patents are folds: a cross-validation tests every document once (or
as often, where one fold is trained on), and a document counts with its mean in each. The rounds of the
newsgroups have one test set. Both ways documents are resampled crossed with the training sets' draws, which
are cross-validations or rounds. At least two draws are needed: one alone does not show how much training sets
differ.
"""

from __future__ import annotations

import functools

import numpy as np

from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap
from structmargin_suite.analysis.experiments.taxonomy import Predicted, by_cross_validation, predicted
from structmargin_suite.datasets.patents import FOLDS
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

STUDIES = ("patents", "margin", "one fold", "made up", "newsgroups")
FLAT, TREE_FEATURES, FLAT_DELTA, BOTH = "flt 0/1", "tax 0/1", "flt delta", "tax delta"
ACCURACY, LOSS = "accuracy", "tree loss"

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


def lead(measure: str, size: int, better: str, other: str, case: Case) -> Estimate:
    """By how much one method is better than another: percent of documents, or tree loss."""
    return bootstrap(_by_document(case, measure, size, better, other), case.level)


def _by_document(case: Case, measure: str, size: int, better: str, other: str) -> np.ndarray:
    """The same for every draw of training sets and test document, an array of shape (draws, documents)."""
    by_method = []
    for method in (better, other):
        runs = case.runs(STUDIES, method, instances_per_class=size)
        rounds = zip(column(runs, "round", 0), runs["run"], strict=True)
        by_method.append({int(number): predicted(case.experiment, run) for number, run in rounds})
    common = [number for number in by_method[0] if number in by_method[1]]
    if not common:
        raise NotTestable(f"no rounds with {size} per class")
    gains = {k: _gain(measure, by_method[0][k], by_method[1][k]) for k in common}
    if by_method[0][common[0]].tested is None:
        draws, what = np.array(list(gains.values())), "rounds"
    else:
        tested = {k: np.asarray(by_method[0][k].tested) for k in common}
        draws = by_cross_validation({k: (tested[k], gains[k]) for k in common}, FOLDS[size])
        what = f"whole {FOLDS[size]}-fold cross-validations"
    if len(draws) < 2:
        raise NotTestable(f"{len(draws)} {what} with {size} per class; at least 2 are needed")
    return draws


def _gain(measure: str, better: Predicted, other: Predicted) -> np.ndarray:
    """By how much one is better than another on each document: a higher accuracy, or a lower tree loss."""
    if measure == ACCURACY:
        return better.right - other.right
    return other.tree_loss - better.tree_loss


for _id, (_measure, _better, _other) in COMPARED.items():
    for _size in FOLDS:
        effect(_id.format(_size), study=STUDIES, methods=[_better, _other])(
            functools.partial(lead, _measure, _size, _better, _other)
        )
