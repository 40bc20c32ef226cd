"""Parse forests: the best derivations with every number c of correct brackets, and what they must leave over.

With c carried along, only the number p of brackets is folded into the scores: for any mu,

    M(c) = max score + mu p   over trees with c correct brackets,   score <= M(c) - mu p.

Delta = 1 - 2c/(g + p) is nearly linear in p at a given c, and constant at c = 0: one mu for each c of
interest makes these bounds tight. A line through all c (`cky_f1_bounds.py`) leaves much between where weights
are small and the number of correct brackets decides. A stratum is a node with a number c.

This is done for the part of a forest that the lines leave alive alone, which is copied out: few nodes and
edges, side by side in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.oracles.cky_best import _edge_value
from structmargin.oracles.cky_f1_bounds import _need, _value


class Part(NamedTuple):
    """What is alive of one sentence's forest: n nodes, the goal last, and their strata, numbered by `at`."""

    n: int
    edge_start: np.ndarray  # (n + 1,) int64; leaves have no edges
    left: np.ndarray  # (m,) int64, a node of the part
    right: np.ndarray  # (m,) int64, -1 for an edge from one node
    edge: np.ndarray  # (m,) int64, the forest's edge
    worth: np.ndarray  # (m,) what the edge and its head are worth
    bracket: np.ndarray  # (n,) int64, 1 where the node has a bracket
    hit: np.ndarray  # (n,) int64, 1 where that is a given one
    low: np.ndarray  # (n,) int64, the fewest correct brackets of a derivation
    high: np.ndarray  # (n,) int64, the most, but no more than are asked for
    at: np.ndarray  # (n + 1,) int64: stratum (k, c) is number at[k] + c - low[k]


@compiled
def _alive(forest, i, score, extra, correct, lam, F, J, v, o, max_c):  # type: ignore[no-untyped-def]
    """The part of sentence i's forest that may pass all thresholds F, with max_c correct brackets at most."""
    first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
    m = forest.edge_start[first + size] - forest.edge_start[first]
    place = np.empty(size, np.int64)
    edge_start, at = np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)
    bracket, hit = np.zeros(size, np.int64), np.zeros(size, np.int64)
    low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
    left, right, edge = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    worth = np.empty(m)
    n, used = 0, 0
    for u in range(first, first + size):
        k = u - first
        place[k] = -1
        possible = True
        for j in range(J):
            if v[j, k] + o[j, k] <= F[j]:
                possible = False
                break
        if not possible:
            continue
        bracket[n] = 1 if forest.label[u] >= 0 else 0
        hit[n] = 1 if bracket[n] == 1 and correct[u] else 0
        low[n], high[n] = 0, 0
        own = extra[u] if extra.shape[0] > 0 else 0.0
        is_leaf = forest.edge_start[u] == forest.edge_start[u + 1]
        for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
            a, b = forest.left[e], forest.right[e]
            if place[a] < 0 or (b >= 0 and place[b] < 0):
                continue
            plus = own + _edge_value(forest, e, score)
            possible = True
            for j in range(J):
                whole = o[j, k] + plus - lam[j, 0] * hit[n] + lam[j, 1] * bracket[n] + v[j, a]
                if whole + (v[j, b] if b >= 0 else 0.0) <= F[j]:
                    possible = False
                    break
            if not possible:
                continue
            a = place[a]
            b = place[b] if b >= 0 else -1
            fewest = hit[n] + low[a] + (low[b] if b >= 0 else 0)
            most = hit[n] + high[a] + (high[b] if b >= 0 else 0)
            if fewest > max_c:
                continue
            if used == edge_start[n]:
                low[n], high[n] = fewest, most
            low[n], high[n] = min(low[n], fewest), min(max(high[n], most), max_c)
            left[used], right[used], edge[used], worth[used] = a, b, e, plus
            used += 1
        if is_leaf or used > edge_start[n]:
            place[k] = n
            at[n + 1] = at[n] + high[n] - low[n] + 1
            n += 1
            edge_start[n] = used
    if place[size - 1] < 0:
        n = 0
    return Part(n, edge_start, left, right, edge, worth, bracket, hit, low, high, at)


@compiled
def _inside_strata(part, mu, V):  # type: ignore[no-untyped-def]
    """The best score + mu p of every stratum, into V; -inf where it has no derivation."""
    for k in range(part.n):
        here = part.at[k] - part.low[k]
        if part.edge_start[k] == part.edge_start[k + 1]:
            V[part.at[k]] = 0.0
            continue
        for z in range(part.at[k], part.at[k + 1]):
            V[z] = -np.inf
        for e in range(part.edge_start[k], part.edge_start[k + 1]):
            a, b = part.left[e], part.right[e]
            plus = part.worth[e] + mu * part.bracket[k]
            for x in range(part.low[a], part.high[a] + 1):
                total, c = plus + V[part.at[a] + x - part.low[a]], x + part.hit[k]
                if b < 0:
                    if c <= part.high[k]:
                        V[here + c] = max(V[here + c], total)
                    continue
                c += part.low[b]
                for y in range(part.at[b], min(part.at[b + 1], part.at[b] + part.high[k] - c + 1)):
                    z = here + c + y - part.at[b]
                    V[z] = max(V[z], total + V[y])


@compiled
def _outside_strata(part, mu, V, O):  # type: ignore[no-untyped-def]  # noqa: E741
    """The best score + mu p of a whole tree without what is below and at a node, into O.

    O[k, c] is over trees with c correct brackets besides; O has a column for each c up to the goal's most.
    """
    goal, max_c = part.n - 1, part.high[part.n - 1]
    for k in range(part.n):
        for c in range(max_c + 1):
            O[k, c] = -np.inf
    O[goal, 0] = 0.0
    for k in range(goal, -1, -1):
        for e in range(part.edge_start[k], part.edge_start[k + 1]):
            a, b = part.left[e], part.right[e]
            plus = part.worth[e] + mu * part.bracket[k]
            for c in range(max_c - part.hit[k] + 1):
                if O[k, c] == -np.inf:
                    continue
                total, c_here = O[k, c] + plus, c + part.hit[k]
                if b < 0:
                    O[a, c_here] = max(O[a, c_here], total)
                    continue
                for y in range(part.low[b], min(part.high[b], max_c - c_here) + 1):
                    O[a, c_here + y] = max(O[a, c_here + y], total + V[part.at[b] + y - part.low[b]])
                for x in range(part.low[a], min(part.high[a], max_c - c_here) + 1):
                    O[b, c_here + x] = max(O[b, c_here + x], total + V[part.at[a] + x - part.low[a]])


@compiled
def _demands(part, F, O, demand):  # type: ignore[no-untyped-def]  # noqa: E741
    """Into demand: the least score + mu p of a derivation of each stratum that any tree above F[c] has."""
    max_c = part.high[part.n - 1]
    for k in range(part.n):
        for z in range(part.at[k], part.at[k + 1]):
            c = part.low[k] + z - part.at[k]
            demand[z] = np.inf
            for besides in range(max_c - c + 1):
                demand[z] = min(demand[z], F[c + besides] - O[k, besides])


@compiled
def _trace_stratum(part, c, mu, V, stack, out):  # type: ignore[no-untyped-def]
    """(p, number of edges) of the goal's best derivation with c correct brackets; its edges go into out."""
    p, count, depth = 0, 0, 1
    stack[0, 0], stack[0, 1] = part.n - 1, c
    while depth > 0:
        depth -= 1
        k, c = stack[depth, 0], stack[depth, 1]
        if part.edge_start[k] == part.edge_start[k + 1]:
            continue
        value, chosen, c_left = -np.inf, -1, 0
        for e in range(part.edge_start[k], part.edge_start[k + 1]):
            a, b = part.left[e], part.right[e]
            plus = part.worth[e] + mu * part.bracket[k]
            for x in range(part.low[a], part.high[a] + 1):
                total, y = plus + V[part.at[a] + x - part.low[a]], c - part.hit[k] - x
                if b < 0:
                    if y != 0:
                        continue
                else:
                    if y < part.low[b] or y > part.high[b]:
                        continue
                    total += V[part.at[b] + y - part.low[b]]
                if total > value:
                    value, chosen, c_left = total, e, x
        out[count] = part.edge[chosen]
        count += 1
        p += part.bracket[k]
        if part.right[chosen] >= 0:
            stack[depth, 0], stack[depth, 1] = part.right[chosen], c - part.hit[k] - c_left
            depth += 1
        stack[depth, 0], stack[depth, 1] = part.left[chosen], c_left
        depth += 1
    return p, count


@compiled
def _strata_thresholds(pairs, best, mu, bound, F):  # type: ignore[no-untyped-def]
    """Into F, by c: the least score + mu p that wins at a living pair; infinite where no pair lives."""
    for c in range(F.shape[0]):
        F[c] = np.inf
        for p in range(max(pairs.limit[0], c), pairs.limit[1] + 1):
            if c >= pairs.limit[2] and _value(pairs, c, p, bound[c, p]) > best:
                F[c] = min(F[c], _need(pairs, c, p, best) + mu * p)
