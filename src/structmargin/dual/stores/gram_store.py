"""Cuts known by the inner products that a joint kernel gives: the matrix of all of them is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.cuts import Cuts
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import GramCuts
from structmargin.dual.stores.store import MIN_ROOM, Narrow, grown
from structmargin.kernels import beyond_lengths, require_shape
from structmargin.problem import Problem
from structmargin.scorer import KernelScorer


class GramStore:
    """Cuts in the space of a joint kernel: each is s * (k((x_i, y_i), .) - k((x_i, ybar), .))."""

    def __init__(
        self, problem: Problem | AdaptedProblem, kernel: Any, X: Sequence[Any], Y: Sequence[Any]
    ) -> None:
        self.problem, self.kernel, self.X, self.Y = adapt(problem), kernel, X, Y
        self.m = self._compared = 0
        self._G, self._q = np.empty((64, 64)), np.zeros(64)
        self._scale, self._example = np.empty(0), np.empty(0, dtype=int)
        self._outputs: list[Any] = []

    @property
    def cuts(self) -> GramCuts:
        return GramCuts(self._G, self._q[: self.m])

    def spare(self) -> GramCuts:
        """`cuts` with a q of their own, which is 0."""
        return self.cuts._replace(q=np.zeros(self.m))

    def narrow(self, block: np.ndarray) -> None:
        """None: a step costs the same however few examples have cuts."""
        return None

    def class_losses(self) -> None:
        """None: cuts of any outputs, which need not be labels."""
        return None

    def carry_out(self, narrow: Narrow, blocks: Blocks, change: np.ndarray) -> None:
        """Never asked for, as there is no `narrow`."""

    @property
    def norms2(self) -> np.ndarray:
        return np.diagonal(self._G)[: self.m]

    def admit(self, X: Sequence[Any], Y: Sequence[Any], alpha: np.ndarray) -> None:
        self.X, self.Y = X, Y

    @property
    def entries(self) -> int:
        """The inner products that are held."""
        return self.m**2

    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray:
        """Those of the chosen cuts that may be added now, as `RowStore` has it; m cuts take m^2 entries."""
        together = np.sqrt(max(room, self.entries + room // MIN_ROOM))
        most = max(1, int(share * (together - self.m)))
        if len(chosen) <= most:
            return chosen
        order = np.argsort(-cuts.H[chosen], kind="stable")
        return np.sort(chosen[order[:most]])

    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None:
        count, before = len(cuts.scale), self.m
        self._scale = np.concatenate([self._scale, cuts.scale])
        self._example = np.concatenate([self._example, np.asarray(cuts.example, dtype=int)])
        assert cuts.outputs is not None
        self._outputs.extend(cuts.outputs)
        self.m += count
        self._q = grown(self._q, self.m)
        if self.m > (room := len(self._G)):
            size = max(self.m, min(2 * room, room + 2**10))
            larger = np.empty((size, size))
            larger[:before, :before] = self._G[:before, :before]
            self._G = larger
        new = slice(before, self.m)
        difference = self._against(new, slice(0, self.m))
        self._G[new, : self.m] = difference
        self._G[: self.m, new] = difference.T
        self._q[new] = difference[:, :before] @ alpha

    def beyond_lengths(self) -> tuple[int, int] | None:
        """The examples of two cuts whose product exceeds that of their lengths, if any new cut has such."""
        first, self._compared = self._compared, self.m
        wrong = beyond_lengths(self._G[first : self.m, : self.m], self.norms2[first:], self.norms2)
        if not len(wrong):
            return None
        return int(self._example[wrong[0, 1]]), int(self._example[first + wrong[0, 0]])

    def _against(self, left: slice, right: slice) -> np.ndarray:
        """<a_c, a_c'> for two ranges of cuts: four kernel blocks, with signs."""

        def sides(part: slice) -> list[tuple[float, list[Any], list[Any]]]:
            X = [self.X[i] for i in self._example[part]]
            return [(1.0, X, [self.Y[i] for i in self._example[part]]), (-1.0, X, self._outputs[part])]

        total = np.zeros((left.stop - left.start, right.stop - right.start))
        for sign_l, X_l, Y_l in sides(left):
            for sign_r, X_r, Y_r in sides(right):
                gram = require_shape(self.kernel.gram(X_l, Y_l, X_r, Y_r), len(X_l), len(X_r))
                total += sign_l * sign_r * gram
        return total * self._scale[left, None] * self._scale[None, right]

    def link(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        """Nothing to do: the Gram matrix already holds every block's products."""

    def keep(self, mask: np.ndarray, block: np.ndarray, blocks: Blocks) -> np.ndarray:
        """Drop the cuts outside the mask; returns the numbers of the others, in their new order."""
        chosen = np.flatnonzero(mask)
        self._G = np.ascontiguousarray(self._G[np.ix_(chosen, chosen)])
        self._q = self._q[chosen]
        self._scale, self._example = self._scale[chosen], self._example[chosen]
        self._outputs = [self._outputs[c] for c in chosen]
        self._compared = int(np.count_nonzero(mask[: self._compared]))
        self.m = len(chosen)
        return chosen

    def refresh(self, alpha: np.ndarray) -> None:
        self._q[: self.m] = self._G[: self.m, : self.m] @ alpha

    def scale(self, factor: float) -> None:
        self._q[: self.m] *= factor

    def gram(self) -> np.ndarray:
        return self._G[: self.m, : self.m].copy()

    def matrix(self, chosen: np.ndarray) -> None:
        """None: the feature space of a kernel has no coordinates."""
        return None

    def expansion(self, alpha: np.ndarray) -> tuple[list[Any], list[Any], np.ndarray]:
        """The scorer's support: pairs (x_j, y_j) and coefficients, truths first, each example once."""
        weight = alpha * self._scale
        active = np.flatnonzero(weight)
        truths, inverse = np.unique(self._example[active], return_inverse=True)
        held = np.bincount(inverse, weights=weight[active], minlength=len(truths))
        X = [self.X[i] for i in truths] + [self.X[i] for i in self._example[active]]
        Y = [self.Y[i] for i in truths] + [self._outputs[c] for c in active]
        return X, Y, np.concatenate([held, -weight[active]])

    def rounding(self, alpha: np.ndarray) -> float:
        """0: search and model compute in the same numbers."""
        return 0.0

    def scorer(self, alpha: np.ndarray) -> KernelScorer:
        return KernelScorer(self.problem, self.kernel, *self.expansion(alpha))

    def model(self, alpha: np.ndarray) -> KernelScorer:
        return self.scorer(alpha)
