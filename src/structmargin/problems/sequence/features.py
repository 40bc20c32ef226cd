"""Tokens of many sequences in one matrix, their scores, and the rows of Psi(x, y) - Psi(x, ybar).

Weights stand in blocks (jmlr05 Section 4.3.1, equation 13), with L labels, D = n_features (2 window + 1)
features in phi(x_t), and ⊗ the outer product:

    emissions           sum_t phi(x_t) ⊗ e_{y_t}                      column  k L + a
    transitions         eta sum_t e_{y_t} ⊗ e_{y_{t+1}}               then    a L + b
    input transitions   sum_t phi(x_t) ⊗ e_{y_t} ⊗ e_{y_{t+1}}        then    (k L + a) L + b   optional
    triplets            eta sum_t e_{y_t} ⊗ e_{y_{t+1}} ⊗ e_{y_{t+2}} then    (a L + b) L + c   optional

Features come first in a column's number and labels last, so that a block of w is a C-contiguous
matrix with one row per feature, which is how a token's scores read it.
"""

from __future__ import annotations

from collections import abc
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.kernels import Matrix

MIN_DENSE_SHARE = 0.3
"""The share of non-zero features from which a dense product beats the sparse one."""


class FeatureLayout(NamedTuple):
    """What Psi is made of, for compiled code."""

    n_labels: int
    n_features: int  # D, the length of phi(x_t): a token's features, its window included
    eta: float
    input_transitions: bool
    triplets: bool


class Tokens(NamedTuple):
    """The tokens of n sequences as a CSR matrix, one row per token and no column twice in a row."""

    offsets: np.ndarray  # (n + 1,) int64: sequence i has rows offsets[i]:offsets[i + 1]
    indptr: np.ndarray  # (N + 1,) int64
    indices: np.ndarray  # (nnz,) int32
    data: np.ndarray  # (nnz,) float64

    def matrix(self, D: int) -> sp.csr_matrix:
        """The tokens as an (N, D) matrix."""
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=(len(self.indptr) - 1, D))


def pack(X: abc.Sequence[Matrix], n_features: int, window: int) -> tuple[Tokens, np.ndarray | None]:
    """The tokens of all (T, n_features) arrays of X, each with its `window` neighbours on either side.

    A neighbour beyond the end of its sequence has no features. The second result is the same matrix
    (N, n_features (2 window + 1)) as a dense array where that makes scores faster, else None.
    """
    offsets = np.concatenate([[0], np.cumsum([x.shape[0] for x in X])]).astype(np.int64)
    csr = _sparse(X) if any(sp.issparse(x) for x in X) else _dense(X, n_features)
    tokens = Tokens(offsets, *csr)
    D = n_features
    if window > 0:
        tokens = Tokens(offsets, *_widen(tokens, n_features, window))
        D *= 2 * window + 1
    if len(tokens.data) < MIN_DENSE_SHARE * offsets[-1] * D:
        return tokens, None
    return tokens, tokens.matrix(D).toarray()


def _sparse(X: abc.Sequence[Matrix]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix = sp.csr_matrix(X[0] if len(X) == 1 else sp.vstack(X, format="csr"), dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def _dense(X: abc.Sequence[Matrix], n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix = np.concatenate([np.zeros((0, n_features)), *X])
    rows, columns = np.nonzero(matrix)
    indptr = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return indptr.astype(np.int64), columns.astype(np.int32), matrix[rows, columns]


@compiled
def _widen(tokens, n_features, r):  # type: ignore[no-untyped-def]
    """CSR arrays of the windows of 2 r + 1 tokens.

    Columns o n_features to (o + 1) n_features - 1 hold the token o - r places further on.
    """
    offsets, indptr, indices, data = tokens
    N = len(indptr) - 1
    new_indptr = np.zeros(N + 1, np.int64)
    for fill in range(2):
        if fill == 0:
            new_indices, new_data = np.empty(0, np.int32), np.empty(0)
        else:
            new_indices, new_data = np.empty(new_indptr[N], np.int32), np.empty(new_indptr[N])
        end = 0
        for i in range(len(offsets) - 1):
            for t in range(offsets[i], offsets[i + 1]):
                for o in range(2 * r + 1):
                    near = t + o - r
                    if offsets[i] <= near < offsets[i + 1]:
                        for p in range(indptr[near], indptr[near + 1]):
                            if fill == 1:
                                new_indices[end] = o * n_features + indices[p]
                                new_data[end] = data[p]
                            end += 1
                new_indptr[t + 1] = end
    return new_indptr, new_indices, new_data


@compiled
def choose(offsets, chosen):  # type: ignore[no-untyped-def]
    """The offsets of the chosen sequences packed together (m + 1,), and their tokens' numbers."""
    m = len(chosen)
    packed = np.zeros(m + 1, np.int64)
    for k in range(m):
        packed[k + 1] = packed[k] + offsets[chosen[k] + 1] - offsets[chosen[k]]
    token_numbers = np.empty(packed[m], np.int64)
    for k in range(m):
        for t in range(packed[k + 1] - packed[k]):
            token_numbers[packed[k] + t] = offsets[chosen[k]] + t
    return packed, token_numbers


@compiled
def sparse_scores(tokens, token_numbers, W):  # type: ignore[no-untyped-def]
    """The inner products of m tokens, given by number, with the columns of W (D, K): an array (m, K)."""
    _, indptr, indices, data = tokens
    K = W.shape[1]
    out = np.zeros((len(token_numbers), K))
    for r in range(len(token_numbers)):
        o = out[r]
        for p in range(indptr[token_numbers[r]], indptr[token_numbers[r] + 1]):
            x = data[p]
            w = W[indices[p]]
            for k in range(K):
                o[k] += x * w[k]
    return out


@compiled
def _add(place, columns, values, start, end, column, value):  # type: ignore[no-untyped-def]
    """Add `value` at `column` of the row columns[start:end]; the row's new end.

    place[column] says where the column may stand in the row; it may hold anything before.
    """
    k = place[column]
    if start <= k < end and columns[k] == column:
        values[k] += value
        return end
    place[column] = end
    columns[end] = column
    values[end] = value
    return end + 1


@compiled
def _max_entries(tokens, layout, lo, hi, y, ybar, first):  # type: ignore[no-untyped-def]
    """How many entries the row of one example may get before equal columns are summed."""
    indptr = tokens.indptr
    count = 0
    for t in range(hi - lo):
        if y[lo + t] != ybar[first + t]:
            # Two labels per feature; two pairs and three triplets hold the token, in each labelling.
            count += 2 * (indptr[lo + t + 1] - indptr[lo + t]) + 2 * 2 + 2 * 3
            if layout.input_transitions:
                count += 2 * (indptr[lo + t + 1] - indptr[max(lo + t - 1, lo)])
    return count


@compiled
def difference_rows(tokens, layout, chosen, y, packed, ybar, place):  # type: ignore[no-untyped-def]
    """Psi(x_i, y_i) - Psi(x_i, ybar_i) for each chosen i: CSR arrays (indptr, indices, data).

    y (N,) holds the labels of all tokens, ybar those of the chosen sequences, packed at `packed`;
    a labelling of -1 throughout stands for no Psi at all. `place` is scratch of n_weights int64.
    A row holds no column twice and no zero; its columns are in no order.
    """
    L, D, eta = layout.n_labels, layout.n_features, layout.eta
    _, tokens_indptr, tokens_indices, tokens_data = tokens
    at_transitions = D * L
    at_inputs = at_transitions + L * L
    at_triplets = at_inputs
    if layout.input_transitions:
        at_triplets += D * L * L
    m = len(chosen)
    max_entries = 0
    for i in range(m):
        lo, hi = tokens.offsets[chosen[i]], tokens.offsets[chosen[i] + 1]
        max_entries += _max_entries(tokens, layout, lo, hi, y, ybar, packed[i])
    columns, values = np.empty(max_entries, np.int32), np.empty(max_entries)
    indptr = np.zeros(m + 1, np.int64)
    end = 0
    for i in range(m):
        start = end
        lo, hi = tokens.offsets[chosen[i]], tokens.offsets[chosen[i] + 1]
        for which in range(2):
            sign = 1.0 - 2.0 * which
            for t in range(hi - lo):
                own, other = y[lo + t], ybar[packed[i] + t]
                same = own == other
                a = own if which == 0 else other
                if a >= 0 and not same:
                    for p in range(tokens_indptr[lo + t], tokens_indptr[lo + t + 1]):
                        column = tokens_indices[p] * L + a
                        end = _add(place, columns, values, start, end, column, sign * tokens_data[p])
                if t == 0:
                    continue
                own, other = y[lo + t - 1], ybar[packed[i] + t - 1]
                same = same and own == other
                b = own if which == 0 else other
                if b >= 0 and not same:
                    pair = b * L + a
                    end = _add(place, columns, values, start, end, at_transitions + pair, sign * eta)
                    if layout.input_transitions:
                        for p in range(tokens_indptr[lo + t - 1], tokens_indptr[lo + t]):
                            column = at_inputs + tokens_indices[p] * L * L + pair
                            end = _add(place, columns, values, start, end, column, sign * tokens_data[p])
                if t == 1 or not layout.triplets:
                    continue
                own, other = y[lo + t - 2], ybar[packed[i] + t - 2]
                same = same and own == other
                c = own if which == 0 else other
                if c >= 0 and not same:
                    column = at_triplets + (c * L + b) * L + a
                    end = _add(place, columns, values, start, end, column, sign * eta)
        # Contributions that cancelled are squeezed out.
        used = start
        for k in range(start, end):
            if values[k] != 0.0:
                columns[used], values[used] = columns[k], values[k]
                used += 1
        end = used
        indptr[i + 1] = end
    return indptr, columns[:end].copy(), values[:end].copy()
