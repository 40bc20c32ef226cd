"""The cuts of the block QP by blocks, and what is measured of them at the current w, without moving.

With h_c = b_c - <a_c, w> and xi_i = max(0, max of h over block i), the distance to the relaxed
primal of `ascent.py` is a sum of non-negative terms, one a block, so every pass certifies itself:

    capped   cap * xi_i - sum_c alpha_c h_c
    ridge    (xi_i - ridge * total_i)^2 / (2 ridge) + sum_c alpha_c (xi_i - h_c)

The hard margin has no slack to price: with v the largest h, w / (1 - v) is feasible if v < 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.dual.compiled_cuts import inner, open_block


class Blocks(NamedTuple):
    """Which cuts a block has: members[i, :size[i]], in the order they were added; place is the inverse."""

    members: np.ndarray  # (n, width) int32
    size: np.ndarray  # (n,) int32
    place: np.ndarray  # (m,) int32: members[block of c, place[c]] = c


class QP(NamedTuple):
    """The block QP as compiled code sees it: what every function that works on it is given, as one value."""

    cuts: Any  # the cuts and their combination w: SparseCuts, TensorCuts or GramCuts
    blocks: Blocks
    alpha: np.ndarray  # (m,)
    b: np.ndarray  # (m,)
    cap: np.ndarray  # (n,): one per block
    ridge: np.ndarray  # (n,)


@compiled
def is_hard(qp):  # type: ignore[no-untyped-def]
    """Whether margins are hard: no ridge, and some block without a cap."""
    hard = False
    for i in range(qp.cap.shape[0]):
        if qp.ridge[i] > 0.0:
            return False
        hard = hard or qp.cap[i] == np.inf
    return hard


@compiled
def enter(blocks, block, first):  # type: ignore[no-untyped-def]
    """Enter cuts `first` and later into their blocks."""
    for c in range(first, block.shape[0]):
        i = block[c]
        blocks.place[c] = blocks.size[i]
        blocks.members[i, blocks.place[c]] = c
        blocks.size[i] += 1


@compiled
def best(qp, examples):  # type: ignore[no-untyped-def]
    """For each example the largest h among its cuts and that cut's number; (0, -1) if none exceeds 0."""
    cuts, blocks, b = qp.cuts, qp.blocks, qp.b
    values = np.zeros(examples.shape[0])
    which = np.full(examples.shape[0], -1)
    for j in range(examples.shape[0]):
        i = examples[j]
        open_block(cuts, i, blocks.size[i])
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            h = b[c] - inner(cuts, c)
            if h > values[j]:
                values[j], which[j] = h, c
    return values, which


@compiled
def slack(qp, i):  # type: ignore[no-untyped-def]
    """xi_i = max(0, max of h over block i) at the current w."""
    cuts, blocks, b = qp.cuts, qp.blocks, qp.b
    xi = 0.0
    open_block(cuts, i, blocks.size[i])
    for p in range(blocks.size[i]):
        c = blocks.members[i, p]
        xi = max(xi, b[c] - inner(cuts, c))
    return xi


@compiled
def measure(qp, xi, h_of):  # type: ignore[no-untyped-def]
    """At the current w, without moving: (relaxed duality gap, largest KKT violation, |w|^2, b'alpha).

    Fills xi (n,) with the relaxed slacks and h_of (m,) with the h of every cut. |w|^2 is taken as
    sum_c alpha_c <a_c, w>.
    """
    cuts, blocks, alpha, b, caps, ridges = qp
    gap, worst, norm2, linear, top = 0.0, 0.0, 0.0, 0.0, -np.inf
    for i in range(blocks.size.shape[0]):
        total, slack, low = 0.0, 0.0, np.inf
        held, cap, ridge = 0.0, caps[i], ridges[i]
        open_block(cuts, i, blocks.size[i])
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            product = inner(cuts, c)
            h = b[c] - product
            h_of[c] = h
            if cap > 0.0:
                top = max(top, h)
            slack = max(slack, h)
            total += alpha[c]
            held += alpha[c] * h
            norm2 += alpha[c] * product
            linear += alpha[c] * b[c]
            if alpha[c] > 0.0:
                low = min(low, h)
        xi[i] = slack
        shift = ridge * total
        if ridge > 0.0:
            gap += 0.5 * (slack - shift) * ((slack - shift) / ridge) + (total * slack - held)
        elif cap < np.inf:
            gap += cap * slack - held
        high = max(slack - shift, 0.0)
        if total < cap:
            low = min(low, shift)
        if low < np.inf:
            worst = max(worst, high - (low - shift))
    if is_hard(qp):
        dual = linear - 0.5 * norm2
        gap = np.inf if top >= 1.0 else 0.5 * norm2 / (1.0 - max(top, 0.0)) ** 2 - dual
        if top == -np.inf:
            gap = 0.0
    return gap, worst, norm2, linear
