"""The averaged structured perceptron (Collins 2002; Freund, Schapire 1999 for the averaging).

For each example in turn: predict; where the prediction is wrong, add Psi(x, y) - Psi(x, yhat).
The model is the average of all w met on the way. It needs only Psi (or a joint kernel) and
`argmax`: no formulation, no C, no certificate. Stops after a pass without a mistake. On a stream each chunk
is a part of one pass, and the examples of earlier chunks are not needed again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from structmargin.fit import Fit
from structmargin.training.online import Online
from structmargin.training.task import Needs, Task


@dataclass
class Walk:
    """A training under way: the sums of updates, how many steps and mistakes, and where the draws are."""

    sums: Any  # of the task's space: RowSums or PairSums
    rng: np.random.Generator
    steps: int = 0
    mistakes: int = 0

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
        state = Walk.begin(task)
        passes, clean = 0, False
        while passes < min(self.epochs, task.max_iter) and not clean:
            clean = self._pass(task, state) == 0
            passes += 1
        return self._fit(task, state, passes, clean)

    def go_on(self, task: Task, first: int) -> Fit:
        state = Walk.begin(task) if task.warm_start is None else task.warm_start.state
        clean = self._pass(task, state, first) == 0
        return replace(self._fit(task, state, 1, clean), state=state)

    def _pass(self, task: Task, state: Walk, first: int = 0) -> int:
        """One pass over the examples from number `first` on; returns the mistakes made."""
        before = state.mistakes
        fresh = np.arange(first, task.n)
        for i in map(int, state.rng.permutation(fresh) if self.shuffle else fresh):
            x, y = task.X[i], task.Y[i]
            yhat = task.problem.argmax(state.sums.scorer(), x)
            state.steps += 1
            if task.problem.loss(x, y, yhat) > 0:
                state.mistakes += 1
                state.sums.add(x, y, yhat, state.steps)
        mistakes = state.mistakes - before
        task.separation.calls = state.steps
        task.recorder.note(task.separation, mistakes=mistakes)
        return mistakes

    def _fit(self, task: Task, state: Walk, passes: int, clean: bool) -> Fit:
        sums = state.sums
        return Fit(
            scorer=sums.average(state.steps) if self.averaged else sums.final(),
            formulation=task.formulation,
            C=task.C,
            eps=task.eps,
            n_constraints=state.mistakes,
            n_active=state.mistakes,
            n_iter=passes,
            oracle_calls=state.steps,
            converged=clean,
            exact=task.separation.exact,
            seconds=task.recorder.trace[-1]["seconds"],
            trace=task.recorder.trace,
        )
