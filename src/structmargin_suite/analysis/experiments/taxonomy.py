"""Classes in taxonomies: the four methods of Table 1, and what each predicts (jmlr05 Section 5.1)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from structmargin_suite.results import ExperimentResults

METHODS = ("flt 0/1", "tax 0/1", "flt delta", "tax delta")


class Predicted(NamedTuple):
    """Truth and prediction of the test documents of a run, the loss matrix, and which documents they are."""

    y: np.ndarray
    yhat: np.ndarray
    losses: np.ndarray
    tested: np.ndarray | None

    @property
    def right(self) -> np.ndarray:
        """100 for a document that is classified correctly, else 0."""
        return 100.0 * (self.y == self.yhat)

    @property
    def tree_loss(self) -> np.ndarray:
        """The tree loss of each document."""
        loss: np.ndarray = self.losses[self.y, self.yhat]
        return loss


@functools.cache  # used by many statements and a figure
def predicted(experiment: ExperimentResults, run: str) -> Predicted:
    """What a run predicts of its test set."""
    split: Any = experiment.split(run)
    y, yhat = np.asarray(split.test.Y), np.asarray(experiment.model(run).predict(split.test.X))
    return Predicted(y, yhat, np.asarray(split.problem["loss"]), split.tested)


def by_cross_validation(
    rounds: Mapping[int, tuple[np.ndarray, np.ndarray]], folds: int
) -> np.ndarray:  # fmt: skip
    """Values of documents over rounds as an array of shape (cross-validations, documents).

    Parameters
    ----------
    rounds : mapping of int to (documents, values)
        For each round the documents that it tests and what was measured of each.
    folds : int
        So many rounds make a cross-validation, in which a document has the mean of its values.

    Returns
    -------
    ndarray
        Of the cross-validations that test every document; those with missing rounds are left out.
    """
    n = 1 + max(int(documents.max()) for documents, _ in rounds.values())
    sums, counts = (np.zeros((1 + max(rounds) // folds, n)) for _ in range(2))
    for number, (documents, values) in rounds.items():
        sums[number // folds, documents] += values
        counts[number // folds, documents] += 1
    tested = counts.sum(axis=0) > 0
    sums, counts = sums[:, tested], counts[:, tested]
    whole = (counts > 0).all(axis=1) & np.isin(np.arange(len(counts)), _complete(rounds, folds))
    return np.asarray(sums[whole] / counts[whole])


def _complete(rounds: Iterable[int], folds: int) -> list[int]:
    """The cross-validations all of whose rounds are there."""
    there = set(rounds)
    return [k for k in range(1 + max(there) // folds) if there.issuperset(range(k * folds, (k + 1) * folds))]
