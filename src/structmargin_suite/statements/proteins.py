"""The claim about protein alignment (cacm09 Section 3.2, Figure 6), over families tested once each.

Pairs of a family share their template, so a family's mean Q4-score is one observation, and models are
compared family by family: Wilcoxon's signed rank, one-sided, with Holm's correction over the two comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structmargin_suite.analysis.statistics import holm, p_value_lower
from structmargin_suite.datasets.homstrad import q_scores
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import Verdict, claim, decided, untested

LEVEL = 0.05
SUBSTANTIAL = 1.0
"""Points of Q4-score that count as substantial."""
STUDY = "models"
ENOUGH = 20
"""Families below which nothing is judged."""
COMPARED = (("Window", "generative", SUBSTANTIAL), ("Profile", "Window", 0.0))
"""(the model that the claim says is better, the other, by how much)."""


@claim("protein-order")
def order(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Window is above the generative model by at least 1 point of Q4-score on average, and Profile above
    Window, both beyond chance at 5%. Fails if either mean is not ahead by that much; ahead, but not beyond
    chance, is not tested. The order of the other models is told.
    """
    mine = results["proteins"]
    needed = list(dict.fromkeys(name for pair in COMPARED for name in pair[:2]))
    missing = [name for name in needed if mine.select(STUDY, method=name).empty]
    if missing:
        return untested(f"no runs of {', '.join(missing)}")
    scores = {name: by_family(mine, name) for name in needed}
    families = sorted(set.intersection(*(set(found) for found in scores.values())))
    if len(families) < ENOUGH:
        return untested(f"{len(families)} families tested; at least {ENOUGH} are needed")
    by_model = {name: np.array([scores[name][family] for family in families]) for name in needed}
    lead = {(a, b): by_model[a] - by_model[b] for a, b, _ in COMPARED}
    p = holm({(a, b): p_value_lower(by_model[b], by_model[a]) for a, b in lead})
    evidence = f"{_means(mine)}; over {len(families)} families " + ", ".join(
        f"{a} {lead[a, b].mean():+.2f} against {b} (p {p[a, b]:.2g}, at least {least:g} asked)"
        for a, b, least in COMPARED
    )
    ahead = all(lead[a, b].mean() > 0 and lead[a, b].mean() >= least for a, b, least in COMPARED)
    if ahead and max(p.values()) >= LEVEL:
        return untested(f"in order, but not all beyond chance: {evidence}")
    return decided(ahead, evidence)


def by_family(mine: ExperimentResults, method: str) -> dict[str, float]:
    """The mean Q4-score of each family in the fold that tests it."""
    found: dict[str, list[float]] = {}
    for run in mine.select(STUDY, method=method)["run"]:
        split: Any = mine.split(run)
        q4, _ = q_scores(split.test.Y, mine.model(run).predict(split.test.X))
        for family, value in zip(split.test.Y.family, q4, strict=True):
            found.setdefault(str(family), []).append(float(value))
    return {family: float(np.mean(values)) for family, values in found.items()}


def _means(mine: ExperimentResults) -> str:
    """The mean Q4-score of every method over folds, best first."""
    means = {}
    for name in mine.config["methods"]:
        scores = mine.select(STUDY, method=name)["test_q4"]
        if len(scores):
            means[name] = float(np.mean(scores.to_numpy(float)))
    told = [f"{mine.label(name)} {means[name]:.1f}" for name in sorted(means, key=lambda n: -means[n])]
    return "Q4-score " + ", ".join(told)
