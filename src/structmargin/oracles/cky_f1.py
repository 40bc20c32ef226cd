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
    _prospect,
    _prospect_of,
    _slopes,
    _thresholds,
    _tightened,
    _value,
)
from structmargin.oracles.cky_f1_strata import (
    _alive,
    _demands,
    _inside_strata,
    _outside_strata,
    _strata_thresholds,
    _trace_stratum,
)

MAX_LINES, MAX_STRATA = 1, 2
"""How many bounds of each kind are tried before derivations are enumerated; by measurement."""

ROUNDING = 1e-12
"""What a tree must gain over the best found, relative to scores: less is lost in rounding where trees tie."""


@compiled
def best_by_f1(forest, which, score, extra, given, correct, n_gold, limit, H, lines, strata):  # type: ignore[no-untyped-def]
    """The maximisers of H for the sentences `which`: H (m,), losses (m,), start, edges.

    given (N,) is as for `best_other`; correct (N,) bool says which nodes' brackets are given ones, n_gold
    (n,) how many these are, limit (n, 3) what `limits` found; at most `rounds` bounds of each kind are tried.
    """
    max_nodes = _largest(forest, which)
    v, o = np.empty((lines, max_nodes)), np.empty((lines, max_nodes))
    lam, F = np.empty((lines, 2)), np.empty(lines)
    back, tree = np.empty(max_nodes, np.int64), np.empty((max_nodes, 3))
    stack, tree_edges = np.empty(max_nodes + 1, np.int64), np.empty(max_nodes, np.int64)
    table = _losses(H, n_gold, limit)
    bound = np.empty(table.shape)
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
        tiny = ROUNDING * (1.0 + abs(truth))
        best, best_c, best_p, count = 0.0, g, g, -1
        at_c, at_p, J = max(g - 1, 0), g, 0
        while J < lines and at_c >= 0:
            lam[J, 0], lam[J, 1] = _slopes(H, at_c, g + at_p, max(best, 0.1))
            _folded(forest, i, score, extra, correct, lam[J, 0], lam[J, 1], v[J], back, tree)
            c, p = int(tree[size - 1, 1]), int(tree[size - 1, 2])
            value = _value(H, table[c, g + p], truth - tree[size - 1, 0])
            if value > best:
                best, best_c, best_p = value, c, p
                count = _trace(forest, size - 1, back, stack, tree_edges, 0)
            at_c, at_p = _tightened(
                H, table, g, limit[i], truth, best + tiny, lam[J, 0], lam[J, 1], v[J, size - 1], bound, J == 0
            )
            J += 1
        if at_c >= 0:
            max_c = _thresholds(H, table, g, limit[i], truth, best + tiny, lam, J, bound, F)
            for j in range(J):
                _outside(forest, i, score, extra, correct, lam[j, 0], lam[j, 1], v[j], o[j])
            part = _alive(forest, i, score, extra, correct, lam, F, J, v, o, max_c)
            if part.n > 0:
                best, best_c, best_p, count = _by_strata(
                    part, H, table, g, limit[i], truth, tiny, bound, strata, best, best_c, best_p, count, tree_edges
                )
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
def _by_strata(part, H, table, g, limit, truth, tiny, bound, rounds, best, best_c, best_p, count, out):  # type: ignore[no-untyped-def]
    """The best tree of a part, if any beats the best found: (H, c, p, number of edges), its edges in out."""
    goal, n_strata = part.n - 1, part.at[part.n]
    V, mu = np.empty((rounds, n_strata)), np.empty(rounds)
    stack, edges = np.empty((part.n + 1, 2), np.int64), np.empty(out.shape[0], np.int64)
    J = 0
    at_c, at_p = _prospect(H, table, g, limit, truth, best + tiny, bound)
    while J < rounds and at_c >= 0:
        mu[J] = _slopes(H, at_c, g + at_p, max(best, 0.1))[1]
        _inside_strata(part, mu[J], V[J])
        for c in range(limit[2], min(g, limit[1]) + 1):
            M = -np.inf
            if part.low[goal] <= c <= part.high[goal]:
                M = V[J, part.at[goal] + c - part.low[goal]]
            for p in range(max(limit[0], c), limit[1] + 1):
                bound[c, p] = min(bound[c, p], M - mu[J] * p)
            if M > -np.inf and _prospect_of(H, table, g, limit, truth, best + tiny, bound, c)[1] >= 0:
                p, n_edges = _trace_stratum(part, c, mu[J], V[J], stack, edges)
                value = _value(H, table[c, g + p], truth - (M - mu[J] * p))
                if value > best:
                    best, best_c, best_p, count = value, c, p, n_edges
                    for k in range(count):
                        out[k] = edges[k]
        at_c, at_p = _prospect(H, table, g, limit, truth, best + tiny, bound)
        J += 1
    if at_c < 0:
        return best, best_c, best_p, count
    F, O = np.empty(part.high[goal] + 1), np.empty((part.n, part.high[goal] + 1))  # noqa: E741
    demand = np.empty((J, n_strata))
    for j in range(J):
        _strata_thresholds(H, table, g, limit, truth, best + tiny, mu[j], bound, F)
        _outside_strata(part, mu[j], V[j], O)
        _demands(part, F, O, demand[j])
    begin, room, worth = _enumerate(part, mu, J, V, demand)
    chosen = -1
    for c in range(part.low[goal], part.high[goal] + 1):
        z = part.at[goal] + c - part.low[goal]
        for k in range(begin[z], begin[z + 1]):
            value = _value(H, table[c, g + room[k, 0]], truth - worth[k])
            if value > best:
                best, best_c, best_p, chosen = value, c, room[k, 0], k
    if chosen >= 0:
        count = _walk(chosen, room, np.empty(part.n + 1, np.int64), out)
    return best, best_c, best_p, count


@compiled
def _enumerate(part, mu, J, V, demand):  # type: ignore[no-untyped-def]
    """Every derivation of every stratum that is not dominated and may pass all demands.

    (begin, room, worth): room holds (p, edge, left, right) and worth the score of each; stratum z's are those
    from begin[z] up to begin[z + 1].
    """
    begin = np.empty(part.at[part.n] + 1, np.int64)
    room, worth = np.empty((1024, 4), np.int64), np.empty(1024)
    n = 0
    for k in range(part.n):
        first = n
        for c in range(part.low[k], part.high[k] + 1):
            z = part.at[k] + c - part.low[k]
            begin[z] = n
            if n + 1 >= room.shape[0]:
                room, worth = _roomier(room, worth)
            if part.edge_start[k] == part.edge_start[k + 1]:
                room[n, 0], room[n, 1], room[n, 2], room[n, 3] = 0, -1, -1, -1
                worth[n] = 0.0
                n += 1
                continue
            for e in range(part.edge_start[k], part.edge_start[k + 1]):
                a, b = part.left[e], part.right[e]
                for c_left in range(part.low[a], part.high[a] + 1):
                    c_right = c - part.hit[k] - c_left
                    left, right = part.at[a] + c_left - part.low[a], -1
                    if b >= 0:
                        if c_right < part.low[b] or c_right > part.high[b]:
                            continue
                        right = part.at[b] + c_right - part.low[b]
                    elif c_right != 0:
                        continue
                    hopeless = False
                    for j in range(J):
                        whole = part.worth[e] + mu[j] * part.bracket[k] + V[j, left]
                        if b >= 0:
                            whole += V[j, right]
                        if whole <= demand[j, z]:
                            hopeless = True
                            break
                    if hopeless:
                        continue
                    lo, hi = (begin[right], begin[right + 1]) if b >= 0 else (0, 1)
                    for x in range(begin[left], begin[left + 1]):
                        for y in range(lo, hi):
                            s, p = part.worth[e] + worth[x], part.bracket[k] + room[x, 0]
                            if b >= 0:
                                s, p = s + worth[y], p + room[y, 0]
                            refused = False
                            for j in range(J):
                                if s + mu[j] * p <= demand[j, z]:
                                    refused = True
                                    break
                            t = first
                            while t < n and not refused:
                                if worth[t] >= s and room[t, 0] >= p:
                                    refused = True
                                elif t >= begin[z] and worth[t] <= s and room[t, 0] <= p:
                                    n -= 1
                                    for q in range(4):
                                        room[t, q] = room[n, q]
                                    worth[t] = worth[n]
                                else:
                                    t += 1
                            if refused:
                                continue
                            if n + 1 >= room.shape[0]:
                                room, worth = _roomier(room, worth)
                            room[n, 0], room[n, 1], room[n, 2] = p, part.edge[e], x
                            room[n, 3] = y if b >= 0 else -1
                            worth[n] = s
                            n += 1
    begin[part.at[part.n]] = n
    return begin, room, worth


@compiled
def _roomier(room, worth):  # type: ignore[no-untyped-def]
    n = room.shape[0]
    larger, longer = np.empty((2 * n, 4), np.int64), np.empty(2 * n)
    for k in range(n):
        for t in range(4):
            larger[k, t] = room[k, t]
        longer[k] = worth[k]
    return larger, longer


@compiled
def _walk(item, room, stack, out):  # type: ignore[no-untyped-def]
    """The edges of an enumerated derivation, parents first, into out; returns how many."""
    depth, count = 1, 0
    stack[0] = item
    while depth > 0:
        depth -= 1
        k = stack[depth]
        if room[k, 1] < 0:
            continue
        out[count] = room[k, 1]
        count += 1
        if room[k, 3] >= 0:
            stack[depth] = room[k, 3]
            depth += 1
        stack[depth] = room[k, 2]
        depth += 1
    return count
