"""The one entry of every solver: settings and data checked, a `Task` made of them, the solver's own `solve`.

What a solver can take is data (`Needs`), so a mismatch is found before any work.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.cuts import SearchError
from structmargin.fit import Fit, Progress
from structmargin.formulation import FORMULATIONS, Formulation
from structmargin.inputs.containers import count
from structmargin.inputs.gate import require_equal
from structmargin.problem import Problem
from structmargin.training.parallel.jobs import Jobs
from structmargin.training.recorder import Recorder
from structmargin.training.separation import Separation
from structmargin.training.space import Linear
from structmargin.training.stopping import Criterion
from structmargin.training.task import Task


@dataclass(frozen=True)
class Needs:
    """What a solver asks of a formulation and of a space."""

    penalties: frozenset[int] = frozenset({0, 1, 2})
    kernels: bool = True
    augmented: bool = True  # whether it calls augmented_argmax

    def refuse(self, solver: str, formulation: Formulation, explicit: bool) -> str | None:
        """One sentence that names both sides of a mismatch, or None."""
        if formulation.p not in self.penalties:
            fitting = [name for name, other in FORMULATIONS.items() if other.p in self.penalties]
            kind = ("hard margins", "linear slacks", "squared slacks")[formulation.p]
            return (
                f"solver {solver!r} takes {', '.join(fitting)}, but formulation {formulation.name!r} has "
                f"{kind}: choose one of those, or solver 'n_slack'"
            )
        if not explicit and not self.kernels:
            return (
                f"solver {solver!r} needs explicit features, but a joint kernel was given: choose 'n_slack'"
            )
        return None


def require_number(name: str, value: Any, *, above: float = 0.0, optional: bool = False) -> None:
    """Raise unless value is a finite number above the bound (or None where optional)."""
    if optional and value is None:
        return
    fine = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or not value > above:
        raise ValueError(f"{name} must be a finite number above {above:g}, but it is {value!r}")


def require_examples(problem: AdaptedProblem, X: Any, Y: Any) -> None:
    """Raise unless X and Y are equally many, at least one, and fit the problem."""
    require_equal(X, Y)
    problem.check(X, Y)


class Trainable(ABC):
    """The one entry of every solver: check, prepare, `solve`."""

    name: ClassVar[str]
    needs: ClassVar[Needs]

    @abstractmethod
    def solve(self, task: Task) -> Fit:
        """The solver's own algorithm on a task that was checked."""

    def train(
        self,
        problem: Problem | AdaptedProblem,
        data: tuple[Sequence[Any], Sequence[Any]],
        formulation: Formulation,
        space: Any = None,
        *,
        C: float = 1.0,
        eps: float | None = None,
        gap_tol: float | None = None,
        max_iter: int = 1000,
        random_state: int | None = 0,
        sample_weight: Any = None,
        oracle_tol: float = 0.0,
        warm_start: Fit | None = None,
        progress: Progress | None = None,
        n_jobs: int | None = None,
    ) -> Fit:
        """Train and return a certified `Fit`.

        Parameters
        ----------
        problem : Problem
            Bound to the data already, where it learns from them.
        data : tuple (X, Y)
            Inputs and outputs; for a problem that wraps its data, the wrapped ones.
        formulation : Formulation
            Such as `FORMULATIONS["SVM1 margin"]`.
        space : Linear or Joint, optional
            Explicit features (the default), or the space of a joint kernel.
        C : float, default=1.0
            The papers' C: C/n or C/(2n) on the slacks.
        eps : float, optional
            The papers' epsilon: training stops once no constraint is violated by more than this.
        gap_tol : float, optional
            Training stops once the duality gap is certified to be at most this share of the primal. Where it
            is given it alone decides. With neither, a relative gap of 1e-2.
        max_iter : int, default=1000
            Passes over the data at most.
        random_state : int, optional
            The same int gives the same model.
        sample_weight : array of float, shape (n,), optional
            The weight of each example: its slack costs C times as much. All 1 by default.
        oracle_tol : float, default=0.0
            By how much an answer of the search may lie below the largest H, as for searches that round. The
            certificate takes it into account.
        warm_start : Fit, optional
            A former fit on the same data, whose cuts are taken over.
        progress : callable, optional
            Called with each row of the trace.
        n_jobs : int, optional
            How many searches run side by side, as in scikit-learn; the model is the same for every number.

        Returns
        -------
        Fit

        Raises
        ------
        SearchError
            If the problem's functions break their contract. It carries the model so far as `fit`, as a
            KeyboardInterrupt does; `fit` is None where there is none.
        """
        space = Linear() if space is None else space
        X, Y = data
        require_number("C", C)
        require_number("eps", eps, optional=True)
        if not (isinstance(oracle_tol, (int, float)) and 0.0 <= oracle_tol < math.inf):
            raise ValueError(f"oracle_tol must be a finite number, 0 or larger, but it is {oracle_tol!r}")
        require_number("gap_tol", gap_tol, optional=True)
        require_number("max_iter", max_iter)
        reason = self.needs.refuse(self.name, formulation, space.explicit)
        if reason:
            raise ValueError(reason)
        problem = adapt(problem)
        require_examples(problem, X, Y)
        weights = require_weights(sample_weight, count(Y))
        criterion = Criterion.of(eps, gap_tol, problem.exact)
        seed = int(np.random.SeedSequence(random_state).generate_state(1)[0] >> 2)
        with Jobs(n_jobs) as jobs:
            recorder = Recorder(progress, jobs)
            separation = Separation(problem, X, Y, formulation.H, space.explicit, jobs)
            task = Task(
                problem, X, Y, formulation, space, float(C), eps, criterion, int(max_iter), seed,
                weights, float(oracle_tol), warm_start, separation, recorder,
            )  # fmt: skip
            recorder.set_up = recorder.seconds
            try:
                return self.solve(task)
            except (SearchError, KeyboardInterrupt) as error:
                # A search that breaks its contract certifies nothing; an interrupted training is certified by
                # one more search, unless that is interrupted too.
                found = task.unfinished
                error.fit = None if found is None else found(not isinstance(error, SearchError))  # type: ignore[union-attr]
                raise


def require_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Weights of n examples as floats; all 1 where none are given."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.array(sample_weight, dtype=float)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but there are {n} examples: give one each"
        )
    wrong = np.flatnonzero(~np.isfinite(weights) | (weights < 0.0))
    if len(wrong):
        raise ValueError(
            f"sample_weight of example {wrong[0]} is {weights[wrong[0]]:g}: weights must be finite and >= 0"
        )
    if not np.any(weights > 0.0):
        raise ValueError("every sample_weight is zero: at least one example must count")
    return weights
