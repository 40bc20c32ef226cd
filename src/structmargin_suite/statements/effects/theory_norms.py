"""Norms of joint features (jmlr05 Section 4): Propositions 20, 24, 25, Corollary 23, alignments and trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import Estimate, counterexamples
from structmargin_suite.analysis.experiments.theory import ROUNDING, support_distances, weights
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements.cases import Case, effect

DRAWN = 200
SEED = 24
"""Of the output features and trees that are drawn at random."""
LONGEST = 20
"""Words of the longest sentences that get trees at random."""
TAXONOMY = "tax "
"""How methods with the features of a taxonomy begin."""


@effect("norm-bounds-classes", study="bounds")
def classes(case: Case) -> Estimate:
    """Pairs of classes whose joint features are farther apart than Proposition 20 allows."""
    pairs, broken, nearest = 0, 0, 0.0
    runs = case.runs("bounds")
    for run in runs.groupby(column(runs, "repetition", 0))["run"].first():
        problem = case.experiment.model(run).problem_
        for x in np.asarray(case.experiment.split(run).train.X):
            psi = [problem.psi(x, y) for y in range(problem.K)]
            allowed = 2.0 * float(x @ x)
            for one, other in combinations(psi, 2):
                squared = float((one - other).multiply(one - other).sum())
                pairs += 1
                broken += squared > allowed * (1 + ROUNDING)
                nearest = max(nearest, squared / allowed)
    return counterexamples(int(broken), pairs, f"at most {nearest:.3g} of the bound")


def _beyond(Lambda: np.ndarray) -> tuple[int, int, float]:
    """(pairs of classes for which Proposition 24 does not hold, pairs, the largest share of the squared bound
    that one has): |Phi(x)|^2 cancels."""
    squared = ((Lambda[:, None, :] - Lambda[None, :, :]) ** 2).sum(axis=2)
    largest = float((Lambda**2).sum(axis=1).max())
    above = np.triu(squared > 2.0 * largest * (1 + ROUNDING), k=1)
    nearest = float(squared.max()) / (2.0 * largest)
    return int(above.sum()), len(Lambda) * (len(Lambda) - 1) // 2, nearest


@effect("norm-bounds-taxonomy")
def taxonomy_features(case: Case) -> Estimate:
    """Pairs of classes of the taxonomies for which Proposition 24 does not hold."""
    counts = [_beyond(np.asarray(split.problem["Lambda"])) for _, split in _taxonomies(case)]
    nearest = max((nearest for _, _, nearest in counts), default=0.0)
    return counterexamples(
        sum(broken for broken, _, _ in counts),
        sum(pairs for _, pairs, _ in counts),
        f"at most {nearest:.3g} of the squared bound",
    )


@effect("norm-bounds-output-features")
def any_output_features(case: Case) -> Estimate:
    """Classes with features drawn from a normal distribution: Proposition 24 needs <Lambda, Lambda'> >= 0."""
    rng = np.random.default_rng(SEED)
    counts = [_beyond(rng.normal(size=(4, 3))) for _ in range(DRAWN)]
    return counterexamples(
        sum(broken for broken, _, _ in counts),
        sum(pairs for _, pairs, _ in counts),
        "Lambda(y') = -Lambda(y) has 4 R^2 S^2; the proof bounds the norm of Psi, not of a difference",
    )


def _taxonomies(case: Case) -> Iterator[tuple[str, Any]]:
    """(run, its data) of the first run with taxonomy features on each corpus."""
    experiment = case.results["taxonomy"]
    runs = experiment.select()
    runs = runs[runs["method"].str.startswith(TAXONOMY)]
    for run in runs.groupby("corpus", sort=False)["run"].first():
        yield str(run), experiment.split(run)


@effect("output-features-power-taxonomy")
def flat_weights(case: Case) -> Estimate:
    """Models with taxonomy features whose scores the weights v_y = sum_r Lambda(y)_r v_r do not give."""
    broken, models, farthest = 0, 0, 0.0
    for run, split in _taxonomies(case):
        model = case.results["taxonomy"].model(run)
        Lambda = np.asarray(split.problem["Lambda"])
        flat = weights(case.results["taxonomy"], run).reshape(-1, Lambda.shape[1]) @ Lambda.T
        X = split.test.X[:20]
        scores = np.array([[model.scorer_(x, y) for y in range(len(Lambda))] for x in X])
        apart = float(np.abs(np.asarray(X @ flat) - scores).max() / max(1.0, np.abs(scores).max()))
        broken += apart > ROUNDING
        models, farthest = models + 1, max(farthest, apart)
    return counterexamples(int(broken), models, f"scores of 20 documents each at most {farthest:.1g} apart")


def _with_support(experiment: ExperimentResults, study: str) -> Iterator[tuple[Any, Any]]:
    """(fitted SVM, its training inputs) of each method and reading, of its run with most constraints."""
    runs = experiment.select(study)
    runs = runs[column(runs, "average_loss").notna()]
    runs = runs.assign(added=column(runs, "constraints", 0)).sort_values("added", kind="stable")
    for run in runs.groupby(["method", "reading"], sort=False)["run"].last():
        yield experiment.model(run), experiment.split(run).train.X


def _counted(allowed: list[np.ndarray], squared: list[np.ndarray]) -> Estimate:
    """Constraints of several trainings with a squared distance above what is allowed."""
    pairs = pd.DataFrame({
        "squared": np.concatenate([*squared, []]), "allowed": np.concatenate([*allowed, []])
    })  # fmt: skip
    nearest = (pairs["squared"] / pairs["allowed"]).max()
    broken = int((pairs["squared"] > pairs["allowed"] * (1 + ROUNDING)).sum())
    return counterexamples(broken, len(pairs), f"at most {nearest:.2g} of the squared bound")


@effect("norm-bounds-sequences")
def sequences(case: Case) -> Estimate:
    """Constraints of the named entities whose sequences are farther apart than Proposition 25 allows."""
    allowed, squared = [], []
    for model, X in _with_support(case.results["ner"], "formulations"):
        R2 = np.array([float(x.multiply(x).sum(axis=1).max()) for x in X])
        T = np.array([x.shape[0] for x in X])
        squared.append(support_distances(model.fit_))
        allowed.append((2.0 * T**2 * (R2 + model.problem_.eta**2))[model.fit_.support.example])
    return _counted(allowed, squared)


@effect("norm-bounds-alignment")
def alignments(case: Case) -> Estimate:
    """Constraints of the alignments whose joint features are farther apart than Section 4.4.3 allows."""
    allowed, squared = [], []
    for model, X in _with_support(case.results["alignment"], "sizes"):
        longest = np.array([max(len(string) for string in (native, *others)) for native, others in X])
        squared.append(support_distances(model.fit_))
        allowed.append((8.0 * longest**2)[model.fit_.support.example])
    return _counted(allowed, squared)


@effect("norm-bounds-trees")
def trees(case: Case) -> Estimate:
    """Pairs of binary trees over the same words that are farther apart than Section 4.5.3 allows."""
    rng = np.random.default_rng(SEED)
    broken, pairs, nearest = 0, 0, 0.0
    for N in range(2, LONGEST + 1):
        allowed = 4.0 * N**2 + 4.0 * (N - 1) ** 2
        for _ in range(DRAWN):
            tags = rng.integers(0, rng.integers(1, 4), size=N).tolist()
            one, other = (_rules(rng, tags, rng.integers(0, 3, size=rng.integers(1, 4))) for _ in range(2))
            squared = sum((one[rule] - other[rule]) ** 2 for rule in {**one, **other})
            pairs, nearest = pairs + 1, max(nearest, squared / allowed)
            broken += squared > allowed or squared >= 8.0 * N**2
    return counterexamples(int(broken), pairs, f"at most {nearest:.2g} of the squared bound")


def _rules(rng: np.random.Generator, tags: Sequence[int], labels: np.ndarray) -> Counter[Any]:
    """How often each rule stands in a binary tree over these tags: splits and labels at random."""
    counts: Counter[Any] = Counter()

    def grow(lo: int, hi: int) -> int:
        label = int(rng.choice(labels))
        if hi - lo == 1:
            counts[label, tags[lo]] += 1
        else:
            middle = int(rng.integers(lo + 1, hi))
            counts[label, grow(lo, middle), grow(middle, hi)] += 1
        return label

    grow(0, len(tags))
    return counts
