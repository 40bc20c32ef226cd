"""The conventional linear SVM with a cost ratio, to a certified duality gap (cacm09 Table 1).

    min_w  1/2 |w|^2 + sum_i C c_i max(0, 1 - y_i <w, x_i>),    c_i = cost for a positive row, else 1

An intercept is a constant feature, regularised like the others, as in the problem `Measure`. Predictions are
scores: rows are ranked by them, and those above 0 are called positive. Training is the library's
`linear_svm`; a model keeps its dual variables, so that evaluation can compute the gap anew.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from structmargin import linear_svm
from structmargin.fit import relative
from structmargin.hinge.rows import HingeFit
from structmargin_suite.baselines import Schemas, digest_of_rows

Matrix: TypeAlias = np.ndarray | sp.csr_matrix
HAS_PATH = True
CERTIFICATE = "structmargin_suite.methods.hinge_certificate"
OPTIONS: Schemas = {
    "C": {"type": "number", "exclusiveMinimum": 0},
    "cost": {"type": "number", "exclusiveMinimum": 0},
    "intercept": {"type": "number", "minimum": 0},
    "gap_tol": {"type": "number", "exclusiveMinimum": 0},
    "max_iter": {"type": "integer", "minimum": 1},
}
MAX_REMEMBERED = 64  # trainings that a later run of the same job may ask for again


@dataclass(frozen=True)
class LinearSVM:
    """A fit, the weight of a positive row, C and the constant feature.

    Attributes
    ----------
    fit : HingeFit
        The weights, that of the constant feature last if there is one, the dual variables and both
        objectives.
    C, cost, intercept : float
        As they were given.
    """

    fit: HingeFit
    C: float
    cost: float
    intercept: float

    @property
    def w(self) -> np.ndarray:
        """The weights of the features (d,)."""
        return self.fit.w[:-1] if self.intercept else self.fit.w

    def predict(self, X: Matrix) -> np.ndarray:
        """The score of every row."""
        scores = np.asarray(X @ self.w)
        return scores + self.intercept * self.fit.w[-1] if self.intercept else scores

    @property
    def numbers(self) -> dict[str, object]:
        """What training recorded of the fit."""
        gap = self.fit.primal - self.fit.dual
        return {
            "C": self.C, "primal": self.fit.primal, "dual": self.fit.dual, "gap": gap,
            "relative_gap": relative(gap, self.fit.primal), "n_iter": self.fit.n_iter,
            "converged": bool(self.fit.converged),
        }  # fmt: skip

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays; of the dual variables those that are not 0."""
        held = np.flatnonzero(self.fit.beta)
        return {
            "w": self.fit.w, "held": held, "beta": self.fit.beta[held], "n": np.array(len(self.fit.beta)),
            "objectives": np.array([self.fit.primal, self.fit.dual]),
            "counts": np.array([self.fit.n_iter, int(self.fit.converged)]),
            "options": np.array([self.C, self.cost, self.intercept]),
        }  # fmt: skip


def from_arrays(arrays: Mapping[str, np.ndarray]) -> LinearSVM:
    """The model that `to_arrays` was called on; prices are not stored, and NaN."""
    beta = np.zeros(int(arrays["n"]))
    beta[arrays["held"]] = arrays["beta"]
    (primal, dual), (n_iter, converged) = arrays["objectives"].tolist(), arrays["counts"].tolist()
    fit = HingeFit(arrays["w"], beta, np.full(len(beta), np.nan), primal, dual, int(n_iter), bool(converged))
    return LinearSVM(fit, *arrays["options"].tolist())


class TrainingSet:
    """Inputs X (n, d) and labels Y (n,), equal to another such set if all bytes are."""

    def __init__(self, X: Matrix, Y: np.ndarray) -> None:
        self.X, self.Y = X, np.asarray(Y)
        self.key = digest_of_rows(X, self.Y)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainingSet) and self.key == other.key


def train(
    X: Matrix,
    Y: np.ndarray,
    *,
    seed: int,
    C: float = 1.0,
    cost: float = 1.0,
    intercept: float = 0.0,
    gap_tol: float = 0.01,
    max_iter: int = 1000,
    former: LinearSVM | None = None,
) -> LinearSVM:
    """Weights for rows X (n, d), dense or sparse, and labels Y of -1 and +1; `former` is where to start from.

    Nothing here is random, so that runs which differ only in what they choose by share their trainings: of
    those from scratch the last MAX_REMEMBERED are remembered.
    """
    options = float(C), float(cost), float(intercept), float(gap_tol), int(max_iter)
    if former is not None:
        return _trained(X, np.asarray(Y), *options, former.fit)
    return _from_scratch(TrainingSet(X, Y), *options)


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _from_scratch(
    data: TrainingSet, C: float, cost: float, intercept: float, gap_tol: float, max_iter: int
) -> LinearSVM:
    return _trained(data.X, data.Y, C, cost, intercept, gap_tol, max_iter, None)


def _trained(
    X: Matrix, Y: np.ndarray, C: float, cost: float, intercept: float, gap_tol: float, max_iter: int,
    start: HingeFit | None,
) -> LinearSVM:  # fmt: skip
    fit = linear_svm(
        X, Y, prices(Y, C, cost), intercept=intercept, gap_tol=gap_tol, max_iter=max_iter, start=start
    )
    return LinearSVM(fit, C, cost, intercept)


def prices(Y: np.ndarray, C: float, cost: float) -> np.ndarray:
    """The price of each row's slack."""
    return C * np.where(np.asarray(Y) > 0, cost, 1.0)
