"""Chains: the best labelling of a sequence, and the best one other than a given one.

Over all labellings y in {0..L-1}^T of one sequence, with tokens counted from 0,

    score(y) = sum_{t=0}^{T-1} E[t, s_t] + sum_{t=1}^{T-1} A_t[s_{t-1}, y_t],

where the state s_t holds the last m labels: s_0 = y_0 and s_t = (s_{t-1} L + y_t) mod S, S = L^m.
With m = 1 the state is the label itself (the first-order chain of jmlr05 Section 4.3, equation 13);
with m = 2 it is a pair of labels, so that A scores triplets of labels and E pairs of them. States
that no first token can be in (s >= L) must have E = -inf there. Forbidden labels and transitions
are entries equal to -inf; no entry may be NaN or +inf.

Each search takes packed sequences of any lengths >= 1 in one call and costs O(S L) per token:
  best           the best labelling: Viterbi
  best_folded    the best of score(y) + lam * Hamming distance, for a loss that folds into the scores
  best_other     the best labelling other than a given one: all that 0/1 loss needs, and the second
                 of the two best when the given one is the best (jmlr05 Section 4.3.2)
`viterbi_by_distance` has the searches that carry the number of wrong labels.

Ties: of equal labellings `best` and `best_folded` return the one whose last state is smallest, then
the one whose state before it is, and so on back; `best_other` the same among those that left the
given labelling earliest. Nothing but the arrays of one sequence decides its labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled


class Chains(NamedTuple):
    """n sequences of N tokens in all, packed; every array C-contiguous.

    Token offsets[i] is the first of sequence i; A[which[t]] scores the step into token t from the
    one before it in the same sequence (the entries of `which` at first tokens are not read).
    """

    E: np.ndarray  # (N, S) float64
    offsets: np.ndarray  # (n + 1,) int64, rising strictly from 0 to N
    A: np.ndarray  # (K, S, L) float64
    which: np.ndarray  # (N,) int64, in 0..K-1


# Plain loops instead of slice assignments and np.argmax: as fast, and compiled in a third of the time.


@compiled
def _copy(source, target):  # type: ignore[no-untyped-def]
    for k in range(target.shape[0]):
        target[k] = source[k]


@compiled
def _clear(v):  # type: ignore[no-untyped-def]
    for s in range(v.shape[0]):
        v[s] = -np.inf


@compiled
def _top(v):  # type: ignore[no-untyped-def]
    """Where v is largest, first of equals."""
    top = 0
    for s in range(1, v.shape[0]):
        if v[s] > v[top]:
            top = s
    return top


@compiled
def _step(v, A, e, out):  # type: ignore[no-untyped-def]
    """out[g L + j] = e[g L + j] + max over h of v[h B + g] + A[h B + g, j]: v, e, out (S,), A (S, L)."""
    S, L = A.shape
    B = S // L
    whole = L - L % 4
    for g in range(B):
        # Four maxima at a time stay in registers: 2.5 times faster than one pass over `out` for each source.
        for j in range(0, whole, 4):
            a0 = a1 = a2 = a3 = -np.inf
            for h in range(L):
                q = h * B + g
                vq = v[q]
                a0 = max(a0, vq + A[q, j])
                a1 = max(a1, vq + A[q, j + 1])
                a2 = max(a2, vq + A[q, j + 2])
                a3 = max(a3, vq + A[q, j + 3])
            s = g * L + j
            out[s] = e[s] + a0
            out[s + 1] = e[s + 1] + a1
            out[s + 2] = e[s + 2] + a2
            out[s + 3] = e[s + 3] + a3
        for j in range(whole, L):
            a0 = -np.inf
            for h in range(L):
                q = h * B + g
                a0 = max(a0, v[q] + A[q, j])
            out[g * L + j] = e[g * L + j] + a0


@compiled
def _before(v, A, s):  # type: ignore[no-untyped-def]
    """The state before s on the best path into it, first of equals, and v + A there."""
    S, L = A.shape
    B = S // L
    g = s // L
    j = s - g * L
    state, value = g, v[g] + A[g, j]
    for h in range(1, L):
        q = h * B + g
        c = v[q] + A[q, j]
        if c > value:
            state, value = q, c
    return state, value


@compiled
def _viterbi(chains, lo, hi, y, lam, v, labels):  # type: ignore[no-untyped-def]
    """The best score + lam * (number of labels that differ from y) on tokens lo..hi-1; fills labels[lo:hi].

    `v` is scratch of at least hi - lo rows; `y` is not read when lam is 0.
    """
    E, _, A, which = chains
    S, L = A.shape[1:]
    T = hi - lo
    _copy(E[lo], v[0])
    for t in range(T):
        if t > 0:
            _step(v[t - 1], A[which[lo + t]], E[lo + t], v[t])
        if lam != 0.0:
            for g in range(S // L):
                for j in range(L):
                    if j != y[lo + t]:
                        v[t, g * L + j] += lam
    s = _top(v[T - 1])
    score = v[T - 1, s]
    for t in range(T - 1, 0, -1):
        labels[lo + t] = s % L
        s = _before(v[t - 1], A[which[lo + t]], s)[0]
    labels[lo] = s % L
    return score


@compiled
def _longest(offsets):  # type: ignore[no-untyped-def]
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@compiled
def best(chains):  # type: ignore[no-untyped-def]
    """The best labelling of every sequence: labels (N,) int64 and scores (n,).

    Where no labelling is allowed the score is -inf and the labels mean nothing.
    """
    E, offsets, _, _ = chains
    n = len(offsets) - 1
    labels = np.zeros(E.shape[0], np.int64)
    scores = np.empty(n)
    v = np.empty((_longest(offsets), E.shape[1]))
    for i in range(n):
        scores[i] = _viterbi(chains, offsets[i], offsets[i + 1], labels, 0.0, v, labels)
    return labels, scores


@compiled
def best_folded(chains, y, lam):  # type: ignore[no-untyped-def]
    """The maximiser of score + lam[i] * Hamming distance from y: labels (N,) and those maxima (n,).

    y (N,) int64 holds the given labels, lam (n,) float64 what a wrong label earns in each sequence.
    """
    E, offsets, _, _ = chains
    n = len(offsets) - 1
    labels = np.zeros(E.shape[0], np.int64)
    values = np.empty(n)
    v = np.empty((_longest(offsets), E.shape[1]))
    for i in range(n):
        values[i] = _viterbi(chains, offsets[i], offsets[i + 1], y, lam[i], v, labels)
    return labels, values


@compiled
def _leave(value, u, A, e, y, out):  # type: ignore[no-untyped-def]
    """Raise out[s] to value + A[u, j] + e[s] for every label j other than y that can follow state u."""
    S, L = A.shape
    first = (u % (S // L)) * L
    for j in range(L):
        if j != y:
            out[first + j] = max(out[first + j], e[first + j] + (value + A[u, j]))


@compiled
def _along(chains, lo, hi, y, states, values):  # type: ignore[no-untyped-def]
    """The states and the running scores of the labelling y on tokens lo..hi-1, into two arrays."""
    E, _, A, which = chains
    S, L = A.shape[1:]
    u = y[lo]
    value = E[lo, u]
    states[0], values[0] = u, value
    for t in range(1, hi - lo):
        j = y[lo + t]
        value += A[which[lo + t], u, j]
        u = (u % (S // L)) * L + j
        value += E[lo + t, u]
        states[t], values[t] = u, value


@compiled
def best_other(chains, y):  # type: ignore[no-untyped-def]
    """The best labelling of every sequence other than y (N,): labels (N,) and scores (n,).

    Each state is kept for paths that have left y already; a path leaves it once, from the single
    state y is in. Where y is the only labelling allowed it is returned, with score -inf.
    """
    E, offsets, A, which = chains
    n = len(offsets) - 1
    S, L = A.shape[1:]
    labels = np.zeros(E.shape[0], np.int64)
    scores = np.empty(n)
    T_max = _longest(offsets)
    v = np.empty((T_max, S))
    states = np.empty(T_max, np.int64)
    values = np.empty(T_max)
    for i in range(n):
        lo, hi = offsets[i], offsets[i + 1]
        T = hi - lo
        _along(chains, lo, hi, y, states, values)
        _copy(E[lo], v[0])
        v[0, y[lo]] = -np.inf
        for t in range(1, T):
            a = A[which[lo + t]]
            _step(v[t - 1], a, E[lo + t], v[t])
            _leave(values[t - 1], states[t - 1], a, E[lo + t], y[lo + t], v[t])
        s = _top(v[T - 1])
        scores[i] = v[T - 1, s]
        _copy(y[lo:hi], labels[lo:hi])
        if scores[i] == -np.inf:
            continue
        for t in range(T - 1, -1, -1):
            labels[lo + t] = s % L
            if t == 0:
                break
            a = A[which[lo + t]]
            q, value = _before(v[t - 1], a, s)
            u = states[t - 1]
            follows = s % L != y[lo + t] and s // L == u % (S // L)
            if follows and values[t - 1] + a[u, s % L] > value:
                break  # the path left y here: it is y before
            s = q
    return labels, scores
