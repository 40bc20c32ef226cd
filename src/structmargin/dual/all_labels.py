"""Ascent over every label of every example: a sequential dual method for problems whose outputs are classes.

With Psi(x, y) = Phi(x) ⊗ Lambda(y) one pass over the entries of Phi(x_i) yields the scores of all labels, and
with them h_q = t_q - s_q (score of y_i - score of q), the H of the cut of every label q. So an example needs
no working set: its block of the dual (`ascent.py`) is solved over all labels at once, and the gaps of all
blocks add up to the duality gap of the whole problem, not of a relaxation. Algorithm 3.1 of Keerthi,
Sundararajan, Chang, Hsieh and Lin, "A sequential dual method for large scale multi-class linear SVMs", KDD
2008, for the linear and the squared penalty, any loss and any Lambda.

Where the cuts of an example have products |x|^2 c (1 + [q = r]), as those of classes without common features
have, its block is solved exactly by sorting (Crammer and Singer 2001, Section 6); else by pairwise steps.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.dual.ascent import solve_block
from structmargin.dual.compiled_cuts import TensorCuts
from structmargin.dual.working_set import ROUNDING, Dual

MORE_ROUNDS = 50
"""After a pass over all examples, so many rounds at most over those that were far from their optimum."""
FAR = 1.0
"""An example is far from its optimum if its gap exceeds so many times the mean gap of the pass."""
ROUNDS_DONE = 0.02
"""The rounds end once the gaps that they meet add up to this share of what the pass met."""
FEW = 4
"""If fewer than one in FEW columns of W change, they are changed one by one."""


class Labels(NamedTuple):
    """The dual with a variable for every example i and label q; alpha[i, y_i] is 0 and stays so."""

    cuts: TensorCuts  # only the factors, W and the truths are looked at
    s: np.ndarray  # (K, K): scale of the cut of label q for the truth y
    t: np.ndarray  # (K, K): its offset
    even: np.ndarray  # (K,): c, if the cuts of examples with truth y have products |x|^2 c (1 + [q = r]), or 0
    alpha: np.ndarray  # (n, K)
    cap: np.ndarray  # (n,)
    ridge: np.ndarray  # (n,)


def even_products(M: np.ndarray, s: np.ndarray) -> np.ndarray:
    """`Labels.even`, from the products M (K, K) of the Lambda(y) and the scales s (K, K) of the cuts."""
    K = len(M)
    others = s[~np.eye(K, dtype=bool)].reshape(K, K - 1)
    if K < 2 or M[0, 0] <= 0.0 or not np.array_equal(M, M[0, 0] * np.eye(K)):
        return np.zeros(K)
    same = np.all(others == others[:, :1], axis=1)
    return np.where(same, M[0, 0] * others[:, 0] ** 2, 0.0)


@compiled
def scores_of(cuts, i, u, scores):  # type: ignore[no-untyped-def]
    """The score of every label for example i; u (L,) is room for x_i W."""
    data, indices, W = cuts.data, cuts.indices, cuts.W
    L = u.shape[0]
    for q in range(L):
        u[q] = 0.0
    for j in range(cuts.start[i], cuts.start[i + 1]):
        x, row = data[j], W[indices[j]]
        for q in range(L):
            u[q] += x * row[q]
    map_data, map_indices, map_start = cuts.map_data, cuts.map_indices, cuts.map_start
    for q in range(scores.shape[0]):
        total = 0.0
        for j in range(map_start[q], map_start[q + 1]):
            total += map_data[j] * u[map_indices[j]]
        scores[q] = total


@compiled
def state_of(labels, i, h):  # type: ignore[no-untyped-def]
    """Block i at the current w: (its gap, its largest KKT violation, the least h that needs no change).

    h (K,) has the scores on entry and the h of every label on return, 0 for the truth.
    """
    y, alpha, s, t = labels.cuts.label[i], labels.alpha[i], labels.s, labels.t
    of_truth = h[y]
    total, slack, held, low = 0.0, 0.0, 0.0, np.inf
    for q in range(h.shape[0]):
        h[q] = t[y, q] - s[y, q] * (of_truth - h[q])
        if q == y:
            h[q] = 0.0
        slack = max(slack, h[q])
        if alpha[q] > 0.0:
            total += alpha[q]
            held += alpha[q] * h[q]
            low = min(low, h[q])
    cap, ridge = labels.cap[i], labels.ridge[i]
    shift = ridge * total
    if ridge > 0.0:
        gap = 0.5 * (slack - shift) * ((slack - shift) / ridge) + (total * slack - held)
    else:
        gap = cap * slack - held
    if total < cap:
        low = min(low, shift)
    return gap, max(slack, shift) - low, low


@compiled
def project(h, alpha, ids, k, N, cap, ridge):  # type: ignore[no-untyped-def]
    """The optimum of a block whose cuts have products N (1 + [q = r]): h and alpha (k,) as in `solve_block`.

    Without its own part label q has g_q = h_q + N (alpha_q + total). At the optimum N alpha_q = g_q - tau
    where that is positive and 0 elsewhere, and the cap or the ridge determines tau. Sorts ids (k,) by g, and
    sets alpha, in that order; h is overwritten.
    """
    total = 0.0
    for p in range(k):
        total += alpha[p]
    for p in range(k):
        g, q, r = h[p] + N * (alpha[p] + total), ids[p], p - 1
        while r >= 0 and h[r] < g:
            h[r + 1], ids[r + 1] = h[r], ids[r]
            r -= 1
        h[r + 1], ids[r + 1] = g, q
    own = N / (N + ridge)  # with slack left tau = (N + ridge) * total
    above, m = 0.0, 0
    while m < k and h[m] * (m + own) > above:
        above += h[m]
        m += 1
    tau = above / (m + own)
    if tau > N * cap:  # the cap holds: the N alpha_q add up to N * cap
        above, m = h[0], 1
        while m < k and h[m] * m > above - N * cap:
            above += h[m]
            m += 1
        tau = (above - N * cap) / m
    for p in range(k):
        alpha[p] = max(h[p] - tau, 0.0) / N


@compiled
def visit(labels, i, floor, room):  # type: ignore[no-untyped-def]
    """Solve block i over all labels and carry the change into W. Returns its gap before."""
    cuts = labels.cuts
    u, h_all, h, a, ids, change, moved, G = room
    y, alpha = cuts.label[i], labels.alpha[i]
    scores_of(cuts, i, u, h_all)
    gap, violation, low = state_of(labels, i, h_all)
    if violation <= floor:
        return gap
    k = 0
    for q in range(h_all.shape[0]):
        if q != y and (alpha[q] > 0.0 or h_all[q] > low):
            ids[k], a[k], h[k] = q, alpha[q], h_all[q]
            k += 1
    N = cuts.norm2[i] * labels.even[y]
    if N > 0.0:
        project(h, a, ids, k, N, labels.cap[i], labels.ridge[i])
    else:
        M, s = cuts.M, labels.s
        for p in range(k):
            of_p = cuts.norm2[i] * s[y, ids[p]]
            for r in range(p + 1):
                product = M[y, y] - M[y, ids[p]] - M[y, ids[r]] + M[ids[p], ids[r]]
                G[p, r] = of_p * s[y, ids[r]] * product
                G[r, p] = G[p, r]
        solve_block(G, h, a, k, labels.cap[i], labels.ridge[i], 0.1, floor, 100 * k + 1000)
    for p in range(k):
        step = (a[p] - alpha[ids[p]]) * labels.s[y, ids[p]]
        alpha[ids[p]] = a[p]
        if step != 0.0:
            for j in range(cuts.map_start[y], cuts.map_start[y + 1]):
                change[cuts.map_indices[j]] += step * cuts.map_data[j]
            for j in range(cuts.map_start[ids[p]], cuts.map_start[ids[p] + 1]):
                change[cuts.map_indices[j]] -= step * cuts.map_data[j]
    carry_out(cuts, i, change, moved)
    return gap


@compiled
def carry_out(cuts, i, change, moved):  # type: ignore[no-untyped-def]
    """W += x_i ⊗ change, and change = 0; `moved` (L,) is room for columns."""
    data, indices, W = cuts.data, cuts.indices, cuts.W
    L, m = change.shape[0], 0
    for q in range(L):
        if change[q] != 0.0:
            moved[m] = q
            m += 1
    if FEW * m < L:
        for j in range(cuts.start[i], cuts.start[i + 1]):
            x, row = data[j], W[indices[j]]
            for p in range(m):
                row[moved[p]] += x * change[moved[p]]
    else:
        for j in range(cuts.start[i], cuts.start[i + 1]):
            x, row = data[j], W[indices[j]]
            for q in range(L):
                row[q] += x * change[q]
    for p in range(m):
        change[moved[p]] = 0.0


@compiled
def duality_gap(labels, room):  # type: ignore[no-untyped-def]
    """The gap of the whole problem at the current w: the sum of those of all blocks."""
    u, h_all = room[0], room[1]
    gap = 0.0
    for i in range(labels.cap.shape[0]):
        if labels.cap[i] > 0.0:
            scores_of(labels.cuts, i, u, h_all)
            gap += state_of(labels, i, h_all)[0]
    return gap


@compiled
def ascend_labels(labels, tol, floor, max_passes, seed):  # type: ignore[no-untyped-def]
    """Passes over all examples until the duality gap is at most `tol`; a block within `floor` stays as it is.

    Examples are visited in an order drawn from `seed`. Each pass is followed by rounds over the examples that
    it found far from their optimum. Returns the number of passes, at least 1.
    """
    n, K, L = labels.cap.shape[0], labels.t.shape[0], labels.cuts.W.shape[1]
    room = (
        np.empty(L), np.empty(K), np.empty(K), np.empty(K), np.empty(K, dtype=np.int64), np.zeros(L),
        np.empty(L, dtype=np.int64), np.empty((K, K)),
    )  # fmt: skip
    order, gaps = np.arange(n), np.zeros(n)
    state = np.uint64(2 * seed + 1)
    passes = 0
    while passes < max_passes:  # line 1: until the optimum is near enough
        for j in range(n - 1, 0, -1):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            other = int((state >> np.uint64(33)) % np.uint64(j + 1))
            order[j], order[other] = order[other], order[j]
        total = 0.0
        for j in range(n):  # line 2: every example in turn
            i = order[j]
            if labels.cap[i] > 0.0:
                gaps[i] = visit(labels, i, floor, room)  # lines 3, 4: solve its block, update w
                total += gaps[i]
        passes += 1
        if total <= 3.0 * tol and duality_gap(labels, room) <= tol:
            break
        far = FAR * total / n
        for _ in range(MORE_ROUNDS):  # the examples that shrinking leaves
            left = 0.0
            for j in range(n):
                i = order[j]
                if gaps[i] > far:
                    gaps[i] = visit(labels, i, floor, room)
                    left += gaps[i]
            if left <= ROUNDS_DONE * total:
                break
    return passes


class AllLabels:
    """The ascent over all labels for a `Dual`, whose cuts are afterwards those with alpha > 0."""

    def __init__(self, dual: Dual, losses: np.ndarray) -> None:
        self.dual, self.losses = dual, losses
        H = dual.formulation.H
        self.s, self.t = H.s(losses), H.t(losses)
        self.even = even_products(dual.store.cuts.M, self.s)

    @classmethod
    def of(cls, dual: Dual, max_entries: int) -> AllLabels | None:
        """None where labels cannot be listed, margins are hard, or more than `max_entries` alpha were needed."""
        losses = None if dual.formulation.p == 0 else dual.store.class_losses()
        return None if losses is None or dual.n * len(losses) > max_entries else cls(dual, losses)

    def ascend(self, tol: float, *, max_passes: int, seed: int = 0) -> None:
        """Re-optimise until the gap of the whole problem is at most `tol`, by at least one pass."""
        dual, began = self.dual, time.process_time()
        dual.rounds += 1
        cuts, alpha = dual.store.cuts, np.zeros((dual.n, len(self.losses)))
        np.add.at(alpha, (dual.block, cuts.ybar[: dual.m]), dual.alpha)
        held = alpha > 0.0
        labels = Labels(cuts, self.s, self.t, self.even, alpha, dual.cap, dual.ridge)
        floor = ROUNDING * float(self.t.max(initial=0.0))
        ascend_labels(labels, float(tol), floor, max_passes, dual.rounds + 7919 * seed)
        example, ybar = np.nonzero(alpha)
        y, none = cuts.label[example], np.zeros(len(example))
        dual.replace(
            Cuts(
                example, ybar, self.losses[y, ybar], self.s[y, ybar], self.t[y, ybar], None, none,
                alpha[example, ybar],
            )
        )  # fmt: skip
        dual.added += int(np.count_nonzero(~held[example, ybar]))
        dual.measure()
        dual.seconds += time.process_time() - began
