"""Exact local alignment of many pairs of strings at once, whatever the sign of the gap weight.

The set. A local alignment of a and b is a substring a[i:i'] against a substring b[j:j'] and a
monotone path from cell (i, j) to cell (i', j') by steps

    M  (i, j) -> (i+1, j+1)   letter against letter, equal or not: weight substitution[a_i, b_j]
    D  (i, j) -> (i+1, j)     a letter of a without a partner: weight gap
    I  (i, j) -> (i, j+1)     a letter of b without a partner: weight gap

(the letters of CIGAR strings). Any order of steps is a path: it may begin or end with gaps, or be
empty. The score is the sum of the weights of its steps, 0 when empty.

The recurrence (Smith and Waterman 1981; equation 16 of jmlr05). V[i, j] is the best score of a path
that ends in cell (i, j):

    V[0, 0] = 0,   V[i, j] = max(0, V[i-1, j-1] + substitution, V[i-1, j] + gap, V[i, j-1] + gap)

over the predecessors that exist. The borders follow the same rule: V[i, 0] = max(0, i gap). For
gap <= 0 they are the zeros of the textbook. For gap > 0, which a learnt weight may well be, zero
borders would forget the paths that begin with gaps, and the search would no longer be exact; with
the borders above it is exact over the set above for every real weight. Cells are visited in an order
in which predecessors come first and no step returns to a cell, so a positive gap weight makes no
endless path: a path has at most len(a) + len(b) steps.

Ties. Of the cells that attain the maximum the one with the smallest i', then the smallest j', ends
the path; walking back from there the path stops at the first cell of value 0, and otherwise prefers
M, then D, then I. So a score of 0 gives the empty path in cell (0, 0).

Four pairs are filled side by side, one per lane, so that the loops run on vector registers; cells
beyond a pair's own rectangle are filled and never looked at, since no path leaves a rectangle and
comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled

LANES = 4
M, D, I = ord("M"), ord("D"), ord("I")  # noqa: E741


class Strings(NamedTuple):
    """Strings end to end: the s-th is letters[start[s]:start[s + 1]]."""

    letters: np.ndarray  # (total,) uint32
    start: np.ndarray  # (n_strings + 1,) int64


class Path(NamedTuple):
    """One local alignment: the cell it begins in, and its steps as a string over M, D and I."""

    i: int
    j: int
    ops: str


class Aligned(NamedTuple):
    """Best local alignments of P pairs: scores and paths end to end."""

    score: np.ndarray  # (P,) float
    begin: np.ndarray  # (P, 2) int64: the cells (i, j)
    ops: np.ndarray  # (total,) uint8: codes of M, D and I
    start: np.ndarray  # (P + 1,) int64: the p-th path's steps are ops[start[p]:start[p + 1]]

    def path(self, p: int) -> Path:
        """The p-th path."""
        ops = self.ops[self.start[p] : self.start[p + 1]].tobytes().decode("ascii")
        return Path(int(self.begin[p, 0]), int(self.begin[p, 1]), ops)


def pack(strings: Sequence[Sequence[int] | np.ndarray]) -> Strings:
    """Strings of non-negative letter codes, end to end."""
    start = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum([len(s) for s in strings], out=start[1:])
    letters = np.concatenate(strings) if start[-1] else np.zeros(0)
    return Strings(letters.astype(np.uint32), start)


def scores(strings: Strings, pairs: np.ndarray, substitution: np.ndarray, gap: float) -> np.ndarray:
    """The best local score of each pair, (P,).

    `pairs` (P, 2) holds indices into `strings`: first a, then b. `substitution` (A, B) is indexed
    by a letter of a and a letter of b; it and `gap` must be finite, every letter of a must be below
    A and every letter of b below B.
    """
    return _run(strings, pairs, substitution, gap, False).score


def align(strings: Strings, pairs: np.ndarray, substitution: np.ndarray, gap: float) -> Aligned:
    """A best local alignment of each pair, with what `scores` requires."""
    return _run(strings, pairs, substitution, gap, True)


def count_steps(strings: Strings, pairs: np.ndarray, aligned: Aligned, shape: tuple[int, int]) -> np.ndarray:
    """How often each path uses each weight, (P, A * B + 1): the (A, B) substitutions, then the gaps."""
    counts = np.zeros((len(pairs), shape[0] * shape[1] + 1))
    _count(*strings, np.ascontiguousarray(pairs, dtype=np.int64), *aligned[1:], shape[1], counts)
    return counts


@compiled
def add_steps(letters, start, s, t, i, j, ops, low, high, B, sign, counts):  # type: ignore[no-untyped-def]
    """Add `sign` to counts[a * B + b] for each M and to the last count for each D or I of one path.

    The path belongs to strings s and t, begins in cell (i, j), and has the steps ops[low:high].
    """
    i += start[s]
    j += start[t]
    for k in range(low, high):
        if ops[k] == M:
            counts[letters[i] * B + letters[j]] += sign
            i += 1
            j += 1
        else:
            counts[len(counts) - 1] += sign
            if ops[k] == D:
                i += 1
            else:
                j += 1


@compiled
def _count(letters, start, pairs, begin, ops, ops_start, B, counts):  # type: ignore[no-untyped-def]
    for p in range(len(pairs)):
        s, t, i, j = pairs[p, 0], pairs[p, 1], begin[p, 0], begin[p, 1]
        add_steps(letters, start, s, t, i, j, ops, ops_start[p], ops_start[p + 1], B, 1.0, counts[p])


def _run(strings: Strings, pairs: np.ndarray, substitution: np.ndarray, gap: float, trace: bool) -> Aligned:
    """Make room for the answer and for the work of all lanes, then fill and walk back."""
    substitution = np.ascontiguousarray(substitution, dtype=float)
    if not (np.isfinite(substitution).all() and np.isfinite(gap)):
        raise ValueError("the substitution and gap weights must be finite; look for NaN or infinity in w")
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    P, B = len(pairs), substitution.shape[1]
    size = strings.start[pairs + 1] - strings.start[pairs]
    n, m = size.max(axis=0, initial=0)
    score, cell, start = np.zeros(P), np.zeros((P, 2), np.int64), np.zeros(P + 1, np.int64)
    ops = np.empty(size.sum() if trace else 0, np.uint8)
    a, b = np.zeros((n, LANES), np.uint32), np.zeros(m * LANES, np.uint32)
    V, s = np.empty((n + 1 if trace else 2, (m + 1) * LANES)), np.empty(m * LANES)
    top, top_row = np.empty((m + 1) * LANES), np.empty((m + 1) * LANES, np.int64)
    work = (size, a, b, s, V, top, top_row)
    _align(*strings, pairs, substitution.ravel(), B, float(gap), trace, work, score, cell, ops, start)
    return Aligned(score, cell, ops[: start[P]], start)


@compiled
def _align(letters, start, pairs, substitution, B, gap, trace, work, score, cell, ops, ops_start):  # type: ignore[no-untyped-def]
    size, a, b, s, V, top, top_row = work
    P = len(pairs)
    for first in range(0, P, LANES):
        last = min(first + LANES, P)
        for p in range(first, last):
            lane, at_a, at_b = p - first, start[pairs[p, 0]], start[pairs[p, 1]]
            for i in range(size[p, 0]):
                a[i, lane] = letters[at_a + i] * B  # where the letter's row of the substitution matrix begins
            for j in range(size[p, 1]):
                b[j * LANES + lane] = letters[at_b + j]
        _fill(
            size[first:last], a, b, s, substitution, gap, V, top, top_row, score[first:last], cell[first:last]
        )
        if trace:
            for p in range(first, last):
                low = ops_start[p]
                ops_start[p + 1] = _walk_back(a, b, V, substitution, gap, p - first, cell[p], ops, low)


@compiled
def _fill(size, a, b, s, substitution, gap, V, top, top_row, score, cell):  # type: ignore[no-untyped-def]
    """Fill V for as many pairs as there are lanes, and set each one's best score and the cell it stands in.

    Entry j * LANES + lane of a row of V is cell (i, j) of that lane. V has a row for each i, or two
    rows used in turn where paths are not asked for. `top` holds the best of each column so far and `top_row`
    the first row that has it.
    """
    n = width = 0
    for lane in range(len(size)):
        n, width = max(n, size[lane, 0]), max(width, size[lane, 1] * LANES)
    for k in range(width + LANES):
        V[0, k] = max(V[0, k - LANES] + gap, 0.0) if k >= LANES else 0.0
        top[k], top_row[k] = V[0, k], 0
    for i in range(n + 1):
        if i > 0:
            above, here = V[(i - 1) % len(V)], V[i % len(V)]
            for lane in range(LANES):
                here[lane] = max(above[lane] + gap, 0.0)
                if here[lane] > top[lane]:
                    top[lane], top_row[lane] = here[lane], i
            _look_up(substitution, a[i - 1], b, width, s)
            _row(above, here, s, gap, width, top, top_row, i)
        for lane in range(len(size)):
            if size[lane, 0] == i:
                score[lane], cell[lane, 0], cell[lane, 1] = _peak(top, top_row, size[lane, 1], lane)


@compiled
def _look_up(substitution, a, b, width, s):  # type: ignore[no-untyped-def]
    """The substitution weights of one row of all lanes."""
    for j in range(0, width, LANES):
        for lane in range(LANES):
            s[j + lane] = substitution[a[lane] + b[j + lane]]


@compiled
def _row(above, here, s, gap, width, top, top_row, i):  # type: ignore[no-untyped-def]
    """Cells (i, 1), (i, 2), ... of all lanes, and the running maximum of each column."""
    for k in range(width):
        v = above[k] + s[k]
        u = above[k + LANES] + gap
        v = v if v > u else u
        v = v if v > 0.0 else 0.0
        u = here[k] + gap
        v = v if v > u else u
        here[k + LANES] = v
        u = top[k + LANES]
        row = top_row[k + LANES]
        top[k + LANES] = v if v > u else u
        top_row[k + LANES] = i if v > u else row


@compiled
def _peak(top, top_row, m, lane):  # type: ignore[no-untyped-def]
    """The best value of a lane and its cell: the first row that has it, then the first column."""
    j = 0
    for k in range(1, m + 1):
        v, u = top[k * LANES + lane], top[j * LANES + lane]
        if v > u or (v == u and top_row[k * LANES + lane] < top_row[j * LANES + lane]):
            j = k
    return top[j * LANES + lane], top_row[j * LANES + lane], j


@compiled
def _walk_back(a, b, V, substitution, gap, lane, cell, ops, low):  # type: ignore[no-untyped-def]
    """Write the steps that lead to `cell` to ops[low:high], move `cell` to their beginning, return high."""
    i, j, high = cell[0], cell[1], low
    while V[i, j * LANES + lane] > 0.0:
        v = V[i, j * LANES + lane]
        step = I
        if i > 0 and v == V[i - 1, j * LANES + lane] + gap:
            step = D
        if i > 0 and j > 0:
            s = substitution[a[i - 1, lane] + b[(j - 1) * LANES + lane]]
            if v == V[i - 1, (j - 1) * LANES + lane] + s:
                step = M
        ops[high] = step
        high += 1
        i -= step != I
        j -= step != D
    for k in range((high - low) // 2):
        ops[low + k], ops[high - 1 - k] = ops[high - 1 - k], ops[low + k]
    cell[0], cell[1] = i, j
    return high
