"""Handwritten words: JKSE's error along nu, the terms of the sequence kernel (jkse09 Sections 5.3, 5.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.datasets.ocr import shuffled
from structmargin_suite.results import ExperimentResults


def errors_along_nu(experiment: ExperimentResults, runs: pd.DataFrame) -> dict[float, list[float]]:
    """JKSE's letter errors on the validation folds, one per run, for each nu that every run tried."""
    tried: list[dict[float, float]] = []
    for run in runs["run"]:
        chosen = experiment.record(run).get("chosen") or {}
        tried.append(dict(chosen.get("validation_letter_error", [])))
    shared = sorted(set.intersection(*(set(errors) for errors in tried))) if tried else []
    return {nu: [errors[nu] for errors in tried] for nu in shared}


def kernel_terms(
    experiment: ExperimentResults, run: str, size: int = 80
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """k_seq between `size` training and `size` test words of a run, both sorted by word: its data and
    its history term, (with the test words' true labels, with shuffled ones).
    """
    from structmargin.problems.sequence.kernel import SequenceKernel

    split, rng, kernel = experiment.split(run), np.random.default_rng(0), SequenceKernel()
    left, right = (_sorted(subset, rng, size) for subset in (split.train, split.test))
    mixed = [(x, y, shuffled(y, rng)) for x, y in right]
    mixed = [triple for triple in mixed if triple[2] is not None]
    X, Y, Z = zip(*mixed, strict=True)
    train = [x for x, _ in left], [y for _, y in left]

    def terms(labels: Any) -> dict[str, np.ndarray]:
        test = list(X), list(labels)
        return {"data": kernel.data_gram(*train, *test), "history": kernel.history_gram(*train, *test)}

    return terms(Y), terms(Z)


def _sorted(subset: Any, rng: np.random.Generator, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    chosen = rng.permutation(len(subset.Y))[:size]
    return sorted(
        ((subset.X[i], subset.Y[i]) for i in chosen), key=lambda word: (list(word[1]), len(word[1]))
    )
