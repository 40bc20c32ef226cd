"""Features as one matrix of finite floats, one row per example, and what keeps them from being that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.inputs.containers import by_position, csr

ROWS_AT_A_TIME = 4096
"""In how many rows at once a value that is not finite is looked for."""


def matrix(X: Any, name: str = "X", row: str = "example") -> Any:
    """Rows of numbers as an array (n, d) in C order or a CSR matrix, of float64.

    Parameters
    ----------
    X : matrix, dense or sparse, data frame, or sequence of rows
        Numbers of any kind, cast to float64; nothing is copied that has the form already.
    name, row : str
        What messages call the whole, and one row.

    Returns
    -------
    ndarray or csr_matrix of shape (n, d), d >= 1
    """
    X = by_position(X, name)
    if not sp.issparse(X):
        X = _stacked(X, name, row) if len(X) and sp.issparse(X[0]) else _dense(X, name, row)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} is complex, give real numbers")
    if X.shape[1] == 0:
        raise ValueError(f"{name} has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if sp.issparse(X):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def width(X: Any) -> int:
    """How many columns `matrix` would find, without copying an array or a sparse matrix."""
    return int(X.shape[1]) if getattr(X, "ndim", 0) == 2 else int(matrix(X).shape[1])


def require_width(X: Any, n_features: int, problem: str, name: str = "X") -> None:
    """Raise unless a matrix has as many columns as the problem has features."""
    if X.shape[1] != n_features:
        raise ValueError(
            f"{name} has {X.shape[1]} features, but {problem} is expecting {n_features} features as input: "
            f"the problem has n_features={n_features}"
        )


def row_not_finite(X: Any) -> int | None:
    """The first row of a matrix, dense or CSR, that has a NaN or an infinity, or None."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):  # no array of booleans as large as X where all is well
            return None
    if sp.issparse(X):
        bad = np.flatnonzero(~np.isfinite(values))
        return int(np.searchsorted(X.indptr, bad[0], side="right") - 1) if len(bad) else None
    for start in range(0, len(X), ROWS_AT_A_TIME):
        rows = np.flatnonzero(~np.isfinite(X[start : start + ROWS_AT_A_TIME]).all(axis=1))
        if len(rows):
            return start + int(rows[0])
    return None


def _stacked(X: Sequence[Any], name: str, row: str) -> sp.csr_matrix:
    """A list of sparse rows as one matrix."""
    for i, x in enumerate(X):
        if not sp.issparse(x) or x.ndim != 2 or x.shape != (1, X[0].shape[-1]):
            raise ValueError(
                f"{row} {i} of {name} has shape {np.shape(x)}, but the first is a sparse row of shape "
                f"{X[0].shape}: give all of them shape (1, n_features)"
            )
    return csr(sp.vstack(X), name)


def _dense(X: Any, name: str, row: str) -> np.ndarray:
    if not isinstance(X, np.ndarray):
        X = _array(X, name, row)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix with one row per {row}, but has {X.ndim} dimensions (shape {X.shape}). "
            f"Reshape your data, with .reshape(-1, 1) if each number is one {row}, or .reshape(1, -1) if all "
            "are one"
        )
    if X.dtype.kind == "O":
        return _numbers(X, name, row)
    if X.dtype.kind not in "biufc":
        raise ValueError(
            f"{name} has values of type {X.dtype}, which are no numbers: turn them into features"
        )
    return np.asarray(X)


def _array(X: Sequence[Any], name: str, row: str) -> np.ndarray:
    """A sequence of rows as an array; rows that differ in length are an error."""
    for i, x in enumerate(X):
        if isinstance(x, np.ma.MaskedArray):
            by_position(x, f"{row} {i} of {name}")
    try:
        array = np.asarray(X)
        return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
    except ValueError:
        shapes = [np.shape(np.asarray(x, dtype=object)) for x in X]
        i = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)
        raise ValueError(
            f"{row} {i} of {name} has shape {shapes[i]}, but {row} 0 has {shapes[0]}: give all the same "
            "number of features"
        ) from None


def _numbers(X: np.ndarray, name: str, row: str) -> np.ndarray:
    """An array of Python objects as floats."""
    for i, x in enumerate(X):
        for value in x:
            try:
                float(value)
                number = not isinstance(value, (str, bytes))
            except (TypeError, ValueError):
                number = False
            if not number:
                raise TypeError(
                    f"{row} {i} of {name} has the value {value!r}, but the argument must be neither a string "
                    "nor another object: give a number"
                )
    return X.astype(np.float64)
