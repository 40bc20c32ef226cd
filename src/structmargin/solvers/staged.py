"""Algorithm 1 of jmlr05 on the schedule of its authors' program (SVM-struct, as released in July 2004).

The paper adds one cut and solves the QP again. The program adds k cuts before it solves again, does not look
again soon at examples that are satisfied, and begins with a coarse precision e:

     1  for each stage e = 0.1, 0.01, ... down to eps:
     2    repeat rounds:
     3      all examples are open
     4      repeat passes:
     5        for each open example i, in order:
     6          xi_i = max(0, max of b - <w, a> over the cuts held for i), at the current w
     7          ybar = the most violated output of i
     8          if its b - <w, a> exceeds xi_i by more than e: add its cut
     9          otherwise i is closed until the next round
    10          after k new cuts: solve the QP over all cuts, from the old alpha, to a KKT violation of e/2
    11        solve it at the end of the pass too, if cuts are new
    12      until no example is open
    13    until a round adds no more than n/100 cuts, rounded down; at the last stage, none

Cuts are never dropped. w does not change within k cuts: so the next k - new examples are searched together,
which gives the same cuts as one at a time. `n_iter` counts passes (line 4) over all stages. Takes every
formulation, with explicit features or a joint kernel. Where `gap_tol` decides there is no last eps: stages go
on, each a tenth of the one before, until a search at the end of a stage certifies the gap.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structmargin.dual.blocks import best
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable, require_number

OF_PRECISION = 0.5
"""The QP is solved to a largest KKT violation of this share of the stage's precision."""
FEW = 100
"""Before the last stage, a round that adds one cut or fewer for so many examples ends its stage."""


@dataclass(frozen=True)
class Staged(Trainable):
    """Algorithm 1 of jmlr05 on the schedule of its authors' program.

    Parameters
    ----------
    k : int, default=100
        The number of new cuts after which the QP is solved again, as also at the end of every pass that adds
        any.
    stages : sequence of float, default=(0.1,)
        The precisions of the first stages, falling. After these each stage has a tenth of the one before,
        down to eps: by default 0.1, 0.01, ..., eps. A first stage at or below eps makes it the only one.
    """

    k: int = 100
    stages: tuple[float, ...] = (0.1,)

    name: ClassVar[str] = "staged"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        if not (isinstance(self.k, (int, np.integer)) and self.k >= 1):
            raise ValueError(f"k of solver 'staged' must be a whole number, 1 or larger, not {self.k!r}")
        if not isinstance(self.stages, (tuple, list)) or not self.stages:
            raise ValueError(f"stages of solver 'staged' must be a list of numbers, not {self.stages!r}")
        for e in self.stages:
            require_number("each of the stages of solver 'staged'", e)
        if any(e <= later for e, later in itertools.pairwise(self.stages)):
            raise ValueError(f"stages of solver 'staged' must fall, but they are {self.stages!r}")
        object.__setattr__(self, "stages", tuple(self.stages))  # a config has a list

    def _precisions(self) -> Iterator[float]:
        """Line 1: the precision of one stage after the other, without an end."""
        yield from self.stages
        for power in itertools.count(1):
            yield self.stages[-1] / 10**power

    def solve(self, task: Task) -> Fit:
        dual, precisions = task.dual(task.n), self._precisions()
        dual.measure()
        e = max(next(precisions), task.min_violation(dual))
        self._solve_qp(task, dual, e)  # a warm start: its alpha is optimal for another C
        every = np.flatnonzero(task.weights > 0.0)
        open_, in_round = every, 0  # line 3
        for iteration in range(1, task.max_iter + 1):  # line 4
            open_ = self._pass(task, dual, open_, e)
            in_round += len(open_)  # each of these has given one cut
            least = task.min_violation(dual)
            last = e <= least
            stage_ends = not len(open_) and in_round <= (0 if last else len(every) // FEW)  # lines 12, 13
            stop = False
            if stage_ends and task.criterion.gap_tol is not None:
                stop = task.search(dual, precision=e).stop
            else:
                task.recorder.note(task.separation, dual, dual=dual.value, precision=e)
            if stop or (stage_ends and last and self._solved(dual, e)):
                return task.finish(dual, converged=True, n_iter=iteration)
            if stage_ends and last:
                self._solve_qp(task, dual, e)  # the stage added nothing: it was solved for the one before
            elif stage_ends:
                e = max(next(precisions), least)  # line 1
            if not len(open_):
                open_, in_round = every, 0  # line 3
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    def _pass(self, task: Task, dual: Dual, examples: np.ndarray, e: float) -> np.ndarray:
        """Lines 5-11: one pass over these examples. Returns those that gave a cut, and so stay open."""
        gave: list[np.ndarray] = []
        new, first = 0, 0
        while first < len(examples):
            here = examples[first : first + self.k - new]  # w stays as it is for all of these
            first += len(here)
            violators = task.separation(dual.scorer(), here)  # line 7
            xi, _ = best(dual.qp, violators.example)  # line 6
            task.require_no_better(violators, xi)
            violated = np.flatnonzero(violators.H > xi + e)  # line 8
            dual.add(violators.take(violated))
            gave.append(violators.example[violated])  # line 9: the others are closed
            new += len(violated)
            if new == self.k or (new and first == len(examples)):  # lines 10, 11
                self._solve_qp(task, dual, e)
                new = 0
        return np.concatenate(gave)

    @staticmethod
    def _solved(dual: Dual, e: float) -> bool:
        return dual.violation <= OF_PRECISION * e or dual.solved(0.0)

    @staticmethod
    def _solve_qp(task: Task, dual: Dual, e: float) -> None:
        dual.ascend(0.0, floor=OF_PRECISION * e, seed=task.seed)
