"""Contingency tables and pairs: the worst labelling of a whole sample (Joachims 2005, Algorithms 2 and 3).

A sample has P positive and N negative rows, each with a score. A labelling errs on c of the positives
and on b of the negatives; a = P - c positives are found. The measures here depend on the table alone:

    Delta(a, b) = (p0 + pa a + pb b) / (q0 + qa a + qb b),

over all tables, or over those with a + b = k. Among the labellings with one table the smallest margin to
the truth is had by erring on the c positives of lowest score and on the b negatives of highest score:

    margin(c, b) = scale * (sum of the c lowest positive scores - sum of the b highest negative scores).

So the largest H is a maximum over tables:
  best_table          every table, any H: O(P N), or O(P) where a + b = k
  best_table_folded   H = Delta - margin where Delta is concave in b for each a: the sum of the b highest
                      scores is concave too, so a bisection finds the best b: O(P log N)
  best_table_of_k     the tables with a + b = k, any H: O(P)
Of equal tables the first is taken, in rising c, then b. `worst_labelling` sorts, chooses among the three,
and labels.

The ROC area looks at the P N pairs of a positive and a negative instead. Its loss, the share of swapped
pairs, is a sum over pairs, so each pair of the worst ranking is swapped or not by itself, and `beaten`
counts the swapped pairs of every row in one pass over the sorted rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.formulation import Cost


class Table(NamedTuple):
    """Delta as a ratio of two affine functions of (a, b); k is the number called positive, -1 for any."""

    p0: float
    pa: float
    pb: float
    q0: float
    qa: float
    qb: float
    k: int = -1

    def loss(self, a: float, b: float) -> float:
        """Delta where a positives and b negatives are called positive."""
        return max(0.0, (self.p0 + self.pa * a + self.pb * b) / (self.q0 + self.qa * a + self.qb * b))


@compiled
def _h(table, H, a, b, margin):  # type: ignore[no-untyped-def]
    """H of one table: `formulation.h_value` with the powers written out.

    This is the inner loop of the O(P N) search: 4 times faster for squared slack, 3 times for 0/1 loss.
    """
    d = (table.p0 + table.pa * a + table.pb * b) / (table.q0 + table.qa * a + table.qb * b)
    if d <= 0.0:
        d = 0.0
    elif H.power == 0.0:
        d = 1.0
    elif H.power == 0.5:
        d = np.sqrt(d)
    elif H.power != 1.0:
        d = d**H.power
    return d - (H.s0 + H.s1 * d) * margin


@compiled
def best_table(pos, neg, scale, table, H):  # type: ignore[no-untyped-def]
    """(c, b) with the largest H over all tables; requires pos (P,) rising and neg (N,) falling."""
    P, N = pos.shape[0], neg.shape[0]
    best_c, best_b, best = 0, 0, -np.inf
    missed = 0.0
    for c in range(P + 1):
        if c > 0:
            missed += pos[c - 1]
        margin = missed
        for b in range(N + 1):
            if b > 0:
                margin -= neg[b - 1]
            value = _h(table, H, P - c, b, scale * margin)
            if value > best:
                best_c, best_b, best = c, b, value
    return best_c, best_b


@compiled
def best_table_of_k(pos, neg, scale, table, H):  # type: ignore[no-untyped-def]
    """(c, b) with the largest H over the tables with a + b = table.k <= P + N; pos rises, neg falls."""
    P, N, k = pos.shape[0], neg.shape[0], table.k
    first, last = max(0, P - k), min(P, P + N - k)
    margin = 0.0
    for i in range(first):
        margin += pos[i]
    for j in range(k - (P - first)):
        margin -= neg[j]
    best_c, best = first, -np.inf
    for c in range(first, last + 1):
        b = k - (P - c)
        if c > first:
            margin += pos[c - 1] - neg[b - 1]
        value = _h(table, H, P - c, b, scale * margin)
        if value > best:
            best_c, best = c, value
    return best_c, k - (P - best_c)


@compiled
def best_table_folded(pos, neg, scale, table, H):  # type: ignore[no-untyped-def]
    """(c, b) with the largest Delta - margin over all tables; pos rises, neg falls, qb >= 0.

    Requires Delta concave in b: pb (q0 + qa a) >= qb (p0 + pa a) for every a. One more error on the
    negatives, the b-th, then gains (pb q - qb p) / ((q + qb (b - 1)) (q + qb b)) + scale * neg[b - 1],
    with p = p0 + pa a and q = q0 + qa a, which falls as b grows: b is the last with a gain above 0.
    """
    P, N = pos.shape[0], neg.shape[0]
    highest = np.zeros(N + 1)
    for b in range(N):
        highest[b + 1] = highest[b] + neg[b]
    best_c, best_b, best = 0, 0, -np.inf
    missed = 0.0
    for c in range(P + 1):
        if c > 0:
            missed += pos[c - 1]
        p, q = table.p0 + table.pa * (P - c), table.q0 + table.qa * (P - c)
        slope = table.pb * q - table.qb * p
        low, high = 0, N
        while low < high:
            b = (low + high + 1) // 2
            if slope / ((q + table.qb * (b - 1)) * (q + table.qb * b)) + scale * neg[b - 1] > 0.0:
                low = b
            else:
                high = b - 1
        value = _h(table, H, P - c, low, scale * (missed - highest[low]))
        if value > best:
            best_c, best_b, best = c, low, value
    return best_c, best_b


@compiled
def beaten(own, others, out):  # type: ignore[no-untyped-def]
    """out[i] = how many of `others` are above own[i], equals counting one half; both sorted, rising."""
    n, m = own.shape[0], others.shape[0]
    below, upto = 0, 0
    for i in range(n):
        while below < m and others[below] < own[i]:
            below += 1
        while upto < m and others[upto] <= own[i]:
            upto += 1
        out[i] = m - 0.5 * (below + upto)


def highest(scores: np.ndarray, k: int) -> np.ndarray:
    """+1 at the k highest scores, first of equals, and -1 elsewhere."""
    labels = np.full(len(scores), -1, dtype=np.int8)
    labels[np.argsort(-scores, kind="stable")[:k]] = 1
    return labels


def worst_labelling(scores: np.ndarray, y: np.ndarray, table: Table, H: Cost) -> np.ndarray:
    """The labelling with the largest H: scores (n,), y and the answer (n,) of -1 and +1.

    Requires, for an H that folds and tables of any a + b, what `best_table_folded` does.
    """
    positives, negatives = np.flatnonzero(y > 0), np.flatnonzero(y <= 0)
    positives = positives[np.argsort(scores[positives], kind="stable")]
    negatives = negatives[np.argsort(-scores[negatives], kind="stable")]
    search = best_table_of_k if table.k >= 0 else best_table_folded if H.folds else best_table
    c, b = search(scores[positives], scores[negatives], 2.0 / len(y), table, H)
    ybar = np.array(y, dtype=np.int8)
    ybar[positives[:c]] = -1
    ybar[negatives[:b]] = 1
    return ybar


def pair_weights(positive: np.ndarray, r: np.ndarray) -> np.ndarray:
    """v (n,) with sum_i v_i x_i = 1/(2 P N) sum over pairs of sign(r_i - r_j) (x_i - x_j).

    Requires a positive mask with both values and a ranking r, both (n,). The weight of a row is the number
    of the other class's rows below it less that above it, over 2 P N.
    """
    v = np.empty(len(r))
    pos, neg = np.flatnonzero(positive), np.flatnonzero(~positive)
    pos = pos[np.argsort(r[pos], kind="stable")]
    neg = neg[np.argsort(r[neg], kind="stable")]
    ranked_pos, ranked_neg = r[pos].astype(float), r[neg].astype(float)
    above = np.empty(len(pos))
    beaten(ranked_pos, ranked_neg, above)
    v[pos] = 0.5 / len(pos) - above / (len(pos) * len(neg))
    above = np.empty(len(neg))
    beaten(ranked_neg, ranked_pos, above)
    v[neg] = 0.5 / len(neg) - above / (len(pos) * len(neg))
    return v
