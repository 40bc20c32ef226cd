"""Multiclass classification: Psi(x, y) = x (x) e_y, one weight vector a class (jmlr05 Section 4.1).

The outputs are 0 .. n_classes - 1; the loss is 0/1 or any matrix with a zero diagonal. Both
searches look at every class: over a batch, one matrix product of inputs and weights.
There is no intercept; append a constant feature to x to have one (it is then regularised).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from structsvm.formulation import H as HType
from structsvm.problem import Found
from structsvm.problems.params import Params


@dataclass(frozen=True, eq=False)
class Multiclass(Params):
    """`n_classes` classes, `n_features` features, dense or sparse; `loss[y, ybar]` or None for 0/1."""

    n_classes: int
    n_features: int
    loss: Any = None

    @property
    def n_weights(self) -> int:
        return self.n_classes * self.n_features

    def psi(self, x: Any, y: Any) -> sp.csr_matrix:
        row = sp.csr_matrix(x) if sp.issparse(x) else sp.csr_matrix(np.reshape(x, (1, -1)))
        columns = row.indices + int(y) * self.n_features
        return sp.csr_matrix((row.data.astype(float), columns, row.indptr), shape=(1, self.n_weights))

    def losses(self) -> np.ndarray:
        """The loss as a matrix (n_classes, n_classes)."""
        return 1.0 - np.eye(self.n_classes) if self.loss is None else np.asarray(self.loss, dtype=float)

    def delta(self, y: Any, ybar: Any) -> float:
        if self.loss is None:
            return float(int(y) != int(ybar))
        return float(np.asarray(self.loss)[int(y), int(ybar)])

    def potentials(self, w: np.ndarray, x: Any) -> np.ndarray:
        """Class scores: (n_classes,) for one input, (m, n_classes) for a matrix of inputs."""
        W = w.reshape(self.n_classes, self.n_features)
        scores = x @ W.T
        return scores[0] if sp.issparse(x) and x.shape[0] == 1 else scores

    def argmax(self, f: Any, x: Any) -> int:
        return int(np.argmax(f.potentials(x)))

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: HType) -> int:
        scores = np.ravel(f.potentials(x))
        return int(np.argmax(H(self.losses()[int(y)], scores[int(y)] - scores)))

    def batch(self, X: Any, Y: Any) -> MulticlassBatch:
        return MulticlassBatch(self, X, Y)

    def check(self, X: Any, Y: Any) -> None:
        """Shapes, finite features, labels in range, a loss matrix with a zero diagonal."""
        matrix = _matrix(X)
        if matrix.shape[1] != self.n_features:
            raise ValueError(f"X has {matrix.shape[1]} features, but the problem has n_features={self.n_features}")
        bad = np.flatnonzero(~np.isfinite(matrix.data if sp.issparse(matrix) else matrix.ravel()))
        if len(bad):
            row = np.searchsorted(matrix.indptr, bad[0], side="right") - 1 if sp.issparse(matrix) else bad[0] // matrix.shape[1]
            raise ValueError(f"X has a NaN or infinite feature in example {int(row)}")
        labels = np.asarray(Y)
        wrong = np.flatnonzero([not (0 <= y < self.n_classes and y == int(y)) for y in labels])
        if len(wrong):
            raise ValueError(
                f"label {labels[wrong[0]]!r} of example {int(wrong[0])} is not an integer from 0 to {self.n_classes - 1}"
            )
        losses = self.losses()
        if losses.shape != (self.n_classes, self.n_classes):
            raise ValueError(f"loss must be a {self.n_classes} x {self.n_classes} matrix, but has shape {losses.shape}")
        if np.any(np.diag(losses) != 0) or np.any(~(losses >= 0)) or not np.all(np.isfinite(losses)):
            raise ValueError("loss must be finite and >= 0 everywhere, and 0 on the diagonal")

    def radius(self, x: Any) -> float:
        """Proposition 20: |Psi(x, y) - Psi(x, y')|^2 <= 2 |x|^2."""
        values = x.data if sp.issparse(x) else np.asarray(x)
        return float(np.sqrt(2.0 * np.sum(np.square(values))))

    def max_delta(self, y: Any) -> float:
        return float(self.losses()[int(y)].max())

    def pack(self, Y: Sequence[Any]) -> dict[str, np.ndarray]:
        return {"y": np.asarray(Y, dtype=np.int64)}

    def unpack(self, arrays: dict[str, np.ndarray]) -> list[int]:
        return [int(y) for y in arrays["y"]]


class MulticlassBatch:
    """All examples as one matrix."""

    takes_kernels = True

    def __init__(self, problem: Multiclass, X: Any, Y: Any) -> None:
        self.problem, self.X = problem, _matrix(X)
        self.Y = np.zeros(0, dtype=np.int64) if Y is None else np.asarray(Y, dtype=np.int64)
        self.losses = problem.losses()

    def search(self, f: Any, indices: np.ndarray, H: HType) -> Found:
        every = len(indices) == len(self.Y)
        X, y = (self.X, self.Y) if every else (self.X[indices], self.Y[indices])
        scores = np.asarray(f.potentials(X)).reshape(len(y), -1)
        m = np.arange(len(y))
        values = H(self.losses[y], scores[m, y][:, None] - scores)
        ybar = np.argmax(values, axis=1)
        rows = None if f.w is None else self._rows(X, y, ybar)
        return Found(ybar, self.losses[y, ybar], rows)

    def argmax(self, f: Any) -> np.ndarray:
        return np.argmax(np.asarray(f.potentials(self.X)).reshape(self.X.shape[0], -1), axis=1)

    def _rows(self, X: Any, y: np.ndarray, ybar: np.ndarray) -> sp.csr_matrix:
        """x (x) (e_y - e_ybar): every row of X twice, with a plus and a minus."""
        X = sp.csr_matrix(X)
        d, length = self.problem.n_features, np.diff(X.indptr)
        where = np.repeat(np.arange(len(y)), length)
        differ = (y != ybar)[where]
        own = np.concatenate([X.indices + y[where] * d, X.indices + ybar[where] * d])
        data = np.concatenate([X.data * differ, -X.data * differ])
        shape = (len(y), self.problem.n_weights)
        order = np.argsort(np.concatenate([where, where]), kind="stable")
        indptr = np.concatenate([[0], np.cumsum(2 * length)])
        return sp.csr_matrix((data[order], own[order].astype(np.int32), indptr), shape=shape)


def _matrix(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_matrix(X)
    if len(X) and sp.issparse(X[0]):
        return sp.vstack(X, format="csr")
    return np.asarray(X, dtype=float)
