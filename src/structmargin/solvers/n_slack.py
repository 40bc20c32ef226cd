"""Algorithm 1 of jmlr05 (Section 3): a working set per example, grown by the most violated output.

Variants: (a) re-optimises over the whole working set after every cut; (b) over the example's own
cuts only, with a full re-optimisation after each pass; `batch` adds all violators of a pass
together, then re-optimises (fewest optimisations, and the searches run over the whole batch).
Where the outputs are classes, `batch` re-optimises over all of them by the sequential dual method of Keerthi
et al. 2008: a working set that leaves nothing out costs no more there, since one search scores every class.
Each stops when a pass at an optimal relaxed w finds no H above xi_i + eps. Takes every
formulation, with explicit features or a joint kernel. Theorem 18 bounds the cuts of (a) and (b).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from structmargin.cuts import Cuts
from structmargin.dual.all_labels import AllLabels
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.by_rows import start_by_rows
from structmargin.training.stopping import InnerTolerance
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable

TOGETHER = InnerTolerance(of_gap=0.1, of_eps=0.01, of_gap_tol=0.5)
"""For `batch`, whose next search follows soon: a tenth of the gap, and half of what gap_tol leaves."""
OVER_LABELS = InnerTolerance(of_gap=0.02, of_eps=0.01, of_gap_tol=0.5)
"""For `batch` over all labels, where the relaxed problem is the whole one."""
LABELS_SHARE = 0.95
"""The ascent over all labels goes to this share of gap_tol: its gap is the search's except for rounding."""
LABEL_PASSES = 200
"""So many passes over all labels at most between two searches."""
ONE_BY_ONE = InnerTolerance(of_gap=0.0, of_eps=0.01, of_gap_tol=0.1)
"""For (a) and (b), which compare every H with an optimal relaxed slack: nearly exact."""


@dataclass(frozen=True)
class NSlack(Trainable):
    """Algorithm 1 of jmlr05.

    Parameters
    ----------
    variant : {'batch', 'a', 'b'}, default='batch'
        Re-optimise after all violators of a pass together, after every cut, or after every cut over its
        example alone.
    engine : {'ascent', 'cvxopt'}, default='ascent'
        Our block-coordinate ascent, or cvxopt's interior-point method as a slow reference.
    most : int, default=32
        Outputs per example that a search of the batch form may add, where the problem finds several at once.
    epochs : int, default=2
        Rounds of re-optimisation at most between two searches of the batch form: solving the relaxed problem
        far more exactly than the outer gap is waste.
    idle : int, default=2
        The number of consecutive re-optimisations with alpha = 0 after which the batch form drops a cut; 0
        keeps all cuts.
    max_entries : int, default=2**26
        How much the working set of the batch form may hold: entries of explicit rows other than 0, of 12
        bytes each, or inner products of a joint kernel, of 8 bytes each. Cuts of sequences are short rows,
        of a few entries per wrong label, and their products within a sequence count too. Where a pass finds
        more than there is room for, it adds the most violated outputs, the same part of each share of the
        examples; and once half of the room is taken, cuts are dropped as soon as their alpha is 0. Cuts with
        alpha > 0 are held in any case, and a pass may add an eighth of `max_entries` whatever is held.
    all_labels : bool, default=True
        Where outputs are classes and features explicit, the batch form re-optimises over all labels of every
        example instead of those that its searches found (`structmargin.dual.all_labels`), as long as
        examples times labels are at most a sixteenth of `max_entries`. False: as for other problems.
    by_rows : bool, default=True
        Where there is one example, a sum of independent rows as for the error rate, the batch form first
        minimises the sum of their hinges (`structmargin.training.by_rows`). False: as for other problems.
    gains : bool, default=False
        Variants 'a' and 'b' note for every cut by how much it raised the dual, in `Fit.gains`: to be held
        against Propositions 14-17 (`Formulation.min_gain`). 'b' then measures the dual after every cut.
    restart : bool, default=True
        Variants 'a' and 'b' re-optimise over all cuts from the current alpha. False: from alpha = 0 each
        time, to see what restarting saves (Section 3.2).
    """

    variant: str = "batch"
    engine: str = "ascent"
    most: int = 32
    epochs: int = 2
    idle: int = 2
    max_entries: int = 2**26
    all_labels: bool = True
    by_rows: bool = True
    gains: bool = False
    restart: bool = True

    name: ClassVar[str] = "n_slack"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        if self.variant not in ("a", "b", "batch"):
            raise ValueError(f"n_slack has the variants 'a', 'b' and 'batch', not {self.variant!r}")
        if self.engine not in ("ascent", "cvxopt"):
            raise ValueError(f"n_slack has the engines 'ascent' and 'cvxopt', not {self.engine!r}")
        if self.gains and self.variant == "batch":
            raise ValueError("gains are noted for one cut at a time: choose variant 'a' or 'b' of n_slack")
        if not self.restart and self.variant == "batch":
            raise ValueError("restart=False is for one cut at a time: choose variant 'a' or 'b' of n_slack")

    def solve(self, task: Task) -> Fit:
        dual = task.dual(task.n, self.engine)
        dual.measure()
        if self.variant == "batch":
            in_reach = self.all_labels and self.engine == "ascent"
            if self.by_rows and self.engine == "ascent":
                start_by_rows(task, dual)
            labels = AllLabels.of(dual, self.max_entries // 16) if in_reach else None
            return self._together(task, dual) if labels is None else self._over_labels(task, dual, labels)
        return self._one_by_one(task, dual)

    def _together(self, task: Task, dual: Dual) -> Fit:
        for iteration in range(1, task.max_iter + 1):  # line 3: repeat
            # lines 4-7: the most violated outputs of every example, at one w
            found = task.search(dual, self.most, keep=partial(self._violated, task, dual))
            violators, gap = found.violators, found.gap
            if found.stop:
                return task.finish(dual, converged=True, n_iter=iteration)
            floor = task.floor(dual, TOGETHER)
            if not len(violators.H):  # line 13, provided that w is optimal over the cuts held
                if dual.solved(floor):
                    return task.finish(dual, converged=True, n_iter=iteration)
                dual.ascend(floor, seed=task.seed)
                continue
            dual.add(violators)  # line 9
            dual.ascend(TOGETHER.after(gap, floor), max_epochs=self.epochs, seed=task.seed)  # line 10
            if self.idle:
                crowded = 2 * dual.store.entries > self.max_entries
                dual.prune(1 if crowded else self.idle)
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    def _over_labels(self, task: Task, dual: Dual, labels: AllLabels) -> Fit:
        """The batch form where the working set of an example may as well be all its labels."""
        allowed = LABELS_SHARE * (task.criterion.gap_tol or 0.0)
        if allowed:  # a search at w = 0 would say nothing that the ascent does not find out
            labels.ascend(0.0, gap_tol=allowed, max_passes=LABEL_PASSES, seed=task.seed)
        for iteration in range(1, task.max_iter + 1):  # line 3: repeat
            # lines 4-8: the most violated label of every example, which measures the gap
            found = task.search(dual, keep=partial(self._violated, task, dual))
            floor = task.floor(dual, OVER_LABELS)
            if found.stop or (not len(found.violators.H) and dual.solved(floor)):  # line 13
                return task.finish(dual, converged=True, n_iter=iteration, H=found.H)
            tol = 0.0 if allowed else OVER_LABELS.after(found.gap, floor)
            labels.ascend(tol, gap_tol=allowed, max_passes=LABEL_PASSES, seed=task.seed)  # lines 9, 10
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    def _violated(self, task: Task, dual: Dual, found: Cuts, share: float) -> Cuts:
        """Line 8: those of the outputs found in a share of the examples that are added."""
        violated = task.worth_adding(dual, found)
        by_violation = found._replace(H=found.H - dual.xi[found.example])  # which come first, if not all can
        return found.take(dual.store.affordable(by_violation, violated, self.max_entries, share))

    def _one_by_one(self, task: Task, dual: Dual) -> Fit:
        separation, converged, iteration = task.separation, False, 0
        full = self.variant == "a"
        if dual.m:  # a warm start: its alpha is optimal for another C
            self._optimise(task, dual)
        while not converged and iteration < task.max_iter:  # line 3: repeat
            iteration += 1
            before = dual.added
            for i in map(int, np.flatnonzero(task.weights > 0.0)):  # line 4: for each example
                violator = separation(dual.scorer(), np.array([i]))  # lines 5, 6: the most violated output
                xi_i = dual.slack(i)  # line 7
                task.require_no_better(violator, np.array([xi_i]))
                if max(violator.H[0], 0.0) > xi_i + task.min_violation(dual):  # line 8
                    dual_before = dual.value
                    dual.add(violator)  # line 9
                    dual.ascend_block(i)  # line 10, over S_i alone
                    if full:
                        self._optimise(task, dual)  # line 10, over all of S
                    if self.gains:
                        self._note_gain(task, dual, violator, xi_i, dual_before)
            clean = dual.added == before  # line 13: until nothing was added at an optimal w
            if not clean and not full:
                self._optimise(task, dual)
            dual.measure()
            solved = dual.solved(task.floor(dual, ONE_BY_ONE))
            if task.criterion.gap_tol is not None:
                converged = task.search(dual).stop or (clean and solved)
            else:
                task.recorder.note(separation, dual, dual=dual.value)
                converged = clean and solved
            if not solved:
                self._optimise(task, dual)
        return task.finish(dual, converged=converged, n_iter=iteration, bounded=True)

    @staticmethod
    def _note_gain(task: Task, dual: Dual, cut: Cuts, xi_i: float, dual_before: float) -> None:
        dual.measure()
        task.recorder.gains.append(
            {
                "example": float(cut.example[0]),
                "loss": float(cut.losses[0]),
                "norm2": float(dual.store.norms2[-1]),
                "violation": float(cut.H[0]) - xi_i,
                "dual_before": dual_before,
                "dual_after": dual.value,
            }
        )

    def _optimise(self, task: Task, dual: Dual) -> None:
        dual.measure()
        floor = task.floor(dual, ONE_BY_ONE)
        if dual.relaxed_gap > floor:
            if not self.restart:
                dual.begin_again()
            dual.ascend(floor, seed=task.seed)
