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
from structmargin.dual.acceleration import stride
from structmargin.dual.ascent import solve_block
from structmargin.dual.blocks import QP, Blocks
from structmargin.dual.compiled_cuts import TensorCuts, combination
from structmargin.dual.working_set import ROUNDING, Dual

MORE_ROUNDS = 20
"""After a pass over all examples, so many rounds at most over those that were far from their optimum."""
FAR = 2.0
"""An example is far from its optimum if its gap exceeds so many times the mean gap of the pass."""
ROUNDS_DONE = 0.3
"""The rounds end once the gaps that they meet add up to this share of what the pass met."""
WHOLE = 5
"""Every so many passes visit all examples, the others only those that had a gap at their last visit."""
SLOW = 0.5
"""Passes take strides (`acceleration.py`) once one of them met more than this share of the gaps before it: a
stride looks at all weights, which costs as much as a pass where these are many."""
LOOK = 2.0
"""The gap is measured once the gaps that a pass met add up to so many times what is asked for."""
FEW = 4
"""If fewer than one in FEW columns of W change, they are changed one by one."""


class Labels(NamedTuple):
    """The dual with a cut for every example i and label q, number i K + q; alpha of the truth stays 0."""

    qp: QP  # all n K cuts; of its cuts only the factors, W and the truths are looked at
    s: np.ndarray  # (K, K): scale of the cut of label q for the truth y
    t: np.ndarray  # (K, K): its offset
    even: np.ndarray  # (K,): c, if the cuts for the truth y have products |x|^2 c (1 + [q = r]), else 0
    apart: bool  # whether Lambda is the identity


def _is_identity(cuts: TensorCuts) -> bool:
    """Whether Lambda is the identity."""
    K, L = len(cuts.map_start) - 1, cuts.W.shape[1]
    one_each = K == L and np.array_equal(cuts.map_start, np.arange(K + 1))
    return one_each and np.array_equal(cuts.map_indices, np.arange(K)) and bool(np.all(cuts.map_data == 1.0))


def even_products(M: np.ndarray, s: np.ndarray) -> np.ndarray:
    """`Labels.even`, from the products M (K, K) of the Lambda(y) and the scales s (K, K) of the cuts."""
    K = len(M)
    others = s[~np.eye(K, dtype=bool)].reshape(K, K - 1)
    if K < 2 or M[0, 0] <= 0.0 or not np.array_equal(M, M[0, 0] * np.eye(K)):
        return np.zeros(K)
    same = np.all(others == others[:, :1], axis=1)
    return np.where(same, M[0, 0] * others[:, 0] ** 2, 0.0)


# Compiled functions that are called once per visit take arrays one by one: a tuple of many arrays as an
# argument costs more than the work.


@compiled
def combine(data, indices, first, last, W, u):  # type: ignore[no-untyped-def]
    """u = x W for the x whose entries are data[first:last] at indices[first:last], four at a time."""
    u[:] = 0.0
    fours = first + (last - first) // 4 * 4
    for j in range(first, fours, 4):
        x0, x1, x2, x3 = data[j], data[j + 1], data[j + 2], data[j + 3]
        row0, row1, row2, row3 = W[indices[j]], W[indices[j + 1]], W[indices[j + 2]], W[indices[j + 3]]
        for q in range(u.shape[0]):
            u[q] += (x0 * row0[q] + x1 * row1[q]) + (x2 * row2[q] + x3 * row3[q])
    for j in range(fours, last):
        x0, row0 = data[j], W[indices[j]]
        for q in range(u.shape[0]):
            u[q] += x0 * row0[q]


@compiled
def spread(data, indices, first, last, W, change, moved):  # type: ignore[no-untyped-def]
    """W += x ⊗ change for the same x, and change = 0; `moved` (L,) is room for columns."""
    L, m = change.shape[0], 0
    for q in range(L):
        if change[q] != 0.0:
            moved[m] = q
            m += 1
    if FEW * m < L:
        for j in range(first, last):
            x, row = data[j], W[indices[j]]
            for p in range(m):
                row[moved[p]] += x * change[moved[p]]
    else:
        for j in range(first, last):
            x, row = data[j], W[indices[j]]
            for q in range(L):
                row[q] += x * change[q]
    change[:] = 0.0


@compiled
def score(map_data, map_indices, map_start, u, h):  # type: ignore[no-untyped-def]
    """h = Lambda u: the score of every label."""
    for q in range(h.shape[0]):
        total = 0.0
        for j in range(map_start[q], map_start[q + 1]):
            total += map_data[j] * u[map_indices[j]]
        h[q] = total


@compiled
def state_of(i, y, s, t, alpha, cap, ridge, h):  # type: ignore[no-untyped-def]
    """Block i at the current w: (gap, largest KKT violation, the least h that needs no change, value).

    h (K,) has the scores of all labels on entry, and on return their h, which is 0 for the truth y. `value`
    is the block's part of the dual objective: <a, w> = t - h, so that the parts of |w|^2 add up.
    """
    of_truth = h[y]
    total, slack, held, linear, low = 0.0, 0.0, 0.0, 0.0, np.inf
    for q in range(h.shape[0]):
        value = t[y, q] - s[y, q] * (of_truth - h[q])
        h[q] = value
        slack = max(slack, value)
        if alpha[i, q] > 0.0:
            total += alpha[i, q]
            held += alpha[i, q] * value
            linear += alpha[i, q] * t[y, q]
            low = min(low, value)
    shift = ridge * total
    if ridge > 0.0:
        gap = 0.5 * (slack - shift) * ((slack - shift) / ridge) + (total * slack - held)
    else:
        gap = cap * slack - held
    if total < cap:
        low = min(low, shift)
    return gap, max(slack, shift) - low, low, 0.5 * (linear + held - shift * total)


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
def local_gram(i, y, ids, k, norm2, s, M, G):  # type: ignore[no-untyped-def]
    """G[p, r] = <a_p, a_r> for the cuts of k labels of example i."""
    for p in range(k):
        of_p = norm2[i] * s[y, ids[p]]
        for r in range(p + 1):
            product = M[y, y] - M[y, ids[p]] - M[y, ids[r]] + M[ids[p], ids[r]]
            G[p, r] = of_p * s[y, ids[r]] * product
            G[r, p] = G[p, r]


@compiled
def visits(labels, examples, floor, gaps, values):  # type: ignore[no-untyped-def]
    """Solve the block of each of the examples in turn over all labels, unless it is within `floor`.

    gaps[i] and values[i] are set to the gap of block i before, and to its part of the dual objective. Returns
    the sum of the gaps.
    """
    qp, s, t, even, apart = labels
    cuts, caps, ridges = qp.cuts, qp.cap, qp.ridge
    data, indices, start, norm2, W, label, M = (
        cuts.data, cuts.indices, cuts.start, cuts.norm2, cuts.W, cuts.label, cuts.M
    )  # fmt: skip
    map_data, map_indices, map_start = cuts.map_data, cuts.map_indices, cuts.map_start
    K, L = t.shape[0], W.shape[1]
    alpha = qp.alpha.reshape(caps.shape[0], K)
    u, change, moved = np.empty(L), np.zeros(L), np.empty(L, dtype=np.int64)
    h_all, h, a, ids = np.empty(K), np.empty(K), np.empty(K), np.empty(K, dtype=np.int64)
    G = np.empty((K, K))
    sum_of_gaps = 0.0
    for e in range(examples.shape[0]):
        i = examples[e]
        y, cap, ridge, first, last = label[i], caps[i], ridges[i], start[i], start[i + 1]
        if apart:
            combine(data, indices, first, last, W, h_all)
        else:
            combine(data, indices, first, last, W, u)
            score(map_data, map_indices, map_start, u, h_all)
        gap, violation, low, values[i] = state_of(i, y, s, t, alpha, cap, ridge, h_all)
        gaps[i] = gap
        sum_of_gaps += gap
        if violation <= floor:
            continue
        k = 0
        for q in range(K):
            if alpha[i, q] > 0.0 or (h_all[q] > low and q != y):
                ids[k], a[k], h[k] = q, alpha[i, q], h_all[q]
                k += 1
        N = norm2[i] * even[y]
        if N > 0.0:
            project(h, a, ids, k, N, cap, ridge)
        else:
            local_gram(i, y, ids, k, norm2, s, M, G)
            solve_block(G, h, a, k, cap, ridge, 0.1, floor, 100 * k + 1000)
        for p in range(k):
            q = ids[p]
            step = (a[p] - alpha[i, q]) * s[y, q]
            alpha[i, q] = a[p]
            for j in range(map_start[y], map_start[y + 1]):
                change[map_indices[j]] += step * map_data[j]
            for j in range(map_start[q], map_start[q + 1]):
                change[map_indices[j]] -= step * map_data[j]
        spread(data, indices, first, last, W, change, moved)
    return sum_of_gaps


@compiled
def ascend_labels(labels, spare, tol, gap_tol, floor, max_passes, seed):  # type: ignore[no-untyped-def]
    """Passes over the examples until the duality gap is at most `tol`, or `gap_tol` of the primal objective.

    A block within `floor` stays as it is.
    Examples are visited in an order drawn from `seed`; those without a gap not in every pass (shrinking, the
    paper's Section 3.3). Each pass is followed by rounds over the examples that it found far from their
    optimum and, once passes are slow, by a stride, for which `spare` has the cuts of labels.qp with a w of
    their own, 0 at first. Returns the number of passes, at least 1.
    """
    qp = labels.qp
    order = np.flatnonzero(qp.cap > 0.0)
    n = order.shape[0]
    gaps, values = np.zeros(qp.cap.shape[0]), np.zeros(qp.cap.shape[0])
    state = np.uint64(2 * seed + 1)
    passes, before, striding = 0, np.inf, False
    alpha0, w0, d = np.empty(0), np.empty(0), np.zeros(qp.alpha.shape[0])
    while passes < max_passes:  # line 1: until the optimum is near enough
        if striding:
            alpha0, w0 = qp.alpha.copy(), combination(qp.cuts).copy()
        for j in range(n - 1, 0, -1):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            other = int((state >> np.uint64(33)) % np.uint64(j + 1))
            order[j], order[other] = order[other], order[j]
        open_ones = order if passes % WHOLE == 0 else order[gaps[order] > 0.0]
        total = visits(labels, open_ones, floor, gaps, values)  # lines 2-4: solve each block, update w
        passes += 1
        if total <= LOOK * max(tol, gap_tol * (values.sum() + total)):
            gap = visits(labels, order, np.inf, gaps, values)
            if gap <= max(tol, gap_tol * (values.sum() + gap)):
                break
        for _ in range(MORE_ROUNDS):  # only the examples that are far from their optimum
            far = order[gaps[order] > FAR * total / n]
            if visits(labels, far, floor, gaps, values) <= ROUNDS_DONE * total:
                break
        if striding:
            stride(qp, spare, alpha0, w0, d)
        striding, before = striding or total > SLOW * before, total
    return passes


class AllLabels:
    """The ascent over all labels for a `Dual`, whose cuts are afterwards those with alpha > 0."""

    def __init__(self, dual: Dual, losses: np.ndarray) -> None:
        self.dual, self.losses = dual, losses
        H, cuts, K = dual.formulation.H, dual.store.cuts, len(losses)
        self.s, self.t = H.s(losses), H.t(losses)
        self.even, self.apart = even_products(cuts.M, self.s), _is_identity(cuts)
        self.b, self.scale = self.t[cuts.label].ravel(), self.s[cuts.label].ravel()
        self.example = np.repeat(np.arange(dual.n, dtype=np.int32), K)
        self.ybar = np.tile(np.arange(K, dtype=np.int32), dual.n)
        number = np.arange(dual.n * K, dtype=np.int32)
        self.blocks = Blocks(number.reshape(dual.n, K), np.full(dual.n, K, dtype=np.int32), self.ybar)

    @classmethod
    def of(cls, dual: Dual, max_entries: int) -> AllLabels | None:
        """None where labels cannot be listed, margins are hard, or there are more than `max_entries` cuts."""
        losses = None if dual.formulation.p == 0 else dual.store.class_losses()
        return None if losses is None or dual.n * len(losses) > max_entries else cls(dual, losses)

    def ascend(self, tol: float, *, gap_tol: float = 0.0, max_passes: int, seed: int = 0) -> None:
        """Re-optimise until the gap of the whole problem is at most `tol`, or `gap_tol` of the primal.

        By at least one pass. w is made anew from alpha in the end, so that a search may be the last one.
        """
        dual, began = self.dual, time.process_time()
        dual.rounds += 1
        numbers = dual.block.astype(np.int64) * len(self.losses) + dual.store.cuts.ybar[: dual.m]
        alpha = np.bincount(numbers, weights=dual.alpha, minlength=len(self.b)).astype(float)
        held = alpha > 0.0
        cuts, spare = (
            part._replace(block=self.example, ybar=self.ybar, scale=self.scale)
            for part in (dual.store.cuts, dual.store.spare())
        )
        qp = QP(cuts, self.blocks, alpha, self.b, dual.cap, dual.ridge)
        labels = Labels(qp, self.s, self.t, self.even, self.apart)
        floor = ROUNDING * float(self.t.max(initial=0.0))
        ascend_labels(labels, spare, float(tol), float(gap_tol), floor, max_passes, dual.rounds + 7919 * seed)
        used = np.flatnonzero(alpha)
        example, ybar, none = self.example[used], self.ybar[used], np.zeros(len(used))
        losses = self.losses[cuts.label[example], ybar]
        dual.replace(Cuts(example, ybar, losses, self.scale[used], self.b[used], None, none, alpha[used]))
        dual.added += int(np.count_nonzero(~held[used]))
        dual.refresh()
        dual.seconds += time.process_time() - began
