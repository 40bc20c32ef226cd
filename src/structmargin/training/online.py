"""Solvers that learn from a stream: examples come in chunks, and each chunk is one pass over its examples.

A chunk is a training task like any other, whose warm start is the fit of the chunks before. Chunks taken in
the order given are one pass over all their examples, however they were cut.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem
from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.problem import Problem
from structmargin.training.task import Task
from structmargin.training.trainable import Needs, Trainable


class Online(Trainable):
    """A solver that can also learn from a stream."""

    revisits: ClassVar[bool]
    """Whether the examples of earlier chunks are looked at again; if so, every task must hold them all."""

    @abstractmethod
    def go_on(self, task: Task, first: int) -> Fit:
        """One pass over the examples from number `first` on.

        task.warm_start is the fit of the chunks before, whose `state` may be changed and handed on; None for
        the first chunk. The fit has no certificate: that would take a search of every example so far.
        """

    def learn(
        self,
        problem: Problem | AdaptedProblem,
        data: tuple[Sequence[Any], Sequence[Any]],
        formulation: Formulation,
        space: Any = None,
        *,
        first: int,
        **options: Any,
    ) -> Fit:
        """Learn the examples from number `first` on, those before being known from `warm_start`.

        Parameters
        ----------
        problem : Problem
            Bound already, where it learns from data.
        data : tuple (X, Y)
            All examples so far if the solver `revisits` them, else those of this chunk.
        formulation : Formulation
            Such as `FORMULATIONS["SVM1 margin"]`.
        space : Linear or Joint, optional
            Explicit features (the default), or the space of a joint kernel.
        first : int
            How many of the examples are known already.
        **options
            Those of `Trainable.train`; C is that of all examples so far.

        Returns
        -------
        Fit
        """
        return _Chunk(self, first).train(problem, data, formulation, space, **options)


@dataclass(frozen=True)
class _Chunk(Trainable):
    """One chunk of a stream as a training of its own."""

    solver: Online
    first: int

    name: ClassVar[str] = "stream"
    needs: ClassVar[Needs] = Needs()

    def solve(self, task: Task) -> Fit:
        former = task.warm_start
        if former is not None:  # clock, trace and counts go on from the chunk before
            task.recorder.began -= former.seconds
            task.recorder.trace.extend(former.trace)
            task.separation.calls, task.separation.seconds = former.oracle_calls, former.seconds_search
        return self.solver.go_on(task, self.first)


def joined(former: Any, new: Any) -> Any:
    """Two lists, arrays or sparse matrices one after the other."""
    if sp.issparse(former):
        return sp.vstack([former, new], format="csr")
    if isinstance(former, np.ndarray) and isinstance(new, np.ndarray) and former.dtype != object:
        return np.concatenate([former, new])
    return [*former, *new]
