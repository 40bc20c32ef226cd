"""Psi(x, y) - Psi(x, ybar) of sequences as short rows over their tokens (see `structmargin.parts`).

They are the rows of sequences whose token t has one feature, number t, of value 1: for these
phi(x_t) ⊗ e_a has a single column, t L + a.
"""

from __future__ import annotations

from collections import abc
from functools import partial

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.problems._scratch import PerThread
from structmargin.problems.sequence.features import FeatureLayout, Tokens, choose, difference_rows


class ShortRows:
    """The short rows of training sequences with tokens at `offsets` (n + 1,) and labels y (N,).

    Attributes
    ----------
    longest : int
        The number of tokens of the longest sequence.
    """

    def __init__(self, layout: FeatureLayout, offsets: np.ndarray, y: np.ndarray) -> None:
        assert not layout.input_transitions
        lengths, N, L = np.diff(offsets), offsets[-1], layout.n_labels
        self.longest = int(lengths.max(initial=0))
        numbers = np.arange(N) - np.repeat(offsets[:-1], lengths)
        self._tokens = Tokens(offsets, np.arange(N + 1), numbers.astype(np.int32), np.ones(N))
        self._layout, self._y = layout._replace(n_features=self.longest), y
        self._width = self.longest * L + L**2 + layout.triplets * L**3
        # scratch memory of `difference_rows`
        self._place = PerThread(partial(np.empty, self._width, dtype=np.int64))

    def __call__(self, example: np.ndarray, outputs: abc.Sequence[np.ndarray]) -> sp.csr_matrix:
        """The rows of examples and outputs given in pairs."""
        example = np.ascontiguousarray(example, dtype=np.int64)
        offsets, _ = choose(self._tokens.offsets, example)
        ybar = np.concatenate([np.zeros(0, dtype=np.int64), *outputs])
        indptr, columns, values = self._arrays(example, offsets, ybar)
        return sp.csr_matrix((values, columns, indptr), shape=(len(example), self._width))

    def products(
        self,
        example: np.ndarray,
        offsets: np.ndarray,
        ybar: np.ndarray,
        emissions: np.ndarray,
        direct: np.ndarray,
    ) -> np.ndarray:
        """The margins (m,) of labels ybar packed at `offsets`.

        `emissions` (len(ybar), L) are the tokens' products with w, `direct` the weights of counts.
        """
        rows = self._arrays(example, offsets, ybar)
        products: np.ndarray = _products(*rows, offsets, emissions, direct, self.longest)
        return products

    def _arrays(
        self, example: np.ndarray, offsets: np.ndarray, ybar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        arrays: tuple[np.ndarray, np.ndarray, np.ndarray] = difference_rows(
            self._tokens, self._layout, example, self._y, offsets, ybar, self._place.value
        )
        return arrays


@compiled
def _products(indptr, columns, values, packed, emissions, direct, longest):  # type: ignore[no-untyped-def]
    """The products (m,) of short rows with emissions (N, L), packed at `packed`, and direct weights."""
    L = emissions.shape[1]
    products = np.zeros(len(indptr) - 1)
    for i in range(len(products)):
        for k in range(indptr[i], indptr[i + 1]):
            column = columns[k]
            if column >= longest * L:
                products[i] += values[k] * direct[column - longest * L]
            else:
                products[i] += values[k] * emissions[packed[i] + column // L, column % L]
    return products
