"""Classes in taxonomies: the four methods of Table 1, and what each predicts (jmlr05 Section 5.1)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from structmargin_suite.results import ExperimentResults

METHODS = ("flt 0/1", "tax 0/1", "flt delta", "tax delta")


@functools.cache  # used by three statements and a figure
def predicted(experiment: ExperimentResults, run: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(truth, prediction, loss matrix) of a run on its test set."""
    split: Any = experiment.split(run)
    y, yhat = np.asarray(split.test.Y), np.asarray(experiment.model(run).predict(split.test.X))
    return y, yhat, np.asarray(split.problem["loss"])
