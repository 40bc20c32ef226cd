"""Named entities (jmlr05 Section 5.2): Tables 2 and 3.

On the folds' own test sentences a draw is one observation (of the first 300 sentences, a fold), and intervals
are corrected for what draws have in common. On the sentences of esp.testa, which are the same for all, they
are resampled crossed with draws.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from structmargin_suite.analysis.algorithm import by_algorithm_1
from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap, corrected_t
from structmargin_suite.analysis.experiments import ner
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

METHODS = ("methods", "methods, first")
FORMULATIONS = ("formulations", "formulations, first")
ZERO_ONE, SLACK, MARGIN = "SVM2", "SVM2 slack", "SVM2 margin"

COMPARED = {
    "ner-discriminative-crf": (METHODS, "HMM", "CRF"),
    "ner-discriminative-perceptron": (METHODS, "HMM", "Perceptron"),
    "ner-discriminative-svm": (METHODS, "HMM", "SVM"),
    "ner-svm-best-crf": (METHODS, "CRF", "SVM"),
    "ner-svm-best-perceptron": (METHODS, "Perceptron", "SVM"),
    "ner-formulations-slack": (FORMULATIONS, SLACK, ZERO_ONE),
    "ner-formulations-margin": (FORMULATIONS, MARGIN, ZERO_ONE),
    "ner-formulations-both": (FORMULATIONS, SLACK, MARGIN),
}
"""Statement: (studies, the method with more errors, the other); with -testa, on other sentences."""
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


def over_draws(case: Case, values: Iterable[float]) -> Estimate:
    """The mean of one value per draw, or per fold of the first sentences."""
    return corrected_t(list(values), case.level, ner.overlap(case.experiment, case.corpus))


def excess(study: tuple[str, ...], worse: str, better: str, case: Case) -> Estimate:
    """Points of token error that one method has above another's, on the folds' own sentences."""
    by = ner.draw(case.experiment, case.corpus)
    return over_draws(case, case.paired(study, "test_error", worse, better, by))


def excess_elsewhere(study: tuple[str, ...], worse: str, better: str, case: Case) -> Estimate:
    """The same on the sentences of esp.testa."""
    by = ner.draw(case.experiment, case.corpus)
    runs = [_by_draw(case, study, method, by) for method in (worse, better)]
    common = [key for key in runs[0] if key in runs[1]]
    if len(common) < 2:  # one training set says nothing of others
        raise NotTestable(f"{len(common)} draws that both have; at least 2 are needed")
    (more, tokens), (less, _) = (
        ner.wrong_labels(case.experiment, [of_method[key] for key in common]) for of_method in runs
    )
    both = np.stack([more - less, tokens], axis=-1)
    return bootstrap(both, case.level, lambda sums: 100.0 * sums[..., 0] / sums[..., 1])


def _by_draw(case: Case, study: tuple[str, ...], method: str, by: str) -> dict[object, str]:
    """The runs of a method by draw."""
    runs = case.runs(study, method)
    return dict(zip(column(runs, by, 0), runs["run"], strict=True))


def support(measure: str, method: str, case: Case) -> Estimate:
    """A measure of the sequences that support the solution."""
    by = ner.draw(case.experiment, case.corpus)
    return over_draws(case, case.values(FORMULATIONS, measure, method, by).values())


def constraints(method: str, case: Case) -> Estimate:
    """Constraints that Algorithm 1 adds."""
    return over_draws(case, by_algorithm_1(case.runs(FORMULATIONS, method))["constraints"])


for _id, (_study, _worse, _better) in COMPARED.items():
    for _name, _function in ((_id, excess), (f"{_id}-testa", excess_elsewhere)):
        effect(_name, study=_study, methods=[_better, _worse])(
            functools.partial(_function, _study, _worse, _better)
        )
for _id, (_measure, _method) in SUPPORT.items():
    effect(_id, study=FORMULATIONS, methods=[_method])(functools.partial(support, _measure, _method))
for _id, _method in COUNTED.items():
    effect(_id, study=FORMULATIONS, methods=[_method], among=by_algorithm_1)(
        functools.partial(constraints, _method)
    )
