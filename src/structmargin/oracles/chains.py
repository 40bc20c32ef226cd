"""Exact local alignment with affine gaps that depend on the place, whatever the signs of the weights.

The set. An alignment of a template of n places and a target of m places is a chain of matches

    (i_1, j_1), ..., (i_k, j_k)   with   i_1 < i_2 < ... < i_k   and   j_1 < j_2 < ... < j_k,

or the empty chain, with score 0. It is local: what lies before the first match and after the last costs
nothing. Between two matches the template's places are left out first, then the target's:

    match (i, j)                              S[i, j]
    template places i+1 .. i'-1 left out      gaps[i+1, 0], then gaps[., 1] for each further one
    target places j+1 .. j'-1 left out        gaps[i'-1, 2], then gaps[i'-1, 3] for each further one

i'-1 is the last place of the template before the insertion. A chain has one score, so nothing is counted
twice; and since gaps lie between matches only, the search is exact for weights of either sign.

The recurrence (Smith and Waterman 1981; Gotoh 1982). M, D and I are the best scores of a chain that ends
in a match of (i, j), in template place i left out, and in target place j left out, at i and j:

    M[i, j] = S[i, j] + max(0, M[i-1, j-1], D[i-1, j-1], I[i-1, j-1])
    D[i, j] = max(M[i-1, j] + gaps[i, 0],  D[i-1, j] + gaps[i, 1])
    I[i, j] = max(max(M, D)[i, j-1] + gaps[i, 2],  I[i, j-1] + gaps[i, 3])

Ties. A chain goes on only for a score above 0; M goes before D, D before I, a new gap before a longer one;
of equal ends the one with the smallest i, then j, is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled

START, MATCH, DELETE, INSERT = 0, 1, 2, 3
"""What a chain came from: nothing, a match, a template place or a target place left out."""


class WorkSpace(NamedTuple):
    """Work space: match scores S[i * m + j], and M, D and I with a border before the first row and column."""

    S: np.ndarray  # (n * m,)
    M: np.ndarray  # ((n + 1) * (m + 1),), as D and I
    D: np.ndarray
    I: np.ndarray  # noqa: E741


def work_space(cells: int, bordered: int) -> WorkSpace:
    """Work space for pairs of at most n * m = `cells` and (n + 1) * (m + 1) = `bordered`."""
    return WorkSpace(np.empty(cells), np.empty(bordered), np.empty(bordered), np.empty(bordered))


def best_chain(S: np.ndarray, gaps: np.ndarray) -> tuple[float, np.ndarray]:
    """The best score and a chain (k, 2) that has it, for finite match scores S (n, m) and gaps (n, 4)."""
    S, gaps = np.ascontiguousarray(S, dtype=float), np.ascontiguousarray(gaps, dtype=float)
    if not (np.isfinite(S).all() and np.isfinite(gaps).all()):
        raise ValueError("the match and gap scores must be finite; look for NaN or infinity in w")
    n, m = S.shape
    work, chain = work_space(n * m, (n + 1) * (m + 1)), np.empty((min(n, m), 2), np.int32)
    work.S[:] = S.ravel()
    score, low = search(work, n, m, gaps, chain, len(chain))
    return float(score), chain[low:]


@compiled
def search(work, n, m, gaps, chain, high):  # type: ignore[no-untyped-def]
    """Search over work.S[i * m + j]; the chain found is written to chain[low:high]; returns (score, low)."""
    S, M, D, I = work  # noqa: E741
    wide = m + 1
    for X in (M, D, I):
        X[:wide] = -np.inf
    best, at_i, at_j = 0.0, -1, -1
    for i in range(n):
        above, here = slice(i * wide, (i + 1) * wide), slice((i + 1) * wide, (i + 2) * wide)
        M1 = M[here]
        top = _row(S[i * m : (i + 1) * m], M[above], D[above], I[above], M1, D[here], I[here], gaps[i])
        if top > best:
            best, at_i = top, i
            for j in range(m):
                if M1[j + 1] == top:
                    at_j = j
                    break
    low = high
    i, j, state = at_i, at_j, MATCH if at_i >= 0 else START
    while state != START:
        if state == MATCH:
            low -= 1
            chain[low, 0], chain[low, 1] = i, j
            cell = i * wide + j
            v, state = 0.0, START
            if M[cell] > v:
                v, state = M[cell], MATCH
            if D[cell] > v:
                v, state = D[cell], DELETE
            if I[cell] > v:
                state = INSERT
            i -= 1
            j -= 1
        elif state == DELETE:
            cell = i * wide + j + 1
            state = DELETE if D[cell] + gaps[i, 1] > M[cell] + gaps[i, 0] else MATCH
            i -= 1
        else:
            cell = (i + 1) * wide + j
            opened = max(M[cell], D[cell]) + gaps[i, 2]
            state = INSERT if I[cell] + gaps[i, 3] > opened else DELETE if D[cell] > M[cell] else MATCH
            j -= 1
    return best, low


@compiled
def _row(S, M0, D0, I0, M1, D1, I1, gaps):  # type: ignore[no-untyped-def]
    """One row of M, D and I from the row above (entry j + 1 is target place j); returns the best M."""
    m = len(S)
    open_d, more_d, open_i, more_i = gaps[0], gaps[1], gaps[2], gaps[3]
    top = -np.inf
    M1[0] = D1[0] = I1[0] = -np.inf
    for j in range(m):
        v = M0[j] if M0[j] > 0.0 else 0.0
        v = D0[j] if D0[j] > v else v
        v = I0[j] if I0[j] > v else v
        M1[j + 1] = v + S[j]
        opened, longer = M0[j + 1] + open_d, D0[j + 1] + more_d
        D1[j + 1] = longer if longer > opened else opened
    for j in range(m):
        top = M1[j + 1] if M1[j + 1] > top else top
        I1[j + 1] = (D1[j] if D1[j] > M1[j] else M1[j]) + open_i
    for j in range(m):
        longer = I1[j] + more_i
        I1[j + 1] = longer if longer > I1[j + 1] else I1[j + 1]
    return top
