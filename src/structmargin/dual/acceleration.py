"""A stride of the block QP: where a sweep over the blocks was heading, together with the stride before it.

A sweep shares mass out well within a block but slowly among blocks that pull at the same weights: it moves
a little in nearly the same direction many times. After a sweep by s, the best point of
alpha + x s + y d, with d the stride before, solves two equations; it is led back into the feasible set, and
the best point of the segment between is taken, so that the dual never falls. This is the method of
conjugate gradients with sweeps for a preconditioner, where no bound is met.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled
from structmargin.dual.compiled_cuts import close_block, combination, move, products

MIN_SWEEP = 1e-12
"""Of a sweep that moves |w|^2 by less than this share of it, rounding leaves no direction."""

ROUNDING = 1e-13
"""A block above its cap by no more than this share is at it."""

MAX_STRIDE = 100.0
"""A stride is at most so many times a sweep or the stride before; else rounding grows with it."""


@compiled
def stride(qp, spare, alpha0, w0, d):  # type: ignore[no-untyped-def]
    """One stride from (alpha, w), which a sweep has reached from (alpha0, w0); all is moved in place.

    d (m,) is the stride before and `spare`, of the same cuts as `cuts`, has its combination for w; both
    hold the new one afterwards. Before the first stride both are 0. Returns by how much the dual rose.
    """
    cuts, blocks, alpha, b, caps, ridges = qp
    n, m = blocks.size.shape[0], alpha.shape[0]
    w, v = combination(cuts), combination(spare)
    s = alpha - alpha0
    ww, ws, wd, ss, sd, dd = products(cuts, alpha, s, d, w, w0, v)
    if ss <= MIN_SWEEP * max(ww, 0.0):  # what is left of w - w0 is rounding
        d[:] = 0.0
        v[:] = 0.0
        return 0.0
    gs, gd = -ws, -wd
    for i in range(n):
        total, total_s, total_d, ridge = 0.0, 0.0, 0.0, ridges[i]
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            gs += b[c] * s[c]
            gd += b[c] * d[c]
            total += alpha[c]
            total_s += s[c]
            total_d += d[c]
        gs -= ridge * total * total_s
        gd -= ridge * total * total_d
        ss += ridge * total_s * total_s
        sd += ridge * total_s * total_d
        dd += ridge * total_d * total_d
    x, y = gs / ss, 0.0
    if dd > 0.0:  # in units of the lengths of s and d: products of squares could leave the range of floats
        length_s, length_d = np.sqrt(ss), np.sqrt(dd)
        cosine = sd / length_s / length_d
        determinant = 1.0 - cosine * cosine
        if determinant > 1e-8:
            us, ud = gs / length_s, gd / length_d
            x = (us - cosine * ud) / determinant / length_s
            y = (ud - cosine * us) / determinant / length_d
    longest = max(abs(x), abs(y))
    if longest > MAX_STRIDE:
        x, y = x * MAX_STRIDE / longest, y * MAX_STRIDE / longest
    for j in range(w.shape[0]):
        v[j] = x * (w[j] - w0[j]) + y * v[j]
    linear, curve = 0.0, 0.0
    for i in range(n):
        total, aim, total_u, cap, ridge = 0.0, 0.0, 0.0, caps[i], ridges[i]
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            total += alpha[c]
            aim += max(alpha[c] + x * s[c] + y * d[c], 0.0)
        back = cap / aim if aim > cap * (1.0 + ROUNDING) else 1.0
        moved = False
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            u = x * s[c] + y * d[c]
            d[c] = u
            if alpha[c] + u < 0.0 or (back < 1.0 and alpha[c] + u > 0.0):
                d[c] = back * max(alpha[c] + u, 0.0) - alpha[c]
                move(spare, c, d[c] - u)
                moved = True
            linear += b[c] * d[c]
            total_u += d[c]
        if moved:
            close_block(spare, i)
        linear -= ridge * total * total_u
        curve += ridge * total_u * total_u
    _, _, wd, _, _, dd = products(cuts, alpha, d, d, w, w0, v)
    linear -= wd
    curve += dd
    step = 0.0
    if linear > 0.0:
        step = 1.0 if linear >= curve else linear / curve
    for c in range(m):
        alpha[c] = max(alpha[c] + step * d[c], 0.0)
        d[c] = alpha[c] - alpha0[c]
    for j in range(w.shape[0]):
        w[j] += step * v[j]
        v[j] = w[j] - w0[j]
    return step * (linear - 0.5 * step * curve)
