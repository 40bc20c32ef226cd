"""Claims about classes in taxonomies (jmlr05 Section 5.1, Table 1), corpus by corpus.

The verdict is that of the first corpus of Table 1; the others stand in the evidence. On a corpus a claim
fails if any mean it compares is in the other order, and holds if all are in order and every difference is
significant at 5% after Holm's correction: McNemar's exact test for accuracy, Wilcoxon's signed rank for the
tree loss, one-sided, over documents tested once. In order but not significant: not tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.statistics import SIGNIFICANCE, holm, p_value_lower, p_value_mcnemar
from structmargin_suite.analysis.taxonomy import METHODS, predicted
from structmargin_suite.datasets.patents import FOLDS
from structmargin_suite.results import STUDY_SEPARATOR, ExperimentResults, column
from structmargin_suite.statements import Verdict, claim, decided, first_decides, untested

STUDIES = ("patents", "newsgroups")
ACCURACY, TREE = "accuracy", "tree loss"
MEASURED = {ACCURACY: "test_accuracy", TREE: "test_loss"}

Comparison = tuple[str, str, str]
"""(measure, the method that the claim says is better, the other)."""


@claim("taxonomy-best")
def best(results: Mapping[str, ExperimentResults]) -> Verdict:
    """tax delta has the highest accuracy and the lowest tree loss of the four, at every size."""
    others = METHODS[:-1]
    return _judged(results, [(m, "tax delta", other) for other in others for m in (ACCURACY, TREE)])


@claim("taxonomy-features")
def features(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Taxonomy features have a lower tree loss than flat ones, trained on either loss, at every size."""
    return _judged(results, [(TREE, f"tax {loss}", f"flt {loss}") for loss in ("0/1", "delta")])


@claim("taxonomy-loss")
def loss(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Training on the tree loss gives a lower one than training on 0/1, with either map, at every size."""
    return _judged(results, [(TREE, f"{kind} delta", f"{kind} 0/1") for kind in ("flt", "tax")])


def _judged(results: Mapping[str, ExperimentResults], wanted: Sequence[Comparison]) -> Verdict:
    experiment = results["taxonomy"]
    verdicts = []
    for study in STUDIES:
        for _, of_corpus in experiment.select(study).groupby("corpus", sort=False):
            runs = of_corpus[of_corpus["method"].isin(METHODS)]
            verdict = _on_corpus(experiment, runs, wanted)
            data = "one corpus" if runs.empty else runs["data"].iloc[0]
            verdicts.append(verdict._replace(evidence=f"{data} {verdict.verdict}: {verdict.evidence}"))
    return first_decides(verdicts, "no runs on any corpus")


def _on_corpus(experiment: ExperimentResults, runs: pd.DataFrame, wanted: Sequence[Comparison]) -> Verdict:
    """The verdict on one corpus."""
    sizes = runs["instances_per_class"].unique().tolist()
    groups = {
        (size, method): runs[(runs["instances_per_class"] == size) & (runs["method"] == method)]
        for size in sizes
        for method in METHODS
    }
    missing = [f"{method} at {size}" for (size, method), group in groups.items() if group.empty]
    if missing:
        return untested(f"no runs of {', '.join(missing)}")
    mean = {
        (key, measure): float(np.mean(group[metric].to_numpy(float)))
        for key, group in groups.items()
        for measure, metric in MEASURED.items()
    }
    outcome = {key: documents(experiment, group) for key, group in groups.items()}
    p, ordered = {}, True
    comparisons: dict[Any, dict[Any, tuple[float, str]]] = {}
    for size in sizes:
        for measure, better, other in wanted:
            a, b = mean[(size, better), measure], mean[(size, other), measure]
            lead = a - b if measure == ACCURACY else b - a
            ordered = ordered and lead > 0
            test = p_value_mcnemar if measure == ACCURACY else p_value_lower
            p[size, better, measure, other] = test(
                outcome[size, better][measure], outcome[size, other][measure]
            )
            gain = f" ({100 * (a - b) / b:+.1f}%" if b else " ("
            text = f"{measure} {a:.3g} of {better} against {b:.3g} of {other}{gain}"
            comparisons.setdefault((size, better, measure), {})[other] = (lead, text)
    adjusted = holm(p)
    sentences = []
    for key, others in comparisons.items():  # of several other methods, the strongest
        other = min(others, key=lambda name: others[name][0])
        sentences.append(f"{key[0]} per class, {others[other][1]}, p {adjusted[(*key, other)]:.2g})")
    evidence = ", ".join(sentences)
    if ordered and max(adjusted.values()) >= SIGNIFICANCE:
        return untested(f"all in order, but not all beyond chance: {evidence}")
    return decided(ordered, evidence)


def documents(experiment: ExperimentResults, runs: pd.DataFrame) -> dict[str, np.ndarray]:
    """Whether right, and the tree loss, of every test document, tested once: one whole cross-validation, or
    the first round where every round has the same test set."""
    rounds = column(runs, "round", 0).sort_values(kind="stable")
    ordered = runs.loc[rounds.index]
    first = ordered.iloc[0]
    patents = "patents" in first["studies"].split(STUDY_SEPARATOR)
    folds = FOLDS.get(first["instances_per_class"], 1) if patents else 1
    used = ordered[rounds < folds] if (rounds < folds).any() else ordered.head(1)
    pairs = [predicted(experiment, run) for run in used["run"]]
    return {
        ACCURACY: np.concatenate([y == yhat for y, yhat, _ in pairs]),
        TREE: np.concatenate([losses[y, yhat] for y, yhat, losses in pairs]),
    }
