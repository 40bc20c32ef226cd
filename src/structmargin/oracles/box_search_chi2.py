"""Chi-squared scores of boxes against support boxes, by histograms that change as a window slides.

For pyramids h (weighted counts a bin) and support pyramids h_j with coefficients,

    additive      f = sum_j coef_j m_j,               m_j = sum over bins of 2 h h_j / (h + h_j)
    exponential   f = sum_j coef_j exp(-gamma D_j),   D_j = sum (h - h_j)^2 / (h + h_j) = |h| + |h_j| - 2 m_j

A window that moves by a step changes few bins. The additive score is a sum over bins of a function of the
bin's count alone: each value is worked out once, when first met, and looked up from then on, so the cost of a
box does not depend on how many support boxes there are. The exponential one keeps every m_j up to date.

Support comes bin by bin: bin k holds entries at[k] .. at[k + 1] of (owner j, value h_j).
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled
from structmargin.oracles.box_search import cell_weight, count_boxes, n_cells, places

n_cells_of = compiled(n_cells)


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
def _worth(at, owner, value, coef, k, v):  # type: ignore[no-untyped-def]
    """sum_j coef_j 2 v h_j / (v + h_j) over the support of bin k."""
    total = 0.0
    for e in range(at[k], at[k + 1]):
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
def additive_table(window, levels, n_words):  # type: ignore[no-untyped-def]
    """(values still unknown, where each cell's begin) of a window (height, width, step), for `additive_scan`.

    Cell c has area + 1 values for each word: what a count of 0, 1, .. area of it is worth.
    """
    begin = np.zeros(n_cells_of(levels) + 1, np.int64)
    c = 0
    for L in range(1, levels + 1):
        for i in range(L):
            for j in range(L):
                down = (i + 1) * window[0] // L - i * window[0] // L
                across = (j + 1) * window[1] // L - j * window[1] // L
                begin[c + 1] = begin[c] + n_words * (down * across + 1)
                c += 1
    return np.full(begin[-1], np.nan), begin


@compiled
def additive_scan(words, window, levels, kind, n_words, at, owner, value, coef, table, begin):  # type: ignore[no-untyped-def]
    """Additive scores (m,) of all boxes of one window in one map, in the order of `box_search.scan`.

    `table` and `begin` are of `additive_table`; values met for the first time are written into the table,
    which serves every map as long as the support stays the same.
    """
    height, width, step = window[0], window[1], window[2]
    down, across = places(words.shape[0], words.shape[1], window)
    scores = np.zeros(down * across)
    counts = np.zeros(n_cells_of(levels) * n_words, np.int32)
    for y in range(down):
        counts[:] = 0
        score = 0.0
        for x in range(across):
            c = 0
            for L in range(1, levels + 1):
                for i in range(L):
                    top, bottom = y * step + i * height // L, y * step + (i + 1) * height // L
                    for j in range(L):
                        left, right = x * step + j * width // L, x * step + (j + 1) * width // L
                        room = (bottom - top) * (right - left) + 1
                        weight = cell_weight(kind, levels, height, width, room - 1)
                        for part in range(2):  # what leaves the cell, then what enters it
                            change = 2 * part - 1
                            lo, hi = _slid(x, step, left, right, part)
                            for r in range(top, bottom):
                                for k in range(lo, hi):
                                    word = words[r, k]
                                    if word < 0:
                                        continue
                                    b = c * n_words + word
                                    if at[b] == at[b + 1]:
                                        continue
                                    p = begin[c] + word * room + counts[b]
                                    before, after = table[p], table[p + change]
                                    if np.isnan(before):
                                        before = _worth(at, owner, value, coef, b, weight * counts[b])
                                        table[p] = before
                                    counts[b] += change
                                    if np.isnan(after):
                                        after = _worth(at, owner, value, coef, b, weight * counts[b])
                                        table[p + change] = after
                                    score += after - before
                        c += 1
            scores[y * across + x] = score
    return scores


@compiled
def exponential_scan(words, windows, levels, kind, n_words, at, owner, value, coef, mass, gamma):  # type: ignore[no-untyped-def]
    """Exponential scores (m,) of all boxes of one map; mass (support,) is each |h_j|."""
    rows, columns = words.shape
    scores = np.zeros(count_boxes(rows, columns, windows))
    counts = np.zeros(n_cells_of(levels) * n_words, np.int32)
    m = np.zeros(len(coef))
    done = 0
    for window in windows:
        height, width, step = window[0], window[1], window[2]
        down, across = places(rows, columns, window)
        for y in range(down):
            counts[:] = 0
            m[:] = 0.0
            total = 0.0
            for x in range(across):
                c = 0
                for L in range(1, levels + 1):
                    for i in range(L):
                        top, bottom = y * step + i * height // L, y * step + (i + 1) * height // L
                        for j in range(L):
                            left, right = x * step + j * width // L, x * step + (j + 1) * width // L
                            weight = cell_weight(kind, levels, height, width, (bottom - top) * (right - left))
                            for part in range(2):
                                change = 2 * part - 1
                                lo, hi = _slid(x, step, left, right, part)
                                for r in range(top, bottom):
                                    for k in range(lo, hi):
                                        if words[r, k] < 0:
                                            continue
                                        b = c * n_words + words[r, k]
                                        v = weight * counts[b]
                                        counts[b] += change
                                        u = weight * counts[b]
                                        total += change * weight
                                        for e in range(at[b], at[b + 1]):
                                            h = value[e]
                                            m[owner[e]] += 2.0 * h * (u / (u + h) - v / (v + h))
                            c += 1
                score = 0.0
                for j in range(len(coef)):
                    score += coef[j] * np.exp(-gamma * (total + mass[j] - 2.0 * m[j]))
                scores[done + y * across + x] = score
        done += down * across
    return scores
