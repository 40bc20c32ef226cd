"""Joint features that are sums over the parts of an input, such as the tokens of a sequence.

With phi(x_t) the features of part t, e_a the indicator of label a and ⊗ the outer product,

    Psi(x, y) = ( sum_t phi(x_t) ⊗ e_{y_t},  counts(y) )

where counts(y) has one entry per further weight. A difference of two such vectors is a short row: for every
part t and label a how often phi(x_t) ⊗ e_a occurs in it, in column t L + a, and then the difference of
counts. The features themselves are kept once for each part, however many cuts there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Parts(NamedTuple):
    """The parts of n examples, and the short rows of their outputs.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Example i has the parts offsets[i]:offsets[i + 1].
    phi : csr_matrix of shape (N, D)
        The features of all parts.
    n_labels : int
        L. Feature k at label a has the weight k L + a; the further weights begin at D L.
    longest : int
        The largest number of parts of an example, T. The further weights begin at column T L of a short row.
    rows : callable (example, outputs) -> csr_matrix of shape (m, T L + number of further weights)
        The short rows of Psi(x_i, y_i) - Psi(x_i, ybar).
    """

    offsets: np.ndarray
    phi: sp.csr_matrix
    n_labels: int
    longest: int
    rows: Callable[[np.ndarray, Any], sp.csr_matrix]


class IndependentRows(NamedTuple):
    """An example whose m labels can be wrong one by one, in any combination.

    The loss of an output is the sum of `losses` over its wrong labels, and Psi(x, y) - Psi(x, ybar) the sum
    of factor_r (x_r, constant) over the same; every set of wrong labels is an output.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (m, d)
        The rows x_r.
    factor : ndarray of float, shape (m,)
        What each row is multiplied by.
    constant : float
        The value of one more feature that all rows have; 0 for none, and then w has d entries.
    losses : ndarray of float, shape (m,)
        What each wrong label adds to the loss, above 0.
    """

    X: Any
    factor: np.ndarray
    constant: float
    losses: np.ndarray


@dataclass(frozen=True, eq=False)
class PartRows:
    """Rows of joint features, kept as short rows and expanded only by `tocsr`.

    Row c is that of short[c], whose part t is row first[c] + t of phi. Saved models hold the fields by name.
    """

    short: sp.csr_matrix
    first: np.ndarray
    phi: sp.csr_matrix
    n_labels: int
    longest: int

    def tocsr(self) -> sp.csr_matrix:
        """The rows as one sparse matrix, as scipy's matrices call it."""
        L, D, direct = self.n_labels, self.phi.shape[1], self.longest * self.n_labels
        short = self.short.tocoo()
        of_part = short.col < direct
        row, column, value = short.row[of_part], short.col[of_part], short.data[of_part]
        features = self.phi[self.first[row] + column // L]
        lengths = np.diff(features.indptr)
        rows = np.concatenate([np.repeat(row, lengths), short.row[~of_part]])
        columns = np.concatenate(
            [
                features.indices.astype(np.int64) * L + np.repeat(column % L, lengths),
                short.col[~of_part].astype(np.int64) - direct + D * L,
            ]
        )
        data = np.concatenate([features.data * np.repeat(value, lengths), short.data[~of_part]])
        shape = (self.short.shape[0], D * L + self.short.shape[1] - direct)
        return sp.csr_matrix((data, (rows, columns)), shape=shape)
