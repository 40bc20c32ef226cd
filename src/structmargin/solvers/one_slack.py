"""One slack shared by all examples (Joachims, Finley, Yu 2009; the refined algorithm of cacm09).

    min 1/2 |w|^2 + C xi   s.t.   xi >= mean_i (b_i - <w, a_i>)  for every choice of an output each

The same dual with one block of averaged cuts and cap C; its optimum is that of the n-slack
problem with the linear penalty, and of that penalty only. A cache keeps the cuts of the last
few searches: while their best combination is violated enough, it is added without a search.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from structmargin.dual.stores import Cuts
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.separation import SearchError, Violators, require_no_better_cut
from structmargin.training.task import Needs, Task, Trainable


@dataclass(frozen=True)
class OneSlack(Trainable):
    """`cache` is how many full searches are kept (0: none), `reuse` how many cuts at most are made of them
    between two searches, `idle` as in n_slack."""

    cache: int = 3
    reuse: int = 3
    idle: int = 20

    name: ClassVar[str] = "one_slack"
    needs: ClassVar[Needs] = Needs(penalties=frozenset({1}), kernels=False)

    def solve(self, task: Task) -> Fit:
        dual, search = task.dual(1, averaged=True), task.separation
        dual.measure()
        kept: deque[Violators] = deque(maxlen=self.cache)
        for iteration in range(1, task.max_iter + 1):
            found = search(dual.scorer(), search.all)
            found = found._replace(rows=search.rows(found))
            primal = task.primal(dual, found)
            gap = primal - dual.value
            task.recorder.note(search, dual, primal=primal, dual=dual.value, gap=gap)
            least = max(0.01 * task.C * task.eps, 0.1 * (task.gap_tol or 0.0) * abs(dual.value))
            excess = float(np.mean(np.maximum(found.H, 0.0))) - float(dual.xi[0])
            if search.exact and excess < -1e-6 * (1.0 + float(dual.xi[0])):
                self._blame(found, kept, dual)
            if task.certified(gap, primal) or (excess <= task.eps and dual.relaxed_gap <= least):
                return task.finish(dual, converged=True, n_iter=iteration)
            if excess > task.eps:
                self._add(dual, [found], [found.H > 0.0])
            dual.ascend(max(0.05 * gap, least), seed=task.seed)
            kept.append(found)
            self._from_cache(task, dual, kept, max(task.eps, 0.1 * excess), least)
            if self.idle:
                dual.prune(self.idle)
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    def _from_cache(
        self, task: Task, dual: Dual, kept: deque[Violators], enough: float, least: float
    ) -> None:
        """Add the best combinations of cached cuts while each is violated by more than `enough`."""
        w: Any = dual.scorer().w
        for _ in range(self.reuse if kept else 0):
            H = self._cached(kept, w)
            best = np.argmax(H, axis=0)
            value = np.maximum(np.take_along_axis(H, best[None], axis=0)[0], 0.0)
            if float(value.mean()) - float(dual.xi[0]) <= enough:
                return
            chosen = [(best == j) & (value > 0.0) for j in range(len(kept))]
            self._add(dual, kept, chosen)
            dual.ascend(max(0.1 * enough * task.C, least), seed=task.seed)

    def _blame(self, found: Violators, kept: deque[Violators], dual: Dual) -> None:
        """The mean H of a search fell below a held cut's: name the example, if its better output is known."""
        if kept:
            known = self._cached(kept, dual.scorer().w)
            require_no_better_cut(found, known.max(axis=0, initial=0.0))
        raise SearchError(
            f"the search returned a mean H of {float(np.mean(np.maximum(found.H, 0.0))):.6g}, but outputs "
            f"found earlier have {float(dual.xi[0]):.6g}: augmented_argmax does not maximise H (or delta and "
            "psi disagree with it); if the search is approximate, set `exact = False` on the problem"
        )

    @staticmethod
    def _cached(kept: deque[Violators], w: np.ndarray) -> np.ndarray:
        """H of every cached cut at w: a row a search, a column an example."""
        return np.array([found.b - found.scale * (found.rows @ w) for found in kept])

    @staticmethod
    def _add(dual: Dual, parts: Any, chosen: list[np.ndarray]) -> None:
        """Append the average over all examples of the chosen cuts; the others count as the truth."""
        n = len(chosen[0])
        row, b, loss = 0.0, 0.0, 0.0
        for found, mask in zip(parts, chosen, strict=True):
            row = row + found.rows.T @ (found.scale * mask / n)
            b += float(found.b @ mask) / n
            loss += float(found.losses @ mask) / n
        cuts = Cuts(np.ones(1), np.zeros(1, dtype=int), [None], sp.csr_matrix(np.reshape(row, (1, -1))))
        dual.add(np.zeros(1, dtype=int), np.array([b]), np.array([loss]), cuts)
