"""Effects on handwritten words (jkse09 Sections 5.3 to 5.5, Table 2, Figures 5 and 6; cacm09 Section 2.5).

Letter errors are in percent. The units are the words of the collection; a rotation is tested on eight of its
ten folds, and rotations are trained on folds of their own. Intervals are bootstraps over words crossed with
rotations, the same resamples for all methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap, weighted_bootstrap
from structmargin_suite.analysis.experiments.ocr import (
    KernelTerms,
    Words,
    kernel_terms,
    letters_of_share,
    words_read,
)
from structmargin_suite.datasets.ocr import N_LABELS
from structmargin_suite.results import column
from structmargin_suite.statements.cases import Case, effect

SSVM, OLARANK, PERCEPTRON, JKSE = "S-SVM", "OLaRank", "Perceptron", "JKSE"
FOLDS_STUDY, GRID_STUDY = "folds", "scale and nu"
GUESSING = 100.0 * (1.0 - 1.0 / N_LABELS)
"""The letter error in percent of guessing one of the letters."""
SUBSET_SHARE = 0.9
"""The letters that a method answers with are the fewest that make up this share of its answers."""


def _read(case: Case, methods: Sequence[str]) -> list[list[Words]]:
    """What each method read, one entry per rotation that all of them have."""
    by_method: list[dict[int, str]] = []
    for method in methods:
        runs = case.runs(FOLDS_STUDY, method)
        by_method.append(dict(zip(column(runs, "rotation", 0), runs["run"], strict=True)))
        if not by_method[-1]:
            raise NotTestable(f"no finished run of {method} in {FOLDS_STUDY!r}")
    shared = sorted(set.intersection(*(set(runs) for runs in by_method)))
    if not shared:
        raise NotTestable(f"{', '.join(methods)} share no rotation of the folds")
    return [[words_read(case.experiment, runs[rotation]) for rotation in shared] for runs in by_method]


def _compared(case: Case, methods: Sequence[str], combine: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """`combine` of the letter errors (resamples, methods) of some methods."""
    read = _read(case, methods)
    counts = [[words.wrong for words in of_method] for of_method in read]
    values = np.stack([*counts, [words.length for words in read[0]]], axis=-1)
    return bootstrap(values, case.level, lambda sums: combine(100.0 * sums[:, :-1] / sums[:, -1:]))


DIFFERENCES = {
    "perceptron-less-accurate-ocr": (PERCEPTRON, SSVM),
    "jkse-ocr-fails-ssvm-olarank": (OLARANK, SSVM),
    "jkse-ocr-fails-ssvm-perceptron": (PERCEPTRON, SSVM),
    "jkse-ocr-fails-olarank-perceptron": (PERCEPTRON, OLARANK),
    "jkse-ocr-fails-jkse-ssvm": (JKSE, SSVM),
    "jkse-ocr-fails-jkse-olarank": (JKSE, OLARANK),
    "jkse-ocr-fails-jkse-perceptron": (JKSE, PERCEPTRON),
}
"""The letter error of the first less that of the second."""


def _difference(case: Case) -> Estimate:
    methods = DIFFERENCES[case.statement.id]
    return _compared(case, methods, lambda errors: errors[:, 0] - errors[:, 1])


for _name, _methods in DIFFERENCES.items():
    effect(_name, study=FOLDS_STUDY, methods=_methods)(_difference)


@effect("jkse-ocr-fails-worst", study=FOLDS_STUDY, methods=[JKSE, SSVM, OLARANK, PERCEPTRON])
def worst(case: Case) -> Estimate:
    """JKSE's letter error less the highest of the three others."""
    methods = (JKSE, SSVM, OLARANK, PERCEPTRON)
    return _compared(case, methods, lambda errors: errors[:, 0] - np.max(errors[:, 1:], axis=1))


def _beyond_chance(sums: np.ndarray) -> np.ndarray:
    """The letter error less that of guessing; sums (r, 2) of wrong letters and of all."""
    return np.asarray(100.0 * sums[:, 0] / sums[:, 1] - GUESSING)


def _wrong_and_all(read: Sequence[Words]) -> np.ndarray:
    return np.stack([np.column_stack([words.wrong, words.length]) for words in read])


@effect("jkse-ocr-fails-chance", study=FOLDS_STUDY, methods=[JKSE])
def near_chance(case: Case) -> Estimate:
    """JKSE's letter error less that of guessing one of the letters."""
    (read,) = _read(case, [JKSE])
    return bootstrap(_wrong_and_all(read), case.level, _beyond_chance)


@effect("jkse-ocr-fails-chance", study=GRID_STUDY, cause="reading")
def near_chance_elsewhere(case: Case) -> Estimate:
    """The same at the scale and the nu that come nearest to chance on the first rotation, on the others."""
    runs = case.runs(GRID_STUDY)
    rotations = column(runs, "rotation", 0)
    first, others = runs[rotations == rotations.min()], runs[rotations > rotations.min()]
    if first.empty or others.empty:
        raise NotTestable("the scale and nu are chosen on one rotation and tried on another: two are needed")
    sums = [_wrong_and_all([words_read(case.experiment, run)]).sum(axis=1) for run in first["run"]]
    nearest = first.iloc[int(np.argmin([abs(_beyond_chance(of_run)[0]) for of_run in sums]))]
    again = others[(others["base_scale"] == nearest["base_scale"]) & (others["nu"] == nearest["nu"])]
    if again.empty:
        raise NotTestable("no other rotation has the scale and the nu that were chosen")
    values = _wrong_and_all([words_read(case.experiment, run) for run in again["run"]])
    estimate = bootstrap(values, case.level, _beyond_chance)
    return estimate.noted(
        f"with inner products over {nearest['base_scale']:g} and nu = {nearest['nu']:g}, nearest to chance "
        f"of the {len(first)} settings on one rotation: {estimate.effect:.1f} points from it on others"
    )


@effect("jkse-ocr-fails-few-letters", "jkse-ocr-fails-never", study=FOLDS_STUDY, methods=[JKSE])
def letters(case: Case) -> Estimate:
    """The letters of JKSE's answers over those of the truth; or the share of the other letters that it never
    answers with.
    """
    (read,) = _read(case, [JKSE])
    never = case.statement.id == "jkse-ocr-fails-never"

    def statistic(weights: np.ndarray) -> np.ndarray:
        values = []
        for words in read:
            predicted = weights @ words.predicted
            subset = letters_of_share(predicted, SUBSET_SHARE)
            if never:
                unused = N_LABELS - np.count_nonzero(predicted, axis=1)
                values.append(unused / np.maximum(N_LABELS - subset, 1))
            else:
                values.append(subset / letters_of_share(weights @ words.true, SUBSET_SHARE))
        return np.stack(values, axis=1)

    return weighted_bootstrap(statistic, len(read[0].wrong), case.level)


KEPT_SHARES = {
    "jkse-kernel-matrices-data": ("data", "shuffled"),
    "jkse-kernel-matrices-history": ("history", "shuffled"),
    "jkse-kernel-matrices-cyclic": ("history", "shifted"),
}
"""The term of the kernel, and the wrong labels."""


def _terms(case: Case) -> list[KernelTerms]:
    """Kernel terms of every rotation of JKSE's; the words of different rotations are units of their own."""
    runs = case.runs(FOLDS_STUDY, JKSE)
    if runs.empty:
        raise NotTestable(f"no finished run of {JKSE} in {FOLDS_STUDY!r}")
    return [kernel_terms(case.experiment, run) for run in runs["run"]]


def _on_raw_pixels(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs whose letters are not scaled: the share of one term that is left is the same under every scale."""
    return runs[column(runs, "base_scale", 1.0) == 1.0]


@effect(*KEPT_SHARES, study=FOLDS_STUDY, methods=[JKSE], among=_on_raw_pixels)
def kept_share(case: Case) -> Estimate:
    """The share of a term's mean that wrong labels leave."""
    term, labels = KEPT_SHARES[case.statement.id]
    columns = [
        np.column_stack([getattr(terms, labels)[term].sum(axis=0), terms.true[term].sum(axis=0)])
        for terms in _terms(case)
    ]
    return bootstrap(np.concatenate(columns), case.level, lambda sums: sums[:, 0] / sums[:, 1])


@effect(
    "jkse-kernel-matrices-blocks", "jkse-kernel-matrices-blocks-shuffled", study=FOLDS_STUDY, methods=[JKSE]
)
def blocks(case: Case) -> Estimate:
    """By what share the kernel is higher between equal words than between different ones."""
    columns = []
    for terms in _terms(case):
        labels = terms.shuffled if case.statement.id.endswith("shuffled") else terms.true
        k = labels["data"] + labels["history"]
        parts = (k * terms.same, terms.same, k * ~terms.same, ~terms.same)
        columns.append(np.column_stack([part.sum(axis=0) for part in parts]))
    counts = np.concatenate(columns)
    if counts[:, [1, 3]].sum(axis=0).min() < 1:
        raise NotTestable("no test word is also a training word, or all are the same")

    def higher(sums: np.ndarray) -> np.ndarray:
        equal, different = (sums[:, k] / np.maximum(sums[:, k + 1], 1.0) for k in (0, 2))
        return np.asarray(equal / different - 1.0)

    return bootstrap(counts, case.level, higher)
