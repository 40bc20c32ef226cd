"""Parse forests: what no tree can exceed, by how many brackets it has and how many of them are given ones.

For any lam = (lam_c, lam_p) a score folds into score - lam_c c + lam_p p, for a tree with p brackets, c of
them given ones. That is a sum over edges and nodes: one walk gives its maximum M over trees, so that

    score <= M + lam_c c - lam_p p

bounds H at every pair (c, p). Let F be the least folded score of any tree that beats the best found, at a
pair whose bounds allow one: the best folded score inside a node with the best one outside it says what can
reach F at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.formulation import Cost
from structmargin.oracles.cky_best import _edge_value


@compiled
def _folded(forest, i, score, extra, correct, lam_c, lam_p, v, back, tree):  # type: ignore[no-untyped-def]
    """The best score - lam_c c + lam_p p of every node of sentence i, its edge, and its (score, c, p)."""
    first = forest.start[i]
    for u in range(first, forest.start[i + 1]):
        value, chosen = -np.inf, -1
        for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
            total = _edge_value(forest, e, score) + v[forest.left[e]]
            if forest.right[e] >= 0:
                total += v[forest.right[e]]
            if total > value:
                value, chosen = total, e
        k = u - first
        tree[k, 0] = tree[k, 1] = tree[k, 2] = 0.0
        if chosen < 0:
            value = 0.0
        else:
            a, b = forest.left[chosen], forest.right[chosen]
            tree[k, 0] = _edge_value(forest, chosen, score)
            for t in range(3):
                tree[k, t] += tree[a, t] + (tree[b, t] if b >= 0 else 0.0)
        if extra.shape[0] > 0:
            value += extra[u]
            tree[k, 0] += extra[u]
        if forest.label[u] >= 0:
            value += lam_p
            tree[k, 2] += 1.0
            if correct[u]:
                value -= lam_c
                tree[k, 1] += 1.0
        v[k], back[k] = value, chosen


@compiled
def _own(forest, u, extra, correct, lam_c, lam_p):  # type: ignore[no-untyped-def]
    """What node u itself adds to a folded score."""
    own = extra[u] if extra.shape[0] > 0 else 0.0
    if forest.label[u] >= 0:
        own += lam_p
        if correct[u]:
            own -= lam_c
    return own


@compiled
def _outside(forest, i, score, extra, correct, lam_c, lam_p, v, o):  # type: ignore[no-untyped-def]
    """The best folded score of a whole tree without what is below and at each node, into o."""
    first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
    for k in range(size):
        o[k] = -np.inf
    o[size - 1] = 0.0
    for u in range(first + size - 1, first - 1, -1):
        if o[u - first] == -np.inf:
            continue
        own = o[u - first] + _own(forest, u, extra, correct, lam_c, lam_p)
        for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
            a, b = forest.left[e], forest.right[e]
            total = own + _edge_value(forest, e, score)
            if b >= 0:
                o[b] = max(o[b], total + v[a])
                total += v[b]
            o[a] = max(o[a], total)


@compiled
def limits(forest, correct):  # type: ignore[no-untyped-def]
    """(n, 3) int64: the fewest and the most brackets, and the fewest correct ones, of any tree."""
    n = forest.start.shape[0] - 1
    limit = np.zeros((n, 3), np.int64)
    max_nodes = 1
    for i in range(n):
        max_nodes = max(max_nodes, forest.start[i + 1] - forest.start[i])
    v = np.empty((max_nodes, 3), np.int64)
    for i in range(n):
        first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
        for u in range(first, first + size):
            k = u - first
            bracket = 1 if forest.label[u] >= 0 else 0
            hit = 1 if bracket == 1 and correct[u] else 0
            for t in range(3):
                value = -1
                for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
                    total = v[forest.left[e], t]
                    if forest.right[e] >= 0:
                        total += v[forest.right[e], t]
                    if value < 0 or (total > value if t == 1 else total < value):
                        value = total
                v[k, t] = max(value, 0) + (hit if t == 2 else bracket)
        if size > 0:
            for t in range(3):
                limit[i, t] = v[size - 1, t]
    return limit


@compiled
def _losses(H, n_gold, limit):  # type: ignore[no-untyped-def]
    """d(1 - 2c/m) for c correct ones and m = g + p brackets in all, (largest c + 1, largest m + 1)."""
    top_c, top_m = 0, 0
    for i in range(n_gold.shape[0]):
        top_c = max(top_c, n_gold[i])
        top_m = max(top_m, n_gold[i] + limit[i, 1])
    table = np.zeros((top_c + 1, top_m + 1))
    for c in range(top_c + 1):
        for m in range(max(2 * c + 1, 1), top_m + 1):
            table[c, m] = (1.0 - 2.0 * c / m) ** H.power
    return table


class Pairs(NamedTuple):
    """One sentence's pairs (c, p), and what H is at them."""

    H: Cost
    table: np.ndarray  # what `_losses` returns
    g: int  # how many brackets are given
    limit: np.ndarray  # (3,) int64, the sentence's row of `limits`
    truth: float  # the score of the given tree


@compiled
def _value(pairs, c, p, score):  # type: ignore[no-untyped-def]
    """H of a tree with this score and p brackets, c of them given ones."""
    d = pairs.table[c, pairs.g + p]
    return d - (pairs.H.s0 + pairs.H.s1 * d) * (pairs.truth - score)


@compiled
def _need(pairs, c, p, best):  # type: ignore[no-untyped-def]
    """The score at which H = best."""
    d = pairs.table[c, pairs.g + p]
    return pairs.truth - (d - best) / (pairs.H.s0 + pairs.H.s1 * d)


@compiled
def _slopes(pairs, c, p, best):  # type: ignore[no-untyped-def]
    """(lam_c, lam_p) along H = best at a pair, or one bracket off where Delta is 0 and H may be too steep."""
    H, m = pairs.H, pairs.g + p
    if 2 * c >= m:
        c -= 1
    delta = 1.0 - 2.0 * c / m
    d = delta**H.power
    slope = H.power * d / delta * (H.s0 + H.s1 * best) / (H.s0 + H.s1 * d) ** 2
    return slope * 2.0 / m, slope * 2.0 * c / m**2


@compiled
def _prospect_at(pairs, c, best, bound):  # type: ignore[no-untyped-def]
    """(H, p) of the living pair with c correct brackets whose bound is best; p = -1 where none lives."""
    top, top_p = best, -1
    for p in range(max(pairs.limit[0], c), pairs.limit[1] + 1):
        value = _value(pairs, c, p, bound[c, p])
        if value > top:
            top, top_p = value, p
    return top, top_p


@compiled
def _prospect(pairs, best, bound):  # type: ignore[no-untyped-def]
    """The living pair (c, p) whose bound is best; (-1, -1) where none lives."""
    top, top_c, top_p = best, -1, -1
    for c in range(pairs.limit[2], min(pairs.g, pairs.limit[1]) + 1):
        value, p = _prospect_at(pairs, c, top, bound)
        if p >= 0:
            top, top_c, top_p = value, c, p
    return top_c, top_p


@compiled
def _tighten(pairs, lam_c, lam_p, M, bound, fresh):  # type: ignore[no-untyped-def]
    """Lower `bound` (on scores, by pair) by M at lam."""
    for c in range(pairs.limit[2], min(pairs.g, pairs.limit[1]) + 1):
        for p in range(max(pairs.limit[0], c), pairs.limit[1] + 1):
            reach = M + lam_c * c - lam_p * p
            if fresh or reach < bound[c, p]:
                bound[c, p] = reach


@compiled
def _thresholds(pairs, best, lam, J, bound, F):  # type: ignore[no-untyped-def]
    """Into F: the least score folded by each lam that wins at a living pair. Returns the largest living c."""
    for j in range(J):
        F[j] = np.inf
    max_c = -1
    for c in range(pairs.limit[2], min(pairs.g, pairs.limit[1]) + 1):
        for p in range(max(pairs.limit[0], c), pairs.limit[1] + 1):
            if _value(pairs, c, p, bound[c, p]) <= best:
                continue
            max_c, need = c, _need(pairs, c, p, best)
            for j in range(J):
                F[j] = min(F[j], need - lam[j, 0] * c + lam[j, 1] * p)
    return max_c
