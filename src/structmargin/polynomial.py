"""Explicit features of the polynomial kernel of degree 2: every product of two coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def degree2(X: Any, columns: np.ndarray | None = None) -> sp.csr_matrix:
    """Features phi with <phi(x), phi(z)> = (1 + <x, z>)^2 for every two rows of X (n, D), dense or sparse.

    Column 0 is the constant 1, column 1 + i is sqrt(2) x_i, and then x_i^2 or sqrt(2) x_i x_j for i <= j, in
    all (D + 1)(D + 2) / 2. `columns`, sorted, keeps only these, renumbered from 0: those that occur in
    training, `np.unique(degree2(X).indices)`, leave the objective as it is and save the room of the rest.
    """
    X = sp.csr_matrix(X, dtype=float, copy=True)
    X.sum_duplicates()
    n, D = X.shape
    lengths = np.diff(X.indptr)
    row, column = (
        [np.arange(n), np.repeat(np.arange(n), lengths)],
        [np.zeros(n, np.int64), 1 + X.indices.astype(np.int64)],
    )
    value = [np.ones(n), np.sqrt(2.0) * X.data]
    for k in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == k)
        entries = X.indptr[rows, None] + np.arange(k)
        a, b = np.triu_indices(k)
        i, j = X.indices[entries[:, a]].astype(np.int64), X.indices[entries[:, b]].astype(np.int64)
        row.append(np.repeat(rows, len(a)))
        column.append((1 + D + i * D - i * (i - 1) // 2 + j - i).ravel())
        value.append(
            (X.data[entries[:, a]] * X.data[entries[:, b]] * np.where(a == b, 1.0, np.sqrt(2.0))).ravel()
        )
    rows, codes, values = np.concatenate(row), np.concatenate(column), np.concatenate(value)
    width = (D + 1) * (D + 2) // 2
    if columns is not None:
        width = len(columns)
        place = np.minimum(np.searchsorted(columns, codes), max(width - 1, 0))
        known = columns[place] == codes if width else np.zeros(len(codes), dtype=bool)
        rows, codes, values = rows[known], place[known], values[known]
    return sp.csr_matrix((values, (rows, codes)), shape=(n, width))
