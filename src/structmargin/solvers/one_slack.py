"""One slack shared by all examples (Joachims, Finley, Yu 2009; the refined algorithm of cacm09).

    min 1/2 |w|^2 + C xi   s.t.   xi >= mean_i (b_i - <w, a_i>)  for every choice of an output each

The same dual with one block of averaged cuts and cap C; its optimum is that of the n-slack
problem with the linear penalty, and of that penalty only. A cache keeps the cuts of the last
few searches: while their best combination is clearly violated, it is added without a search.

A single example, such as a whole sample, has nothing to combine. There w swings about the optimum as cut
after cut is added, and cuts found far from it say little. So a second search is made near the best w so far,
a step from it towards the present one (Franc and Sonnenburg 2008, Algorithm 2, with a fixed step).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts, SearchError
from structmargin.dual.compiled_cuts import gathered, scattered
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.by_rows import start_by_rows
from structmargin.training.contract import REMEDY, tolerance
from structmargin.training.stopping import InnerTolerance
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable

INNER = InnerTolerance(of_gap=0.05, of_eps=0.01, of_gap_tol=0.1)
"""Nearly exact: one block of few cuts is cheap to solve, and each search is a pass over all examples."""
MIN_EXCESS_SHARE = 0.1
"""A cut from the cache must be violated by more than this share of what the last search's average was."""
RELAXED_GAP_SHARE = 0.1
"""After a cut from the cache the relaxed gap may be this share of C times the least violation worth a cut."""
STEP = 0.1
"""How far from the best w to the present one the second search of a single example is."""


class Best(NamedTuple):
    """The w of the lowest primal objective met so far."""

    w: np.ndarray
    primal: float


@dataclass(frozen=True)
class OneSlack(Trainable):
    """One slack for all examples, with a cache of cuts.

    Parameters
    ----------
    cache : int, default=3
        How many full searches are kept; 0 for none.
    reuse : int, default=3
        How many cuts at most are made of these between two searches.
    idle : int, default=20
        The number of consecutive re-optimisations with alpha = 0 after which a cut is dropped; 0 keeps all.
    by_rows : bool, default=True
        Where there is one example, a sum of independent rows as for the error rate, first minimise the sum of
        their hinges (`structmargin.training.by_rows`). False: as for other problems.
    """

    cache: int = 3
    reuse: int = 3
    idle: int = 20
    by_rows: bool = True

    name: ClassVar[str] = "one_slack"
    needs: ClassVar[Needs] = Needs(penalties=frozenset({1}), kernels=False)

    def solve(self, task: Task) -> Fit:
        dual, separation = task.dual(1, averaged=True), task.separation
        dual.measure()
        if self.by_rows:
            start_by_rows(task, dual)
        cached: deque[Cuts] = deque(maxlen=self.cache)
        best = Best(np.empty(0), np.inf)
        for iteration in range(1, task.max_iter + 1):  # line 3: repeat
            violators, primal, gap, stop, _ = task.search(dual)  # lines 5-7: the most violated outputs
            violators = separation.with_rows(violators)
            floor, eps = task.floor(dual, INNER), task.min_violation(dual)
            mean = weighted_mean(np.maximum(violators.H, 0.0), task.weights)
            excess = mean - float(dual.xi[0])  # by how much their average violates the shared slack
            if separation.exact and -excess > tolerance(max(separation.largest_b, mean), task.oracle_tol):
                self._blame(task, violators, cached, dual)
            if stop or (excess <= eps and dual.solved(floor)):  # line 9: until xi + eps covers it
                return task.finish(dual, converged=True, n_iter=iteration)
            if excess > eps:
                dual.add(average([violators], [violators.H > 0.0], mean, task.weights))  # line 8
                if task.n == 1:
                    best = self._near_best(task, dual, best, primal)
            tol = INNER.after(gap, floor) if excess > eps else floor
            dual.ascend(tol, seed=task.seed)  # line 4 of the next round
            cached.append(violators)
            self._from_cache(task, dual, cached, max(eps, MIN_EXCESS_SHARE * excess), floor)
            if self.idle:
                dual.prune(self.idle)
        return task.finish(dual, converged=False, n_iter=task.max_iter)

    @staticmethod
    def _near_best(task: Task, dual: Dual, best: Best, primal: float) -> Best:
        """Add the most violated output near the best w so far, unless that is the present one."""
        f = dual.scorer()
        if primal <= best.primal:
            return Best(f.w.copy(), primal)
        near = f.at(best.w + STEP * (f.w - best.w))
        violators = task.separation.with_rows(task.separation(near, task.separation.all))
        mean = weighted_mean(np.maximum(violators.H, 0.0), task.weights)
        chosen = violators.H > 0.0
        H = weighted_mean(cached_H([violators], f.w)[0] * chosen, task.weights)
        dual.add(average([violators], [chosen], H, task.weights))
        return min(best, Best(near.w, 0.5 * float(near.w @ near.w) + task.C * mean), key=lambda b: b.primal)

    def _from_cache(
        self, task: Task, dual: Dual, cached: deque[Cuts], min_violation: float, floor: float
    ) -> None:
        """Add the best combinations of cached cuts while each is violated by more than `min_violation`."""
        w: Any = dual.scorer().w
        for _ in range(self.reuse if cached else 0):
            H = cached_H(cached, w)
            best = np.argmax(H, axis=0)
            value = np.maximum(np.take_along_axis(H, best[None], axis=0)[0], 0.0)
            mean = weighted_mean(value, task.weights)
            if mean - float(dual.xi[0]) <= min_violation:
                return
            chosen = [(best == j) & (value > 0.0) for j in range(len(cached))]
            dual.add(average(cached, chosen, mean, task.weights))
            dual.ascend(max(RELAXED_GAP_SHARE * min_violation * task.C, floor), seed=task.seed)

    @staticmethod
    def _blame(task: Task, violators: Cuts, cached: deque[Cuts], dual: Dual) -> None:
        """The mean H of a search fell below a held cut's: name the example, if its better output is known."""
        if cached:
            known = cached_H(cached, dual.scorer().w)
            task.require_no_better(violators, known.max(axis=0, initial=0.0))
        mean = weighted_mean(np.maximum(violators.H, 0.0), task.weights)
        raise SearchError(
            f"the search returned a mean H of {mean:.6g}, but outputs "
            f"found earlier have {float(dual.xi[0]):.6g}: {REMEDY}"
        )


@compiled
def products(data, columns, start, w):  # type: ignore[no-untyped-def]
    """<row, w> of each sparse row."""
    values = np.empty(start.shape[0] - 1)
    for r in range(values.shape[0]):
        values[r] = gathered(data[start[r] : start[r + 1]], columns[start[r] : start[r + 1]], w, 0)
    return values


@compiled
def add_rows(data, columns, start, factors, total):  # type: ignore[no-untyped-def]
    """total += sum_r factors[r] row_r; a row with the factor 0, as most have, is not looked at."""
    for r in range(factors.shape[0]):
        if factors[r] != 0.0:
            scattered(data[start[r] : start[r + 1]], columns[start[r] : start[r + 1]], total, 0, factors[r])


def cached_H(cached: Iterable[Cuts], w: np.ndarray) -> np.ndarray:
    """H of every cached cut at w: one row per search, one column per example."""
    return np.array([cuts.b - cuts.scale * products(*arrays_of(cuts), w) for cuts in cached])


def arrays_of(cuts: Cuts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of cuts as the arrays (data, columns, start)."""
    return cuts.rows.data, cuts.rows.indices, cuts.rows.indptr


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The sum of the weighted values over the number of examples: C times it is what linear slacks cost."""
    return float(np.mean(weights * values))


def average(searches: Sequence[Cuts], chosen: list[np.ndarray], H: float, weights: np.ndarray) -> Cuts:
    """The average over all examples of the chosen cuts, as one cut; the other examples count as right.

    `searches` have one cut per example each, `chosen` one mask per search, H is the average's, and `weights`
    are those of the examples.
    """
    n = len(weights)
    total, b, loss = np.zeros(searches[0].rows.shape[1]), 0.0, 0.0
    for cuts, which in zip(searches, chosen, strict=True):
        mask = weights * which
        add_rows(*arrays_of(cuts), cuts.scale * mask / n, total)
        b += float(cuts.b @ mask) / n
        loss += float(cuts.losses @ mask) / n
    rows = sp.csr_matrix(total[None])
    block, zero = np.zeros(1, dtype=int), np.zeros(1)
    return Cuts(block, [None], np.array([loss]), np.ones(1), np.array([b]), rows, np.array([H]), zero)
