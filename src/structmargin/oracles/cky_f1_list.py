"""Parse forests: derivations of strata listed one by one, as far as bounds and dominance leave any.

The last step of `cky_f1.py`. A derivation of a stratum (a node and its number c of correct brackets, see
`cky_f1_strata.py`) is known by its score and its number p of brackets.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled


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
