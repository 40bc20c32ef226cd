"""Samples packed for training: searches over whole samples, and Psi as one weighted sum of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.kernels import Matrix
from structmargin.oracles.contingency import pair_weights
from structmargin.problem import Scorer

if TYPE_CHECKING:
    from structmargin.problems.measures.problem import Measure


class Sample(NamedTuple):
    """All rows, (n, d) dense or CSR, and which of them are positive, (n,) bool, where that is known."""

    rows: Matrix
    positive: np.ndarray | None = None


@compiled
def _add_rows(rows, v, total):  # type: ignore[no-untyped-def]
    """total (d,) += sum_i v_i x_i over the rows (n, d) with v_i other than 0."""
    for i in range(rows.shape[0]):
        if v[i] != 0.0:
            for j in range(rows.shape[1]):
                total[j] += v[i] * rows[i, j]


def weighted_sum(rows: Matrix, v: np.ndarray) -> np.ndarray:
    """sum_i v_i x_i (d,) for rows (n, d) and v (n,): near the optimum most of a cut's v are 0."""
    if sp.issparse(rows) or not rows.flags.c_contiguous:
        return np.asarray(rows.T @ v)
    total = np.zeros(rows.shape[1])
    _add_rows(rows, v, total)
    return total


def _sparse(rows: list[np.ndarray]) -> sp.csr_matrix:
    """Vectors as the rows of a sparse matrix."""
    columns = [np.flatnonzero(row) for row in rows]
    data = np.concatenate([row[at] for row, at in zip(rows, columns, strict=True)])
    start = np.cumsum([0, *map(len, columns)])
    return sp.csr_matrix((data, np.concatenate(columns), start), shape=(len(rows), len(rows[0])))


class MeasureBatch:
    """Samples with their searches; deltaPsi as one weighted sum of rows."""

    grain = 1

    def __init__(self, problem: Measure, X: Sequence[Sample], Y: Sequence[np.ndarray] | None) -> None:
        self.problem, self.X, self.Y = problem, X, Y
        self.truths = [pair_weights(y > 0, y) for y in Y] if problem._pairs and Y is not None else []

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The most violated output of each example in `indices`."""
        assert self.Y is not None
        problem, outputs, losses, rows = self.problem, [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            ybar = problem.augmented_argmax(f, x, y, H)
            if problem._pairs:
                v = self.truths[i] - pair_weights(y > 0, ybar)
                losses[j] = np.sum(v[y > 0])
            else:
                v = (y - ybar) / float(len(y))
                losses[j] = problem.delta(y, ybar)
            outputs.append(ybar)
            rows.append(problem._sum(x, v))
        matrix = _sparse(rows)
        return Cuts.of_search(H, indices, outputs, losses, matrix @ f.w, matrix)

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[np.ndarray]:
        """The best-scoring output of every example, or of some."""
        which = range(len(self.X)) if indices is None else indices
        return [self.problem.argmax(f, self.X[i]) for i in which]
