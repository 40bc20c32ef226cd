"""Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher 2013), linear penalty.

The alpha of each example sum to at most C/n. A step finds the example's most violated output, adds its cut (a
plane in the paper) to those held, and moves alpha among them: Algorithm 4, lines 3-9, without averaging, and
with pairwise steps (Osokin et al. 2016) in place of one line search towards the new cut. Cuts are kept, so
that after each pass with searches passes of the ascent run over the cuts held, without a search: as many as a
search is worth by what the problem says it costs.

Examples are drawn in proportion to their last known gap (gap sampling). One that is drawn is not searched if
the cuts held for it leave enough to gain, compared with its last known gap and with the mean of all (the
cache hit of Osokin et al. 2016, Section 3.2). A gap that was measured long ago may be far off, so every
`sweep` passes, and whenever the last known gaps add up to little enough to stop, all examples are searched
instead. Such a full sweep searches at one fixed w: it certifies the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.dual.ascent import ascend_block, scratch_for
from structmargin.dual.blocks import best
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.stopping import InnerTolerance
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable

REDUCTION = 0.1
"""A block is solved until its KKT violation has fallen to this share: it will be visited again."""


@compiled
def pairwise_steps(qp, examples, gaps, min_gaps):  # type: ignore[no-untyped-def]
    """Solve block i over all its cuts by pairwise steps, for the j-th example i in turn.

    gaps[i] is set to the block's gap before: its Frank-Wolfe gap, where the best output is among its cuts.
    A block whose gap is less than min_gaps[j] is left as it is, and so is gaps[i]. Returns where this is so.
    """
    active, width = np.ones(qp.alpha.shape[0], dtype=np.bool_), 1
    left = np.zeros(examples.shape[0], dtype=np.bool_)
    for j in range(examples.shape[0]):
        width = max(width, qp.blocks.size[examples[j]])
    scratch = scratch_for(width)
    for j in range(examples.shape[0]):
        i = examples[j]
        gap, _ = ascend_block(qp, i, REDUCTION, 0.0, min_gaps[j], active, np.inf, scratch)
        left[j] = gap < min_gaps[j]
        if not left[j]:
            gaps[i] = max(gap, 0.0)
    return left


INNER = InnerTolerance(of_gap=0.1, of_eps=0.5, of_gap_tol=0.5)
"""The ascent over the held cuts ends when their relaxed gap is half of what eps or gap_tol allows, after a
full sweep already at a tenth of the duality gap that the sweep measured, and always after `cached` passes."""

HIT_OF_EXAMPLE, HIT_OF_MEAN = 0.25, 0.01
"""An example is not searched if the gap over its cuts is at least these shares of its last known gap and of
the mean over all examples: F and nu of Osokin et al. 2016, with their values."""

SAME_H = 1e-12
"""An output whose H exceeds the best held one's by less than this share of the largest loss is not new."""


@dataclass(frozen=True)
class BCFW(Trainable):
    """Block-coordinate Frank-Wolfe with cached cuts, pairwise steps and gap sampling.

    Parameters
    ----------
    cached : int, optional
        Passes over the held cuts that follow each pass with searches, at most. Default: what a search costs,
        in passes, by `structmargin.adapted.AdaptedBatch.search_cost` (1 for chains and classes, else 10).
    sweep : int, default=3
        A full sweep every `sweep` passes: it searches all examples at one w and certifies the gap.
    chunks : int, default=2
        Sampled passes are split into `chunks` chunks; w is updated between chunks.
    hits : bool, default=True
        Whether examples with enough to gain over the cuts held are left out of sampled searches.
    most : int, default=32
        The largest number of cuts per example that a sweep may add, where the problem finds several at once.
    idle : int, default=3
        A cut is dropped after `idle` ascents in a row that leave its alpha at 0; 0 keeps them all.
    max_entries : int, default=2**26
        How much the working set may hold, as in `NSlack`: a sweep adds the most violated outputs that there
        is room for, a chunk those that fit into its share, and an example whose output is not added takes
        its step among the cuts held. Once half of the room is taken, cuts are dropped as soon as their alpha
        is 0. The outputs that one sweep finds come on top, with their rows where the search makes rows.
    """

    cached: int | None = None
    sweep: int = 3
    chunks: int = 2
    hits: bool = True
    most: int = 32
    idle: int = 3
    max_entries: int = 2**26

    name: ClassVar[str] = "bcfw"
    needs: ClassVar[Needs] = Needs(penalties=frozenset({1}), kernels=False)

    def solve(self, task: Task) -> Fit:
        dual = task.dual(task.n)
        dual.measure()
        rng = np.random.default_rng(task.seed)
        gaps = np.full(task.n, np.inf)  # the last known gap of each block
        cached = task.separation.cost if self.cached is None else self.cached
        for iteration in range(1, task.max_iter + 1):
            tol = task.floor(dual, INNER)
            if (iteration - 1) % self.sweep == 0 or float(gaps.sum()) <= task.goal(dual):
                violators, _, gap, stop, _ = task.search(dual, self.most, by_gap=True)
                if stop:
                    return task.finish(dual, converged=True, n_iter=iteration)
                self._step(task, dual, violators, dual.xi[violators.example], gaps, share=1.0)
                tol = INNER.after(gap, tol)
            else:
                self._sampled(task, dual, gaps, rng)
            dual.ascend(tol, max_epochs=cached, seed=task.seed)
            if self.idle:
                crowded = 2 * dual.store.entries > self.max_entries
                dual.prune(1 if crowded else self.idle)
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    def _sampled(self, task: Task, dual: Dual, gaps: np.ndarray, rng: np.random.Generator) -> None:
        """A pass over n examples drawn by their gaps (line 3); line 4 is left out where the cuts held do."""
        weight = gaps / gaps.sum() if gaps.sum() > 0 else np.full(task.n, 1.0 / task.n)
        drawn = rng.choice(task.n, size=task.n, p=weight)
        for chunk in np.array_split(drawn, self.chunks):
            examples = np.unique(chunk)
            if self.hits:
                enough = np.maximum(HIT_OF_EXAMPLE * gaps[examples], HIT_OF_MEAN * float(np.mean(gaps)))
                examples = examples[pairwise_steps(dual.qp, examples, gaps, enough)]
            if len(examples):
                violators = task.separation(dual.scorer(), examples)
                held, _ = best(dual.qp, examples)
                self._step(task, dual, violators, held, gaps, share=1.0 / self.chunks)

    def _step(
        self, task: Task, dual: Dual, violators: Cuts, held: np.ndarray, gaps: np.ndarray, share: float
    ) -> None:
        """Add the violators that improve on the held cuts, and take pairwise steps in the block of each.

        A violator is added if its H exceeds `held`, the best held H of its example, and the `share` of the
        room that these violators may take is not used up. The steps are among the cuts held by then, and the
        truth. Lines 5-9 of Algorithm 4, without averaging.
        """
        task.require_no_better(violators, held)
        fresh = np.flatnonzero(violators.H > held + SAME_H * task.separation.largest_b)
        by_violation = violators._replace(H=violators.H - held)
        fresh = dual.store.affordable(by_violation, fresh, self.max_entries, share)
        dual.add(violators.take(fresh))
        examples = np.unique(violators.example)
        pairwise_steps(dual.qp, examples, gaps, np.full(len(examples), -np.inf))
