"""Tokens as rows of features: spelling in a window of three, and the degree-2 map of such rows.

    linear     binary: word, lower case, first and last three letters, capitalisation, whether there is a
               digit, whether it is punctuation; of the token, of the one before and of the one after
    degree 2   phi with <phi(x), phi(z)> = (1 + <x, z>)^2; for binary x a constant 1, sqrt(3) x_i for every
               i, and sqrt(2) x_i x_j for i < j

No feature that training does not see is kept: it would never get a weight. Columns that are equal on
all training tokens can be merged: a solution gives them equal weights, and inner products with training
tokens, which are all that training and prediction need, stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from structmargin.kernels import entry_pairs

EDGE = "edge"
"""The only feature of the places before a sentence and after it."""


def spelling(word: str) -> Iterable[str]:
    """The names of a word's features."""
    yield from ("word=" + word, "lower=" + word.lower())
    yield from ("first=" + word[:3].lower(), "last=" + word[-3:].lower())
    kinds = (("all capitals", word.isupper()), ("capital", word[:1].isupper()), ("small", word.islower()))
    yield "case=" + next((kind for kind, true in kinds if true), "none")
    if any(letter.isdigit() for letter in word):
        yield "digit"
    if not any(letter.isalnum() for letter in word):
        yield "punctuation"


def binary(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The linear features of (words, lengths) of both subsets: matrices of zeros and ones, one row per token.

    Columns are those that some training token has.
    """
    vocabulary = np.unique(train[0])  # these first, so that columns do not depend on the test set
    vocabulary = np.concatenate([vocabulary, np.setdiff1d(test[0], vocabulary)])
    order = np.argsort(vocabulary)
    kind = order[np.searchsorted(vocabulary, np.concatenate([train[0], test[0]]), sorter=order)]
    column: dict[str, int] = {EDGE: 0}
    rows = [[column.setdefault(name, len(column)) for name in spelling(str(word))] for word in vocabulary]
    rows.append([column[EDGE]])
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    table = sp.csr_matrix((np.ones(indptr[-1]), np.concatenate(rows), indptr), shape=(len(rows), len(column)))
    ends = np.cumsum(np.concatenate([train[1], test[1]]))
    before, after = np.roll(kind, 1), np.roll(kind, -1)
    before[np.concatenate([[0], ends[:-1]])] = after[ends - 1] = len(vocabulary)
    every = sp.hstack([table[before], table[kind], table[after]], format="csr")
    A, B = every[: len(train[0])], every[len(train[0]) :]
    seen = np.flatnonzero(np.bincount(A.indices, minlength=A.shape[1]))
    A, B = A[:, seen], B[:, seen]
    A.sort_indices()
    B.sort_indices()
    return A, B


def degree2(A: sp.csr_matrix, B: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """phi of binary rows, for training rows A and others B: <phi(x), phi(z)> = (1 + <x, z>)^2 for x of A.

    Columns are the pairs that occur in A; the last is the constant. `structmargin.kernels.degree2` takes real
    numbers and must keep x_i and x_i^2 apart; for binary x the two are equal, so one column sqrt(3) x_i
    serves for both. Merging the library's columns instead gives the same matrix up to rounding only.
    """
    (row, pair), (row_b, pair_b) = _pairs(A), _pairs(B)
    known, place = np.unique(pair, return_inverse=True)
    place_b = np.minimum(np.searchsorted(known, pair_b), len(known) - 1)
    hit = known[place_b] == pair_b
    scale = np.where(known // A.shape[1] == known % A.shape[1], np.sqrt(3.0), np.sqrt(2.0))
    result = []
    for M, r, c in ((A, row, place), (B, row_b[hit], place_b[hit])):
        matrix = sp.csr_matrix((scale[c], (r, c)), shape=(M.shape[0], len(known)))
        result.append(sp.hstack([matrix, np.ones((M.shape[0], 1))], format="csr"))
    return result[0], result[1]


def _pairs(M: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """(row, i * D + j) for every i <= j that are both on in a row of a matrix with D sorted columns."""
    row, pair = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for rows, first, second in entry_pairs(M):
        row.append(np.repeat(rows, first.shape[1]))
        pair.append((M.indices[first].astype(np.int64) * M.shape[1] + M.indices[second]).ravel())
    return np.concatenate(row), np.concatenate(pair)


def merged(A: sp.csr_matrix, B: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A and B with the columns merged that are proportional in A: A A' and A B' do not change.

    Every column of A holds one value v wherever it is not zero. Those that are not zero in the same
    rows become a single column: |v| over them in A, and the share of it that is present in B.
    """
    by_column = A.tocsc()
    marks = np.random.default_rng(0).integers(0, 2**63, size=(2, A.shape[0]), dtype=np.uint64)
    sums = np.add.reduceat(marks[:, by_column.indices], by_column.indptr[:-1], axis=1)
    order = np.lexsort(sums[::-1])
    changed = np.any(np.diff(sums[:, order], axis=1, prepend=sums[:, order[:1]]), axis=0)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(changed)
    v = by_column.data[by_column.indptr[:-1]]
    share = v / np.sqrt(np.bincount(group, weights=v * v))[group]
    together = sp.csr_matrix((share, (np.arange(len(v)), group)))
    return sp.csr_matrix(A @ together), sp.csr_matrix(B @ together)
