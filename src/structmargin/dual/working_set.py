"""The relaxed problem: the cuts found so far, their alpha, and the ascent over them.

The restriction of the dual to a working set S (jmlr05 Algorithm 1, step 10). Cuts do not depend
on C, so a `Dual` can be moved along a path over C; a cut whose alpha has been 0 for long can be
dropped, since the dual value and w do not involve it, and a later search finds it again if it
matters: each addition raises the dual by at least a fixed amount (Propositions 14-17), so
dropping cannot make the algorithm cycle.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from structmargin.cuts import Cuts, SearchError
from structmargin.dual import ascent, reference
from structmargin.dual.blocks import QP, Blocks, enter, measure, slack
from structmargin.dual.stores.store import Narrow, Store, grown
from structmargin.formulation import Formulation

ROUNDING = 1e-13
"""An h differs from its exact value by at most this share of the largest offset, nearly always."""
MIN_MARGIN = 1e-6
"""A hard margin below this, for cuts of length 1, counts as none: rounding could have made it."""
LP_MARGIN = 1e-7
"""A hard margin of the linear program below this counts as none: it is the program's own tolerance."""
NEGATIVE = 1e-9
"""Rounding may make a squared length negative by this share of the largest one."""
PATIENCE = 100
"""After so many epochs that did not solve a hard margin's relaxed problem, a linear program is asked whether
it has a solution; and again after four times as many, since there are more cuts by then."""
NOT_SEPARABLE = "the data cannot be separated by these features; use a formulation with slack, such as 'SVM1'"


class NotSeparableError(ValueError):
    """No w satisfies every hard-margin constraint."""


class Dual:
    """Cuts in blocks under one formulation's caps and ridges.

    `averaged` if each cut is of all examples; `weights` are those of the examples, one per block.
    """

    def __init__(
        self,
        store: Store,
        n_blocks: int,
        formulation: Formulation,
        C: float,
        engine: str = "ascent",
        averaged: bool = False,
        weights: np.ndarray | None = None,
    ) -> None:
        self.store, self.n, self.formulation, self.engine = store, n_blocks, formulation, engine
        self.averaged = averaged
        self.weights = np.ones(n_blocks) if weights is None else weights
        self.C = C
        self.m = 0
        self.added = 0
        self.seconds = 0.0
        self.rounds = 0
        self._unsolved, self._patience = 0, PATIENCE
        self._b, self._alpha, self._loss = np.empty(256), np.empty(256), np.empty(256)
        self._block, self._idle = np.empty(256, dtype=np.int32), np.empty(256, dtype=np.int32)
        empty = np.empty((n_blocks, 4), dtype=np.int32)
        self.blocks = Blocks(empty, np.zeros(n_blocks, dtype=np.int32), np.empty(256, dtype=np.int32))
        self.xi, self.h = np.zeros(n_blocks), np.empty(0)
        self.relaxed_gap, self.violation, self._norm2, self._linear = 0.0, 0.0, 0.0, 0.0

    @property
    def cap(self) -> np.ndarray:
        return self.formulation.cap(self.C, self.n, self.weights)

    @property
    def ridge(self) -> np.ndarray:
        return self.formulation.ridge(self.C, self.n, self.weights)

    @property
    def alpha(self) -> np.ndarray:
        return self._alpha[: self.m]

    @property
    def b(self) -> np.ndarray:
        return self._b[: self.m]

    @property
    def block(self) -> np.ndarray:
        return self._block[: self.m]

    @property
    def loss(self) -> np.ndarray:
        return self._loss[: self.m]

    @property
    def value(self) -> float:
        """The dual objective at the last measurement."""
        total = np.bincount(self.block, weights=self.alpha, minlength=self.n)
        return self._linear - 0.5 * self._norm2 - 0.5 * float((self.ridge * total) @ total)

    @property
    def norm2(self) -> float:
        """|w|^2 at the last measurement."""
        return self._norm2

    @property
    def qp(self) -> QP:
        """The relaxed problem as compiled code sees it; it shares alpha and w with this object."""
        return QP(self.store.cuts, self.blocks, self.alpha, self.b, self.cap, self.ridge)

    def scorer(self) -> Any:
        return self.store.scorer(self.alpha)

    def add(self, cuts: Cuts) -> np.ndarray:
        """Append cuts with alpha = 0; returns their numbers."""
        first, count = self.m, len(cuts.b)
        if count == 0:
            return np.arange(first, first)
        held = self.alpha
        self.m += count
        self.added += count
        for name in ("_b", "_alpha", "_loss", "_block", "_idle"):
            setattr(self, name, grown(getattr(self, name), self.m))
        self._b[first : self.m], self._alpha[first : self.m] = cuts.b, 0.0
        self._loss[first : self.m], self._block[first : self.m] = cuts.losses, cuts.example
        self._idle[first : self.m] = 0
        self.store.extend(cuts, held)
        self._enter(first)
        return np.arange(first, self.m)

    def _enter(self, first: int) -> None:
        """Enter the cuts from `first` on into their blocks."""
        members, size, place = self.blocks
        need = int((size + np.bincount(self.block[first:], minlength=self.n)).max(initial=0))
        width = members.shape[1]
        if need > width:
            members = np.empty((self.n, max(need, 2 * width)), dtype=np.int32)
            members[:, :width] = self.blocks.members
        self.blocks = Blocks(members, size, grown(place, self.m))
        enter(self.blocks, self.block, first)
        self.store.link(first, self.block, self.blocks)

    def measure(self) -> None:
        """Relaxed slacks, h of every cut, gap, KKT violation and the value's terms at the current alpha."""
        self.h = np.empty(self.m)
        self.relaxed_gap, self.violation, self._norm2, self._linear = measure(self.qp, self.xi, self.h)

    def solved(self, tol: float) -> bool:
        """Whether the relaxed gap was at most `tol` when last measured, or as small as rounding allows."""
        return self.relaxed_gap <= tol or self.violation <= self._rounding

    def ascend(self, tol: float, *, floor: float = 0.0, max_epochs: int = 1000, seed: int = 0) -> None:
        """Re-optimise over all cuts until the relaxed gap is at most `tol`."""
        began = time.process_time()
        self.rounds += 1
        if self.m:
            self._require_lengths()
            (self._cvxopt if self.engine == "cvxopt" else self._ascent)(tol, floor, max_epochs, seed)
        self._idle[: self.m] = np.where(self.alpha > 0, 0, self._idle[: self.m] + 1)
        self.seconds += time.process_time() - began

    def _require_lengths(self) -> None:
        """Raise if the square of a cut's length is no number, or negative: then nothing can be certified."""
        norms2 = self.store.norms2
        wrong = np.flatnonzero(~np.isfinite(norms2))
        if len(wrong):
            raise SearchError(
                f"the joint features of {self._whose(wrong)} are so large that their squares are no finite "
                "numbers: scale the features down, or look for NaN in the kernel"
            )
        wrong = np.flatnonzero(norms2 < -NEGATIVE * np.abs(norms2).max())
        if len(wrong):
            raise SearchError(
                f"the kernel gives a cut of {self._whose(wrong)} the squared length {norms2[wrong[0]]:.3g}: "
                "it is not positive semi-definite, give one that is"
            )
        pair = self.store.beyond_lengths()
        if pair is not None:
            raise SearchError(
                f"the kernel gives examples {pair[0]} and {pair[1]} a product above that of their lengths: "
                "it is not positive semi-definite, give one that is"
            )

    def _whose(self, cuts: np.ndarray) -> str:
        return "the examples" if self.averaged else f"example {self.block[cuts[0]]}"

    def _ascent(self, tol: float, floor: float, max_epochs: int, seed: int) -> None:
        floor = max(floor, self._rounding)
        until = ascent.Until(tol, floor, MIN_MARGIN**2, max_epochs)
        order = self.rounds + 7919 * seed
        hard = self.formulation.p == 0
        lengths = np.sqrt(self.store.norms2) if hard else np.empty(0)
        narrow = self.store.narrow(self.block) if max_epochs > ascent.PLAIN_EPOCHS else None
        if narrow is None:
            results = ascent.ascend(self.qp, self.store.spare(), until, order, self.xi, lengths)
        else:
            results = self._ascent_among(narrow, until, order, lengths)
        measured, epochs, share2 = results
        if hard:
            self._require_separable(share2)
            if measured[0] > tol:
                self._ask_whether_separable(epochs)
        self.relaxed_gap, self.violation, self._norm2, self._linear = measured

    def _ascent_among(self, narrow: Narrow, until: ascent.Until, order: int, lengths: np.ndarray) -> Any:
        """The same over the blocks that have cuts alone: what they do to others is carried out at the end."""
        held = narrow.held
        blocks = Blocks(self.blocks.members[held], self.blocks.size[held], self.blocks.place)
        before, xi = self.alpha.copy(), np.zeros(len(held))
        qp = QP(narrow.cuts, blocks, self.alpha, self.b, self.cap[held], self.ridge[held])
        results = ascent.ascend(qp, narrow.spare, until, order, xi, lengths)
        self.store.carry_out(narrow, self.blocks, self.alpha - before)
        self.xi[:] = 0.0
        self.xi[held] = xi
        return results

    def _cvxopt(self, tol: float, floor: float, max_epochs: int, seed: int) -> None:
        if self.formulation.p == 0 and self.store.norms2.min() <= 0.0:
            self._require_separable(0.0)
        self._alpha[: self.m] = reference.solve(self.store.gram(), self.b, self.block, self.cap, self.ridge)
        self.store.refresh(self.alpha)
        self.measure()
        if self.formulation.p == 0:
            longest = float(self.alpha @ np.sqrt(self.store.norms2))
            self._require_separable(max(self._norm2, 0.0) / longest / longest)

    @property
    def largest_b(self) -> float:
        """The largest offset of a cut: the unit of losses, slacks and of every H."""
        return float(self.b.max(initial=0.0))

    @property
    def _rounding(self) -> float:
        """The KKT violation below which rounding leaves no direction."""
        return ROUNDING * self.largest_b

    def _require_separable(self, share2: float) -> None:
        """Raise if |w|^2 is so small a share of (sum_c alpha_c |a_c|)^2 that the cuts cancel out.

        For any unit vector u the smallest <u, a_c / |a_c|> is at most the root of that share.
        """
        if share2 <= MIN_MARGIN**2:
            raise NotSeparableError(
                f"{self.formulation.name} asks every constraint to hold, but {len(self.active())} of them "
                f"cancel out (their margin is at most {np.sqrt(max(share2, 0.0)):.1e} at length 1, and "
                f"{MIN_MARGIN:g} or less counts as none): {NOT_SEPARABLE}"
            )

    def _ask_whether_separable(self, epochs: int) -> None:
        """After many epochs that did not solve the relaxed problem, let a linear program decide."""
        self._unsolved += epochs
        if self._unsolved < self._patience:
            return
        self._unsolved, self._patience = 0, 4 * self._patience
        rows = self.store.matrix(np.arange(self.m))
        margin = reference.largest_margin(rows, self.store.gram() if rows is None else None)
        if margin <= LP_MARGIN:
            raise NotSeparableError(
                f"{self.formulation.name} asks every constraint to hold, but no w satisfies the {self.m} "
                f"found so far (their largest margin is {margin:.1e} at length 1): {NOT_SEPARABLE}"
            )

    def ascend_block(self, i: int, *, reduction: float = 1e-6) -> None:
        """Re-optimise over block i alone, the others frozen (Algorithm 1 variant b)."""
        began = time.process_time()
        active, scratch = np.ones(self.m, dtype=bool), ascent.scratch_for(int(self.blocks.size[i]))
        ascent.ascend_block(self.qp, i, reduction, self._rounding, -np.inf, active, np.inf, scratch)
        self.seconds += time.process_time() - began

    def slack(self, i: int) -> float:
        """The relaxed slack of block i at the current w, in no need of a measurement."""
        return float(slack(self.qp, i))

    def prune(self, idle: int) -> int:
        """Drop the cuts whose alpha was 0 after each of the last `idle` ascents; returns how many.

        Dropping copies what is kept, so it waits until a third of the cuts can go.
        """
        mask = self._idle[: self.m] < idle
        dropped = self.m - int(mask.sum())
        if 3 * dropped > self.m:
            kept = self.store.keep(mask, self.block, self.blocks)
            for name in ("_b", "_alpha", "_loss", "_block", "_idle"):
                setattr(self, name, grown(getattr(self, name)[kept], 256))
            self.m -= dropped
            self.blocks.size[:] = 0
            enter(self.blocks, self.block, 0)
            self.store.link(self.m, self.block, self.blocks)
            return dropped
        return 0

    def replace(self, cuts: Cuts) -> None:
        """Hold these cuts with their alpha in place of all others; w, which must be theirs, stays."""
        self.store.keep(np.zeros(self.m, dtype=bool), self.block, self.blocks)
        self.m, added = 0, self.added
        self.blocks.size[:] = 0
        self.add(cuts)
        self._alpha[: self.m], self.added = cuts.alpha, added

    def move_to(self, C: float) -> None:
        """Continue at another C: alpha and w scale with it where slacks are priced."""
        if self.formulation.p:
            factor = C / self.C
            self._alpha[: self.m] *= factor
            self.store.scale(factor)
        self.C = C
        self.measure()

    def begin_again(self) -> None:
        """Back to alpha = 0, where w = 0, with the cuts that are held."""
        self._alpha[: self.m] = 0.0
        self.store.scale(0.0)

    def admit(self, X: Any, Y: Any, C: float) -> None:
        """Go on with more examples, the known ones first, at a C for all of them.

        alpha and w scale with C/n, the cap of a block: so they stay feasible where more examples share one C,
        and do not change where C grows with n. Only for linear slacks.
        """
        before, n = self.n, len(Y)
        factor = (C / n) / (self.C / before)
        self._alpha[: self.m] *= factor
        self.store.scale(factor)
        self.store.admit(X, Y, self.alpha)
        members, size, place = self.blocks
        width = members.shape[1]
        self.blocks = Blocks(
            np.vstack([members, np.empty((n - before, width), dtype=np.int32)]),
            np.concatenate([size, np.zeros(n - before, dtype=np.int32)]),
            place,
        )
        self.n, self.C, self.xi = n, C, np.zeros(n)
        self.weights = np.concatenate([self.weights, np.ones(n - before)])
        self.store.link(self.m, self.block, self.blocks)
        self.measure()

    def refresh(self) -> None:
        """Recompute w from alpha, so that rounding does not add up over a long run."""
        self.store.refresh(self.alpha)
        self.measure()

    def active(self) -> np.ndarray:
        """The numbers of the cuts with alpha > 0."""
        return np.flatnonzero(self.alpha > 0)

    def support(self) -> Cuts:
        """The cuts with alpha > 0; their rows are scaled already, their outputs are not known any more.

        Their H is that of the last measurement, since when nothing may have moved.
        """
        chosen = self.active()
        H = self.h[chosen]
        scale, rows = np.ones(len(chosen)), self.store.matrix(chosen)
        return Cuts(
            self.block[chosen], None, self.loss[chosen], scale, self.b[chosen], rows, H, self.alpha[chosen]
        )
