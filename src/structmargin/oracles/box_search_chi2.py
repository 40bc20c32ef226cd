"""Chi-squared scores of boxes against support boxes, by histograms that change as a window slides.

For pyramids h (one weighted count per bin) and support pyramids h_j with coefficients,

    additive      f = sum_j coef_j m_j,               m_j = sum over bins of 2 h h_j / (h + h_j)
    exponential   f = sum_j coef_j exp(-gamma D_j),   D_j = sum (h - h_j)^2 / (h + h_j) = |h| + |h_j| - 2 m_j

A window that moves by a step changes few bins. The additive score is a sum over bins of a function of the
bin's count alone: each value is worked out once, when first met, and looked up from then on, so the cost of a
box does not depend on how many support boxes there are. The exponential one keeps every m_j up to date.

Both scans walk the same cells, rows and words, in two loops: a word costs the additive scan a look-up or two,
and the exponential one a walk over the support of its bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.oracles.box_search import count_boxes, places, pyramid_cells


class Pyramid(NamedTuple):
    """What pyramids are made of: levels, the weights of their cells (RAW, CELL or BOX), visual words."""

    levels: int
    kind: int
    n_words: int


class Support(NamedTuple):
    """Support pyramids h_j bin by bin: bin k holds the entries start[k] .. start[k + 1]."""

    start: np.ndarray  # (bins + 1,) int64
    owner: np.ndarray  # (entries,) int64: j
    value: np.ndarray  # (entries,): h_j in this bin, above 0
    coef: np.ndarray  # (support,)
    mass: np.ndarray  # (support,): |h_j|, the sum of its bins


@compiled
def chi2_rows(bins, values, start, bins2, values2, start2, width):  # type: ignore[no-untyped-def]
    """m (n, n2) between two lists of pyramids packed as sparse rows over `width` bins."""
    n, n2 = len(start) - 1, len(start2) - 1
    out, dense = np.zeros((n, n2)), np.zeros(width)
    for p in range(n):
        for k in range(start[p], start[p + 1]):
            dense[bins[k]] = values[k]
        for q in range(n2):
            total = 0.0
            for k in range(start2[q], start2[q + 1]):
                v = dense[bins2[k]]
                if v > 0.0:
                    total += v * values2[k] / (v + values2[k])
            out[p, q] = 2.0 * total
        for k in range(start[p], start[p + 1]):
            dense[bins[k]] = 0.0
    return out


@compiled
def _worth(start, owner, value, coef, k, v):  # type: ignore[no-untyped-def]
    """sum_j coef_j 2 v h_j / (v + h_j) over the support of bin k."""
    total = 0.0
    for e in range(start[k], start[k + 1]):
        total += coef[owner[e]] * value[e] / (v + value[e])
    return 2.0 * v * total


@compiled
def _slid(x, step, left, right, part):  # type: ignore[no-untyped-def]
    """The columns lo .. hi that leave (part 0) or enter (part 1) a cell when its window reaches place x.

    The cell has columns left .. right there; at the first place all of them enter.
    """
    if x == 0:
        return (left, left) if part == 0 else (left, right)
    if part == 0:
        return left - step, min(left, right - step)
    return max(right - step, left), right


@compiled
def additive_table(window, pyramid):  # type: ignore[no-untyped-def]
    """(values still unknown, where each cell's begin) of a window (height, width, step), for `additive_scan`.

    Cell c has area + 1 values for each word: what a count of 0, 1, .. area of it is worth.
    """
    edges, weights = pyramid_cells(window[0], window[1], pyramid.levels, pyramid.kind)
    begin = np.zeros(len(weights) + 1, np.int64)
    for c in range(len(weights)):
        area = (edges[c, 1] - edges[c, 0]) * (edges[c, 3] - edges[c, 2])
        begin[c + 1] = begin[c] + pyramid.n_words * (area + 1)
    return np.full(begin[-1], np.nan), begin


@compiled
def additive_scan(words, window, pyramid, support, table, begin):  # type: ignore[no-untyped-def]
    """Additive scores (m,) of all boxes of one window in one map, in the order of `box_search.scan`.

    `table` and `begin` are of `additive_table`; values met for the first time are written into the table,
    which serves every map as long as the support stays the same.
    """
    step, n_words = window[2], pyramid.n_words
    start, owner, value, coef, _ = support
    down, across = places(words.shape[0], words.shape[1], window)
    edges, weights = pyramid_cells(window[0], window[1], pyramid.levels, pyramid.kind)
    scores = np.zeros(down * across)
    counts = np.zeros(len(weights) * n_words, np.int32)
    for y in range(down):
        counts[:] = 0
        score = 0.0
        for x in range(across):
            for c in range(len(weights)):
                top, bottom = y * step + edges[c, 0], y * step + edges[c, 1]
                left, right = x * step + edges[c, 2], x * step + edges[c, 3]
                room, weight = (bottom - top) * (right - left) + 1, weights[c]
                for part in range(2):  # what leaves the cell, then what enters it
                    change = 2 * part - 1
                    lo, hi = _slid(x, step, left, right, part)
                    for r in range(top, bottom):
                        for k in range(lo, hi):  # in a function of its own this loop takes 3 times as long
                            word = words[r, k]
                            if word < 0:
                                continue
                            b = c * n_words + word
                            if start[b] == start[b + 1]:
                                continue
                            p = begin[c] + word * room + counts[b]
                            before, after = table[p], table[p + change]
                            if np.isnan(before):
                                before = _worth(start, owner, value, coef, b, weight * counts[b])
                                table[p] = before
                            counts[b] += change
                            if np.isnan(after):
                                after = _worth(start, owner, value, coef, b, weight * counts[b])
                                table[p + change] = after
                            score += after - before
            scores[y * across + x] = score
    return scores


@compiled
def exponential_scan(words, windows, pyramid, support, gamma):  # type: ignore[no-untyped-def]
    """Exponential scores (m,) of all boxes of one map, in the order of `box_search.scan`."""
    rows, columns = words.shape
    start, owner, value, coef, mass = support
    scores = np.zeros(count_boxes(rows, columns, windows))
    m = np.zeros(len(coef))
    done = 0
    for window in windows:
        step = window[2]
        down, across = places(rows, columns, window)
        edges, weights = pyramid_cells(window[0], window[1], pyramid.levels, pyramid.kind)
        counts = np.zeros(len(weights) * pyramid.n_words, np.int32)
        for y in range(down):
            counts[:] = 0
            m[:] = 0.0
            total = 0.0  # |h|
            for x in range(across):
                for c in range(len(weights)):
                    top, bottom = y * step + edges[c, 0], y * step + edges[c, 1]
                    left, right = x * step + edges[c, 2], x * step + edges[c, 3]
                    weight = weights[c]
                    for part in range(2):
                        change = 2 * part - 1
                        lo, hi = _slid(x, step, left, right, part)
                        for r in range(top, bottom):
                            for k in range(lo, hi):
                                if words[r, k] < 0:
                                    continue
                                b = c * pyramid.n_words + words[r, k]
                                v = weight * counts[b]
                                counts[b] += change
                                u = weight * counts[b]
                                total += change * weight
                                for e in range(start[b], start[b + 1]):
                                    h = value[e]  # 2 h (u / (u + h) - v / (v + h)), with one division
                                    m[owner[e]] += 2.0 * h * h * (u - v) / ((u + h) * (v + h))
                score = 0.0
                for j in range(len(coef)):
                    score += coef[j] * np.exp(-gamma * (total + mass[j] - 2.0 * m[j]))
                scores[done + y * across + x] = score
        done += down * across
    return scores
