"""The block QP behind every formulation, by block-coordinate ascent in compiled code.

    maximise   b' alpha - 1/2 |sum_c alpha_c a_c|^2 - ridge/2 sum_i total_i^2
    subject to alpha >= 0,  total_i = sum of alpha over block i <= cap

(jmlr05 Propositions 4-9 after the scaling of `formulation.py`.) Two shapes occur: capped blocks
(ridge = 0) and the ridge (cap = infinity); the hard margin has neither. A slack coordinate with
zero cut and zero offset makes them one: it holds what is left under the cap, or an endless supply.

How cuts are kept is the business of `compiled_cuts.py`; `inner`, `move` and `local_gram`, between
`open_block` and `close_block`, are all that the ascent asks of them. How far the optimum is, the
measures of `blocks.py` say at every pass. Long ascents are made short by the strides of `acceleration.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.dual.acceleration import stride
from structmargin.dual.blocks import is_hard, measure
from structmargin.dual.compiled_cuts import close_block, combination, inner, local_gram, move, open_block

PLAIN_EPOCHS = 2
"""So many epochs come without a stride: most ascents between two searches are no longer than this."""
MAX_RETURNS, FAR_OFF, NEAR_ENOUGH = 6, 0.1, 0.1
"""After the visit to every block, an epoch returns to those whose gap is above FAR_OFF of the largest, up to
MAX_RETURNS times, until the gaps of these add up to NEAR_ENOUGH of what all added up to."""


class Until(NamedTuple):
    """When an ascent ends: at the first of these limits that is met."""

    tol: float  # the relaxed gap
    floor: float  # the largest KKT violation of a block
    flat_tol: float  # hard margin: the squared norm of a convex combination of the cuts' directions
    max_epochs: int


@compiled
def solve_block(K, h, alpha, k, cap, ridge, reduction, floor, max_steps):  # type: ignore[no-untyped-def]
    """Ascend over one block alone: pairwise steps with second-order choice of the partner.

    K (k, k) is the block's Gram matrix, h (k,) its h at the current w; both h and alpha (k,) are
    updated in place. Stops when the largest gradient and the smallest with mass differ by at most
    max(floor, reduction * the first difference). Returns the difference found at the start.
    """
    total = 0.0
    for p in range(k):
        total += alpha[p]
    first = -1.0
    for _ in range(max_steps):
        shift = ridge * total
        # the steepest coordinate; the slack coordinate (-1) has gradient 0
        up, g_up = -1, 0.0
        for p in range(k):
            if h[p] - shift > g_up:
                up, g_up = p, h[p] - shift
        # its partner: among coordinates with mass, the one that gains most
        down, g_down, gain, low = -2, 0.0, 0.0, g_up
        if up >= 0 and total < cap:
            low = 0.0
            eta = K[up, up] + ridge
            down, g_down = -1, 0.0
            gain = np.inf if eta <= 0.0 else g_up * (g_up / eta)
        for p in range(k):
            if alpha[p] <= 0.0:
                continue
            g = h[p] - shift
            if g < low:
                low = g
            if g >= g_up:
                continue
            if up >= 0:
                eta = K[up, up] + K[p, p] - 2.0 * K[up, p]
            else:
                eta = K[p, p] + ridge
            value = np.inf if eta <= 0.0 else (g_up - g) * ((g_up - g) / eta)
            if value > gain:
                down, g_down, gain = p, g, value
        if first < 0.0:
            first = g_up - low
        if down == -2 or g_up - low <= max(floor, reduction * first):
            break
        if up >= 0 and down >= 0:
            eta = K[up, up] + K[down, down] - 2.0 * K[up, down]
        elif up >= 0:
            eta = K[up, up] + ridge
        else:
            eta = K[down, down] + ridge
        supply = cap - total if down < 0 else alpha[down]
        step = supply
        if eta > 0.0 and (g_up - g_down) / eta < supply:
            step = (g_up - g_down) / eta
        if step == np.inf:
            return np.inf  # a cut of norm 0 with b > 0 and no price on it: no w satisfies it
        if up >= 0:
            alpha[up] += step
            if down < 0:
                total += step
        if down >= 0:
            alpha[down] = alpha[down] - step if step < supply else 0.0
            if up < 0:
                total -= step
        for p in range(k):
            change = 0.0
            if up >= 0:
                change -= K[p, up]
            if down >= 0:
                change += K[p, down]
            h[p] += step * change
    return max(first, 0.0)


@compiled
def stretch(qp, lengths):  # type: ignore[no-untyped-def]
    """Hard margin only: the best multiple of alpha. Returns |w|^2 / (sum_c alpha_c |a_c|)^2.

    `lengths` (m,) are |a_c|. That is the squared norm of a convex combination of the cuts' directions, an
    upper bound on the squared margin that any unit vector can have over these: near 0, the data cannot be
    separated.
    """
    cuts, blocks, alpha, b, _, _ = qp
    norm2, linear, total = 0.0, 0.0, 0.0
    for i in range(blocks.size.shape[0]):
        open_block(cuts, i, blocks.size[i])
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            if alpha[c] > 0.0:
                norm2 += alpha[c] * inner(cuts, c)
                linear += alpha[c] * b[c]
                total += alpha[c] * lengths[c]
    if linear <= 0.0:
        return np.inf
    if norm2 <= 0.0:
        return 0.0
    factor = linear / norm2 - 1.0
    for i in range(blocks.size.shape[0]):
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            if alpha[c] > 0.0:
                move(cuts, c, factor * alpha[c])
                alpha[c] += factor * alpha[c]
        close_block(cuts, i)
    return (np.sqrt(norm2) / total) ** 2


@compiled
def standing(total, slack, held, low, cap, ridge):  # type: ignore[no-untyped-def]
    """How far a block is from its optimum: (its gap, its KKT violation, the gradient that mass has at least).

    total = sum alpha, slack = max(0, max h), held = alpha' h, low = the least h with alpha > 0 or infinity.
    """
    shift = ridge * total
    if ridge > 0.0:
        gap = 0.5 * (slack - shift) * ((slack - shift) / ridge) + (total * slack - held)
    elif cap < np.inf:
        gap = cap * slack - held
    else:
        gap = max(slack, -low if low < np.inf else 0.0)
    if total < cap:
        low = min(low, shift)
    return gap, max(slack, shift) - low, low


@compiled
def ascend_block(qp, i, reduction, floor, min_gap, active, shrink_below, scratch):  # type: ignore[no-untyped-def]
    """One visit to block i: solve it over its active cuts and carry the change into w.

    Nothing is moved if the block's KKT violation is at most `floor` or its gap less than `min_gap`.

    Shrinking: with shrink_below < infinity every cut of the block is looked at first, and those without
    alpha whose h lies more than `shrink_below` under what the block needs are left out until the next such
    visit. `scratch` is (K, h, a, ids) with room for the block. Returns (the block's gap, its KKT violation),
    both before the visit.
    """
    cuts, blocks, alpha, b, caps, ridges = qp
    cap, ridge = caps[i], ridges[i]
    K, h, a, ids = scratch
    k, total, slack, held, low = 0, 0.0, 0.0, 0.0, np.inf
    open_block(cuts, i, blocks.size[i])
    for p in range(blocks.size[i]):
        c = blocks.members[i, p]
        if not active[c] and shrink_below == np.inf:
            continue
        ids[k], a[k], h[k] = c, alpha[c], b[c] - inner(cuts, c)
        total += a[k]
        slack = max(slack, h[k])
        held += a[k] * h[k]
        if a[k] > 0.0:
            low = min(low, h[k])
        k += 1
    gap, violation, low = standing(total, slack, held, low, cap, ridge)
    if shrink_below < np.inf:
        n_active = 0
        for p in range(k):
            active[ids[p]] = a[p] > 0.0 or h[p] >= low - shrink_below
            if active[ids[p]]:
                ids[n_active], a[n_active], h[n_active] = ids[p], a[p], h[p]
                n_active += 1
        k = n_active
    if k == 0 or violation <= floor or gap < min_gap:
        return gap, violation
    local_gram(cuts, i, blocks.place, ids, k, K)
    if solve_block(K, h, a, k, cap, ridge, reduction, floor, 100 * k + 1000) == np.inf:
        return np.inf, np.inf
    for p in range(k):
        c = ids[p]
        if a[p] != alpha[c]:
            move(cuts, c, a[p] - alpha[c])
            alpha[c] = a[p]
    close_block(cuts, i)
    return gap, violation


@compiled
def scratch_for(width):  # type: ignore[no-untyped-def]
    """Room for one block of `width` cuts: (K, h, a, ids)."""
    return np.empty((width, width)), np.empty(width), np.empty(width), np.empty(width, dtype=np.int32)


@compiled
def ascend_alone(qp, until, xi):  # type: ignore[no-untyped-def]
    """`ascend` for a single block with slack: its products are all there is to know until it is solved.

    Neither w nor a row is looked at before the end, when w is moved: rows of averaged cuts are long. As in
    `ascend`, one epoch comes before the first look at `tol`.
    """
    cuts, blocks, alpha, b, caps, ridges = qp
    tol, floor, _, max_epochs = until
    k, cap, ridge = blocks.size[0], caps[0], ridges[0]
    K, h, a, ids = scratch_for(k)
    for p in range(k):
        ids[p] = blocks.members[0, p]
        a[p] = alpha[ids[p]]
    local_gram(cuts, 0, blocks.place, ids, k, K)
    epoch = 0
    while True:
        total, slack, held, low, norm2, linear = 0.0, 0.0, 0.0, np.inf, 0.0, 0.0
        for p in range(k):
            product = 0.0
            for r in range(k):
                product += K[p, r] * a[r]
            h[p] = b[ids[p]] - product
            total += a[p]
            slack = max(slack, h[p])
            held += a[p] * h[p]
            norm2 += a[p] * product
            linear += a[p] * b[ids[p]]
            if a[p] > 0.0:
                low = min(low, h[p])
        gap, violation, _ = standing(total, slack, held, low, cap, ridge)
        if epoch == max_epochs or violation <= floor or (epoch > 0 and gap <= tol):
            break
        solve_block(K, h, a, k, cap, ridge, 0.01, floor, 100 * k + 1000)
        epoch += 1
    for p in range(k):
        if a[p] != alpha[ids[p]]:
            move(cuts, ids[p], a[p] - alpha[ids[p]])
            alpha[ids[p]] = a[p]
    close_block(cuts, 0)
    xi[0] = slack
    return (gap, violation, norm2, linear), epoch, np.inf


@compiled
def ascend(qp, spare, until, seed, xi, lengths):  # type: ignore[no-untyped-def]
    """Block-coordinate ascent until one of the limits in `until` is met.

    Blocks are visited in an order drawn from `seed`. An epoch visits every block and every cut once, then
    returns to the blocks that were furthest off, over their active cuts; after the first PLAIN_EPOCHS a
    stride follows, for which `spare` has the cuts of qp.cuts and a w of its own, 0 at first. With a hard
    margin there are no strides.

    `lengths` (m,) are |a_c|, needed for hard margins alone. Fills xi and returns (what `measure` returns at
    the end, epochs, what `stretch` returns or infinity).
    """
    cuts, blocks, alpha, _, _, _ = qp
    tol, floor, flat_tol, max_epochs = until
    n, hard = blocks.size.shape[0], is_hard(qp)
    if n == 1 and not hard:
        return ascend_alone(qp, until, xi)
    width = 1
    for i in range(n):
        width = max(width, blocks.size[i])
    scratch = scratch_for(width)
    active = np.ones(alpha.shape[0], dtype=np.bool_)
    order = np.arange(n)
    gaps = np.zeros(n)
    reduction = 0.01 if n == 1 else 0.1
    state = np.uint64(2 * seed + 1)
    min_share2, shrink_below = np.inf, 1e300
    measured = (np.inf, np.inf, 0.0, 0.0)
    epoch = 0
    alpha0, w0, d = np.empty(0), np.empty(0), np.empty(0)
    while epoch < max_epochs and measured[0] > tol and measured[1] > floor:
        striding = epoch >= PLAIN_EPOCHS and n > 1 and not hard
        if striding:
            alpha0, w0 = alpha.copy(), combination(cuts).copy()
        for j in range(n - 1, 0, -1):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            other = int((state >> np.uint64(33)) % np.uint64(j + 1))
            order[j], order[other] = order[other], order[j]
        total, most, seen = 0.0, 0.0, 0.0
        for j in range(n):
            i = order[j]
            if blocks.size[i] == 0:
                continue
            gaps[i], violation = ascend_block(qp, i, reduction, floor, -np.inf, active, shrink_below, scratch)
            if gaps[i] == np.inf:
                return measured, epoch, 0.0
            total += gaps[i]
            most, seen = max(most, gaps[i]), max(seen, violation)
        shrink_below = seen
        for _ in range(MAX_RETURNS if n > 1 else 0):
            left = 0.0
            for j in range(n):
                i = order[j]
                if gaps[i] > FAR_OFF * most:
                    gaps[i], _ = ascend_block(qp, i, reduction, floor, -np.inf, active, np.inf, scratch)
                    left += gaps[i]
            if left <= NEAR_ENOUGH * total:
                break
        if striding:
            if d.shape[0] == 0:
                d = np.zeros(alpha.shape[0])
            stride(qp, spare, alpha0, w0, d)
        epoch += 1
        if hard:
            min_share2 = stretch(qp, lengths)
            if min_share2 <= flat_tol:
                return measured, epoch, min_share2
        near = total <= 3.0 * tol or seen <= floor  # in the latter case the sweep has moved nothing
        if hard or n == 1 or near or epoch % 5 == 0 or epoch == max_epochs:
            measured = measure(qp, xi, np.empty(alpha.shape[0]))
    return measured, epoch, min_share2
