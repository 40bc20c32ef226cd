"""Budgeted coverage: choose K sets so that what they cover together is worth most (cacm09 Section 3.1).

There are n sets of items (documents and the words in them), set d holding items[indptr[d] : indptr[d + 1]],
and item u is worth b_u once, whoever covers it:

    F(y) = sum of b_u over the items u in the union of the sets in y,    |y| = K.

`greedy` adds the set with the largest gain K times, first of equals. With b >= 0 it reaches (1 - 1/e) of
the best F (Nemhauser, Wolsey, Fisher 1978); with worths of either sign there is no such bound, and the K-th
set is added even where it costs.

Evaluation is lazy (Minoux 1978), also with negative worths: what a set gains on items with b > 0 alone
never grows as more is covered, and bounds its whole gain from above. A set whose last bound is below the
best gain found in this round is not looked at.

`best_subset` finds a best y itself, by depth first with the same bounds: for small n and K only.
"""

from __future__ import annotations

import numpy as np

from structsvm.compiled import compiled


@compiled
def _gain(indptr, items, worth, covered, d):  # type: ignore[no-untyped-def]
    """(gain of set d, the part of it on items worth more than 0), given how often each item is covered."""
    gain, bound = 0.0, 0.0
    for k in range(indptr[d], indptr[d + 1]):
        u = items[k]
        if covered[u] == 0:
            gain += worth[u]
            if worth[u] > 0.0:
                bound += worth[u]
    return gain, bound


@compiled
def greedy(indptr, items, worth, K):  # type: ignore[no-untyped-def]
    """The chosen sets, (K,) in the order of choosing; requires K <= n and no item twice in one set."""
    n = indptr.shape[0] - 1
    covered = np.zeros(worth.shape[0], dtype=np.int64)
    bounds, taken = np.full(n, np.inf), np.zeros(n, dtype=np.bool_)
    chosen = np.empty(K, dtype=np.int64)
    for k in range(K):
        best, top = -1, -np.inf
        for d in np.argsort(-bounds):
            if taken[d]:
                continue
            if bounds[d] < top:
                break
            gain, bounds[d] = _gain(indptr, items, worth, covered, d)
            if gain > top or (gain == top and d < best):
                best, top = d, gain
        chosen[k], taken[best] = best, True
        for j in range(indptr[best], indptr[best + 1]):
            covered[items[j]] += 1
    return chosen


@compiled
def best_subset(indptr, items, worth, K):  # type: ignore[no-untyped-def]
    """(the largest F, its sets (K,) rising), first of equals in their order; requires what `greedy` does."""
    n = indptr.shape[0] - 1
    covered = np.zeros(worth.shape[0], dtype=np.int64)
    value = np.zeros(K + 1)
    path, best = np.empty(K, dtype=np.int64), np.empty(K, dtype=np.int64)
    top, depth, d = -np.inf, 0, 0
    while True:
        left = K - depth
        if left == 0 or d > n - left or value[depth] + _most(indptr, items, worth, covered, d, left) <= top:
            if left == 0 and value[depth] > top:
                top = value[depth]
                best[:] = path
            if depth == 0:
                return top, best
            depth -= 1
            d = path[depth]
            for j in range(indptr[d], indptr[d + 1]):
                covered[items[j]] -= 1
            d += 1
            continue
        gain, _ = _gain(indptr, items, worth, covered, d)
        for j in range(indptr[d], indptr[d + 1]):
            covered[items[j]] += 1
        path[depth] = d
        depth += 1
        value[depth] = value[depth - 1] + gain
        d += 1


@compiled
def _most(indptr, items, worth, covered, first, left):  # type: ignore[no-untyped-def]
    """What `left` sets from `first` on can add at most: the sum of their largest bounds."""
    n = indptr.shape[0] - 1
    bounds = np.empty(n - first)
    for d in range(first, n):
        _, bounds[d - first] = _gain(indptr, items, worth, covered, d)
    bounds.sort()
    return bounds[n - first - left :].sum()


@compiled
def coverage(indptr, items, worth, chosen):  # type: ignore[no-untyped-def]
    """F of the chosen sets."""
    covered = np.zeros(worth.shape[0], dtype=np.int64)
    total = 0.0
    for d in chosen:
        total += _gain(indptr, items, worth, covered, d)[0]
        for j in range(indptr[d], indptr[d + 1]):
            covered[items[j]] += 1
    return total


@compiled
def union(indptr, items, n_items, chosen):  # type: ignore[no-untyped-def]
    """Which items the chosen sets cover, (n_items,) bool."""
    covered = np.zeros(n_items, dtype=np.bool_)
    for d in chosen:
        for j in range(indptr[d], indptr[d + 1]):
            covered[items[j]] = True
    return covered
