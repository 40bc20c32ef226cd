"""The claim about protein alignment (cacm09 Section 3.2, Figure 6), over families tested once each.

Pairs of a family share their template, so a family's mean Q4-score is one observation, and models are
compared family by family: Wilcoxon's signed rank, one-sided, with Holm's correction over the two comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, p_value_lower
from structmargin_suite.datasets.homstrad import q_scores
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, untested

SUBSTANTIAL = 1.0  # points of Q4-score that count as "substantially above"
STUDY = "models"
MIN_FAMILIES = 20  # fewer observations than this are not judged
COMPARED = (("Window", "generative", SUBSTANTIAL), ("Profile", "Window", 0.0))
"""(the model that the claim says is better, the other, by how much)."""


@claim("protein-order")
def order(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Window is above the generative model by at least 1 point of Q4-score on average, and Profile above
    Window, both beyond chance at 5%. Fails if either mean is not ahead by that much; ahead, but not beyond
    chance, is not tested. The order of the other models stands in the evidence.
    """
    experiment = results["proteins"]
    needed = list(dict.fromkeys(name for pair in COMPARED for name in pair[:2]))
    missing = [name for name in needed if experiment.select(STUDY, method=name).empty]
    if missing:
        return untested(f"no runs of {', '.join(missing)}")
    scores = {name: by_family(experiment, name) for name in needed}
    families = sorted(set.intersection(*(set(of_model) for of_model in scores.values())))
    if len(families) < MIN_FAMILIES:
        return untested(f"{len(families)} families tested; at least {MIN_FAMILIES} are needed")
    by_model = {name: np.array([scores[name][family] for family in families]) for name in needed}
    lead = {(a, b): by_model[a] - by_model[b] for a, b, _ in COMPARED}
    p = holm({(a, b): p_value_lower(by_model[b], by_model[a]) for a, b in lead})
    evidence = f"{_means(experiment)}; over {len(families)} families " + ", ".join(
        f"{a} {lead[a, b].mean():+.2f} against {b} (p {p[a, b]:.2g}, at least {min_lead:g} asked)"
        for a, b, min_lead in COMPARED
    )
    ahead = all(lead[a, b].mean() > 0 and lead[a, b].mean() >= min_lead for a, b, min_lead in COMPARED)
    if ahead and max(p.values()) >= SIGNIFICANCE:
        return untested(f"in order, but not all beyond chance: {evidence}")
    return decided(ahead, evidence)


def by_family(experiment: ExperimentResults, method: str) -> dict[str, float]:
    """The mean Q4-score of each family in the fold that tests it."""
    scores: dict[str, list[float]] = {}
    for run in experiment.select(STUDY, method=method)["run"]:
        split: Any = experiment.split(run)
        q4, _ = q_scores(split.test.Y, experiment.model(run).predict(split.test.X))
        for family, value in zip(split.test.Y.family, q4, strict=True):
            scores.setdefault(str(family), []).append(float(value))
    return {family: float(np.mean(values)) for family, values in scores.items()}


def _means(experiment: ExperimentResults) -> str:
    """The mean Q4-score of every method over folds, best first."""
    means = {}
    for name in experiment.config["methods"]:
        scores = experiment.select(STUDY, method=name)["test_q4"]
        if len(scores):
            means[name] = float(np.mean(scores.to_numpy(float)))
    texts = [f"{experiment.label(name)} {means[name]:.1f}" for name in sorted(means, key=lambda n: -means[n])]
    return "Q4-score " + ", ".join(texts)
