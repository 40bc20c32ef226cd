"""A training task: what every solver is given, how it searches and stops, and how every solver ends."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structmargin.adapted import AdaptedProblem
from structmargin.cuts import Cuts, SearchError
from structmargin.dual.working_set import Dual
from structmargin.fit import ConvergenceWarning, Fit, relative
from structmargin.formulation import Formulation
from structmargin.training.certificate import primal_of, theorem18
from structmargin.training.contract import require_best_answers, require_no_better_cut
from structmargin.training.recorder import Recorder
from structmargin.training.separation import Separation
from structmargin.training.stopping import (
    AT_ROUNDING,
    GOAL_SHARE,
    MIN_VIOLATION_SHARE,
    Criterion,
    InnerTolerance,
)

DUALITY_SLACK = 1e-6  # by how much, relative to the primal, rounding may lift the dual above it


class Pass(NamedTuple):
    """One search of all examples at the dual's w: what it found, and what it says of w."""

    violators: Cuts
    primal: float
    gap: float
    stop: bool
    H: np.ndarray  # (n,): the largest of each example


@dataclass
class Task:
    """Problem, data and settings of one training.

    `weights` (n,) are those of the examples; `oracle_tol` is by how much, in units of H, an answer of the
    search may lie below the maximum. `eps` is what was asked for, `criterion` what decides.
    """

    problem: AdaptedProblem
    X: Sequence[Any]
    Y: Sequence[Any]
    formulation: Formulation
    space: Any
    C: float
    eps: float | None
    criterion: Criterion
    max_iter: int
    seed: int
    weights: np.ndarray
    oracle_tol: float
    warm_start: Fit | None
    separation: Separation
    recorder: Recorder
    unfinished: Callable[[bool], Fit] | None = None  # the model so far, certified or not, once there is one

    @property
    def n(self) -> int:
        return len(self.Y)

    def dual(self, n_blocks: int, engine: str = "ascent", averaged: bool = False) -> Dual:
        """The relaxed problem to start from: empty, or a former fit's cuts moved to this C."""
        dual = self._former_dual(n_blocks, averaged)
        if dual is not None:
            dual.engine, dual.added, dual.seconds = engine, 0, 0.0
            self.separation.largest_b = dual.largest_b  # or rounding in its cuts would look like a better H
        else:
            weights = None if averaged else self.weights
            per_example = n_blocks == self.n and not averaged
            store = self.space.store(self.problem, self.X, self.Y, per_example, self.separation.parts)
            dual = Dual(store, n_blocks, self.formulation, self.C, engine, averaged, weights)
        self.unfinished = partial(self._unfinished, dual)
        return dual

    def _former_dual(self, n_blocks: int, averaged: bool) -> Dual | None:
        state = None if self.warm_start is None else self.warm_start.state
        if not isinstance(state, Dual):
            return None
        if (state.n, state.averaged, state.formulation) != (n_blocks, averaged, self.formulation):
            return None
        if not averaged and not np.array_equal(state.weights, self.weights):
            return None
        if averaged and not np.all(self.weights == 1.0):
            return None  # its cuts were averaged with weights that are not known any more
        state.move_to(self.C)
        return state

    def search(
        self,
        dual: Dual,
        most: int = 1,
        by_gap: bool = False,
        keep: Callable[[Cuts, float], Cuts] | None = None,
        **noted: float,
    ) -> Pass:
        """Search every example at the dual's w, measure and note the gap, and decide whether to stop.

        `most` outputs per example at most, where the problem finds several at once. Training may stop once
        gap_tol is certified or, for solvers that stop `by_gap`, once the gap is what eps would cost. What a
        share of the examples yields is handed to `keep` with the size of the share, if it is given, and what
        that returns is kept. The row of the trace has `noted` too.
        """
        kept, H = [], np.full(self.n, -np.inf)
        for violators in self.separation.shares(dual.scorer(), most):
            here = violators.largest_H(self.n)
            H = np.maximum(H, here)
            if not dual.averaged:
                self.require_no_better(violators, dual.xi[violators.example])
            share = float(np.mean(here > -np.inf))
            kept.append(violators if keep is None else keep(violators, share))
        primal, high, _ = self._primal(dual, H)
        gap = high - dual.value
        self.recorder.note(self.separation, dual, primal=primal, dual=dual.value, gap=gap, **noted)
        decides = by_gap or self.criterion.gap_tol is not None
        stop = decides and (
            self.near(dual, gap, primal) or self.out_of_reach(dual, primal, high - primal, gap)
        )
        return Pass(Cuts.joined(kept), primal, gap, stop, H)

    def require_no_better(self, violators: Cuts, held: np.ndarray) -> None:
        """Raise SearchError if an exact search returned less than the H of a cut held for its example."""
        if self.separation.exact and len(violators.H):
            require_no_better_cut(self.separation, violators, held, self.oracle_tol)

    def _primal(self, dual: Dual, H: np.ndarray) -> tuple[float, float, np.ndarray]:
        """(primal, the primal if every H were too small by oracle_tol, slacks) given the largest H."""
        primal, xi = primal_of(self.formulation, self.C, dual.norm2, H, self.weights)
        if self.oracle_tol == 0.0:
            return primal, primal, xi
        high, _ = primal_of(self.formulation, self.C, dual.norm2, H + self.oracle_tol, self.weights)
        return primal, high, xi

    def near(self, dual: Dual, gap: float, primal: float) -> bool:
        """Whether a gap is at most gap_tol of the primal or, where eps decides, what eps would cost."""
        if self.criterion.gap_tol is not None:
            return relative(gap, primal) <= self.criterion.gap_tol
        return gap <= self.cost_of(dual, self.eps_now)

    def out_of_reach(self, dual: Dual, primal: float, unknown: float, gap: float) -> bool:
        """Whether gap_tol is met except for what oracle_tol leaves `unknown`, and that alone exceeds it."""
        if self.criterion.gap_tol is None or self.near(dual, unknown, primal):
            return False
        return self.near(dual, gap - unknown, primal)

    @property
    def eps_now(self) -> float:
        """The papers' eps where no gap_tol decides."""
        return self.criterion.absolute(self.separation.largest_b)

    def goal(self, dual: Dual) -> float:
        """The duality gap at which training may stop, as far as it is known before a search."""
        if self.criterion.gap_tol is not None:
            return self.criterion.gap_tol * abs(dual.value)
        return self.cost_of(dual, self.eps_now)

    def floor(self, dual: Dual, inner: InnerTolerance) -> float:
        """The relaxed gap below which solving more exactly cannot matter."""
        share = inner.of_eps if self.criterion.gap_tol is None else inner.of_gap_tol
        return share * self.goal(dual)

    def min_violation(self, dual: Dual) -> float:
        """By how much H must exceed the relaxed slack for a cut to be added: eps, or nearly nothing."""
        if self.criterion.gap_tol is None:
            return self.eps_now
        least = MIN_VIOLATION_SHARE * self.separation.largest_b
        cost, allowed = self.cost_of(dual, least), GOAL_SHARE * self.goal(dual)
        return least if cost <= allowed else least * (allowed / cost)

    def worth_adding(self, dual: Dual, violators: Cuts) -> np.ndarray:
        """Which violators exceed the relaxed slack of their example by more than `min_violation`."""
        excess = violators.H - dual.xi[violators.example]
        counts = self.weights[violators.example] > 0.0
        return np.flatnonzero((excess > self.min_violation(dual)) & counts)

    def cost_of(self, dual: Dual, eps: float) -> float:
        """What eps more on every slack would cost: the gap that the papers' criterion tolerates."""
        if self.formulation.p == 0:  # relative to |w|^2, which is at least 1 / |a|^2 for every cut a
            longest = float(dual.store.norms2.max(initial=0.0))
            return eps * max(dual.norm2, 1.0 / longest if longest > 0.0 else 0.0)
        if self.formulation.p == 1:
            return self.C * eps * (1.0 if dual.averaged else float(np.mean(self.weights)))
        price = self.formulation.price
        return price(dual.xi + eps, self.C, self.n, self.weights) - price(
            dual.xi, self.C, self.n, self.weights
        )

    def finish(
        self,
        dual: Dual,
        *,
        converged: bool | None,
        n_iter: int,
        bounded: bool = False,
        stopped: str | None = None,
        H: np.ndarray | None = None,
    ) -> Fit:
        """Certify by a last full search at the final w, and warn if the criterion was not met.

        `converged` None lets the certified gap decide. `stopped` says in words why training ended before
        its criterion was met, and what to do; by default that was `max_iter`. A solver whose last search was
        at the final w, refreshed before it, hands over what that found as H, and there is no other.
        """
        seconds_loop = self.recorder.seconds_loop  # what follows is the certificate
        if H is None:
            dual.refresh()
            H = self._largest_H(dual, dual.scorer())
        f, model = dual.scorer(), dual.store.model(dual.alpha)
        primal, high, xi = self._primal(dual, H)
        if self.separation.exact:
            allowed = self.oracle_tol + dual.store.rounding(dual.alpha)
            require_best_answers(self.separation, f, model, H, self.seed, allowed)
            _require_weak_duality(high, dual.value)
        value, gap = dual.value, None
        if self.separation.exact:
            value = min(value, high)  # by rounding alone it could lie above
            gap = high - value
        if converged is None or (converged and self.criterion.gap_tol is not None):
            if converged:  # a search found the gap small enough, before rounding was taken out of w
                stopped = AT_ROUNDING
            converged = gap is not None and self.near(dual, gap, primal)
        self.recorder.note(
            self.separation, dual, primal=primal, dual=value, gap=math.nan if gap is None else gap
        )
        if not converged:
            if gap is not None and self.out_of_reach(dual, primal, high - primal, gap):
                stopped = (
                    f"cannot certify less, since oracle_tol = {self.oracle_tol:g} alone leaves "
                    f"{high - primal:.3g}: give a smaller oracle_tol or a larger gap_tol"
                )
            self._warn_of_gap(gap, primal, stopped)
        fit = self.model_at(dual, model, converged=converged, n_iter=n_iter)
        fit.primal, fit.primal_high, fit.dual, fit.gap, fit.xi = primal, high, value, gap, xi
        fit.seconds_loop = seconds_loop
        if bounded and self.criterion.eps is not None and np.all(self.weights == 1.0):
            fit.bound = theorem18(self.problem, self.X, self.Y, self.formulation, self.C, self.criterion.eps)
        return fit

    def _largest_H(self, dual: Dual, f: Any) -> np.ndarray:
        """The largest H of every example at the final w, held against the cuts that are there."""
        found = []
        for violators in self.separation.shares(f):
            if not dual.averaged:
                self.require_no_better(violators, dual.xi[violators.example])
            found.append(violators.H)
        return np.concatenate(found)

    def model_at(self, dual: Dual, model: Any, *, converged: bool, n_iter: int) -> Fit:
        """The model at the dual's w, a scorer of its own, without a certificate."""
        support = dual.support()
        return Fit(
            scorer=model,
            formulation=self.formulation,
            C=self.C,
            eps=self.eps,
            n_constraints=dual.added,
            n_active=len(support.alpha),
            n_iter=n_iter,
            oracle_calls=self.separation.calls,
            exact=self.separation.exact,
            converged=converged,
            oracle_tol=self.oracle_tol,
            seconds=self.recorder.seconds,
            seconds_loop=self.recorder.seconds_loop,
            seconds_qp=dual.seconds,
            seconds_search=self.separation.seconds,
            trace=self.recorder.trace,
            gains=self.recorder.gains,
            support=support,
            state=dual,
        )

    def _unfinished(self, dual: Dual, certified: bool) -> Fit:
        """The model of a training that was broken off: its dual, and its primal if a search may find it."""
        dual.refresh()
        fit = self.model_at(
            dual, dual.store.model(dual.alpha), converged=False, n_iter=len(self.recorder.trace)
        )
        fit.dual = dual.value
        if certified:
            H = self._largest_H(dual, dual.scorer())
            fit.primal, fit.primal_high, fit.xi = self._primal(dual, H)
            if self.separation.exact:
                fit.gap = max(fit.primal_high - dual.value, 0.0)
        return fit

    def _warn_of_gap(self, gap: float | None, primal: float, stopped: str | None) -> None:
        """Training ended before its criterion was met: a warning with the gap that is left."""
        left = "an unknown gap (the search is approximate)"
        if gap is not None:
            left = f"a duality gap of {gap:.3g} (relative {relative(gap, primal):.2g})"
        if stopped is None:
            stopped = (
                f"stopped at max_iter = {self.max_iter} passes: raise max_iter, or ask for less with a "
                "larger eps or gap_tol"
            )
        warnings.warn(f"training left {left}; it {stopped}", ConvergenceWarning, stacklevel=6)


def _require_weak_duality(primal: float, dual: float) -> None:
    """An exact search has primal >= dual, except for rounding; anything else is a broken contract."""
    if dual - primal > DUALITY_SLACK * max(abs(primal), abs(dual)):
        raise SearchError(
            f"the dual, {dual:.6g}, exceeds the primal, {primal:.6g}: the cuts held are not of "
            "this problem and data (a warm start from others?), or a search misses violated outputs"
        )
