"""Collections of examples by position: lists, arrays, sparse matrices, data frames.

This is the one place that knows of data frames. They are recognised by what they have, `iloc` and `to_numpy`,
so that nothing has to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

Place = Callable[[int], str]
"""What messages call the k-th item."""


def by_position(values: Any, name: str) -> Any:
    """A collection as a sequence, an array or a CSR matrix: item i is the i-th, whatever its index says.

    Parameters
    ----------
    values : sequence, array, sparse matrix or array of any format, data frame or series
        One item per example. Nothing is copied that is a sequence, an array or a CSR matrix already.
    name : str
        What messages call it.

    Returns
    -------
    sequence, ndarray or csr_matrix
    """
    if values is None:
        raise ValueError(f"{name} is None: give one item per example")
    if hasattr(values, "iloc") and hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(
            f"{name} is a masked array, and masked entries have no value here: fill them with "
            f"{name}.filled(value), or leave these examples out"
        )
    if sp.issparse(values):
        return csr(values, name)
    if isinstance(values, np.ndarray) or (
        hasattr(values, "__array__") and not isinstance(values, np.generic)
    ):
        array = np.asarray(values)
        if array.ndim == 0:
            raise ValueError(
                f"{name} is a single value, {array!r}: give a sequence with one item per example"
            )
        return array
    lists_items = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    if not lists_items or isinstance(values, (str, bytes, Mapping, Set)):
        raise ValueError(
            f"{name} is a {type(values).__name__}: give a list, an array or another sequence with one item "
            "per example"
        )
    return values


def count(values: Any) -> int:
    """How many examples: rows of a matrix, or items of a sequence."""
    return int(values.shape[0]) if sp.issparse(values) or isinstance(values, np.ndarray) else len(values)


def csr(values: Any, name: str) -> sp.csr_matrix:
    """A sparse matrix or array of any format as a CSR matrix without duplicates; columns may be in any order.

    Only what is not so already is copied; and what cannot be written to, because compiled code would have to
    be compiled once more for it.
    """
    if values.ndim != 2:
        raise ValueError(
            f"{name} is a sparse array of {values.ndim} dimensions: give one with a row per example"
        )
    matrix = values if isinstance(values, sp.csr_matrix) else sp.csr_matrix(values)
    _require_columns(matrix, name)
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    if not matrix.has_canonical_format:
        summed = matrix.copy()
        summed.sum_duplicates()
        if summed.nnz < matrix.nnz:
            return summed
    return matrix if all(part.flags.writeable for part in arrays) else matrix.copy()


def _require_columns(matrix: sp.csr_matrix, name: str) -> None:
    """Raise where an entry lies outside of the matrix: scipy does not look, and compiled code would crash."""
    columns = matrix.indices
    if len(columns) and not (columns.min() >= 0 and columns.max() < matrix.shape[1]):
        entry = int(np.flatnonzero((columns < 0) | (columns >= matrix.shape[1]))[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise ValueError(
            f"row {row} of {name} has an entry in column {columns[entry]}, but the sparse matrix has "
            f"{matrix.shape[1]} columns: make it anew with the right shape"
        )
