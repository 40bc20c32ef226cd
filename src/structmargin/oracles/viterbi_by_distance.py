"""Chains: the best labelling at every Hamming distance from a given one, and the best H among them.

A Viterbi whose cells also carry d, the number of labels that differ from y so far (jmlr05 Sections
3.2 and 4.3.2: the maximisation for all possible values of the loss):

    v_t(d, s) = E[t, s] + max over s' before s of v_{t-1}(d - 1[label of s != y_t], s') + A_t[s', label of s].

`by_distance` fills the whole table, O(T^2 S L). `best_by_loss` needs only the largest
H(scale d, score(y) - score_d), and first asks how large d can be: for any lam a folded Viterbi
gives M(lam) = max_d score_d + lam d, so score_d <= M(lam) - lam d for every d, while its own labelling
is a first answer. Distances whose H cannot exceed the best answer under these bounds are left out;
often few or none are left. The slope tried next is that of H's level line through a better answer just
found, else that of the line from the best answer (at first the truth itself) to the one just found.

Ties: a smaller distance wins over a larger one in `by_distance`'s table; at one distance, as in
`viterbi.best`. `best_by_loss` returns some maximiser, the same one for the same arrays of a sequence.
"""

from __future__ import annotations

import numpy as np

from structmargin.compiled import compiled
from structmargin.formulation import h_value
from structmargin.oracles.viterbi import (
    _along,
    _before,
    _clear,
    _copy,
    _leave,
    _longest,
    _step,
    _top,
    _viterbi,
)

MAX_BOUNDS = 3
"""How many bounds `best_by_loss` tries before it fills its table; by measurement."""


@compiled
def _fill(chains, lo, hi, y, D, states, values, v):  # type: ignore[no-untyped-def]
    """The table v_t(d, .) in rows v[t (D + 1) + d] for d <= min(t + 1, D) on tokens lo..hi-1.

    `states` and `values` are those of y itself (row d = 0 is that one path); the last row of v is scratch.
    """
    E, _, A, which = chains
    S, L = A.shape[1:]
    spare = v[v.shape[0] - 1]
    _clear(v[0])
    v[0, y[lo]] = values[0]
    if D > 0:
        _copy(E[lo], v[1])
        v[1, y[lo]] = -np.inf
    for t in range(1, hi - lo):
        a, e, yt = A[which[lo + t]], E[lo + t], y[lo + t]
        here, past = t * (D + 1), (t - 1) * (D + 1)
        _clear(v[here])
        v[here, states[t]] = values[t]
        for d in range(min(t, D) + 1):
            # A step from distance d ends at distance d with label y_t, at d + 1 with any other.
            out = v[here + d + 1] if d < D else spare
            if d == 0:
                _clear(out)
                _leave(values[t - 1], states[t - 1], a, e, yt, out)
                continue
            _step(v[past + d], a, e, out)
            for s in range(yt, S, L):
                v[here + d, s] = out[s]
                out[s] = -np.inf


@compiled
def _trace(chains, lo, hi, y, D, d, v, labels):  # type: ignore[no-untyped-def]
    """The labelling behind the best cell of row d at the last token, into labels[lo:hi]."""
    _, _, A, which = chains
    L = A.shape[2]
    T = hi - lo
    s = _top(v[(T - 1) * (D + 1) + d])
    for t in range(T - 1, 0, -1):
        labels[lo + t] = s % L
        if s % L != y[lo + t]:
            d -= 1
        s = _before(v[(t - 1) * (D + 1) + d], A[which[lo + t]], s)[0]
    labels[lo] = s % L


@compiled
def by_distance(chains, y):  # type: ignore[no-untyped-def]
    """The best labelling of every sequence at every Hamming distance 0..T from y (N,).

    Returns scores, one array of sum_i (T_i + 1) numbers, and labels, one of sum_i (T_i + 1) T_i:
    for each sequence in turn, distance 0 first. Where no labelling lies at a distance the score is
    -inf and the labels are those of y.
    """
    E, offsets, A, _ = chains
    T_max = _longest(offsets)
    cells, steps = 0, 0
    for i in range(len(offsets) - 1):
        cells += offsets[i + 1] - offsets[i] + 1
        steps += (offsets[i + 1] - offsets[i] + 1) * (offsets[i + 1] - offsets[i])
    scores, paths = np.empty(cells), np.empty(steps, np.int64)
    states, values = np.empty(T_max, np.int64), np.empty(T_max)
    v = np.empty((T_max * (T_max + 1) + 1, A.shape[1]))
    labels = np.empty(E.shape[0], np.int64)
    first_score, first_label = 0, 0
    for i in range(len(offsets) - 1):
        lo, hi = offsets[i], offsets[i + 1]
        T = hi - lo
        _along(chains, lo, hi, y, states, values)
        _fill(chains, lo, hi, y, T, states, values, v)
        for d in range(T + 1):
            last = v[(T - 1) * (T + 1) + d]
            scores[first_score + d] = last[_top(last)]
            _copy(y[lo:hi], labels[lo:hi])
            if scores[first_score + d] > -np.inf:
                _trace(chains, lo, hi, y, T, d, v, labels)
            _copy(labels[lo:hi], paths[first_label : first_label + T])
            first_label += T
        first_score += T + 1
    return scores, paths


@compiled
def _slope(H, delta, value):  # type: ignore[no-untyped-def]
    """(d margin / d Delta) along H(Delta, margin) = value, at Delta = delta > 0."""
    d = delta**H.power
    return H.power * d / delta * (H.s0 + H.s1 * value) / (H.s0 + H.s1 * d) ** 2


@compiled
def best_by_loss(chains, y, scale, H, rounds):  # type: ignore[no-untyped-def]
    """The maximiser of H(scale[i] * distance from y, score(y) - score): labels (N,), losses (n,), H (n,).

    y (N,) int64 holds the given labels, themselves a candidate (H = 0); scale (n,) what one wrong
    label costs in each sequence; `rounds` says how many bounds to try before the table is filled.
    """
    E, offsets, A, _ = chains
    n = len(offsets) - 1
    T_max = _longest(offsets)
    labels = y.copy()
    losses, best = np.zeros(n), np.zeros(n)
    states, values = np.empty(T_max, np.int64), np.empty(T_max)
    trial = np.empty(E.shape[0], np.int64)
    bounds = np.empty(T_max + 1)
    v = np.empty((T_max + 1, A.shape[1]))
    for i in range(n):
        lo, hi = offsets[i], offsets[i + 1]
        T = hi - lo
        _along(chains, lo, hi, y, states, values)
        truth = values[T - 1]
        _clear(bounds)  # from below, on the margin at each distance
        D, best_d, best_margin = T, 0, 0.0
        lam = scale[i] * _slope(H, scale[i], 1.0)
        for _ in range(rounds):
            M = _viterbi(chains, lo, hi, y, lam, v, trial)
            d = 0
            for t in range(lo, hi):
                if trial[t] != y[t]:
                    d += 1
            margin = truth - (M - lam * d)
            value = h_value(H, scale[i] * d, margin)
            other = best_d
            if value > best[i]:
                best[i], losses[i], best_d, best_margin = value, scale[i] * d, d, margin
                _copy(trial[lo:hi], labels[lo:hi])
            for k in range(1, D + 1):
                bounds[k] = max(bounds[k], truth - (M - lam * k))
            while D > 0 and h_value(H, scale[i] * D, bounds[D]) <= best[i]:
                D -= 1
            if D == 0 or d == other:
                break
            if d == best_d:
                lam = scale[i] * _slope(H, losses[i], best[i])
            else:
                lam = (margin - best_margin) / (d - best_d)
        if D == 0:
            continue
        need = T * (D + 1) + 1
        if v.shape[0] < need:
            v = np.empty((need, A.shape[1]))
        _fill(chains, lo, hi, y, D, states, values, v)
        chosen = 0
        for d in range(1, D + 1):
            last = v[(T - 1) * (D + 1) + d]
            score = last[_top(last)]
            if score > -np.inf:
                value = h_value(H, scale[i] * d, truth - score)
                if value > best[i]:
                    best[i], losses[i], chosen = value, scale[i] * d, d
        if chosen > 0:
            _trace(chains, lo, hi, y, D, chosen, v, labels)
    return labels, losses, best
