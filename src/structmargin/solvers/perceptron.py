"""The averaged structured perceptron (Collins 2002; Freund, Schapire 1999 for the averaging).

For each example in turn: predict; where the prediction is wrong, add Psi(x, y) - Psi(x, yhat).
The model is the average of all w met on the way. It needs only Psi (or a joint kernel) and
`argmax`: no formulation, no C, no certificate. Stops after a pass without a mistake. On a stream each chunk
is a part of one pass, and the examples of earlier chunks are not needed again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from structmargin.fit import Fit
from structmargin.training.contract import N_PREDICTIONS, require_winner
from structmargin.training.online import Online
from structmargin.training.task import Task
from structmargin.training.trainable import Needs


@dataclass
class Walk:
    """A training under way: the sums of updates, what was counted, and where the draws are."""

    sums: Any  # of the task's space: RowSums, PairSums or ClassSums
    rng: np.random.Generator
    steps: int = 0
    mistakes: int = 0
    passes: int = 0
    seen: int = 0  # the examples of earlier chunks
    clean: bool = False  # whether the last pass made no mistake

    @classmethod
    def begin(cls, task: Task) -> Walk:
        sums = task.space.accumulator(task.problem, task.X, task.Y)
        return cls(sums, np.random.default_rng(task.seed))


@dataclass(frozen=True)
class Perceptron(Online):
    """The averaged structured perceptron.

    Parameters
    ----------
    epochs : int, default=10
        Passes over the examples at most.
    averaged : bool, default=True
        Whether the model is the average of all w met on the way, or the last one.
    shuffle : bool, default=True
        Whether each pass has an order drawn from the seed, or takes the examples as given.
    """

    epochs: int = 10
    averaged: bool = True
    shuffle: bool = True

    name: ClassVar[str] = "perceptron"
    needs: ClassVar[Needs] = Needs(augmented=False)
    revisits: ClassVar[bool] = False

    def solve(self, task: Task) -> Fit:
        walk = Walk.begin(task)
        task.unfinished = partial(self._model, task, walk)
        while walk.passes < min(self.epochs, task.max_iter) and not walk.clean:
            self._pass(task, walk)
        walk.seen += task.n
        return self._model(task, walk)

    def go_on(self, task: Task, first: int) -> Fit:
        walk = Walk.begin(task) if task.warm_start is None else task.warm_start.state
        self._pass(task, walk, first)
        walk.seen += task.n
        return replace(self._model(task, walk), n_iter=1)

    def _pass(self, task: Task, walk: Walk, first: int = 0) -> None:
        """One pass over the examples from number `first` on."""
        before = walk.mistakes
        fresh = np.arange(first, task.n)
        for i in map(int, walk.rng.permutation(fresh) if self.shuffle else fresh):
            yhat = task.problem.argmax(walk.sums.scorer(), task.X[i])
            walk.steps += 1
            if task.weights[i] > 0 and task.separation.loss(i, yhat) > 0:
                if task.separation.exact and walk.mistakes < N_PREDICTIONS:
                    require_winner(task.separation, walk.sums.scorer(), i, yhat)
                walk.mistakes += 1
                number = walk.seen + i
                walk.sums.add(number, task.X[i], task.Y[i], yhat, walk.steps, task.weights[i])
        walk.passes += 1
        walk.clean = walk.mistakes == before
        task.separation.calls = walk.steps
        task.recorder.note(task.separation, mistakes=walk.mistakes - before)

    def _model(self, task: Task, walk: Walk, certified: bool = False) -> Fit:
        """The model so far; a perceptron has no objective to certify."""
        sums = walk.sums
        return Fit(
            scorer=sums.average(walk.steps) if self.averaged else sums.final(),
            formulation=task.formulation,
            C=task.C,
            eps=task.eps,
            n_constraints=walk.mistakes,
            n_active=walk.mistakes,
            n_iter=walk.passes,
            oracle_calls=walk.steps,
            converged=walk.clean,
            exact=task.separation.exact,
            seconds=task.recorder.seconds,
            seconds_loop=task.recorder.seconds_loop,
            trace=task.recorder.trace,
            state=walk,
        )
