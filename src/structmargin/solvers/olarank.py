"""OLaRank (Bordes, Usunier, Bottou 2008; LaRank: Bordes, Bottou, Gallinari, Weston 2007), linear penalty.

The dual with a coefficient beta_iy for every output, sum_y beta_iy = 0, is ours: beta of a wrong output is
minus the alpha of its cut, and beta of the truth their sum, at most C/n. A step moves mass inside one
example between two outputs, as far as an exact line search allows; h_c = b_c - <a_c, w> is the gradient of a
cut and 0 that of the truth:

    ProcessNew   a fresh example: towards its most violated output, from the truth
    ProcessOld   a support pattern (an example with mass): towards its most violated output, which is
                 searched for, from the output with the least gradient
    Optimize     a support pattern: the same among the outputs it already has, without a search

Each fresh example is followed by `reprocess` times one ProcessOld and `optimize` times Optimize, on support
patterns drawn at random. No step lowers the dual, which so rises to the optimum from below, and the model
can be used at any moment. One pass is the algorithm as published; a last full search certifies the gap.

On a stream each chunk brings fresh examples, and the old ones stay to be drawn as support patterns: chunk
after chunk is one pass. n is the number of examples so far, so that C/n falls as they come unless C grows
with n; alpha then falls with it, and the model is feasible for the problem over all examples so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structmargin.compiled import compiled
from structmargin.dual.blocks import best
from structmargin.dual.compiled_cuts import close_block, inner, local_gram, move, open_block
from structmargin.dual.working_set import Dual
from structmargin.fit import Fit
from structmargin.training.online import Online
from structmargin.training.task import Task
from structmargin.training.trainable import Needs

TRUTH, HELD = -1, -2
SAME_H = 1e-12
"""An output whose H exceeds the best held one's by less than this share of the largest loss is not new."""


@compiled
def smo_step(qp, i, up):  # type: ignore[no-untyped-def]
    """Move mass in block i to `up` from whichever output with mass has the least gradient.

    `up` is a cut of the block, TRUTH, or HELD for the steepest among the truth and the cuts with mass.
    Returns by how much the dual rises.
    """
    cuts, blocks, alpha, b, caps, _ = qp
    cap = caps[i]
    open_block(cuts, i, blocks.size[i])
    total, high, low, down, unit = 0.0, 0.0, np.inf, TRUTH, 0.0
    target = TRUTH if up == HELD else up
    for p in range(blocks.size[i]):
        c = blocks.members[i, p]
        if alpha[c] <= 0.0 and c != up:
            continue
        h = b[c] - inner(cuts, c)
        total += alpha[c]
        unit = max(unit, b[c])
        if c == up or (up == HELD and h > high):
            high, target = h, c
        if alpha[c] > 0.0 and h < low:
            low, down = h, c
    if total < cap and low > 0.0:
        low, down = 0.0, TRUTH
    if low == np.inf or not high - low > 1e-14 * (unit + abs(high)):  # beyond rounding, there is no step
        return 0.0
    ids, K, k = np.empty(2, dtype=np.int32), np.zeros((2, 2)), 0
    for p in range(blocks.size[i]):
        c = blocks.members[i, p]
        if c in (target, down):
            ids[k] = c
            k += 1
    local_gram(cuts, i, blocks.place, ids, k, K)
    curvature = K[0, 0] + K[1, 1] - 2.0 * K[0, 1] if k == 2 else K[0, 0]
    supply = cap - total if down == TRUTH else alpha[down]
    step = supply
    if curvature > 0.0 and (high - low) / curvature < supply:
        step = (high - low) / curvature
    if target != TRUTH:
        alpha[target] += step
        move(cuts, target, step)
    if down != TRUTH:
        alpha[down] = alpha[down] - step if step < supply else 0.0
        move(cuts, down, -step)
    close_block(cuts, i)
    return step * (high - low) - 0.5 * step * curvature * step


@compiled
def optimize_steps(qp, patterns):  # type: ignore[no-untyped-def]
    """Optimize on each of the patterns in turn; returns by how much the dual rises."""
    gain = 0.0
    for i in patterns:
        gain += smo_step(qp, i, HELD)
    return gain


@compiled
def _listed(blocks, alpha, seen, order, place, known):  # type: ignore[no-untyped-def]
    """Enter those of the examples `seen` that have mass into order[:known], and drop those that have none."""
    for i in seen:
        total = 0.0
        for p in range(blocks.size[i]):
            total += alpha[blocks.members[i, p]]
        if total > 0.0 and place[i] < 0:
            place[i], order[known] = known, i
            known += 1
        elif total <= 0.0 and place[i] >= 0:
            known -= 1
            last = order[known]
            order[place[i]], place[last] = last, place[i]
            place[i] = -1
    return known


class Patterns:
    """The support patterns: the examples that have mass, to be drawn from."""

    def __init__(self, dual: Dual) -> None:
        self._order, self._place = np.empty(dual.n, dtype=np.int64), np.full(dual.n, -1)
        self.known = 0
        self.see(dual, np.arange(dual.n))

    def admit(self, n: int) -> None:
        """There are n examples now; the new ones have no mass."""
        more = n - len(self._order)
        self._order = np.concatenate([self._order, np.empty(more, dtype=np.int64)])
        self._place = np.concatenate([self._place, np.full(more, -1)])

    def see(self, dual: Dual, examples: np.ndarray) -> None:
        """Take note of examples whose mass may have changed."""
        self.known = _listed(dual.blocks, dual.alpha, examples, self._order, self._place, self.known)

    def draw(self, rng: np.random.Generator, k: int) -> np.ndarray:
        """k of them with replacement, or none if there are none."""
        return self._order[rng.integers(max(self.known, 1), size=k if self.known else 0)]


@dataclass
class Stream:
    """A training under way: the cuts, who has mass, and where the draws have got to."""

    dual: Dual
    patterns: Patterns
    rng: np.random.Generator
    largest_b: float = 0.0  # the largest offset met so far, the unit of slacks

    @classmethod
    def of(cls, dual: Dual, task: Task) -> Stream:
        return cls(dual, Patterns(dual), np.random.default_rng(task.seed), dual.largest_b)

    @classmethod
    def begin(cls, task: Task) -> Stream:
        dual = task.dual(task.n)
        dual.measure()
        return cls.of(dual, task)


@dataclass(frozen=True)
class OLaRank(Online):
    """OLaRank; with more than one pass it stops once the gap is what eps or gap_tol allow.

    A ConvergenceWarning says so where it ends before that, as after one pass it nearly always does.

    Parameters
    ----------
    passes : int, default=1
        Passes over the examples at most. One is the algorithm as published.
    reprocess : int, default=10
        How many times each fresh example is followed by one ProcessOld and `optimize` times Optimize.
    optimize : int, default=10
        How many steps Optimize makes after each ProcessOld.
    shuffle : bool, default=True
        Whether each pass has an order drawn from the seed, or takes the examples as given.
    """

    passes: int = 1
    reprocess: int = 10
    optimize: int = 10
    shuffle: bool = True

    name: ClassVar[str] = "olarank"
    needs: ClassVar[Needs] = Needs(penalties=frozenset({1}))
    revisits: ClassVar[bool] = True

    def solve(self, task: Task) -> Fit:
        stream = Stream.begin(task)
        dual = stream.dual
        iteration, near = 0, False
        while iteration < min(self.passes, task.max_iter) and not near:
            iteration += 1
            self._pass(task, stream, np.arange(task.n))
            dual.refresh()
            if self.passes > 1:
                near = task.search(dual, by_gap=True).stop
            else:
                task.recorder.note(task.separation, dual, dual=dual.value)
            self._drop_idle(dual)
        stopped = f"ended with pass {iteration}: ask for more passes, as OLaRank(passes=10) does"
        return task.finish(dual, converged=None, n_iter=iteration, stopped=stopped)

    def go_on(self, task: Task, first: int) -> Fit:
        former = task.warm_start
        if former is None:
            stream = Stream.begin(task)
        else:
            state = former.state
            stream = state if isinstance(state, Stream) else Stream.of(state, task)  # a chunk, or `fit`
            stream.dual.admit(task.X, task.Y, task.C)
            stream.patterns.admit(task.n)
            task.separation.largest_b = stream.largest_b
        dual = stream.dual
        self._pass(task, stream, np.arange(first, task.n))
        dual.measure()  # no refresh: its rounding would break ties otherwise than one long pass does
        task.recorder.note(task.separation, dual, dual=dual.value)
        self._drop_idle(dual)
        dual.measure()
        fit = task.model_at(dual, dual.store.model(dual.alpha), converged=False, n_iter=1)
        fit.dual, fit.state, stream.largest_b = dual.value, stream, task.separation.largest_b
        return fit

    def _pass(self, task: Task, stream: Stream, fresh: np.ndarray) -> None:
        """Process the fresh examples, each followed by steps of support patterns."""
        dual, patterns, rng = stream.dual, stream.patterns, stream.rng
        for i in rng.permutation(fresh) if self.shuffle else fresh:
            self._process(task, dual, int(i))  # ProcessNew
            patterns.see(dual, np.array([i]))
            for _ in range(self.reprocess):
                for old in patterns.draw(rng, 1):
                    self._process(task, dual, int(old))  # ProcessOld
                    patterns.see(dual, np.array([old]))
                drawn = patterns.draw(rng, self.optimize)
                optimize_steps(dual.qp, drawn)
                patterns.see(dual, drawn)

    @staticmethod
    def _drop_idle(dual: Dual) -> None:
        dual.ascend(0.0, max_epochs=0)  # moves nothing, notes which cuts have no mass
        dual.prune(1)

    @staticmethod
    def _process(task: Task, dual: Dual, i: int) -> float:
        """A step of example i towards its most violated output; returns by how much the dual rises."""
        violator = task.separation(dual.scorer(), np.array([i]))
        held, which = best(dual.qp, violator.example)
        up = int(which[0])
        task.require_no_better(violator, held)
        if violator.H[0] > held[0] + SAME_H * task.separation.largest_b:
            up = int(dual.add(violator)[0])
        return float(smo_step(dual.qp, i, up))
