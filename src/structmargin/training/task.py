"""A training task: what every solver is given, checked once, and how every solver ends.

`Solver.train(problem, data, formulation, space, *, C, eps, ...)` builds a `Task` and hands it to the
solver's own `solve`. What a solver can take is data (`Needs`), so a mismatch is found before any work.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts, SearchError
from structmargin.dual.working_set import Dual
from structmargin.fit import ConvergenceWarning, Fit, Progress, relative
from structmargin.formulation import FORMULATIONS, Formulation
from structmargin.problem import AdaptedProblem, Problem, adapt
from structmargin.training.certificate import primal_of, theorem18
from structmargin.training.recorder import Recorder
from structmargin.training.separation import Separation, require_no_better_cut
from structmargin.training.space import Linear

DUALITY_SLACK = 1e-6  # by how much, relative to the primal, rounding may lift the dual above it


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


NORM2_FLOOR = 1e-12
"""A hard margin's eps is relative to |w|^2, which is 0 at the start; below this it counts as this much."""


class Pass(NamedTuple):
    """One search of all examples at the dual's w: what it found, and what it says of w."""

    violators: Cuts
    primal: float
    gap: float
    stop: bool


class InnerTolerance(NamedTuple):
    """How exactly a solver solves the relaxed problem, that over the cuts it holds, between two searches.

    The next search changes the relaxed problem, so solving it far more exactly than the outer gap is waste:
    a share `of_gap` of that gap will do. But where a search adds nothing the stopping criterion must be
    within reach: so there is a `floor` below which solving more exactly cannot matter, a share `of_eps` of
    the gap that eps allows, or `of_gap_tol` of the one that gap_tol allows, whichever is larger.
    """

    of_gap: float
    of_eps: float
    of_gap_tol: float

    def floor(self, task: Task, dual: Dual) -> float:
        """The relaxed gap below which solving more exactly cannot matter."""
        of_gap_tol = self.of_gap_tol * (task.gap_tol or 0.0) * abs(dual.value)
        return max(self.of_eps * task.cost_of_eps(dual), of_gap_tol)

    def after(self, gap: float, floor: float) -> float:
        """The relaxed gap to reach after a search that measured `gap`, which is infinite at w = 0."""
        return max(self.of_gap * gap, floor) if math.isfinite(gap) else floor


@dataclass
class Task:
    """Problem, data and settings of one training."""

    problem: AdaptedProblem
    X: Sequence[Any]
    Y: Sequence[Any]
    formulation: Formulation
    space: Any
    C: float
    eps: float
    gap_tol: float | None
    max_iter: int
    seed: int
    warm_start: Fit | None
    separation: Separation
    recorder: Recorder

    @property
    def n(self) -> int:
        return len(self.Y)

    def dual(self, n_blocks: int, engine: str = "ascent", averaged: bool = False) -> Dual:
        """The relaxed problem to start from: empty, or a former fit's cuts moved to this C."""
        if self.warm_start is not None and isinstance(self.warm_start.state, Dual):
            state = self.warm_start.state
            if (state.n, state.averaged, state.formulation) == (n_blocks, averaged, self.formulation):
                state.move_to(self.C)
                state.engine, state.added, state.seconds = engine, 0, 0.0
                return state
        store = self.space.store(
            self.problem, self.X, self.Y, per_example=n_blocks == self.n and not averaged
        )
        return Dual(store, n_blocks, self.formulation, self.C, engine, averaged)

    def search(
        self,
        dual: Dual,
        most: int = 1,
        gap_goal: float | None = None,
        keep: Callable[[Cuts, float], Cuts] | None = None,
    ) -> Pass:
        """Search every example at the dual's w, measure and note the gap, and decide whether to stop.

        `most` outputs per example at most, where the problem finds several at once. Training may stop once
        the duality gap is certified to be at most `gap_goal`, or at most gap_tol of the primal. What a share
        of the examples yields is handed to `keep` with the size of the share, if it is given, and what that
        returns is kept.
        """
        kept, H = [], np.full(self.n, -np.inf)
        for violators in self.separation.shares(dual.scorer(), most):
            here = violators.largest_H(self.n)
            H = np.maximum(H, here)
            if self.separation.exact and not dual.averaged:
                require_no_better_cut(violators, dual.xi)
            share = float(np.mean(here > -np.inf))
            kept.append(violators if keep is None else keep(violators, share))
        primal, _ = primal_of(self.formulation, self.C, self.n, dual.norm2, H)
        gap = primal - dual.value
        self.recorder.note(self.separation, dual, primal=primal, dual=dual.value, gap=gap)
        return Pass(Cuts.joined(kept), primal, gap, self.close(gap, primal, gap_goal))

    def close(self, gap: float, primal: float, gap_goal: float | None = None) -> bool:
        """Whether a gap is at most `gap_goal`, or, with an exact search, at most gap_tol of the primal."""
        if gap_goal is not None and gap <= gap_goal:
            return True
        return self.gap_tol is not None and self.separation.exact and relative(gap, primal) <= self.gap_tol

    def cost_of_eps(self, dual: Dual) -> float:
        """What eps more on every slack would cost: the gap that the papers' criterion tolerates."""
        if self.formulation.p == 0:
            return self.eps * max(dual.norm2, NORM2_FLOOR)
        if self.formulation.p == 1:
            return self.C * self.eps
        price = self.formulation.price
        return price(dual.xi + self.eps, self.C, self.n) - price(dual.xi, self.C, self.n)

    def finish(self, dual: Dual, *, converged: bool, n_iter: int, bounded: bool = False) -> Fit:
        """Certify by a last full search at the final w, and warn if the criterion was not met."""
        dual.refresh()
        H = np.concatenate([violators.H for violators in self.separation.shares(dual.scorer())])
        primal, xi = primal_of(self.formulation, self.C, self.n, dual.norm2, H)
        exact = self.separation.exact
        if exact:
            _require_weak_duality(primal, dual.value)
        gap = max(primal - dual.value, 0.0) if exact else None
        support = dual.support()
        self.recorder.note(
            self.separation, dual, primal=primal, dual=dual.value, gap=math.nan if gap is None else gap
        )
        if not converged:
            self._warn_of_gap(gap, primal)
        return Fit(
            scorer=dual.store.model(dual.alpha),
            formulation=self.formulation,
            C=self.C,
            eps=self.eps,
            primal=primal,
            dual=dual.value,
            gap=gap,
            xi=xi,
            n_constraints=dual.added,
            n_active=len(support.alpha),
            n_iter=n_iter,
            oracle_calls=self.separation.calls,
            exact=exact,
            converged=converged,
            bound=theorem18(self.problem, self.X, self.Y, self.formulation, self.C, self.eps)
            if bounded
            else None,
            seconds=self.recorder.trace[-1]["seconds"],
            seconds_qp=dual.seconds,
            seconds_search=self.separation.seconds,
            trace=self.recorder.trace,
            support=support,
            state=dual,
        )

    def _warn_of_gap(self, gap: float | None, primal: float) -> None:
        """Training stopped at `max_iter`: a warning with the gap that is left."""
        left = "unknown (approximate search)"
        if gap is not None:
            left = f"{gap:.3g} (relative {relative(gap, primal):.2g})"
        warnings.warn(
            f"stopped at max_iter = {self.max_iter} passes with a duality gap of {left}; "
            "raise max_iter, or ask for less with a larger eps or gap_tol",
            ConvergenceWarning,
            stacklevel=6,
        )


def count(data: Any) -> int:
    """How many examples: rows of a matrix, or items of a sequence."""
    return int(data.shape[0]) if sp.issparse(data) or isinstance(data, np.ndarray) else len(data)


def require_number(name: str, value: Any, *, above: float = 0.0, optional: bool = False) -> None:
    """Raise unless value is a finite number above the bound (or None where optional)."""
    if optional and value is None:
        return
    fine = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or not value > above:
        raise ValueError(f"{name} must be a finite number above {above:g}, but it is {value!r}")


def require_examples(problem: AdaptedProblem, X: Any, Y: Any) -> None:
    """Raise unless X and Y are equally many, at least one, and fit the problem."""
    if count(X) != count(Y):
        raise ValueError(f"X has {count(X)} examples but Y has {count(Y)}: each input needs one output")
    if count(Y) == 0:
        raise ValueError("the training set is empty: X and Y must hold at least one example")
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
        eps: float = 0.1,
        gap_tol: float | None = None,
        max_iter: int = 1000,
        random_state: int | None = 0,
        warm_start: Fit | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Train and return a certified `Fit`.

        Parameters
        ----------
        problem : Problem
            Bound to the data already, where it learns from them.
        data : tuple (X, Y)
            Inputs and outputs.
        formulation : Formulation
            Such as `FORMULATIONS["SVM1 margin"]`.
        space : Linear or Joint, optional
            Explicit features (the default), or the space of a joint kernel.
        C : float, default=1.0
            The papers' C: C/n or C/(2n) on the slacks.
        eps : float, default=0.1
            The papers' epsilon.
        gap_tol : float, optional
            A relative duality gap at which any solver stops once it is certified.
        max_iter : int, default=1000
            Passes over the data at most.
        random_state : int, optional
            The same int gives the same model.
        warm_start : Fit, optional
            A former fit on the same data, whose cuts are taken over.
        progress : callable, optional
            Called with each row of the trace.

        Returns
        -------
        Fit
        """
        space = Linear() if space is None else space
        X, Y = data
        require_number("C", C)
        require_number("eps", eps)
        require_number("gap_tol", gap_tol, optional=True)
        require_number("max_iter", max_iter)
        reason = self.needs.refuse(self.name, formulation, space.explicit)
        if reason:
            raise ValueError(reason)
        problem = adapt(problem)
        require_examples(problem, X, Y)
        recorder = Recorder(progress)
        separation = Separation(problem, X, Y, formulation.H, space.explicit)
        seed = int(np.random.SeedSequence(random_state).generate_state(1)[0] >> 2)
        task = Task(
            problem, X, Y, formulation, space, float(C), float(eps), gap_tol, int(max_iter), seed,
            warm_start, separation, recorder,
        )  # fmt: skip
        return self.solve(task)


def _require_weak_duality(primal: float, dual: float) -> None:
    """An exact search has primal >= dual, but for rounding; anything else is a broken contract."""
    if dual - primal > DUALITY_SLACK * (1.0 + abs(primal)):
        raise SearchError(
            f"the dual, {dual:.6g}, exceeds the primal, {primal:.6g}: the cuts held are not of "
            "this problem and data (a warm start from others?), or a search misses violated outputs"
        )
