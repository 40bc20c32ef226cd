"""Parse forests: the tree that maximises any H over (Delta, margin) with Delta = 1 - F1 of brackets.

A tree with p brackets, c of them among the g given ones, has Delta = 1 - 2c / (g + p), and its margin is the
score of the given tree - its own. F1 is no sum over brackets, so the loss does not fold into the scores: the
search carries (score, c, p) (jmlr05 Section 4.5.2 stratifies over all values of Delta) and prunes, exactly:

  bounds      A pair (c, p) whose H cannot exceed the best found, by the bounds of `cky_f1_bounds.py` at
              every lam tried so far, is dead; when all are, the best found is the answer. H's own slope at
              the living pair with the best prospect is the lam to try next.
  thresholds  What cannot reach the least folded score that a win at a living pair needs is left out: for
              every lam tried, so that the thresholds together follow the curve of H, not one tangent of it.
  dominance   Of two derivations of one node the one with no higher score, no fewer correct and no more
              predicted brackets is left out: where H > 0 it rises with score and Delta.

The given tree itself (H = 0) is a candidate: it is returned where no tree has H > 0. Of equals the first
found wins; nothing but the arrays of one sentence decides its tree.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled
from structmargin.oracles.cky_best import _appended, _edge_value, _largest, _trace
from structmargin.oracles.cky_f1_bounds import (
    _folded,
    _losses,
    _outside,
    _slopes,
    _thresholds,
    _tightened,
    _value,
)

MAX_BOUNDS = 3
"""How many bounds are tried before derivations are enumerated; by measurement."""


@compiled
def best_by_f1(forest, which, score, extra, given, correct, n_gold, limit, H, rounds):  # type: ignore[no-untyped-def]
    """The maximisers of H for the sentences `which`: H (m,), losses (m,), start, edges.

    given (N,) is as for `best_other`; correct (N,) bool says which nodes' brackets are given ones, n_gold
    (n,) how many these are, limit (n, 3) what `limits` found; at most `rounds` bounds are tried.
    """
    max_nodes = _largest(forest, which)
    v, o = np.empty((rounds, max_nodes)), np.empty((rounds, max_nodes))
    lam, F = np.empty((rounds, 2)), np.empty(rounds)
    back, tree = np.empty(max_nodes, np.int64), np.empty((max_nodes, 3))
    stack, tree_edges = np.empty(max_nodes + 1, np.int64), np.empty(max_nodes, np.int64)
    table = _losses(H, n_gold, limit)
    bound = np.empty(table.shape)
    begin = np.empty(max_nodes + 1, np.int64)
    room, worth = np.empty((1024, 5), np.int64), np.empty(1024)
    values, losses = np.zeros(which.shape[0]), np.zeros(which.shape[0])
    start = np.zeros(which.shape[0] + 1, np.int64)
    edges, used = np.empty(64 * (which.shape[0] + 1), np.int64), 0
    for r in range(which.shape[0]):
        i = which[r]
        first, size, g = forest.start[i], forest.start[i + 1] - forest.start[i], n_gold[i]
        truth = 0.0
        for u in range(first, first + size):
            if given[u] >= 0:
                truth += _edge_value(forest, given[u], score)
                if extra.shape[0] > 0:
                    truth += extra[u]
        best, best_c, best_p, count = 0.0, g, g, -1
        at_c, at_p, J = max(g - 1, 0), g, 0
        while J < rounds and at_c >= 0:
            # At the given brackets the loss is 0 and H may be infinitely steep: look one bracket off.
            lam[J, 0], lam[J, 1] = _slopes(
                H, at_c - (1 if 2 * at_c >= g + at_p else 0), g + at_p, max(best, 0.1)
            )
            _folded(forest, i, score, extra, correct, lam[J, 0], lam[J, 1], v[J], back, tree)
            c, p = int(tree[size - 1, 1]), int(tree[size - 1, 2])
            value = _value(H, table[c, g + p], truth - tree[size - 1, 0])
            if value > best:
                best, best_c, best_p = value, c, p
                count = _trace(forest, size - 1, back, stack, tree_edges, 0)
            at_c, at_p = _tightened(
                H, table, g, limit[i], truth, best, lam[J, 0], lam[J, 1], v[J, size - 1], bound, J == 0
            )
            J += 1
        if at_c >= 0:
            _thresholds(H, table, g, limit[i], truth, best, lam, J, bound, F)
            for j in range(J):
                _outside(forest, i, score, extra, correct, lam[j, 0], lam[j, 1], v[j], o[j])
            room, worth = _enumerate(forest, i, score, extra, correct, lam, F, J, v, o, begin, room, worth)
            chosen = -1
            for k in range(begin[size - 1], begin[size]):
                c, p = room[k, 0], room[k, 1]
                value = _value(H, table[c, g + p], truth - worth[k])
                if value > best:
                    best, best_c, best_p, chosen = value, c, p, k
            if chosen >= 0:
                count = _walk(forest, chosen, room, stack, tree_edges)
        if count < 0:  # nothing beats the given tree
            for u in range(first, first + size):
                back[u - first] = given[u]
            count = _trace(forest, size - 1, back, stack, tree_edges, 0)
        values[r], losses[r] = best, 1.0 - 2.0 * best_c / (g + best_p)
        edges = _appended(edges, used, tree_edges, count)
        used += count
        start[r + 1] = used
    return values, losses, start, edges[:used]


@compiled
def _enumerate(forest, i, score, extra, correct, lam, F, J, v, o, begin, room, worth):  # type: ignore[no-untyped-def]
    """Every derivation of every node that is not dominated and may pass all thresholds.

    room holds (c, p, edge, left, right) and worth the score of each; node k's are those from begin[k] up to
    begin[k + 1]. Returns (room, worth), which grow where they must.
    """
    first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
    left_over = np.empty(J)
    n = 0
    for u in range(first, first + size):
        k = u - first
        begin[k] = n
        if n + 1 >= room.shape[0]:
            room, worth = _roomier(room, worth)
        if forest.edge_start[u] == forest.edge_start[u + 1]:
            room[n, 0], room[n, 1], room[n, 2], room[n, 3], room[n, 4] = 0, 0, -1, -1, -1
            worth[n] = 0.0
            n += 1
            continue
        own = extra[u] if extra.shape[0] > 0 else 0.0
        bracket = 1 if forest.label[u] >= 0 else 0
        hit = 1 if bracket == 1 and correct[u] else 0
        for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
            a, b = forest.left[e], forest.right[e]
            plus = own + _edge_value(forest, e, score)
            hopeless = False
            for j in range(J):
                # What derivations of the parts must have left, beyond the best of the others, to pass.
                left_over[j] = F[j] - o[j, k]
                whole = plus - lam[j, 0] * hit + lam[j, 1] * bracket + v[j, a] + (v[j, b] if b >= 0 else 0.0)
                if whole <= left_over[j]:
                    hopeless = True
                    break
            if hopeless:
                continue
            for x in range(begin[a], begin[a + 1]):
                lo, hi = (begin[b], begin[b + 1]) if b >= 0 else (0, 1)
                for y in range(lo, hi):
                    s, c, p = plus + worth[x], room[x, 0] + hit, room[x, 1] + bracket
                    if b >= 0:
                        s, c, p = s + worth[y], c + room[y, 0], p + room[y, 1]
                    refused = False
                    for j in range(J):
                        if s - lam[j, 0] * c + lam[j, 1] * p <= left_over[j]:
                            refused = True
                            break
                    z = begin[k]
                    while z < n and not refused:
                        if worth[z] >= s and room[z, 0] <= c and room[z, 1] >= p:
                            refused = True
                        elif worth[z] <= s and room[z, 0] >= c and room[z, 1] <= p:
                            n -= 1
                            for t in range(5):
                                room[z, t] = room[n, t]
                            worth[z] = worth[n]
                        else:
                            z += 1
                    if refused:
                        continue
                    if n + 1 >= room.shape[0]:
                        room, worth = _roomier(room, worth)
                    room[n, 0], room[n, 1], room[n, 2], room[n, 3] = c, p, e, x
                    room[n, 4] = y if b >= 0 else -1
                    worth[n] = s
                    n += 1
    begin[size] = n
    return room, worth


@compiled
def _roomier(room, worth):  # type: ignore[no-untyped-def]
    n = room.shape[0]
    larger, longer = np.empty((2 * n, 5), np.int64), np.empty(2 * n)
    for k in range(n):
        for t in range(5):
            larger[k, t] = room[k, t]
        longer[k] = worth[k]
    return larger, longer


@compiled
def _walk(forest, item, room, stack, out):  # type: ignore[no-untyped-def]
    """The edges of an enumerated derivation, parents first, into out; returns how many."""
    depth, count = 1, 0
    stack[0] = item
    while depth > 0:
        depth -= 1
        k = stack[depth]
        if room[k, 2] < 0:
            continue
        out[count] = room[k, 2]
        count += 1
        if room[k, 4] >= 0:
            stack[depth] = room[k, 4]
            depth += 1
        stack[depth] = room[k, 3]
        depth += 1
    return count
