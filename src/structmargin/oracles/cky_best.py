"""Parse forests: the best tree, and the best one other than a given one.

The score of a tree is the sum of `score[rule]` over its edges and of `extra[node]` over its nodes. Both
searches walk a forest once, bottom up (Viterbi over the edges of `structmargin.oracles.cky`).
`best_other` keeps at every node of the given tree the best derivation that differs from it: by another edge,
or by the same edge over a part that differs. It is all that 0/1 loss needs (jmlr05 Section 3.2), and the
second of the two best when the given tree is the best.

Trees come as derivations: of the k-th sentence edges[start[k]:start[k + 1]], parents before children, left
before right, none where there is no tree (score -inf). Ties go to the first edge of a
node; `best_other` prefers a difference higher up, then one further left.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled


@compiled
def _edge_value(forest, e, score):  # type: ignore[no-untyped-def]
    return score[forest.rule[e]] if forest.rule[e] >= 0 else 0.0


@compiled
def _inside(forest, i, score, extra, v, back):  # type: ignore[no-untyped-def]
    """The best value of every node of sentence i, into v, and its edge, into back (-1 for a leaf)."""
    first = forest.start[i]
    for u in range(first, forest.start[i + 1]):
        value, chosen = -np.inf, -1
        for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
            total = _edge_value(forest, e, score) + v[forest.left[e]]
            if forest.right[e] >= 0:
                total += v[forest.right[e]]
            if total > value or chosen < 0:
                value, chosen = total, e
        if chosen < 0:
            value = 0.0
        v[u - first] = value + extra[u] if extra.shape[0] > 0 else value
        back[u - first] = chosen


@compiled
def _trace(forest, root, back, stack, out, count):  # type: ignore[no-untyped-def]
    """Write the edges below `root` that `back` names to out[count:], parents first; returns the new count."""
    depth = 1
    stack[0] = root
    while depth > 0:
        depth -= 1
        e = back[stack[depth]]
        if e < 0:
            continue
        out[count] = e
        count += 1
        if forest.right[e] >= 0:
            stack[depth] = forest.right[e]
            depth += 1
        stack[depth] = forest.left[e]
        depth += 1
    return count


@compiled
def _appended(all_edges, used, new_edges, count):  # type: ignore[no-untyped-def]
    """all_edges, grown if need be, with new_edges[:count] at `used`."""
    if used + count > all_edges.shape[0]:
        larger = np.empty(2 * (used + count), np.int64)
        for k in range(used):
            larger[k] = all_edges[k]
        all_edges = larger
    for k in range(count):
        all_edges[used + k] = new_edges[k]
    return all_edges


@compiled
def _largest(forest, which):  # type: ignore[no-untyped-def]
    max_nodes = 1
    for r in range(which.shape[0]):
        i = which[r]
        max_nodes = max(max_nodes, forest.start[i + 1] - forest.start[i])
    return max_nodes


@compiled
def best(forest, which, score, extra):  # type: ignore[no-untyped-def]
    """The best trees of the sentences `which` (int64): score (len(which),), start, edges.

    score (n_rules,) and extra (N,) or (0,) are float64; -inf where a sentence has no tree.
    """
    max_nodes = _largest(forest, which)
    v, back = np.empty(max_nodes), np.empty(max_nodes, np.int64)
    stack, tree_edges = np.empty(max_nodes + 1, np.int64), np.empty(max_nodes, np.int64)
    scores, start = np.empty(which.shape[0]), np.zeros(which.shape[0] + 1, np.int64)
    edges, used = np.empty(64 * (which.shape[0] + 1), np.int64), 0
    for r in range(which.shape[0]):
        i = which[r]
        size = forest.start[i + 1] - forest.start[i]
        scores[r] = -np.inf
        if size > 0:
            _inside(forest, i, score, extra, v, back)
            scores[r] = v[size - 1]
            count = _trace(forest, size - 1, back, stack, tree_edges, 0)
            edges = _appended(edges, used, tree_edges, count)
            used += count
        start[r + 1] = used
    return scores, start, edges[:used]


@compiled
def best_other(forest, which, score, extra, given):  # type: ignore[no-untyped-def]
    """The best trees other than given ones: score, start and edges as for `best`.

    given (N,) int64 holds the edge of every node of the given tree, -1 at leaves and other nodes. Where it
    is the only tree of its sentence the score is -inf and there are no edges.
    """
    max_nodes = _largest(forest, which)
    v, back = np.empty(max_nodes), np.empty(max_nodes, np.int64)
    o, turn, side = np.empty(max_nodes), np.empty(max_nodes, np.int64), np.empty(max_nodes, np.int64)
    stack, tree_edges = np.empty(max_nodes + 1, np.int64), np.empty(max_nodes, np.int64)
    scores, start = np.empty(which.shape[0]), np.zeros(which.shape[0] + 1, np.int64)
    edges, used = np.empty(64 * (which.shape[0] + 1), np.int64), 0
    for r in range(which.shape[0]):
        i = which[r]
        first, size = forest.start[i], forest.start[i + 1] - forest.start[i]
        start[r + 1], scores[r] = used, -np.inf
        if size == 0:
            continue
        _inside(forest, i, score, extra, v, back)
        for u in range(first, first + size):
            g = given[u]
            o[u - first], side[u - first] = -np.inf, 0
            if g < 0:
                continue  # only the given tree's own nodes are asked for
            own = extra[u] if extra.shape[0] > 0 else 0.0
            for e in range(forest.edge_start[u], forest.edge_start[u + 1]):
                if e != g:
                    total = own + _edge_value(forest, e, score) + v[forest.left[e]]
                    if forest.right[e] >= 0:
                        total += v[forest.right[e]]
                    if total > o[u - first]:
                        o[u - first], turn[u - first], side[u - first] = total, e, 0
            own += _edge_value(forest, g, score)
            a, b = forest.left[g], forest.right[g]
            total = own + o[a] + (v[b] if b >= 0 else 0.0)
            if total > o[u - first]:
                o[u - first], turn[u - first], side[u - first] = total, g, 1
            if b >= 0 and own + v[a] + o[b] > o[u - first]:
                o[u - first], turn[u - first], side[u - first] = own + v[a] + o[b], g, 2
        if o[size - 1] == -np.inf:
            continue
        scores[r] = o[size - 1]
        u = size - 1
        while True:  # follow the given tree down to where it is left
            back[u] = turn[u]
            if side[u] == 0:
                break
            u = forest.left[turn[u]] if side[u] == 1 else forest.right[turn[u]]
        count = _trace(forest, size - 1, back, stack, tree_edges, 0)
        edges = _appended(edges, used, tree_edges, count)
        used += count
        start[r + 1] = used
    return scores, start, edges[:used]
