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

from structsvm.compiled import compiled

START, MATCH, DELETE, INSERT = 0, 1, 2, 3
"""What came before a match: the two low bits of a cell's trace."""


class Room(NamedTuple):
    """Work space for pairs of at most n * m cells and m target places."""

    S: np.ndarray  # (n * m,) float
    trace: np.ndarray  # (n * m,) uint8
    rows: np.ndarray  # (6, m + 1) float


def room(cells: int, width: int) -> Room:
    """Work space for pairs of at most `cells` cells whose targets have at most `width` places."""
    return Room(np.empty(cells), np.empty(cells, np.uint8), np.empty((6, width + 1)))


def best_chain(S: np.ndarray, gaps: np.ndarray) -> tuple[float, np.ndarray]:
    """The best score and a chain (k, 2) that has it, for finite match scores S (n, m) and gaps (n, 4)."""
    S, gaps = np.ascontiguousarray(S, dtype=float), np.ascontiguousarray(gaps, dtype=float)
    if not (np.isfinite(S).all() and np.isfinite(gaps).all()):
        raise ValueError("the match and gap scores must be finite; look for NaN or infinity in w")
    n, m = S.shape
    work, chain = room(n * m, m), np.empty((min(n, m), 2), np.int32)
    work.S[:] = S.ravel()
    score, low = search(work, n, m, gaps, chain, len(chain))
    return float(score), chain[low:]


@compiled
def search(work, n, m, gaps, chain, high):  # type: ignore[no-untyped-def]
    """Search over work.S[i * m + j]; the chain found is written to chain[low:high]; returns (score, low)."""
    S, trace, rows = work.S, work.trace, work.rows
    rows[:, 0] = -np.inf
    rows[:3] = -np.inf
    best, at_i, at_j = 0.0, -1, -1
    for i in range(n):
        old = 3 * (i % 2)
        M0, D0, I0 = rows[old], rows[old + 1], rows[old + 2]
        M1, D1, I1 = rows[3 - old], rows[4 - old], rows[5 - old]
        top = _row(S[i * m : (i + 1) * m], trace[i * m : (i + 1) * m], M0, D0, I0, M1, D1, I1, gaps[i])
        if top > best:
            best, at_i = top, i
            for j in range(m):
                if M1[j + 1] == top:
                    at_j = j
                    break
    low = high
    i, j, state = at_i, at_j, MATCH if at_i >= 0 else START
    while state != START:
        code = trace[i * m + j]
        if state == MATCH:
            low -= 1
            chain[low, 0], chain[low, 1] = i, j
            state = code & 3
            i -= 1
            j -= 1
        elif state == DELETE:
            state = DELETE if code & 4 else MATCH
            i -= 1
        else:
            state = code >> 3
            j -= 1
    return best, low


@compiled
def _row(S, trace, M0, D0, I0, M1, D1, I1, gaps):  # type: ignore[no-untyped-def]
    """One row of M, D, I and the trace from the row above (entry j + 1 is target place j); the best M."""
    m = len(S)
    open_d, more_d, open_i, more_i = gaps[0], gaps[1], gaps[2], gaps[3]
    top = -np.inf
    for j in range(m):
        v = M0[j] if M0[j] > 0.0 else 0.0
        code = MATCH if M0[j] > 0.0 else START
        code = DELETE if D0[j] > v else code
        v = D0[j] if D0[j] > v else v
        code = INSERT if I0[j] > v else code
        v = I0[j] if I0[j] > v else v
        v += S[j]
        M1[j + 1] = v
        top = v if v > top else top
        opened, longer = M0[j + 1] + open_d, D0[j + 1] + more_d
        D1[j + 1] = longer if longer > opened else opened
        trace[j] = code | (4 if longer > opened else 0)
    v = -np.inf
    for j in range(m):
        opened = D1[j] if D1[j] > M1[j] else M1[j]
        code = DELETE if D1[j] > M1[j] else MATCH
        opened += open_i
        v += more_i
        code = INSERT if v > opened else code
        v = v if v > opened else opened
        I1[j + 1] = v
        trace[j] |= code << 3
    return top
