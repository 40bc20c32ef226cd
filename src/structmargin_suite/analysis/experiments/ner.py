"""Named entities: how much draws overlap, and wrong labels by sentence (jmlr05 Section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structmargin_suite.datasets.conll2002 import POOL
from structmargin_suite.results import ExperimentResults


def draw(experiment: ExperimentResults, corpus: str) -> str:
    """What tells one training and test set from another: a random draw, or a fold of the only draw."""
    return "repetition" if experiment.config["data"][corpus]["draw"] == "random" else "fold"


def overlap(experiment: ExperimentResults, corpus: str) -> float:
    """The term that is added to 1 / draws in the variance of a mean over draws that overlap.

    Nadeau and Bengio take the share r of test examples that two draws of one sample have in common as their
    correlation, which adds r / (1 - r). Five folds of 300 sentences have r = 1/5, which adds 1/4. Two random
    draws of 300 from the pool of all sentences have 300 / 8,323 of their sentences in common.
    """
    given = experiment.config["data"][corpus]
    share = 1.0 / given["folds"] if given["draw"] == "first" else min(given["n_sentences"] / POOL, 0.5)
    return float(share / (1.0 - share))


def wrong_labels(experiment: ExperimentResults, runs: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(wrong labels, tokens) of the sentences of esp.testa: arrays of shape (runs, sentences)."""
    kept = [experiment.kept_predictions(run) for run in runs]
    wrong, tokens = (np.array([each[f"testa_{name}"] for each in kept]) for name in ("wrong", "tokens"))
    return wrong, tokens
