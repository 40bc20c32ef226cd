"""Cuts: constraints as arrays, used by the search, the dual and the certificate.

Let deltaPsi_i(ybar) = Psi(x_i, y_i) - Psi(x_i, ybar). A formulation has two functions of the loss, the factor
s on deltaPsi and the offset t (`formulation.py`). A cut is a half-space

    xi_i >= b - <w, a>   with   a = s(Delta) * deltaPsi_i(ybar),   b = t(Delta).

`Cuts` holds many of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.formulation import Cost


class SearchError(ValueError):
    """A user's Psi, Delta or argmax breaks its contract."""


def require_losses(example: np.ndarray, losses: np.ndarray) -> None:
    """Raise SearchError that names the first example whose loss is negative, infinite or no number."""
    wrong = np.flatnonzero(~(losses >= 0.0) | ~np.isfinite(losses))
    if len(wrong):
        i = int(example[wrong[0]])
        raise SearchError(f"Delta of example {i} is {losses[wrong[0]]:g}; a loss must be finite and >= 0")


def tensor_rows(left: sp.csr_matrix, right: sp.csr_matrix) -> sp.csr_matrix:
    """Row by row left ⊗ right: (m, D) and (m, R) to (m, D * R). ⊗ is the outer product, flattened."""
    left, right = sp.csr_matrix(left, dtype=float), sp.csr_matrix(right, dtype=float)
    of_left, of_right = np.diff(left.indptr).astype(np.int64), np.diff(right.indptr).astype(np.int64)
    repeats = np.repeat(of_right, of_left)  # each entry on the left meets all of its row on the right
    first = np.repeat(np.repeat(right.indptr[:-1], of_left), repeats)
    entry = first + np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    R = right.shape[1]
    columns = np.repeat(left.indices.astype(np.int64), repeats) * R + right.indices[entry]
    data = np.repeat(left.data, repeats) * right.data[entry]
    indptr = np.concatenate([[0], np.cumsum(of_left * of_right)])
    return sp.csr_matrix((data, columns, indptr), shape=(left.shape[0], left.shape[1] * R))


@dataclass(frozen=True, eq=False)
class FactoredRows:
    """Rows phi[example[c]] ⊗ apart[c], kept as these two matrices and expanded only by `tocsr`.

    apart[c] is the difference of the two outputs' features, times the scale. Saved models hold the fields by
    name, so the names stay.
    """

    phi: sp.csr_matrix
    apart: sp.csr_matrix
    example: np.ndarray

    def tocsr(self) -> sp.csr_matrix:
        """The rows as one sparse matrix, as scipy's matrices call it."""
        return tensor_rows(self.phi[self.example], self.apart)


class JoinedOutputs(Sequence[Any]):
    """Several sequences as one, in order; outputs that are computed on demand stay so."""

    def __init__(self, parts: list[Sequence[Any]]) -> None:
        self.parts = parts
        self.ends = np.cumsum([len(part) for part in parts])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        p = int(np.searchsorted(self.ends, k, side="right"))
        return self.parts[p][k - int(self.ends[p]) + len(self.parts[p])]


def _joined_outputs(parts: list[Any]) -> Any:
    """Arrays as an array, lists as a list, anything else as `JoinedOutputs`."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if all(isinstance(part, list) for part in parts):
        return [output for part in parts for output in part]
    return JoinedOutputs(parts)


class Cuts(NamedTuple):
    """m cuts: a = scale * row, and H = b - <w, a> at some w. Each field has one entry per cut.

    Attributes
    ----------
    example : ndarray of int, shape (m,)
        The example i whose slack the cut bounds, which is its block of the dual. The cuts of `one_slack` are
        averages over all examples and all have block 0.
    outputs : sequence of m outputs, or None
        The outputs ybar; None where they are no longer known. The entry of an averaged cut is None.
    losses : ndarray of float, shape (m,)
        Delta(y_i, ybar).
    scale : ndarray of float, shape (m,)
        s(Delta), the factor on the row; 1 where the rows are scaled already.
    b : ndarray of float, shape (m,)
        t(Delta), the offset.
    rows : csr_matrix of shape (m, d), FactoredRows, or None
        deltaPsi_i(ybar). `rows.tocsr()` makes a matrix of either kind. None under a joint kernel, and where a
        search leaves them out because Psi has factors.
    H : ndarray of float, shape (m,)
        b - <w, a> at the w of the search that found the cut, or at the final w for the support of a fit.
    alpha : ndarray of float, shape (m,)
        The dual variables; 0 for cuts that no dual has weighed yet.
    """

    example: np.ndarray
    outputs: Any
    losses: np.ndarray
    scale: np.ndarray
    b: np.ndarray
    rows: Any
    H: np.ndarray
    alpha: np.ndarray

    @classmethod
    def of_search(
        cls, H: Cost, example: np.ndarray, outputs: Any, losses: Any, margins: Any, rows: Any = None
    ) -> Cuts:
        """What a search found, with scale, offset and H worked out from losses and margins.

        Parameters
        ----------
        H : Cost
            The cost that was maximised.
        example : ndarray of int, shape (m,)
            Which example each output was found for.
        outputs : sequence of m outputs
        losses : array of float, shape (m,)
            Delta(y_i, ybar).
        margins : array of float, shape (m,)
            f(x_i, y_i) - f(x_i, ybar); where rows are given it is rows @ f.w, so that H matches the stored
            row exactly.
        rows : csr_matrix of shape (m, d), optional

        Raises
        ------
        SearchError
            If a loss is negative, or a loss or a score is not finite; the message names the example.
        """
        example, losses = np.asarray(example), np.asarray(losses, dtype=float)
        require_losses(example, losses)
        values = np.asarray(H(losses, margins))
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            i = int(example[wrong[0]])
            raise SearchError(f"the score of example {i} is not finite; look for NaN or infinity in its Psi")
        return cls(example, outputs, losses, H.s(losses), H.t(losses), rows, values, np.zeros(len(losses)))

    def take(self, chosen: np.ndarray) -> Cuts:
        """The chosen cuts alone, in the order given; for cuts whose rows are a matrix or None."""
        example, outputs, losses, scale, b, rows, H, alpha = self
        return Cuts(
            example[chosen],
            None if outputs is None else [outputs[c] for c in chosen],
            losses[chosen],
            scale[chosen],
            b[chosen],
            None if rows is None else rows[chosen],
            H[chosen],
            alpha[chosen],
        )

    @classmethod
    def joined(cls, parts: list[Cuts]) -> Cuts:
        """Several as one, in the order given; their rows are matrices or None, and outputs are known."""
        if len(parts) == 1:
            return parts[0]
        rows = None if parts[0].rows is None else sp.vstack([part.rows for part in parts], format="csr")
        outputs = _joined_outputs([part.outputs for part in parts])
        example, losses, scale, b, H, alpha = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("example", "losses", "scale", "b", "H", "alpha")
        )
        return cls(example, outputs, losses, scale, b, rows, H, alpha)

    def largest_H(self, n: int) -> np.ndarray:
        """The largest H of each of n examples; minus infinity for those that were not searched."""
        largest = np.full(n, -np.inf)
        np.maximum.at(largest, self.example, self.H)
        return largest
