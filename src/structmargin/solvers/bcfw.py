"""Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher 2013), linear penalty.

Each example's alpha lives in a simplex of size C/n. A step finds the example's most violated output, and
moves alpha towards it as far as an exact line search allows (Algorithm 4, lines 3-9). Every plane found is
kept, so that between searches the ascent runs over the planes already held (`cached` passes over these after
each pass with searches); examples are drawn in proportion to their last known gap (gap sampling), with a
full sweep now and then, since a gap known only from long ago stalls the sampling. A sweep searches at one
fixed w: it certifies the duality gap. Close to a tight gap the planes do the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.dual.blocks import best
from structmargin.dual.compiled_cuts import close_block, inner, local_gram, move, open_block
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.task import InnerTolerance, Needs, Task, Trainable


@compiled
def line_search(qp, i, target):  # type: ignore[no-untyped-def]
    """Move block i towards cap * e_target (the truth if target < 0) by an exact line search.

    Returns the block's Frank-Wolfe gap in that direction, before the step.
    """
    cuts, blocks, alpha, b, cap, _ = qp
    k = blocks.size[i]
    ids = blocks.members[i]
    K = np.empty((k, k))
    open_block(cuts, i, k)
    local_gram(cuts, i, blocks.place, ids, k, K)
    change = np.empty(k)
    gap = 0.0
    for p in range(k):  # direction: cap * e_target - alpha_i
        c = ids[p]
        change[p] = (cap if c == target else 0.0) - alpha[c]
        if change[p] != 0.0:
            gap += change[p] * (b[c] - inner(cuts, c))
    if gap <= 0.0:
        return gap
    curvature = 0.0
    for p in range(k):
        for r in range(k):
            curvature += change[p] * change[r] * K[p, r]
    gamma = 1.0 if curvature <= gap else gap / curvature
    for p in range(k):
        if change[p] != 0.0:
            c = ids[p]
            move(cuts, c, gamma * change[p])
            alpha[c] = max(alpha[c] + gamma * change[p], 0.0)
    close_block(cuts, i)
    return gap


@compiled
def line_searches(qp, examples, targets, gaps):  # type: ignore[no-untyped-def]
    """`line_search` for each example in turn; gaps[i] is set to what was found before its step."""
    for j in range(examples.shape[0]):
        i = examples[j]
        gaps[i] = max(line_search(qp, i, targets[j]), 0.0)


INNER = InnerTolerance(of_gap=0.1, of_eps=0.5, of_gap_tol=0.5)
"""Passes over held planes are short and end with the next search: half of what the criterion leaves."""


@dataclass(frozen=True)
class BCFW(Trainable):
    """Block-coordinate Frank-Wolfe with cached planes and gap sampling.

    Parameters
    ----------
    cached : int, default=1
        Passes over held planes that follow each pass with searches.
    sweep : int, default=5
        Every so many passes is a full sweep, which searches all examples at one w and certifies the gap.
    chunks : int, default=5
        The other passes search in so many parts, each at the w of its moment.
    most : int, default=32
        Planes per example that a sweep may add, where the problem finds several at once.
    idle : int, default=5
        A plane is dropped after so many ascents with alpha = 0 in a row; 0 keeps them all.
    """

    cached: int = 1
    sweep: int = 5
    chunks: int = 5
    most: int = 32
    idle: int = 5

    name: ClassVar[str] = "bcfw"
    needs: ClassVar[Needs] = Needs(penalties=frozenset({1}), kernels=False)

    def solve(self, task: Task) -> Fit:
        dual, separation = task.dual(task.n), task.separation
        dual.measure()
        rng = np.random.default_rng(task.seed)
        gaps = np.full(task.n, np.inf)  # the last known gap of each block
        for iteration in range(1, task.max_iter + 1):
            target = max(task.C * task.eps, (task.gap_tol or 0.0) * abs(dual.value))
            least = INNER.least(task, dual)
            if (iteration - 1) % self.sweep == 0 or float(gaps.sum()) <= target:
                violators, _, gap, stop = task.search(dual, self.most, enough=task.C * task.eps)
                if stop:
                    return task.finish(dual, converged=True, n_iter=iteration)
                self._step(dual, violators, gaps)
                dual.ascend(INNER.after(gap, least), max_epochs=self.cached, seed=task.seed)
            else:
                weight = gaps / gaps.sum() if gaps.sum() > 0 else np.full(task.n, 1.0 / task.n)
                drawn = rng.choice(task.n, size=task.n, p=weight)  # line 3: pick examples by their gaps
                for chunk in np.array_split(drawn, self.chunks):
                    if len(chunk):
                        self._step(dual, separation(dual.scorer(), np.unique(chunk)), gaps)  # line 4
                dual.ascend(least, max_epochs=self.cached, seed=task.seed)
            if self.idle:
                dual.prune(self.idle)
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    @staticmethod
    def _step(dual: Dual, violators: Cuts, gaps: np.ndarray) -> None:
        """Add the planes not held yet and take one line search per example (lines 5-9)."""
        held, which = best(dual.qp, violators.example)
        fresh = violators.H > held + 1e-12 * (1.0 + np.abs(held))
        targets = which.copy()
        targets[fresh] = dual.add(violators.take(np.flatnonzero(fresh)))
        line_searches(dual.qp, violators.example, targets, gaps)
