"""Parsed sentences: what a run predicts, its brackets, which sentences are of one document (jmlr05 5.4)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from structmargin_suite.datasets import predictions
from structmargin_suite.results import ExperimentResults


@functools.cache  # used by several statements and a figure
def predicted(experiment: ExperimentResults, run: str) -> tuple[list[Any], list[Any]]:
    """(truth, prediction) of a run on its test set."""
    test = experiment.split(run).test
    return list(test.Y), list(predictions(experiment.model(run), test.X))


def whole_tree_right(experiment: ExperimentResults, run: str) -> np.ndarray:
    """(1 if the whole tree is right, 1) of each test sentence."""
    right = np.array([y == yhat for y, yhat in zip(*predicted(experiment, run), strict=True)], dtype=float)
    return np.column_stack([right, np.ones(len(right))])


def brackets_of(experiment: ExperimentResults, run: str) -> np.ndarray:
    """(right, given, predicted) brackets of each test sentence."""
    from structmargin.scoring import bracket_matches  # loads scikit-learn, which most reports do without

    pairs = zip(*predicted(experiment, run), strict=True)
    return np.array([bracket_matches([y], [yhat]) for y, yhat in pairs])


def f1(brackets: np.ndarray) -> np.ndarray:
    """F1 of each row of (right, given, predicted) brackets."""
    values: np.ndarray = 2.0 * brackets[..., 0] / (brackets[..., 1] + brackets[..., 2])
    return values


def by_document(experiment: ExperimentResults, run: str, counts: np.ndarray) -> np.ndarray:
    """Counts of each test sentence, (sentences, k), added up by document; as they are if none is known."""
    arrays = experiment.ready(run)
    if "document" not in arrays or not np.any(arrays["subset"] == 1):
        return counts
    _, document = np.unique(arrays["document"][arrays["subset"] == 1], return_inverse=True)
    summed = np.zeros((int(document.max()) + 1, counts.shape[1]))
    np.add.at(summed, document, counts)
    return summed
