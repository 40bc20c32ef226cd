"""Efficient subwindow search: the best of all boxes by branch and bound (Lampert, Blaschko, Hofmann 2008).

A state is four intervals, of tops, bottoms, lefts and rights. A pyramid cell's edge floor(((L - i) top + i
bottom) / L) rises with top and bottom, so over a state each cell lies between a smallest and a largest
rectangle; with S+ and S- the integral images of the positive and negative parts of W,

    score <= sum over cells of S+(largest) + S-(smallest)

for the counts of a RAW pyramid. The overlap with a truth is at least that of the smallest box's intersection
with the largest box's union, which bounds the loss from above; H is linear in d = Delta^power for a fixed
margin, so its bound is at d = 0 or at the largest d. States leave a heap best first; a single box that comes
out is the best of all boxes whose height and width lie in the ranges given.
"""

from __future__ import annotations

import heapq

import numpy as np

from structmargin.compiled import compiled
from structmargin.formulation import h_value
from structmargin.oracles.box_search import box_loss, near


@compiled
def _inside(S, c, t, b, left, r):  # type: ignore[no-untyped-def]
    return S[c, b, r] - S[c, t, r] - S[c, b, left] + S[c, t, left]


@compiled
def _score_bound(P, N, levels, t0, t1, b0, b1, l0, l1, r0, r1):  # type: ignore[no-untyped-def]
    """An upper bound on the score of a state's boxes; the score itself where there is one box only."""
    total, c = 0.0, 0
    for L in range(1, levels + 1):
        for i in range(L):
            above0, above1 = ((L - i) * t0 + i * b0) // L, ((L - i) * t1 + i * b1) // L
            below0, below1 = ((L - i - 1) * t0 + (i + 1) * b0) // L, ((L - i - 1) * t1 + (i + 1) * b1) // L
            for j in range(L):
                left0, left1 = ((L - j) * l0 + j * r0) // L, ((L - j) * l1 + j * r1) // L
                right0, right1 = (
                    ((L - j - 1) * l0 + (j + 1) * r0) // L,
                    ((L - j - 1) * l1 + (j + 1) * r1) // L,
                )
                total += _inside(P, c, above0, below1, left0, right1)
                if below0 > above1 and right0 > left1:
                    total += _inside(N, c, above1, below0, left1, right0)
                c += 1
    return total


@compiled
def _loss_bound(truths, t0, t1, b0, b1, l0, l1, r0, r1):  # type: ignore[no-untyped-def]
    """An upper bound on the loss of a state's boxes."""
    least = 0.0
    for y in truths:
        down = max(min(b0, y[2]) - max(t1, y[0]), 0)
        across = max(min(r0, y[3]) - max(l1, y[1]), 0)
        both = down * across
        union = (b1 - t0) * (r1 - l0) + (y[2] - y[0]) * (y[3] - y[1]) - both
        least = max(least, both / union)
    return 1.0 - least


@compiled
def _swallowed(earlier, down, across, t0, t1, b0, b1, l0, l1, r0, r1):  # type: ignore[no-untyped-def]
    """Whether every box of a state is near one of the earlier boxes."""
    for y in earlier:
        first, last = np.array([t0, l0, b0, r0]), np.array([t1, l1, b1, r1])
        if near(first, y, down, across) and near(last, y, down, across):
            return True
    return False


@compiled
def branch_and_bound(P, N, levels, low, high, truths, at_truth, H, earlier, down, across):  # type: ignore[no-untyped-def]
    """(box (4,), loss, score, states looked at) with the largest H(loss, at_truth - score).

    P, N (cells, rows + 1, columns + 1) are integral images of the positive and negative parts. low and high
    are (height, width). Without `truths` the loss is 0 everywhere; with some, boxes without loss are left
    out. Boxes near those in `earlier` (k, 4) are left out too. top is -1 where no box is left.
    """
    rows, columns = P.shape[1] - 1, P.shape[2] - 1
    looked, no_box = 0, np.full(4, -1)
    heap = [(-np.inf, 0, 0, rows, 0, rows, 0, columns, 0, columns)]
    while len(heap):
        _, _, t0, t1, b0, b1, l0, l1, r0, r1 = heapq.heappop(heap)
        looked += 1
        sides = (t1 - t0, b1 - b0, l1 - l0, r1 - r0)
        widest = max(sides)
        if widest == 0:
            box = np.array([t0, l0, b0, r0])
            loss = box_loss(truths, box) if len(truths) else 0.0
            return box, loss, _score_bound(P, N, levels, t0, t1, b0, b1, l0, l1, r0, r1), looked
        side = 0
        while sides[side] < widest:
            side += 1
        for half in range(2):
            s = np.array([t0, t1, b0, b1, l0, l1, r0, r1])
            middle = (s[2 * side] + s[2 * side + 1]) // 2
            s[2 * side + 1 - half] = middle + half
            if s[3] - s[0] < low[0] or s[2] - s[1] > high[0] or s[7] - s[4] < low[1] or s[6] - s[5] > high[1]:
                continue
            if s[3] <= s[0] or s[7] <= s[4]:
                continue
            t = (s[0], s[1], max(s[2], s[0] + 1), s[3], s[4], s[5], max(s[6], s[4] + 1), s[7])
            if _swallowed(earlier, down, across, *t):
                continue
            margin = at_truth - _score_bound(P, N, levels, *t)
            if t[0] == t[1] and t[2] == t[3] and t[4] == t[5] and t[6] == t[7]:
                loss = box_loss(truths, np.array([t[0], t[4], t[2], t[6]])) if len(truths) else 0.0
                if len(truths) and loss <= 0.0:
                    continue
                bound = h_value(H, loss, margin)
            else:
                max_loss = _loss_bound(truths, *t) if len(truths) else 0.0
                bound = max(h_value(H, 0.0, margin), h_value(H, max_loss, margin))
            heapq.heappush(heap, (-bound, looked * 2 + half) + t)  # noqa: RUF005
    return no_box, 0.0, 0.0, looked
