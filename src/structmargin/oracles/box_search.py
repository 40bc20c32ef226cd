"""Boxes in a map of visual words, scored by spatial pyramids (jkse09 Section 5.1; Lampert et al. 2008).

A map is an integer array (rows, columns); an entry is a word, or below 0 where there is none. A box is
(top, left, bottom, right), half open. Level L = 1 .. levels of its pyramid cuts the box into L x L cells,
cell (i, j) from row top + floor(i height / L) to row top + floor((i + 1) height / L), and columns likewise:
in all 1 + 4 + 9 + 16 = 30 cells for 4 levels. With W[c, v] the worth of word v in cell c,

    score(box) = sum over cells c of weight_c * sum over the words v in cell c of W[c, v]

and weight_c is 1 (RAW), 1 / (cells * area of c) (CELL) or 1 / (levels * area of the box) (BOX). Every box of
a few windows (height, width, step) is scored through one integral image a cell. The order of scores is that
of windows, then rows, then columns; the first of equals wins.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled

RAW, CELL, BOX = 0, 1, 2


def n_cells(levels: int) -> int:
    """Cells of a pyramid: 1 + 4 + ... + levels^2."""
    return levels * (levels + 1) * (2 * levels + 1) // 6


@compiled
def cell_weight(kind, levels, height, width, area):  # type: ignore[no-untyped-def]
    """The weight of a cell of that area in a box of height x width; 0 for a cell without area."""
    if kind == RAW:
        return 1.0
    if kind == BOX:
        return 1.0 / (levels * height * width)
    return 1.0 / (levels * (levels + 1) * (2 * levels + 1) // 6 * area) if area > 0 else 0.0


@compiled
def pyramid_cells(height, width, levels, kind):  # type: ignore[no-untyped-def]
    """The cells of the pyramid of a box of height x width, level by level, then row by row.

    Returns their (top, bottom, left, right), half open and counted from the corner of the box, (cells, 4)
    int64, and their weights (cells,).
    """
    n = levels * (levels + 1) * (2 * levels + 1) // 6
    edges, weights = np.empty((n, 4), np.int64), np.empty(n)
    c = 0
    for L in range(1, levels + 1):
        for i in range(L):
            for j in range(L):
                top, bottom = i * height // L, (i + 1) * height // L
                left, right = j * width // L, (j + 1) * width // L
                edges[c, 0], edges[c, 1], edges[c, 2], edges[c, 3] = top, bottom, left, right
                weights[c] = cell_weight(kind, levels, height, width, (bottom - top) * (right - left))
                c += 1
    return edges, weights


@compiled
def integrals(words, W):  # type: ignore[no-untyped-def]
    """S (cells, rows + 1, columns + 1): S[c, r, k] sums W[c, word] over the first r rows and k columns."""
    rows, columns = words.shape
    S = np.zeros((W.shape[0], rows + 1, columns + 1))
    for c in range(W.shape[0]):
        for r in range(rows):
            line = 0.0
            for k in range(columns):
                if words[r, k] >= 0:
                    line += W[c, words[r, k]]
                S[c, r + 1, k + 1] = S[c, r, k + 1] + line
    return S


@compiled
def places(rows, columns, window):  # type: ignore[no-untyped-def]
    """(positions down, positions across) of a window (height, width, step); 0 where it does not fit."""
    height, width, step = window[0], window[1], window[2]
    down = (rows - height) // step + 1 if height <= rows else 0
    across = (columns - width) // step + 1 if width <= columns else 0
    return (down, across) if down > 0 and across > 0 else (0, 0)


@compiled
def count_boxes(rows, columns, windows):  # type: ignore[no-untyped-def]
    """How many boxes the windows (k, 3) have in a map."""
    total = 0
    for window in windows:
        down, across = places(rows, columns, window)
        total += down * across
    return total


@compiled
def boxes_of(rows, columns, windows):  # type: ignore[no-untyped-def]
    """All boxes (m, 4), in the order of scores."""
    boxes = np.empty((count_boxes(rows, columns, windows), 4), np.int64)
    used = 0
    for window in windows:
        height, width, step = window[0], window[1], window[2]
        down, across = places(rows, columns, window)
        for r in range(down):
            for k in range(across):
                boxes[used, 0], boxes[used, 1] = r * step, k * step
                boxes[used, 2], boxes[used, 3] = r * step + height, k * step + width
                used += 1
    return boxes


@compiled
def scan(S, windows, levels, kind):  # type: ignore[no-untyped-def]
    """Scores (m,) of all boxes, from the integral images S (cells, rows + 1, columns + 1)."""
    rows, columns = S.shape[1] - 1, S.shape[2] - 1
    scores = np.zeros(count_boxes(rows, columns, windows))
    first = 0
    for window in windows:
        height, width, step = window[0], window[1], window[2]
        down, across = places(rows, columns, window)
        edges, weights = pyramid_cells(height, width, levels, kind)
        for c in range(len(weights)):
            t, b, left, r = edges[c, 0], edges[c, 1], edges[c, 2], edges[c, 3]
            weight = weights[c]
            for y in range(down):
                upper, lower = S[c, y * step + t], S[c, y * step + b]
                out = scores[first + y * across : first + (y + 1) * across]
                for x in range(across):
                    k = x * step
                    inside = lower[k + r] - lower[k + left] - upper[k + r] + upper[k + left]
                    out[x] += weight * inside
        first += down * across
    return scores


@compiled
def overlap(a, b):  # type: ignore[no-untyped-def]
    """Area of the intersection of two boxes over that of their union."""
    down = min(a[2], b[2]) - max(a[0], b[0])
    across = min(a[3], b[3]) - max(a[1], b[1])
    if down <= 0 or across <= 0:
        return 0.0
    both = down * across
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


@compiled
def box_loss(truths, box):  # type: ignore[no-untyped-def]
    """1 - the overlap of a box with the nearest of the true boxes (k, 4); 1 where there is none."""
    best = 0.0
    for truth in truths:
        best = max(best, overlap(truth, box))
    return 1.0 - best


@compiled
def box_losses(truths, boxes):  # type: ignore[no-untyped-def]
    """`box_loss` of every box (m, 4)."""
    losses = np.empty(len(boxes))
    for k in range(len(boxes)):
        losses[k] = box_loss(truths, boxes[k])
    return losses


@compiled
def most_violated(scores, t, s, at_truth):  # type: ignore[no-untyped-def]
    """The first index of the largest H = t - s * (at_truth - score); -1 where t leaves every box out.

    t and s (m,) are those of H at each box's loss; t is -inf for a box that is no violator.
    """
    best, chosen = -np.inf, -1
    for k in range(len(scores)):
        value = t[k] - s[k] * (at_truth - scores[k])
        if value > best:
            best, chosen = value, k
    return chosen


@compiled
def near(box, other, down, across):  # type: ignore[no-untyped-def]
    """Whether two centres are nearer than `down` heights and `across` widths of the other box."""
    close_down = abs(box[0] + box[2] - other[0] - other[2]) < 2.0 * down * (other[2] - other[0])
    return close_down and abs(box[1] + box[3] - other[1] - other[3]) < 2.0 * across * (other[3] - other[1])


@compiled
def suppressed(scores, boxes, down, across, most):  # type: ignore[no-untyped-def]
    """Repeated search: indices of up to `most` boxes, each the best of those not `near` an earlier one."""
    alive = np.ones(len(scores), np.bool_)
    chosen = np.empty(min(most, len(scores)), np.int64)
    count = 0
    while count < len(chosen):
        best, top = -1, -np.inf
        for k in range(len(scores)):
            if alive[k] and scores[k] > top:
                best, top = k, scores[k]
        if best < 0:
            break
        chosen[count] = best
        count += 1
        for k in range(len(scores)):
            if alive[k] and near(boxes[k], boxes[best], down, across):
                alive[k] = False
        alive[best] = False
    return chosen[:count]


@compiled
def add_histogram(words, box, levels, kind, n_words, scratch, bins, values):  # type: ignore[no-untyped-def]
    """Write the pyramid of a box: sorted bins c * n_words + v that occur, and their weighted counts.

    `scratch` (cells * n_words,) holds zeros before and after; returns how many bins were written.
    """
    edges, weights = pyramid_cells(box[2] - box[0], box[3] - box[1], levels, kind)
    used = 0
    for c in range(len(weights)):
        first = used
        for y in range(max(box[0] + edges[c, 0], 0), min(box[0] + edges[c, 1], words.shape[0])):
            for x in range(max(box[1] + edges[c, 2], 0), min(box[1] + edges[c, 3], words.shape[1])):
                if words[y, x] >= 0:
                    k = c * n_words + words[y, x]
                    if scratch[k] == 0.0:
                        bins[used] = k
                        used += 1
                    scratch[k] += 1.0
        bins[first:used].sort()
        for p in range(first, used):
            values[p] = weights[c] * scratch[bins[p]]
            scratch[bins[p]] = 0.0
    return used
