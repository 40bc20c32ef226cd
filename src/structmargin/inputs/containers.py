"""Collections of examples by position: lists, arrays, sparse matrices, data frames.

This is the one place that knows of data frames. They are recognised by what they have, `iloc` and `to_numpy`,
so that nothing has to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
            f"{name} is of type {type(values).__name__}: give a list, an array or another sequence with one "
            "item per example"
        )
    return values


def is_listed(values: Any) -> bool:
    """Whether a single input or output has items that can be counted and taken by position."""
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


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
    _require_structure(values, name)
    matrix = values if isinstance(values, sp.csr_matrix) else sp.csr_matrix(values)
    require_csr(matrix.indices, matrix.indptr, matrix.shape, len(matrix.data), name)
    arrays = (matrix.data, matrix.indices, matrix.indptr)
    if not matrix.has_canonical_format:
        summed = matrix.copy()
        summed.sum_duplicates()
        if summed.nnz < matrix.nnz:
            return summed
    return matrix if all(part.flags.writeable for part in arrays) else matrix.copy()


def _require_structure(values: Any, name: str) -> None:
    """Raise where another format than CSR points outside of itself: scipy would read there to convert it."""
    if values.format == "coo":
        for axis, places, n in zip(("row", "column"), values.coords, values.shape, strict=True):
            if len(places) and not (places.min() >= 0 and places.max() < n):
                raise ValueError(
                    f"{name} has an entry in {axis} {_first_outside(places, n)}, but the sparse matrix has "
                    f"shape {values.shape}: rebuild it with the right shape"
                )
    elif values.format in ("csc", "bsr"):
        R, C = getattr(values, "blocksize", (1, 1))
        shape = values.shape[0] // R, values.shape[1] // C
        shape = shape[::-1] if values.format == "csc" else shape
        require_csr(values.indices, values.indptr, shape, len(values.data), name, values.format)


def require_csr(
    indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...], n_data: int, name: str, kind: str = "csr"
) -> None:
    """Raise unless these are the arrays of a sparse matrix: scipy does not look, compiled code trusts them.

    Parameters
    ----------
    indices, indptr : ndarray of int
        Row i has the entries indptr[i] .. indptr[i + 1] - 1, in the columns `indices`.
    shape : (rows, columns)
    n_data : int
        How many values there are.
    name, kind : str
        What messages call the matrix, and its format: of csc, rows are columns; of bsr, entries are blocks.
    """
    rises = len(indptr) == shape[0] + 1 and indptr[0] == 0 and not np.any(indptr[1:] < indptr[:-1])
    if not rises or indptr[-1] > min(len(indices), n_data):
        raise ValueError(
            f"indptr of {name}, a sparse matrix in {kind} format of shape {shape}, must rise from 0 to its "
            f"{n_data} values: rebuild it with scipy"
        )
    used = indices[: indptr[-1]]
    if len(used) and not (used.min() >= 0 and used.max() < shape[1]):
        column = _first_outside(used, shape[1])
        row = int(np.searchsorted(indptr, np.flatnonzero(used == column)[0], side="right")) - 1
        row_name, column_name = ("column", "row") if kind == "csc" else ("row", "column")
        raise ValueError(
            f"{row_name} {row} of {name} has an entry in {column_name} {column}, but the sparse matrix has "
            f"{shape[1]} {column_name}s: rebuild it with the right shape"
        )


def _first_outside(places: np.ndarray, n: int) -> int:
    return int(places[np.flatnonzero((places < 0) | (places >= n))[0]])
