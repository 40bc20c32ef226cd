"""Parse forests: the tree that maximises any H over (Delta, gap) with Delta = 1 - F1 of brackets.

A tree with p brackets, c of them among the g given ones, has Delta = 1 - 2c / (g + p), and gap = score of the
given tree - its own score. F1 is no sum over brackets, so the loss does not fold into the scores: the
search carries (score, c, p) (jmlr05 Section 4.5.2 stratifies over all values of Delta) and prunes, exactly:

  bounds      For any lam = (lam_c, lam_p) one walk gives M = max over trees of score - lam_c c + lam_p p, so
              score <= M + lam_c c - lam_p p. A pair (c, p) whose H cannot exceed the best found under the
              bounds seen so far is dead; when all are, the best found is the answer. H's own slope at the
              best found is the lam to try next.
  thresholds  Let F be the least folded score that any tree at a living pair needs to win. What cannot reach
              F, by its folded score inside and the best one outside (under the same lam), is left out.
  dominance   Of two derivations of one node the one with no higher score, no fewer correct and no more
              predicted brackets is left out: where H > 0 it rises with score and Delta.

The given tree itself (H = 0) is a candidate: it is returned where no tree has H > 0. Of equals the first
found wins; nothing but the arrays of one sentence decides its tree.
"""

from __future__ import annotations

import numpy as np

from structsvm.compiled import compiled
from structsvm.oracles.cky_best import _appended, _edge_value, _largest, _trace

ROUNDS = 4
"""How many bounds are tried before derivations are enumerated; by measurement."""


@compiled
def _folded(forest, i, score, extra, correct, lam_c, lam_p, v, back, tree):  # type: ignore[no-untyped-def]
    """The best score - lam_c c + lam_p p of every node of sentence i, its edge, and its (score, c, p)."""
    first = forest.start[i]
    for u in range(first, forest.start[i + 1]):
        value, chosen = -np.inf, -1
        for e in range(forest.at[u], forest.at[u + 1]):
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
        for e in range(forest.at[u], forest.at[u + 1]):
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
    found = np.zeros((n, 3), np.int64)
    most = 1
    for i in range(n):
        most = max(most, forest.start[i + 1] - forest.start[i])
    v = np.empty((most, 3), np.int64)
    for i in range(n):
        first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
        for u in range(first, first + size):
            k = u - first
            one = 1 if forest.label[u] >= 0 else 0
            hit = 1 if one == 1 and correct[u] else 0
            for t in range(3):
                value = -1
                for e in range(forest.at[u], forest.at[u + 1]):
                    total = v[forest.left[e], t]
                    if forest.right[e] >= 0:
                        total += v[forest.right[e], t]
                    if value < 0 or (total > value if t == 1 else total < value):
                        value = total
                v[k, t] = max(value, 0) + (hit if t == 2 else one)
        if size > 0:
            for t in range(3):
                found[i, t] = v[size - 1, t]
    return found


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


@compiled
def _value(H, d, gap):  # type: ignore[no-untyped-def]
    return d - (H.s0 + H.s1 * d) * gap


@compiled
def _slopes(H, c, m, best):  # type: ignore[no-untyped-def]
    """(lam_c, lam_p) along H = best at Delta = 1 - 2c/m > 0."""
    delta = 1.0 - 2.0 * c / m
    d = delta**H.power
    slope = H.power * d / delta * (H.s0 + H.s1 * best) / (H.s0 + H.s1 * d) ** 2
    return slope * 2.0 / m, slope * 2.0 * c / m**2


@compiled
def _threshold(H, table, g, limit, truth, best, lam_c, lam_p, M, bound, fresh):  # type: ignore[no-untyped-def]
    """The least folded score that wins at a living pair (inf: none lives); tightens `bound` by M at lam."""
    least = np.inf
    for p in range(limit[0], limit[1] + 1):
        for c in range(limit[2], min(g, p) + 1):
            reach = M + lam_c * c - lam_p * p
            if fresh or reach < bound[c, p]:
                bound[c, p] = reach
            d = table[c, g + p]
            s = H.s0 + H.s1 * d
            if s <= 0.0:
                continue
            need = truth - (d - best) / s
            if bound[c, p] > need:
                least = min(least, need - lam_c * c + lam_p * p)
    return least


@compiled
def best_by_f1(forest, which, score, extra, given, correct, n_gold, limit, H, rounds):  # type: ignore[no-untyped-def]
    """The maximisers of H for the sentences `which`: H (m,), losses (m,), start, edges as in `Derivations`.

    given (N,) is as for `best_other`; correct (N,) bool says which nodes' brackets are given ones, n_gold
    (n,) how many these are, limit (n, 3) what `limits` found.
    """
    most = _largest(forest, which)
    v, o, back = np.empty(most), np.empty(most), np.empty(most, np.int64)
    tree = np.empty((most, 3))
    stack, found = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    table = _losses(H, n_gold, limit)
    bound = np.empty(table.shape)
    begin = np.empty(most + 1, np.int64)
    room, folded_room = np.empty((1024, 5), np.int64), np.empty((1024, 2))
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
        lam_c, lam_p = _slopes(H, max(g - 1, 0), 2 * g, 0.5)
        last_c, last_p, keep_c, keep_p, keep_room = 0.0, 0.0, lam_c, lam_p, np.inf
        open_pairs = True
        for turn in range(rounds):
            last_c, last_p = lam_c, lam_p
            _folded(forest, i, score, extra, correct, lam_c, lam_p, v, back, tree)
            c, p = int(tree[size - 1, 1]), int(tree[size - 1, 2])
            value = _value(H, table[c, g + p], truth - tree[size - 1, 0])
            better = value > best
            if better:
                best, best_c, best_p = value, c, p
                count = _trace(forest, size - 1, back, stack, found, 0)
            M = v[size - 1]
            F = _threshold(H, table, g, limit[i], truth, best, lam_c, lam_p, M, bound, turn == 0)
            if F >= M:
                open_pairs = False
                break
            if M - F < keep_room:
                keep_c, keep_p, keep_room = lam_c, lam_p, M - F
            if 2 * best_c >= g + best_p:
                break
            new_c, new_p = _slopes(H, best_c, g + best_p, best)
            if not better:
                new_c, new_p = 0.5 * (new_c + lam_c), 0.5 * (new_p + lam_p)
            if abs(new_c - lam_c) + abs(new_p - lam_p) < 1e-3 * (lam_c + lam_p):
                break
            lam_c, lam_p = new_c, new_p
        if open_pairs:
            lam_c, lam_p = keep_c, keep_p
            if lam_c != last_c or lam_p != last_p:
                _folded(forest, i, score, extra, correct, lam_c, lam_p, v, back, tree)
            F = _threshold(H, table, g, limit[i], truth, best, lam_c, lam_p, v[size - 1], bound, rounds < 0)
            if F < v[size - 1]:
                _outside(forest, i, score, extra, correct, lam_c, lam_p, v, o)
                n_items, room, folded_room = _enumerate(
                    forest, i, score, extra, correct, lam_c, lam_p, F, v, o, begin, room, folded_room
                )
                chosen = -1
                for k in range(begin[size - 1], n_items):
                    c, p = room[k, 0], room[k, 1]
                    value = _value(H, table[c, g + p], truth - folded_room[k, 0])
                    if value > best:
                        best, best_c, best_p, chosen = value, c, p, k
                if chosen >= 0:
                    count = _walk(forest, chosen, room, stack, found)
        if count < 0:  # nothing beats the given tree
            count = 0
            for u in range(first, first + size):
                back[u - first] = given[u]
            count = _trace(forest, size - 1, back, stack, found, 0)
        values[r], losses[r] = best, 1.0 - 2.0 * best_c / (g + best_p)
        edges = _appended(edges, used, found, count)
        used += count
        start[r + 1] = used
    return values, losses, start, edges[:used]


@compiled
def _enumerate(forest, i, score, extra, correct, lam_c, lam_p, F, v, o, begin, room, folded_room):  # type: ignore[no-untyped-def]
    """Every derivation of every node that is not dominated and may reach F.

    room holds (c, p, edge, left, right) and folded_room (score, folded score) of each; node k's are
    begin[k] .. begin[k + 1] - 1. Returns (how many, room, folded_room): both grow where they must.
    """
    first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
    n = 0
    for u in range(first, first + size):
        k = u - first
        begin[k] = n
        if n + 1 >= room.shape[0]:
            room, folded_room = _roomier(room, folded_room)
        if forest.at[u] == forest.at[u + 1]:
            room[n, 0], room[n, 1], room[n, 2], room[n, 3], room[n, 4] = 0, 0, -1, -1, -1
            folded_room[n, 0], folded_room[n, 1] = 0.0, 0.0
            n += 1
            continue
        own = _own(forest, u, extra, correct, lam_c, lam_p)
        plain = extra[u] if extra.shape[0] > 0 else 0.0
        one = 1 if forest.label[u] >= 0 else 0
        hit = 1 if one == 1 and correct[u] else 0
        for e in range(forest.at[u], forest.at[u + 1]):
            a, b = forest.left[e], forest.right[e]
            value = _edge_value(forest, e, score)
            if o[k] + own + value + v[a] + (v[b] if b >= 0 else 0.0) <= F:
                continue
            for x in range(begin[a], begin[a + 1]):
                lo, hi = (begin[b], begin[b + 1]) if b >= 0 else (0, 1)
                for y in range(lo, hi):
                    s, f = value + folded_room[x, 0] + plain, value + folded_room[x, 1] + own
                    c, p = room[x, 0] + hit, room[x, 1] + one
                    if b >= 0:
                        s, f = s + folded_room[y, 0], f + folded_room[y, 1]
                        c, p = c + room[y, 0], p + room[y, 1]
                    if o[k] + f <= F:
                        continue
                    dominated = False
                    z = begin[k]
                    while z < n:
                        if folded_room[z, 0] >= s and room[z, 0] <= c and room[z, 1] >= p:
                            dominated = True
                            break
                        if folded_room[z, 0] <= s and room[z, 0] >= c and room[z, 1] <= p:
                            n -= 1
                            for t in range(5):
                                room[z, t] = room[n, t]
                            folded_room[z, 0], folded_room[z, 1] = folded_room[n, 0], folded_room[n, 1]
                        else:
                            z += 1
                    if dominated:
                        continue
                    if n + 1 >= room.shape[0]:
                        room, folded_room = _roomier(room, folded_room)
                    room[n, 0], room[n, 1], room[n, 2], room[n, 3] = c, p, e, x
                    room[n, 4] = y if b >= 0 else -1
                    folded_room[n, 0], folded_room[n, 1] = s, f
                    n += 1
    begin[size] = n
    return n, room, folded_room


@compiled
def _roomier(room, folded_room):  # type: ignore[no-untyped-def]
    n = room.shape[0]
    larger, folded = np.empty((2 * n, 5), np.int64), np.empty((2 * n, 2))
    for k in range(n):
        for t in range(5):
            larger[k, t] = room[k, t]
        folded[k, 0], folded[k, 1] = folded_room[k, 0], folded_room[k, 1]
    return larger, folded


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
