"""Parse forests: the tree that maximises any H over (Delta, margin) with Delta = 1 - F1 of brackets.

A tree with p brackets, c of them among the g given ones, has Delta = 1 - 2c / (g + p), and its margin is the
score of the given tree - its own. F1 is no sum over brackets, so the loss does not fold into the scores
(jmlr05 Section 4.5.2 stratifies over all values of Delta). The search is exact, and prunes in this order:

  lines       A pair (c, p) whose H cannot exceed the best found, by the bounds of `cky_f1_bounds.py` at
              every lam tried so far, is dead; when all are, the best found is the answer. H's own slope at
              the living pair with the best prospect is the lam to try next. What cannot reach the least
              folded score that a win at a living pair needs is left out of what follows.
  strata      The same with c carried along and p alone folded in (`cky_f1_strata.py`): far tighter where
              weights are small, so that brackets decide and scores nearly tie.
  dominance   What is alive after both is enumerated with its score and p (`cky_f1_list.py`). Of two
              derivations of one node the one with no higher score, no fewer correct and no more predicted
              brackets is left out: where H > 0 it rises with score and Delta.

The given tree itself (H = 0) is a candidate: it is returned where no tree has H > 0. Of equals the first
found wins; nothing but the arrays of one sentence decides its tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.oracles.cky_best import _appended, _edge_value, _largest, _trace
from structmargin.oracles.cky_f1_bounds import (
    Pairs,
    _folded,
    _losses,
    _outside,
    _prospect,
    _prospect_at,
    _slopes,
    _thresholds,
    _tighten,
    _value,
)
from structmargin.oracles.cky_f1_list import _enumerate, _walk
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
"""A tree beats the best found by more than this times (1 + |score|): less is rounding, where trees tie."""

MIN_SLOPE_AT = 0.1
"""Slopes are those along H = best, but of no smaller H than this."""


class Best(NamedTuple):
    """The best tree found so far; its edges are kept beside it."""

    value: float  # its H
    c: int
    p: int
    n_edges: int  # -1 for the given tree


@compiled
def best_by_f1(forest, which, score, extra, given, correct, n_gold, limit, H, lines, strata):  # type: ignore[no-untyped-def]
    """The maximisers of H for the sentences `which`: H (m,), losses (m,), start, edges.

    given (N,) is as for `best_other`; correct (N,) bool says which nodes' brackets are given ones, n_gold
    (n,) how many these are, limit (n, 3) what `limits` found. At most `lines` and `strata` bounds of the two
    kinds are tried, at least one of each.
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
        pairs = Pairs(H, table, g, limit[i], truth)
        best = Best(0.0, g, g, -1)
        at_c, at_p, J = max(g - 1, 0), g, 0
        while J < lines and at_c >= 0:
            lam_c, lam_p = _slopes(pairs, at_c, at_p, max(best.value, MIN_SLOPE_AT))
            lam[J, 0], lam[J, 1] = lam_c, lam_p
            _folded(forest, i, score, extra, correct, lam_c, lam_p, v[J], back, tree)
            c, p = int(tree[size - 1, 1]), int(tree[size - 1, 2])
            value = _value(pairs, c, p, tree[size - 1, 0])
            if value > best.value:
                best = Best(value, c, p, _trace(forest, size - 1, back, stack, tree_edges, 0))
            _tighten(pairs, lam_c, lam_p, v[J, size - 1], bound, J == 0)
            at_c, at_p = _prospect(pairs, best.value + tiny, bound)
            J += 1
        if at_c >= 0:
            max_c = _thresholds(pairs, best.value + tiny, lam, J, bound, F)
            for j in range(J):
                _outside(forest, i, score, extra, correct, lam[j, 0], lam[j, 1], v[j], o[j])
            part = _alive(forest, i, score, extra, correct, lam, F, J, v, o, max_c)
            if part.n > 0:
                best = _best_of_part(part, pairs, tiny, bound, strata, best, tree_edges)
        count = best.n_edges
        if count < 0:  # nothing beats the given tree
            for u in range(first, first + size):
                back[u - first] = given[u]
            count = _trace(forest, size - 1, back, stack, tree_edges, 0)
        values[r], losses[r] = best.value, 1.0 - 2.0 * best.c / (g + best.p)
        edges = _appended(edges, used, tree_edges, count)
        used += count
        start[r + 1] = used
    return values, losses, start, edges[:used]


@compiled
def _best_of_part(part, pairs, tiny, bound, strata, best, out):  # type: ignore[no-untyped-def]
    """The best tree of a part, or `best` where none beats it; its edges are in out."""
    goal, n_strata = part.n - 1, part.at[part.n]
    V, mu = np.empty((strata, n_strata)), np.empty(strata)
    stack, edges = np.empty((part.n + 1, 2), np.int64), np.empty(out.shape[0], np.int64)
    J = 0
    at_c, at_p = _prospect(pairs, best.value + tiny, bound)
    while J < strata and at_c >= 0:
        mu[J] = _slopes(pairs, at_c, at_p, max(best.value, MIN_SLOPE_AT))[1]
        _inside_strata(part, mu[J], V[J])
        for c in range(pairs.limit[2], min(pairs.g, pairs.limit[1]) + 1):
            M = -np.inf
            if part.low[goal] <= c <= part.high[goal]:
                M = V[J, part.at[goal] + c - part.low[goal]]
            for p in range(max(pairs.limit[0], c), pairs.limit[1] + 1):
                bound[c, p] = min(bound[c, p], M - mu[J] * p)
            if M == -np.inf or _prospect_at(pairs, c, best.value + tiny, bound)[1] < 0:
                continue
            p, count = _trace_stratum(part, c, mu[J], V[J], stack, edges)
            value = _value(pairs, c, p, M - mu[J] * p)
            if value > best.value:
                best = Best(value, c, p, count)
                for k in range(count):
                    out[k] = edges[k]
        at_c, at_p = _prospect(pairs, best.value + tiny, bound)
        J += 1
    if at_c < 0:
        return best
    F, O = np.empty(part.high[goal] + 1), np.empty((part.n, part.high[goal] + 1))  # noqa: E741
    demand = np.empty((J, n_strata))
    for j in range(J):
        _strata_thresholds(pairs, best.value + tiny, mu[j], bound, F)
        _outside_strata(part, mu[j], V[j], O)
        _demands(part, F, O, demand[j])
    begin, room, worth = _enumerate(part, mu, J, V, demand)
    for c in range(part.low[goal], part.high[goal] + 1):
        z = part.at[goal] + c - part.low[goal]
        for k in range(begin[z], begin[z + 1]):
            value = _value(pairs, c, room[k, 0], worth[k])
            if value > best.value:
                best = Best(value, c, room[k, 0], _walk(k, room, stack[:, 0], out))
    return best
