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

from structmargin.compiled import compiled


@compiled
def greedy(indptr, items, worth, K):  # type: ignore[no-untyped-def]
    """The chosen sets, (K,) in the order of choosing; requires K <= n and no item twice in one set."""
    n = indptr.shape[0] - 1
    covered = np.zeros(worth.shape[0], dtype=np.bool_)
    bounds, taken = np.full(n, np.inf), np.zeros(n, dtype=np.bool_)
    chosen = np.empty(K, dtype=np.int64)
    order = np.arange(n)
    for k in range(K):
        best, top = -1, -np.inf
        for i in range(1, n):  # largest bound first; hardly anything moves from round to round
            d, j = order[i], i - 1
            while j >= 0 and bounds[order[j]] < bounds[d]:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = d
        for d in order:
            if taken[d]:
                continue
            if bounds[d] < top:
                break
            gain, bound = 0.0, 0.0
            for j in range(indptr[d], indptr[d + 1]):
                if not covered[items[j]]:
                    gain += worth[items[j]]
                    bound += max(worth[items[j]], 0.0)
            bounds[d] = bound
            if gain > top or (gain == top and d < best):
                best, top = d, gain
        chosen[k], taken[best] = best, True
        for j in range(indptr[best], indptr[best + 1]):
            covered[items[j]] = True
    return chosen


@compiled
def best_subset(indptr, items, worth, K):  # type: ignore[no-untyped-def]
    """(the largest F, its sets (K,) rising), first of equals in their order; requires what `greedy` does.

    Below a set chosen at some depth, what the sets after it can still add is at most the sum of their largest
    bounds, as many as are left to choose.
    """
    n = indptr.shape[0] - 1
    covered = np.zeros(worth.shape[0], dtype=np.int64)
    value = np.zeros(K + 1)
    path, best = np.empty(K, dtype=np.int64), np.empty(K, dtype=np.int64)
    top, depth, d = -np.inf, 0, 0
    while True:
        left = K - depth
        bound = 0.0
        if 0 < left <= n - d:
            bounds = np.zeros(n - d)
            for other in range(d, n):
                for j in range(indptr[other], indptr[other + 1]):
                    if covered[items[j]] == 0:
                        bounds[other - d] += max(worth[items[j]], 0.0)
            bounds.sort()
            for j in range(n - d - left, n - d):
                bound += bounds[j]
        if left == 0 or left > n - d or value[depth] + bound <= top:
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
        path[depth] = d
        depth += 1
        value[depth] = value[depth - 1]
        for j in range(indptr[d], indptr[d + 1]):
            if covered[items[j]] == 0:
                value[depth] += worth[items[j]]
            covered[items[j]] += 1
        d += 1


@compiled
def union(indptr, items, n_items, chosen):  # type: ignore[no-untyped-def]
    """Which items the chosen sets cover, (n_items,) bool."""
    covered = np.zeros(n_items, dtype=np.bool_)
    for d in chosen:
        for j in range(indptr[d], indptr[d + 1]):
            covered[items[j]] = True
    return covered


def coverage(indptr: np.ndarray, items: np.ndarray, worth: np.ndarray, chosen: np.ndarray) -> float:
    """F of the chosen sets."""
    return float(worth[union(indptr, items, len(worth), chosen)].sum())
