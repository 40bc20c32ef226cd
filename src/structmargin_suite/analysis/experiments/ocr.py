"""Handwritten words: what was read of each word, JKSE's error along nu, the terms of the sequence kernel
(jkse09 Sections 5.3 to 5.5).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.datasets.ocr import FOLDS, N_LABELS, shifted, shuffled
from structmargin_suite.results import ExperimentResults


class Words(NamedTuple):
    """The words of the whole collection as one rotation read them; zeros for those it was not tested on."""

    wrong: np.ndarray  # (words,): letters that were read wrongly
    length: np.ndarray  # (words,)
    true: np.ndarray  # (words, 26): how often each letter is in a word
    predicted: np.ndarray  # (words, 26): how often it is read in it


@functools.cache  # used by several statements
def words_read(experiment: ExperimentResults, run: str) -> Words:
    """What a run read of every word, in the collection's own order, so that rotations can be joined."""
    kept, rotation = experiment.kept_predictions(run), experiment.record(run)["view"].get("rotation", 0)
    folds = experiment.ready(run)["folds"]
    tested = np.flatnonzero((folds != rotation) & (folds != (rotation + 1) % FOLDS))
    word = np.repeat(tested, kept["lengths"])
    labels, predicted = kept["labels"].astype(int), kept["predicted"].astype(int)
    counts = np.zeros((2, len(folds), N_LABELS))
    for of_letters, letters in zip(counts, (labels, predicted), strict=True):
        np.add.at(of_letters, (word, letters), 1.0)
    wrong = np.bincount(word, labels != predicted, len(folds))
    return Words(wrong, counts[0].sum(axis=1), counts[0], counts[1])


def letters_of_share(counts: np.ndarray, share: float) -> np.ndarray:
    """The least number of different letters that make up a share, for each row of counts (r, letters)."""
    summed = np.cumsum(-np.sort(-counts, axis=1), axis=1)
    return np.asarray(np.sum(summed < share * summed[:, -1:], axis=1) + 1)


def errors_along_nu(experiment: ExperimentResults, runs: pd.DataFrame) -> dict[float, list[float]]:
    """JKSE's letter errors on the validation folds, one per run, for each nu that every run tried."""
    tried: list[dict[float, float]] = []
    for run in runs["run"]:
        chosen = experiment.record(run).get("chosen") or {}
        tried.append(dict(chosen.get("validation_letter_error", [])))
    shared = sorted(set.intersection(*(set(errors) for errors in tried))) if tried else []
    return {nu: [errors[nu] for errors in tried] for nu in shared}


Terms = dict[str, np.ndarray]
"""The `data` and the `history` term of k_seq, each (training words, test words)."""


class KernelTerms(NamedTuple):
    """k_seq between training and test words, these with true labels and two kinds of wrong ones."""

    true: Terms
    shuffled: Terms
    shifted: Terms
    same: np.ndarray  # (training words, test words): whether the two are the same word


@functools.cache  # used by several statements and two figures
def kernel_terms(experiment: ExperimentResults, run: str, size: int = 80) -> KernelTerms:
    """k_seq between `size` training and `size` test words of a run, both sorted by word.

    Test words for which no order of the labels is wrong enough are left out.
    """
    from structmargin.problems.sequence.kernel import SequenceKernel

    split, rng, kernel = experiment.split(run), np.random.default_rng(0), SequenceKernel()
    left, right = (_sorted(subset, rng, size) for subset in (split.train, split.test))
    mixed = [(x, y, shuffled(y, rng), shifted(y)) for x, y in right]
    mixed = [labelled for labelled in mixed if labelled[2] is not None and labelled[3] is not None]
    X, Y, Z, S = zip(*mixed, strict=True)
    train = [x for x, _ in left], [y for _, y in left]

    def terms(labels: Any) -> Terms:
        test = list(X), list(labels)
        return {"data": kernel.data_gram(*train, *test), "history": kernel.history_gram(*train, *test)}

    same = np.array([[np.array_equal(y, other) for other in Y] for _, y in left])
    return KernelTerms(terms(Y), terms(Z), terms(S), same)


def _sorted(subset: Any, rng: np.random.Generator, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    chosen = rng.permutation(len(subset.Y))[:size]
    return sorted(
        ((subset.X[i], subset.Y[i]) for i in chosen), key=lambda word: (list(word[1]), len(word[1]))
    )
