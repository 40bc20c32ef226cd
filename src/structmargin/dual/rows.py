"""Three ways to keep cuts a_c and their combination w, and what the ascent does with them.

SparseRows   each a_c as a sparse row; w as a vector
TensorRows   a_c = s_c * x_i (x) (Lambda(y_i) - Lambda(ybar_c)) without ever forming the product;
             memory is that of the data and the weights, not of the cuts
GramRows     only the inner products G, in the space of a joint kernel; q = G alpha instead of w

`open_block(rows, i, k)` comes before `inner` on any of block i's k cuts, and `close_block` after the
last `move`: between the two a representation may work on the block as a whole. Which code runs is
decided when the caller is compiled, by the type of `rows`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload


class SparseRows(NamedTuple):
    """a_c has entries data[start[c]:start[c+1]] at indices[...]; entries of one column add up.

    `pool` holds each cut's products with the cuts before it in its block, then with itself,
    from `pool_at[c]` on.
    """

    data: np.ndarray  # (nnz,)
    indices: np.ndarray  # (nnz,) int32
    start: np.ndarray  # (m + 1,) int64
    w: np.ndarray  # (d,)
    pool: np.ndarray
    pool_at: np.ndarray  # (m,) int64


class TensorRows(NamedTuple):
    """Block i is example i: x_i is row i of a sparse matrix, Lambda(y) row y of another."""

    data: np.ndarray  # x: (nnz,)
    indices: np.ndarray  # int32
    start: np.ndarray  # (n + 1,)
    norm2: np.ndarray  # (n,): |x_i|^2
    W: np.ndarray  # (D, L)
    map_data: np.ndarray  # Lambda: (nnz,)
    map_indices: np.ndarray
    map_start: np.ndarray  # (K + 1,)
    M: np.ndarray  # (K, K): <Lambda(y), Lambda(y')>
    label: np.ndarray  # (n,): y_i
    block: np.ndarray  # (m,): i of cut c
    ybar: np.ndarray  # (m,)
    scale: np.ndarray  # (m,): s_c
    u: np.ndarray  # (L,): x_i W of the open block
    change: np.ndarray  # (L + 1,): what moved in the open block; the last entry says whether anything did


class GramRows(NamedTuple):
    """G has room for more cuts than there are; q has exactly one entry a cut."""

    G: np.ndarray
    q: np.ndarray  # (m,)


def open_block(rows: Any, i: int, k: int) -> None:
    """Prepare for `inner` on the k cuts of block i."""
    raise TypeError("compiled code only")


def inner(rows: Any, c: int) -> float:
    """<a_c, w>, w as it was when the block was opened or later."""
    raise TypeError("compiled code only")


def move(rows: Any, c: int, amount: float) -> None:
    """w += amount * a_c, in force at the latest when the block is closed."""
    raise TypeError("compiled code only")


def close_block(rows: Any, i: int) -> None:
    """Carry out what was moved in block i."""
    raise TypeError("compiled code only")


def combination(rows: Any) -> np.ndarray:
    """w, or what stands for it, as a vector."""
    raise TypeError("compiled code only")


def products(
    rows: Any, alpha: np.ndarray, s: np.ndarray, d: np.ndarray, w: np.ndarray, w0: np.ndarray, v: np.ndarray
) -> tuple[float, float, float, float, float, float]:
    """<w, w>, <w, t>, <w, v>, <t, t>, <t, v>, <v, v> for combinations w of alpha, t = w - w0 of s, v of d."""
    raise TypeError("compiled code only")


def local_gram(rows: Any, i: int, place: np.ndarray, ids: np.ndarray, k: int, K: np.ndarray) -> None:
    """K[p, r] = <a_ids[p], a_ids[r]> for k cuts of block i, in the order they were added."""
    raise TypeError("compiled code only")


@overload(open_block)
def _open_block(rows, i, k):  # type: ignore[no-untyped-def]
    if rows.instance_class is not TensorRows:
        return lambda rows, i, k: None

    def tensor(rows, i, k):  # type: ignore[no-untyped-def]
        if k == 0:
            return
        rows.u[:] = 0.0
        for j in range(rows.start[i], rows.start[i + 1]):
            x, row = rows.data[j], rows.W[rows.indices[j]]
            for q in range(row.shape[0]):
                rows.u[q] += x * row[q]

    return tensor


@overload(inner)
def _inner(rows, c):  # type: ignore[no-untyped-def]
    if rows.instance_class is SparseRows:

        def sparse(rows, c):  # type: ignore[no-untyped-def]
            total = 0.0
            for j in range(rows.start[c], rows.start[c + 1]):
                total += rows.data[j] * rows.w[rows.indices[j]]
            return total

        return sparse

    if rows.instance_class is TensorRows:

        def tensor(rows, c):  # type: ignore[no-untyped-def]
            total = 0.0
            y, ybar = rows.label[rows.block[c]], rows.ybar[c]
            for j in range(rows.map_start[y], rows.map_start[y + 1]):
                total += rows.map_data[j] * rows.u[rows.map_indices[j]]
            for j in range(rows.map_start[ybar], rows.map_start[ybar + 1]):
                total -= rows.map_data[j] * rows.u[rows.map_indices[j]]
            return rows.scale[c] * total

        return tensor

    return lambda rows, c: rows.q[c]


@overload(move)
def _move(rows, c, amount):  # type: ignore[no-untyped-def]
    if rows.instance_class is SparseRows:

        def sparse(rows, c, amount):  # type: ignore[no-untyped-def]
            for j in range(rows.start[c], rows.start[c + 1]):
                rows.w[rows.indices[j]] += amount * rows.data[j]

        return sparse

    if rows.instance_class is TensorRows:

        def tensor(rows, c, amount):  # type: ignore[no-untyped-def]
            y, ybar, step = rows.label[rows.block[c]], rows.ybar[c], amount * rows.scale[c]
            for j in range(rows.map_start[y], rows.map_start[y + 1]):
                rows.change[rows.map_indices[j]] += step * rows.map_data[j]
            for j in range(rows.map_start[ybar], rows.map_start[ybar + 1]):
                rows.change[rows.map_indices[j]] -= step * rows.map_data[j]
            rows.change[-1] = 1.0

        return tensor

    def gram(rows, c, amount):  # type: ignore[no-untyped-def]
        for r in range(rows.q.shape[0]):
            rows.q[r] += amount * rows.G[c, r]

    return gram


@overload(close_block)
def _close_block(rows, i):  # type: ignore[no-untyped-def]
    if rows.instance_class is not TensorRows:
        return lambda rows, i: None

    def tensor(rows, i):  # type: ignore[no-untyped-def]
        if rows.change[-1] == 0.0:
            return
        for j in range(rows.start[i], rows.start[i + 1]):
            x, row = rows.data[j], rows.W[rows.indices[j]]
            for q in range(row.shape[0]):
                row[q] += x * rows.change[q]
        rows.change[:] = 0.0

    return tensor


@overload(combination)
def _combination(rows):  # type: ignore[no-untyped-def]
    if rows.instance_class is SparseRows:
        return lambda rows: rows.w
    if rows.instance_class is TensorRows:
        return lambda rows: rows.W.reshape(rows.W.size)
    return lambda rows: rows.q


@overload(products)
def _products(rows, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
    if rows.instance_class is not GramRows:

        def explicit(rows, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
            ww, wt, wv, tt, tv, vv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(w.shape[0]):
                t = w[j] - w0[j]
                ww += w[j] * w[j]
                wt += w[j] * t
                wv += w[j] * v[j]
                tt += t * t
                tv += t * v[j]
                vv += v[j] * v[j]
            return ww, wt, wv, tt, tv, vv

        return explicit

    def gram(rows, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
        ww, wt, wv, tt, tv, vv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(w.shape[0]):
            ww += alpha[c] * w[c]
            wt += s[c] * w[c]
            wv += d[c] * w[c]
            tt += s[c] * (w[c] - w0[c])
            tv += s[c] * v[c]
            vv += d[c] * v[c]
        return ww, wt, wv, tt, tv, vv

    return gram


@overload(local_gram)
def _local_gram(rows, i, place, ids, k, K):  # type: ignore[no-untyped-def]
    if rows.instance_class is SparseRows:

        def sparse(rows, i, place, ids, k, K):  # type: ignore[no-untyped-def]
            for p in range(k):
                at = rows.pool_at[ids[p]]
                for r in range(p + 1):
                    K[p, r] = rows.pool[at + place[ids[r]]]
                    K[r, p] = K[p, r]

        return sparse

    if rows.instance_class is TensorRows:

        def tensor(rows, i, place, ids, k, K):  # type: ignore[no-untyped-def]
            y = rows.label[i]
            of_y = rows.M[y]
            for p in range(k):
                yp = rows.ybar[ids[p]]
                of_p, step = rows.M[yp], rows.norm2[i] * rows.scale[ids[p]]
                for r in range(p + 1):
                    yr = rows.ybar[ids[r]]
                    K[p, r] = step * rows.scale[ids[r]] * (of_y[y] - of_y[yr] - of_y[yp] + of_p[yr])
                    K[r, p] = K[p, r]

        return tensor

    def gram(rows, i, place, ids, k, K):  # type: ignore[no-untyped-def]
        for p in range(k):
            for r in range(k):
                K[p, r] = rows.G[ids[p], ids[r]]

    return gram
