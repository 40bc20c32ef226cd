"""Parsed sentences: what a run predicts, its brackets, an interval for F1 gained (jmlr05 Section 5.4)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from structmargin_suite.datasets import predictions
from structmargin_suite.results import ExperimentResults

DRAWS = 2000


@functools.cache  # used by several claims and a figure
def predicted(experiment: ExperimentResults, run: str) -> tuple[list[Any], list[Any]]:
    """(truth, prediction) of a run on its test set."""
    test = experiment.split(run).test
    return list(test.Y), list(predictions(experiment.model(run), test.X))


def whole_tree_right(experiment: ExperimentResults, run: str) -> np.ndarray:
    """Whether each test sentence's whole tree is right."""
    return np.array([y == yhat for y, yhat in zip(*predicted(experiment, run), strict=True)])


def brackets_of(experiment: ExperimentResults, run: str) -> np.ndarray:
    """(right, given, predicted) brackets of each test sentence."""
    from structmargin.scoring import bracket_matches  # loads scikit-learn, which most reports do without

    pairs = zip(*predicted(experiment, run), strict=True)
    return np.array([bracket_matches([y], [yhat]) for y, yhat in pairs])


def f1(brackets: np.ndarray) -> np.ndarray:
    """F1 of each row of (right, given, predicted) brackets."""
    values: np.ndarray = 2.0 * brackets[..., 0] / (brackets[..., 1] + brackets[..., 2])
    return values


def bootstrap(brackets: np.ndarray, other: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The 95% bootstrap interval, over sentences, of the gain in F1 over all brackets, in points."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(brackets), np.full(len(brackets), 1.0 / len(brackets)), size=DRAWS)
    apart = 100.0 * (f1(drawn @ brackets) - f1(drawn @ other))
    low, high = np.quantile(apart, [0.025, 0.975])
    return float(low), float(high)
