"""The averaged structured perceptron (Collins 2002; Freund, Schapire 1999 for the averaging).

For each example in turn: predict; where the prediction is wrong, add Psi(x, y) - Psi(x, yhat).
The model is the average of all w met on the way. It needs only Psi (or a joint kernel) and
`argmax`: no formulation, no C, no certificate. Stops after a pass without a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from structmargin.fit import Fit
from structmargin.training.contract import N_PREDICTIONS, require_winner
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable


@dataclass(frozen=True)
class Perceptron(Trainable):
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

    def solve(self, task: Task) -> Fit:
        rng = np.random.default_rng(task.seed)
        sums = task.space.accumulator(task.problem, task.X, task.Y)
        steps, mistakes, passes, clean = 0, 0, 0, False

        def model(certified: bool = False) -> Fit:
            """The model so far; a perceptron has no objective to certify."""
            return Fit(
                scorer=sums.average(steps) if self.averaged else sums.final(),
                formulation=task.formulation,
                C=task.C,
                eps=task.eps,
                n_constraints=mistakes,
                n_active=mistakes,
                n_iter=passes,
                oracle_calls=steps,
                converged=clean,
                exact=task.separation.exact,
                seconds=task.recorder.seconds,
                trace=task.recorder.trace,
            )

        task.unfinished = model
        while passes < min(self.epochs, task.max_iter) and not clean:
            before = mistakes
            for i in rng.permutation(task.n) if self.shuffle else range(task.n):
                yhat = task.problem.argmax(sums.scorer(), task.X[i])
                steps += 1
                if task.weights[i] > 0 and task.separation.loss(i, yhat) > 0:
                    if task.separation.exact and mistakes < N_PREDICTIONS:
                        require_winner(sums.scorer(), task.X[i], task.Y[i], yhat, int(i))
                    mistakes += 1
                    sums.add(int(i), yhat, steps, task.weights[i])
            passes += 1
            clean = mistakes == before
            task.separation.calls = steps
            task.recorder.note(task.separation, mistakes=mistakes - before)
        return model()
