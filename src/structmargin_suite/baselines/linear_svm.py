"""The conventional linear SVM with a cost ratio, trained by scikit-learn's LinearSVC (cacm09 Table 1).

    min_w  1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i <w, x_i>),    c_i = cost for a positive row, else 1

An intercept is a constant feature, regularised like the others, as in the problem `Measure`. Predictions are
scores: the rule calls positive what is above 0, and ranks by them.
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
KEPT = 512


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


class Rows:
    """A training set, equal to another one with the same bytes."""

    def __init__(self, X: Matrix, Y: np.ndarray) -> None:
        self.X, self.Y = X, np.asarray(Y)
        parts = _csr_parts(X) if sp.issparse(X) else (np.ascontiguousarray(X),)
        held = hashlib.sha256(repr((X.shape, self.Y.dtype)).encode())
        for part in (*parts, np.ascontiguousarray(self.Y)):
            held.update(np.ascontiguousarray(part).tobytes())
        self.key = held.hexdigest()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and self.key == other.key


def _csr_parts(X: Matrix) -> tuple[np.ndarray, ...]:
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

    The order of LinearSVC's steps follows from a fixed seed, so that runs which differ only in what they
    choose by share their trainings: the last few hundred are remembered.
    """
    return _trained(Rows(X, Y), float(C), float(cost), float(intercept), float(tol), int(max_iter))


@functools.lru_cache(maxsize=KEPT)
def _trained(rows: Rows, C: float, cost: float, intercept: float, tol: float, max_iter: int) -> LinearSVM:
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        loss="hinge", C=C, class_weight={1: cost, -1: 1.0}, fit_intercept=intercept > 0,
        intercept_scaling=intercept or 1.0, tol=tol, max_iter=max_iter, random_state=0,
    ).fit(rows.X, rows.Y)  # fmt: skip
    return LinearSVM(model.coef_[0].copy(), float(np.ravel(model.intercept_)[0]))
