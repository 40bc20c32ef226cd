"""The conventional linear SVM with a cost ratio, trained by scikit-learn's LinearSVC (cacm09 Table 1).

    min_w  1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i <w, x_i>),    c_i = cost for a positive row, else 1

An intercept is a constant feature, regularised like the others, as in the problem `Measure`. Predictions are
scores: rows are ranked by them, and those above 0 are called positive.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from structmargin_suite.baselines import Schemas

Matrix: TypeAlias = np.ndarray | sp.csr_matrix
OPTIONS: Schemas = {
    "C": {"type": "number", "exclusiveMinimum": 0},
    "cost": {"type": "number", "exclusiveMinimum": 0},
    "intercept": {"type": "number", "minimum": 0},
    "tol": {"type": "number", "exclusiveMinimum": 0},
    "max_iter": {"type": "integer", "minimum": 1},
}
MAX_REMEMBERED = 512  # trainings that a later run of the same job may ask for again


@dataclass(frozen=True)
class LinearSVM:
    """Weights (d,) and what is added to every score."""

    w: np.ndarray
    b: float

    def predict(self, X: Matrix) -> np.ndarray:
        """The score of every row."""
        return np.asarray(X @ self.w) + self.b

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"w": self.w, "b": np.array(self.b)}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> LinearSVM:
    """The model that `to_arrays` was called on."""
    return LinearSVM(arrays["w"], float(arrays["b"]))


class TrainingSet:
    """Inputs X (n, d) and labels Y (n,), equal to another such set if all bytes are."""

    def __init__(self, X: Matrix, Y: np.ndarray) -> None:
        self.X, self.Y = X, np.asarray(Y)
        arrays = _csr_arrays(X) if sp.issparse(X) else (np.ascontiguousarray(X),)
        digest = hashlib.sha256(repr((X.shape, self.Y.dtype)).encode())
        for array in (*arrays, np.ascontiguousarray(self.Y)):
            digest.update(np.ascontiguousarray(array).tobytes())
        self.key = digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainingSet) and self.key == other.key


def _csr_arrays(X: Matrix) -> tuple[np.ndarray, ...]:
    rows = sp.csr_matrix(X)
    return rows.data, rows.indices, rows.indptr


def train(
    X: Matrix,
    Y: np.ndarray,
    *,
    seed: int,
    C: float = 1.0,
    cost: float = 1.0,
    intercept: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
) -> LinearSVM:
    """Weights for rows X (n, d), dense or sparse, and labels Y of -1 and +1.

    LinearSVC always gets the same seed, so that runs which differ only in what they choose by can share their
    trainings: the last MAX_REMEMBERED are remembered.
    """
    return _trained(TrainingSet(X, Y), float(C), float(cost), float(intercept), float(tol), int(max_iter))


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _trained(
    data: TrainingSet, C: float, cost: float, intercept: float, tol: float, max_iter: int
) -> LinearSVM:
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        loss="hinge", C=C, class_weight={1: cost, -1: 1.0}, fit_intercept=intercept > 0,
        intercept_scaling=intercept or 1.0, tol=tol, max_iter=max_iter, random_state=0,
    ).fit(data.X, data.Y)  # fmt: skip
    return LinearSVM(model.coef_[0].copy(), float(np.ravel(model.intercept_)[0]))
