"""Named entities (jmlr05 Section 5.2): Tables 2 and 3.

Draws of 300 sentences come from one pool, and folds of one draw share training sentences: intervals are
corrected for the overlap (Nadeau and Bengio). A draw and fold counts as one observation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from structmargin_suite.analysis.algorithm import by_algorithm_1
from structmargin_suite.analysis.estimates import Estimate, corrected_t
from structmargin_suite.analysis.experiments.ner import DRAW, test_to_train
from structmargin_suite.statements.cases import Case, effect

METHODS = ("methods", "methods, first")
FORMULATIONS = "formulations"
COUNTS = ("algorithm", FORMULATIONS)
ZERO_ONE, SLACK, MARGIN = "SVM2", "SVM2 slack", "SVM2 margin"

COMPARED: dict[str, tuple[str | tuple[str, ...], str, str]] = {
    "ner-discriminative-crf": (METHODS, "HMM", "CRF"),
    "ner-discriminative-perceptron": (METHODS, "HMM", "Perceptron"),
    "ner-discriminative-svm": (METHODS, "HMM", "SVM"),
    "ner-svm-best-crf": (METHODS, "CRF", "SVM"),
    "ner-svm-best-perceptron": (METHODS, "Perceptron", "SVM"),
    "ner-formulations-slack": (FORMULATIONS, SLACK, ZERO_ONE),
    "ner-formulations-margin": (FORMULATIONS, MARGIN, ZERO_ONE),
    "ner-formulations-both": (FORMULATIONS, SLACK, MARGIN),
}
"""Statement: (studies, the method with more errors, the other)."""
SUPPORT = {
    "ner-support-most": ("support_at_one", ZERO_ONE),
    "ner-support-most-slack": ("support_at_one", SLACK),
    "ner-support-most-margin": ("support_at_one", MARGIN),
    "ner-support-loss": ("average_loss", ZERO_ONE),
    "ner-support-loss-slack": ("average_loss", SLACK),
    "ner-support-loss-margin": ("average_loss", MARGIN),
}
COUNTED = {
    "ner-constraints-zero-one": ZERO_ONE,
    "ner-constraints-slack": SLACK,
    "ner-constraints-margin": MARGIN,
}


def _over_draws(case: Case, values: Iterable[float]) -> Estimate:
    return corrected_t(list(values), case.level, test_to_train(case.experiment, case.corpus))


def excess(study: str | tuple[str, ...], worse: str, better: str, case: Case) -> Estimate:
    """Points of token error that one method has above another's."""
    return _over_draws(case, case.paired(study, "test_error", worse, better, DRAW))


def support(measure: str, method: str, case: Case) -> Estimate:
    """A measure of the sequences that support the solution."""
    return _over_draws(case, case.values(FORMULATIONS, measure, method, DRAW).values())


def constraints(method: str, case: Case) -> Estimate:
    """Constraints that Algorithm 1 adds."""
    return _over_draws(case, by_algorithm_1(case.runs(COUNTS, method))["constraints"])


for _id, (_study, _worse, _better) in COMPARED.items():
    effect(_id, study=_study, methods=[_better, _worse])(functools.partial(excess, _study, _worse, _better))
for _id, (_measure, _method) in SUPPORT.items():
    effect(_id, study=FORMULATIONS, methods=[_method])(functools.partial(support, _measure, _method))
for _id, _method in COUNTED.items():
    effect(_id, study=COUNTS, methods=[_method], among=by_algorithm_1)(
        functools.partial(constraints, _method)
    )
