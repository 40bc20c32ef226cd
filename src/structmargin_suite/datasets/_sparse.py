"""Sparse matrices as arrays to store, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike


def csr_arrays(
    matrix: sp.csr_matrix, prefix: str = "", *, data: DTypeLike = np.float32, indptr: DTypeLike = np.int64
) -> dict[str, np.ndarray]:
    """The arrays data, indices, indptr and shape of a matrix, their names after `prefix`.

    `data` and `indptr` are the types in which these two are stored; indices are int32.
    """
    rows = sp.csr_matrix(matrix)
    return {
        f"{prefix}data": rows.data.astype(data),
        f"{prefix}indices": rows.indices.astype(np.int32),
        f"{prefix}indptr": rows.indptr.astype(indptr),
        f"{prefix}shape": np.array(rows.shape),
    }


def csr_of(arrays: Mapping[str, np.ndarray], prefix: str = "") -> sp.csr_matrix:
    """The matrix whose arrays `csr_arrays` returned, with values as floats."""
    data, indices, indptr = (arrays[f"{prefix}{name}"] for name in ("data", "indices", "indptr"))
    return sp.csr_matrix((data.astype(float), indices, indptr), shape=tuple(arrays[f"{prefix}shape"]))


def count_matrix(documents: Sequence[Mapping[int, int]], n_words: int) -> sp.csr_matrix:
    """Counts (documents, n_words) from one mapping per document: the number of a word to its count."""
    indptr = np.concatenate([[0], np.cumsum([len(counts) for counts in documents])])
    indices = np.array([word for counts in documents for word in sorted(counts)], dtype=np.int64)
    data = np.array([counts[word] for counts in documents for word in sorted(counts)], dtype=np.int64)
    return sp.csr_matrix((data, indices, indptr), shape=(len(documents), n_words))
