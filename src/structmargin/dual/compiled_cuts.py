"""Five ways to keep cuts a_c and their combination w, and what the ascent does with them.

SparseCuts   each a_c as a sparse row; w as a vector
PartCuts     each a_c as a short sparse row of what it takes of each part of its example, such as the tokens
             of a sequence; the features of the parts are kept once, w is a vector
TensorCuts   a_c = s_c * x_i ⊗ (Lambda(y_i) - Lambda(ybar_c)) without ever forming the product;
             memory is that of the data and the weights, not of the cuts
ProductCuts  the same in the space of a kernel kx(x, z) L[y, y']: rows of the matrix of kx instead of
             x, and Z, which is that matrix times the coefficients of classes, instead of w
GramCuts     only the inner products G, in the space of any joint kernel; q = G alpha instead of w

`open_block(cuts, i, k)` comes before `inner` on any of block i's k cuts, and `close_block` after the
last `move`: between the two a representation may work on the block as a whole. Which code runs is
decided when the caller is compiled, by the type of `cuts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structmargin.compiled import compiled, overload


@compiled
def gathered(data, columns, w, shift):  # type: ignore[no-untyped-def]
    """sum_j data[j] w[columns[j] + shift], in four sums: no addition waits for the one before it."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    k = data.shape[0]
    whole = k - k % 4
    for j in range(0, whole, 4):
        t0 += data[j] * w[np.uint64(columns[j] + shift)]
        t1 += data[j + 1] * w[np.uint64(columns[j + 1] + shift)]
        t2 += data[j + 2] * w[np.uint64(columns[j + 2] + shift)]
        t3 += data[j + 3] * w[np.uint64(columns[j + 3] + shift)]
    for j in range(whole, k):
        t0 += data[j] * w[np.uint64(columns[j] + shift)]
    return (t0 + t1) + (t2 + t3)


@compiled
def scattered(data, columns, w, shift, step):  # type: ignore[no-untyped-def]
    """w[columns[j] + shift] += step data[j] for every j."""
    for j in range(data.shape[0]):
        w[np.uint64(columns[j] + shift)] += step * data[j]


class SparseCuts(NamedTuple):
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


class PartCuts(NamedTuple):
    """Block i is example i, whose parts are rows offsets[i]:offsets[i + 1] of a sparse matrix of features.

    Column t L + a of a_c is the t-th part of its example together with label a: it stands for the part's
    features at the weights of label a, which are w[k L + a] for feature k. A column from `direct` on is the
    single weight that is `shift` further on in w; such columns come last in a row. `pool`: see SparseCuts.
    """

    data: np.ndarray  # a_c: (nnz,)
    indices: np.ndarray  # (nnz,) int32
    start: np.ndarray  # (m + 1,) int64
    w: np.ndarray  # (d,)
    pool: np.ndarray
    pool_at: np.ndarray  # (m,) int64
    part_data: np.ndarray  # parts: (nnz,)
    part_columns: np.ndarray  # int32: k L of a feature k
    part_start: np.ndarray  # (N + 1,) int64
    offsets: np.ndarray  # (n + 1,) int64
    part: np.ndarray  # (direct,) int32: t of a column
    label: np.ndarray  # (direct,) int32: a of a column
    direct: int
    shift: int
    u: np.ndarray  # (direct,): products with w of the open block's columns, as far as they are known
    known: np.ndarray  # (direct,) int64: in which opening u was computed
    change: np.ndarray  # (direct,): what was moved and not carried into w yet
    moved: np.ndarray  # (direct,) int32: the columns that were moved, and
    is_moved: np.ndarray  # (direct,) bool: which these are
    now: np.ndarray  # (3,) int64: the number of this opening, the open block, the length of `moved`


class TensorCuts(NamedTuple):
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


class ProductCuts(NamedTuple):
    """Block i is example i. Z is kept for all examples, so that a search finds every score ready.

    With beta[i, q] = sum over the cuts c of block i of alpha_c s_c (1[q = y_i] - 1[q = ybar_c]), Z[q, j] is
    sum_i beta[i, q] kx(x_i, x_j), and the score of class y on example j is sum_q L[y, q] Z[q, j].
    """

    Kx: np.ndarray  # (n, n) of float64 or float32: the rows of examples that have cuts
    place: np.ndarray  # (n,): which row of Kx is that of example i
    norm2: np.ndarray  # (n,): kx(x_i, x_i)
    Z: np.ndarray  # (K, n)
    map_data: np.ndarray  # L by its entries other than 0: (nnz,)
    map_indices: np.ndarray
    map_start: np.ndarray  # (K + 1,)
    M: np.ndarray  # (K, K): L again, with all its entries
    label: np.ndarray  # (n,): y_i
    block: np.ndarray  # (m,): i of cut c
    ybar: np.ndarray  # (m,)
    scale: np.ndarray  # (m,): s_c
    u: np.ndarray  # (K,): column i of Z for the open block
    change: np.ndarray  # (K + 1,): what moved in the open block; the last entry says whether anything did


class GramCuts(NamedTuple):
    """G has room for more cuts than there are; q has exactly one entry a cut."""

    G: np.ndarray
    q: np.ndarray  # (m,)


def open_block(cuts: Any, i: int, k: int) -> None:
    """Prepare for `inner` on the k cuts of block i."""
    raise TypeError("compiled code only")


def inner(cuts: Any, c: int) -> float:
    """<a_c, w>, w as it was when the block was opened or later."""
    raise TypeError("compiled code only")


def move(cuts: Any, c: int, amount: float) -> None:
    """w += amount * a_c, in force at the latest when the block is closed."""
    raise TypeError("compiled code only")


def close_block(cuts: Any, i: int) -> None:
    """Carry out what was moved in block i."""
    raise TypeError("compiled code only")


def combination(cuts: Any) -> np.ndarray:
    """w, or what stands for it, as a vector."""
    raise TypeError("compiled code only")


def products(
    cuts: Any, alpha: np.ndarray, s: np.ndarray, d: np.ndarray, w: np.ndarray, w0: np.ndarray, v: np.ndarray
) -> tuple[float, float, float, float, float, float]:
    """<w, w>, <w, t>, <w, v>, <t, t>, <t, v>, <v, v> for combinations w of alpha, t = w - w0 of s, v of d."""
    raise TypeError("compiled code only")


def local_gram(cuts: Any, i: int, place: np.ndarray, ids: np.ndarray, k: int, K: np.ndarray) -> None:
    """K[p, r] = <a_ids[p], a_ids[r]> for k cuts of block i, in the order they were added."""
    raise TypeError("compiled code only")


@overload(open_block)
def _open_block(cuts, i, k):  # type: ignore[no-untyped-def]
    if cuts.instance_class is PartCuts:  # see part_cuts.py
        return None
    if cuts.instance_class is ProductCuts:

        def product(cuts, i, k):  # type: ignore[no-untyped-def]
            for q in range(cuts.u.shape[0]):
                cuts.u[q] = cuts.Z[q, i]

        return product

    if cuts.instance_class is not TensorCuts:
        return lambda cuts, i, k: None

    def tensor(cuts, i, k):  # type: ignore[no-untyped-def]
        if k == 0:
            return
        cuts.u[:] = 0.0
        for j in range(cuts.start[i], cuts.start[i + 1]):
            x, row = cuts.data[j], cuts.W[cuts.indices[j]]
            for q in range(row.shape[0]):
                cuts.u[q] += x * row[q]

    return tensor


@overload(inner)
def _inner(cuts, c):  # type: ignore[no-untyped-def]
    if cuts.instance_class is PartCuts:  # see part_cuts.py
        return None
    if cuts.instance_class is SparseCuts:

        def sparse(cuts, c):  # type: ignore[no-untyped-def]
            first, last = cuts.start[c], cuts.start[c + 1]
            return gathered(cuts.data[first:last], cuts.indices[first:last], cuts.w, 0)

        return sparse

    if cuts.instance_class in (TensorCuts, ProductCuts):

        def tensor(cuts, c):  # type: ignore[no-untyped-def]
            total = 0.0
            y, ybar = cuts.label[cuts.block[c]], cuts.ybar[c]
            for j in range(cuts.map_start[y], cuts.map_start[y + 1]):
                total += cuts.map_data[j] * cuts.u[cuts.map_indices[j]]
            for j in range(cuts.map_start[ybar], cuts.map_start[ybar + 1]):
                total -= cuts.map_data[j] * cuts.u[cuts.map_indices[j]]
            return cuts.scale[c] * total

        return tensor

    return lambda cuts, c: cuts.q[c]


@overload(move)
def _move(cuts, c, amount):  # type: ignore[no-untyped-def]
    if cuts.instance_class is PartCuts:  # see part_cuts.py
        return None
    if cuts.instance_class is SparseCuts:

        def sparse(cuts, c, amount):  # type: ignore[no-untyped-def]
            first, last = cuts.start[c], cuts.start[c + 1]
            scattered(cuts.data[first:last], cuts.indices[first:last], cuts.w, 0, amount)

        return sparse

    if cuts.instance_class is TensorCuts:

        def tensor(cuts, c, amount):  # type: ignore[no-untyped-def]
            y, ybar, step = cuts.label[cuts.block[c]], cuts.ybar[c], amount * cuts.scale[c]
            for j in range(cuts.map_start[y], cuts.map_start[y + 1]):
                cuts.change[cuts.map_indices[j]] += step * cuts.map_data[j]
            for j in range(cuts.map_start[ybar], cuts.map_start[ybar + 1]):
                cuts.change[cuts.map_indices[j]] -= step * cuts.map_data[j]
            cuts.change[-1] = 1.0

        return tensor

    if cuts.instance_class is ProductCuts:

        def product(cuts, c, amount):  # type: ignore[no-untyped-def]
            cuts.change[cuts.label[cuts.block[c]]] += amount * cuts.scale[c]
            cuts.change[cuts.ybar[c]] -= amount * cuts.scale[c]
            cuts.change[-1] = 1.0

        return product

    def gram(cuts, c, amount):  # type: ignore[no-untyped-def]
        for r in range(cuts.q.shape[0]):
            cuts.q[r] += amount * cuts.G[c, r]

    return gram


@overload(close_block)
def _close_block(cuts, i):  # type: ignore[no-untyped-def]
    if cuts.instance_class is PartCuts:  # see part_cuts.py
        return None
    if cuts.instance_class is ProductCuts:

        def product(cuts, i):  # type: ignore[no-untyped-def]
            if cuts.change[-1] == 0.0:
                return
            k = cuts.Kx[cuts.place[i]]
            for q in range(cuts.Z.shape[0]):
                step = cuts.change[q]
                if step != 0.0:
                    z = cuts.Z[q]
                    for j in range(z.shape[0]):
                        z[j] += step * k[j]
            cuts.change[:] = 0.0

        return product

    if cuts.instance_class is not TensorCuts:
        return lambda cuts, i: None

    def tensor(cuts, i):  # type: ignore[no-untyped-def]
        if cuts.change[-1] == 0.0:
            return
        for j in range(cuts.start[i], cuts.start[i + 1]):
            x, row = cuts.data[j], cuts.W[cuts.indices[j]]
            for q in range(row.shape[0]):
                row[q] += x * cuts.change[q]
        cuts.change[:] = 0.0

    return tensor


@overload(combination)
def _combination(cuts):  # type: ignore[no-untyped-def]
    if cuts.instance_class in (SparseCuts, PartCuts):
        return lambda cuts: cuts.w
    if cuts.instance_class is TensorCuts:
        return lambda cuts: cuts.W.reshape(cuts.W.size)
    if cuts.instance_class is ProductCuts:
        return lambda cuts: cuts.Z.reshape(cuts.Z.size)
    return lambda cuts: cuts.q


@overload(products)
def _products(cuts, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
    if cuts.instance_class is ProductCuts:

        def product(cuts, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
            ww, wt, wv, tt, tv, vv = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            n = cuts.label.shape[0]
            for c in range(alpha.shape[0]):
                if alpha[c] == 0.0 and s[c] == 0.0 and d[c] == 0.0:
                    continue
                i = cuts.block[c]
                of_w, of_t, of_v, sign = 0.0, 0.0, 0.0, cuts.scale[c]
                for y in (cuts.label[i], cuts.ybar[c]):
                    for j in range(cuts.map_start[y], cuts.map_start[y + 1]):
                        at, weight = np.int64(cuts.map_indices[j]) * n + i, sign * cuts.map_data[j]
                        of_w += weight * w[at]
                        of_t += weight * (w[at] - w0[at])
                        of_v += weight * v[at]
                    sign = -sign
                ww += alpha[c] * of_w
                wt += s[c] * of_w
                wv += d[c] * of_w
                tt += s[c] * of_t
                tv += s[c] * of_v
                vv += d[c] * of_v
            return ww, wt, wv, tt, tv, vv

        return product

    if cuts.instance_class is not GramCuts:

        def explicit(cuts, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
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

    def gram(cuts, alpha, s, d, w, w0, v):  # type: ignore[no-untyped-def]
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
def _local_gram(cuts, i, place, ids, k, K):  # type: ignore[no-untyped-def]
    if cuts.instance_class in (SparseCuts, PartCuts):

        def sparse(cuts, i, place, ids, k, K):  # type: ignore[no-untyped-def]
            for p in range(k):
                first = cuts.pool_at[ids[p]]
                for r in range(p + 1):
                    K[p, r] = cuts.pool[first + place[ids[r]]]
                    K[r, p] = K[p, r]

        return sparse

    if cuts.instance_class in (TensorCuts, ProductCuts):

        def tensor(cuts, i, place, ids, k, K):  # type: ignore[no-untyped-def]
            y = cuts.label[i]
            of_y = cuts.M[y]
            for p in range(k):
                yp = cuts.ybar[ids[p]]
                of_p, step = cuts.M[yp], cuts.norm2[i] * cuts.scale[ids[p]]
                for r in range(p + 1):
                    yr = cuts.ybar[ids[r]]
                    K[p, r] = step * cuts.scale[ids[r]] * (of_y[y] - of_y[yr] - of_y[yp] + of_p[yr])
                    K[r, p] = K[p, r]

        return tensor

    def gram(cuts, i, place, ids, k, K):  # type: ignore[no-untyped-def]
        for p in range(k):
            for r in range(k):
                K[p, r] = cuts.G[ids[p], ids[r]]

    return gram
