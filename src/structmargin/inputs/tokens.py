"""Sequences of tokens and of their labels: all tokens of all examples in a row, and back to examples.

Features and labels by name are learnt and numbered over all tokens together; messages name the token and the
example.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.inputs import features, labels
from structmargin.inputs.containers import by_position, count
from structmargin.inputs.matrices import matrix


class Tokens:
    """The inputs of a sequence problem as a user gave them.

    Attributes
    ----------
    X : list
        One matrix, data frame or list of tokens per example, none of them empty.
    offsets : ndarray of shape (n + 1,)
        Example i has the tokens offsets[i] .. offsets[i + 1] - 1.
    named : bool
        Whether the features of the first token come by name.
    """

    def __init__(self, X: Any) -> None:
        self.X = [by_position(x, f"x of example {i}") for i, x in enumerate(X)]
        lengths = [count(x) for x in self.X]
        if 0 in lengths:
            raise ValueError(
                f"x of example {lengths.index(0)} has no tokens: leave sequences of length 0 out"
            )
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        first = self.X[0]
        self.named = not sp.issparse(first) and features.has_names(first[0])

    def place(self, k: int) -> str:
        """Where the k-th of all tokens stands."""
        i = int(np.searchsorted(self.offsets, k, side="right")) - 1
        return f"token {k - int(self.offsets[i])} of example {i}"

    def matrices(self) -> list[Any]:
        """The tokens of each example as a matrix of floats."""
        for i, x in enumerate(self.X):
            if not sp.issparse(x):
                features.refuse_names(x[0], f"token 0 of example {i}")
        return [matrix(x, f"x of example {i}", "token") for i, x in enumerate(self.X)]

    def width(self) -> int:
        """How many features the tokens of the first example have."""
        first = self.X[0]
        if not sp.issparse(first):
            features.refuse_names(first[0], "token 0 of example 0")
        return int(matrix(first, "x of example 0", "token").shape[1])

    def learnt_features(self) -> tuple[str, ...]:
        """The names of the features of all tokens."""
        return features.learnt(self._all(), self.place)

    def columns(self, names: Sequence[str]) -> list[sp.csr_matrix]:
        """The tokens of each example as a sparse matrix with a column for each name."""
        whole = features.columns(self._all(), names, self.place)
        return [whole[low:high] for low, high in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def _all(self) -> list[Any]:
        return [token for x in self.X for token in x]

    def learnt_labels(self, Y: Any, names: labels.Names | None) -> labels.Names:
        """The names of labels, learnt unless given: an array if all y are arrays of one kind, or a tuple."""
        parts, together = self._joined_labels(Y)
        if names is None:
            names = labels.learnt(together, self.place)
        else:
            labels.require_different(names, "labels")
            names = labels.of_type(names, together)
        arrays = all(isinstance(y, np.ndarray) and y.dtype.kind == parts[0].dtype.kind for y in parts)
        return names if arrays else tuple(labels.values_of(names))

    def label_numbers(self, Y: Any, names: labels.Names) -> list[np.ndarray]:
        """The numbers of the labels of each example, -1 for one that is not among the names."""
        _, together = self._joined_labels(Y)
        numbers = labels.numbers_of(together, names, self.place)
        return np.split(numbers, self.offsets[1:-1])

    def labels_of(self, Y: Any) -> list[Any]:
        """The labels of each example by position, as many as it has tokens."""
        parts = [by_position(y, f"y of example {i}") for i, y in enumerate(Y)]
        for i, (y, T) in enumerate(zip(parts, np.diff(self.offsets), strict=True)):
            shape = np.shape(y) if isinstance(y, np.ndarray) else (len(y),)
            if shape != (T,):
                raise ValueError(f"example {i} has {T} tokens, but labels of shape {shape}")
        return parts

    def _joined_labels(self, Y: Any) -> tuple[list[Any], np.ndarray]:
        """The labels of each example, and those of all tokens as one 1-d array."""
        parts = self.labels_of(Y)
        if all(isinstance(y, np.ndarray) and y.dtype.kind == parts[0].dtype.kind for y in parts):
            return parts, np.concatenate(parts)
        return parts, labels.label_array(list(chain.from_iterable(parts)))
