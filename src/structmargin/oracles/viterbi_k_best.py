"""Chains: the k best labellings of a sequence, best first.

The set and the score are those of `structmargin.oracles.viterbi`. Every state keeps its k best paths in order
(the list Viterbi algorithm); the paths into a state come from the lists of the states before it, which are
merged. The cost is O(k S L) per token: L lists are looked at for each path that is kept.

Ties: of equal labellings the one whose last state is smallest comes first, then the one whose state before
it is, and so on back. The first labelling is therefore the one that `viterbi.best` returns.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled


@compiled
def k_best(chains, k):  # type: ignore[no-untyped-def]
    """The k best labellings of the only sequence of `chains`: labels (m, T) int64 and scores (m,), m <= k.

    There are fewer than k where fewer have a score above -inf. k must be at least 1 and should not exceed the
    number of labellings: memory for T S k paths is taken.
    """
    E, _, A, which = chains
    T, S = E.shape
    L = A.shape[2]
    B = S // L
    v, n = np.empty((2, S, k)), np.zeros((2, S), np.int64)  # scores and numbers of paths, rows by turns
    back = np.empty((T, S, k), np.int64)  # the path that each one continues: its state * k + its place
    taken = np.empty(S, np.int64)
    for s in range(S):
        if E[0, s] > -np.inf:
            v[0, s, 0] = E[0, s]
            n[0, s] = 1
    for t in range(1, T):
        a, now, before = A[which[t]], t % 2, (t + 1) % 2
        for s in range(S):
            n[now, s] = 0
            if not E[t, s] > -np.inf:
                continue
            g = s // L
            j = s - g * L
            for h in range(L):
                taken[h] = 0
            while n[now, s] < k:
                chosen, value = -1, -np.inf
                for h in range(L):
                    q = h * B + g
                    if taken[h] < n[before, q]:
                        c = v[before, q, taken[h]] + a[q, j]
                        if c > value:
                            chosen, value = h, c
                if chosen < 0:
                    break
                r = n[now, s]
                v[now, s, r] = E[t, s] + value
                back[t, s, r] = (chosen * B + g) * k + taken[chosen]
                taken[chosen] += 1
                n[now, s] += 1
    last = (T + 1) % 2
    labels, scores, m = np.empty((k, T), np.int64), np.empty(k), 0
    for s in range(S):
        taken[s] = 0
    while m < k:
        chosen, value = -1, -np.inf
        for s in range(S):
            if taken[s] < n[last, s] and v[last, s, taken[s]] > value:
                chosen, value = s, v[last, s, taken[s]]
        if chosen < 0:
            break
        scores[m] = value
        s, r = chosen, taken[chosen]
        taken[chosen] += 1
        for t in range(T - 1, 0, -1):
            labels[m, t] = s % L
            path = back[t, s, r]
            s, r = path // k, path % k
        labels[m, 0] = s % L
        m += 1
    return labels[:m].copy(), scores[:m].copy()
