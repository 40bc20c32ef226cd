"""The growing set of cuts and their combination w = sum_c alpha_c a_c, explicit or through a kernel.

A cut is a scaled difference a = s * (Psi(x, y) - Psi(x, ybar)). `working_set.py` asks every store for
the same few things: `extend` by new cuts, `keep` some of them, `cuts` (what `ascent.py` works on),
`refresh` the combination from alpha, and the `scorer` it stands for: as long as training goes on, and
the `model` that outlives it. A stream of examples has them `admit` further ones: X and Y then hold the known
examples first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts, FactoredRows
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import GramCuts, SparseCuts, gathered
from structmargin.kernels import beyond_lengths, require_shape
from structmargin.problem import AdaptedProblem, Problem, adapt
from structmargin.scorer import KernelScorer, LinearScorer

MIN_ROOM = 8
"""However much is held, a pass may add cuts for this part of the room: 1 / MIN_ROOM."""


class Narrow(NamedTuple):
    """The cuts with their examples numbered anew, so that only those that have cuts are seen."""

    held: np.ndarray  # the numbers of these examples, rising
    cuts: Any
    spare: Any  # the same cuts with a combination of their own, which is 0


class Store(Protocol):
    """A growing set of cuts and their combination w = sum_c alpha_c a_c."""

    norms2: np.ndarray

    @property
    def entries(self) -> int: ...
    @property
    def cuts(self) -> Any: ...
    def spare(self) -> Any: ...
    def narrow(self, block: np.ndarray) -> Narrow | None: ...
    def carry_out(self, narrow: Narrow, blocks: Blocks, change: np.ndarray) -> None: ...
    def class_losses(self) -> np.ndarray | None: ...
    def admit(self, X: Any, Y: Any, alpha: np.ndarray) -> None: ...
    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None: ...
    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray: ...
    def link(self, first: int, block: np.ndarray, blocks: Blocks) -> None: ...
    def keep(self, mask: np.ndarray, block: np.ndarray, blocks: Blocks) -> np.ndarray: ...
    def refresh(self, alpha: np.ndarray) -> None: ...
    def scale(self, factor: float) -> None: ...
    def gram(self) -> np.ndarray: ...
    def matrix(self, chosen: np.ndarray) -> sp.csr_matrix | FactoredRows | None: ...
    def rounding(self, alpha: np.ndarray) -> float: ...
    def beyond_lengths(self) -> tuple[int, int] | None: ...
    def scorer(self, alpha: np.ndarray) -> Any: ...
    def model(self, alpha: np.ndarray) -> Any: ...


def grown(array: np.ndarray, length: int) -> np.ndarray:
    """The array, or a copy with room for at least `length` rows: twice as long, large ones by an eighth."""
    if len(array) >= length:
        return array
    more = min(len(array), max(len(array) // 8, 2**20))
    larger = np.empty((max(length, len(array) + more), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _link(cuts, first, block, blocks, scratch, norms2):  # type: ignore[no-untyped-def]
    """Fill the pool of the cuts from `first` on: products with their block's earlier cuts and themselves."""
    for c in range(first, block.shape[0]):
        for j in range(cuts.start[c], cuts.start[c + 1]):
            scratch[cuts.indices[j]] += cuts.data[j]
        for p in range(blocks.place[c] + 1):
            other = blocks.members[block[c], p]
            lo, hi = cuts.start[other], cuts.start[other + 1]
            cuts.pool[cuts.pool_at[c] + p] = gathered(cuts.data[lo:hi], cuts.indices[lo:hi], scratch, 0)
        norms2[c] = cuts.pool[cuts.pool_at[c] + blocks.place[c]]
        for j in range(cuts.start[c], cuts.start[c + 1]):
            scratch[cuts.indices[j]] = 0.0


@compiled
def _compact(data, indices, start, kept):  # type: ignore[no-untyped-def]
    """Move the kept rows (in rising order) to the front, in place."""
    end = 0
    for r in range(kept.shape[0]):
        first, last = start[kept[r]], start[kept[r] + 1]
        for j in range(first, last):
            data[end + j - first] = data[j]
            indices[end + j - first] = indices[j]
        end += last - first
        start[r + 1] = end


@compiled
def rows_in_order(data, indices, start, kept):  # type: ignore[no-untyped-def]
    """The kept rows in the order given, as new arrays."""
    ends = np.zeros(kept.shape[0] + 1, np.int64)
    for r in range(kept.shape[0]):
        ends[r + 1] = ends[r] + start[kept[r] + 1] - start[kept[r]]
    new_data, new_indices = np.empty(ends[-1]), np.empty(ends[-1], np.int32)
    for r in range(kept.shape[0]):
        first, last = start[kept[r]], start[kept[r] + 1]
        new_data[ends[r] : ends[r + 1]] = data[first:last]
        new_indices[ends[r] : ends[r + 1]] = indices[first:last]
    return new_data, new_indices, ends


@compiled
def _kept_products(pool, pool_at, block, blocks, mask, kept, length):  # type: ignore[no-untyped-def]
    """(pool, pool_at, norms2) of the kept cuts in the order given, which is the old one within a block."""
    new_pool, new_at = np.empty(length), np.empty(kept.shape[0], np.int64)
    norms2 = np.empty(kept.shape[0])
    end = 0
    for r in range(kept.shape[0]):
        c = kept[r]
        new_at[r] = end
        for p in range(blocks.place[c] + 1):
            if mask[blocks.members[block[c], p]]:
                new_pool[end] = pool[pool_at[c] + p]
                end += 1
        norms2[r] = new_pool[end - 1]
    return new_pool, new_at, norms2


@compiled
def _combine(cuts, alpha):  # type: ignore[no-untyped-def]
    cuts.w[:] = 0.0
    for c in range(alpha.shape[0]):
        if alpha[c] != 0.0:
            for j in range(cuts.start[c], cuts.start[c + 1]):
                cuts.w[cuts.indices[j]] += alpha[c] * cuts.data[j]


def most_violated(H: np.ndarray, chosen: np.ndarray, lengths: np.ndarray, quota: float) -> np.ndarray:
    """The chosen cuts in the order of their H as far as their lengths fit into the quota, at least one."""
    if lengths.sum() <= quota:
        return chosen
    order = np.argsort(-H[chosen], kind="stable")
    most = max(1, int(np.searchsorted(np.cumsum(lengths[order]), quota, side="right")))
    return np.sort(chosen[order[:most]])


class RowStore:
    """Cuts as sparse rows of an explicit feature space."""

    def __init__(self, problem: Problem | AdaptedProblem, n_weights: int) -> None:
        self.problem = adapt(problem)
        if n_weights >= 2**31:
            raise ValueError(
                f"problem {self.problem.name!r} has {n_weights} weights, but cuts are kept with column "
                "numbers below 2^31: use fewer features, or hash them"
            )
        self.w = np.zeros(n_weights)
        self.m = 0
        self._data, self._indices = np.empty(1024), np.empty(1024, dtype=np.int32)
        self._start = np.zeros(256, dtype=np.int64)
        self._pool, self._pool_at = np.empty(1024), np.zeros(256, dtype=np.int64)
        self._norms2 = np.empty(256)
        self._scratch = np.zeros(n_weights)
        self._given: tuple[Any, Any] = ((), ())  # the examples of a stream

    @property
    def cuts(self) -> SparseCuts:
        return SparseCuts(self._data, self._indices, self._start, self.w, self._pool, self._pool_at)

    def spare(self) -> SparseCuts:
        """`cuts` with a w of their own, which is 0."""
        return self.cuts._replace(w=np.zeros(len(self.w)))

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
        return self._norms2[: self.m]

    def admit(self, X: Sequence[Any], Y: Sequence[Any], alpha: np.ndarray) -> None:
        """Remember the examples: there may be so many by now that searches leave rows out."""
        self._given = X, Y

    @property
    def entries(self) -> int:
        """The entries of all rows that are held, other than 0."""
        return int(self._start[self.m])

    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray:
        """Those of the chosen cuts that may be added now: the most violated where not all have room.

        `cuts` are of a share of the examples, which gets that share of the room: of what is left of `room`
        entries, or of an eighth of them where less is left, since cuts with mass are held in any case.
        """
        quota = share * max(room - self.entries, room // MIN_ROOM)
        return most_violated(cuts.H, chosen, np.diff(cuts.rows.indptr)[chosen], quota)

    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None:
        rows = self._made(cuts) if cuts.rows is None else cuts.rows
        count = rows.shape[0]
        end, used = self._start[self.m], rows.nnz
        self._data, self._indices = grown(self._data, end + used), grown(self._indices, end + used)
        self._start = grown(self._start, self.m + count + 1)
        lengths = np.diff(rows.indptr)
        scale = np.repeat(cuts.scale, lengths)
        np.multiply(rows.data[: rows.indptr[-1]], scale, out=self._data[end : end + used])
        self._indices[end : end + used] = rows.indices[: rows.indptr[-1]]
        self._start[self.m + 1 : self.m + count + 1] = end + rows.indptr[1:]
        self.m += count

    def link(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        place = blocks.place
        need = np.zeros(self.m - first + 1, dtype=np.int64)
        np.cumsum(place[first : self.m] + 1, out=need[1:])
        base = 0 if first == 0 else int(self._pool_at[first - 1] + place[first - 1] + 1)
        self._pool = grown(self._pool, base + int(need[-1]))
        self._pool_at, self._norms2 = grown(self._pool_at, self.m), grown(self._norms2, self.m)
        self._pool_at[first : self.m] = base + need[:-1]
        self._fill_pool(first, block, blocks)

    def _made(self, cuts: Cuts) -> sp.csr_matrix:
        """The rows of cuts whose search left them out."""
        batch = self.problem.batch(*([given[i] for i in cuts.example] for given in self._given))
        assert batch is not None
        return batch.rows(np.arange(len(cuts.example)), cuts.outputs)

    def _fill_pool(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        _link(self.cuts, first, block, blocks, self._scratch, self._norms2)

    def keep(self, mask: np.ndarray, block: np.ndarray, blocks: Blocks) -> np.ndarray:
        """Drop the cuts outside the mask; returns the numbers of the others, in their new order.

        `block` and `blocks` are as they were before. Products within a block do not change.
        """
        of_block = np.bincount(block[mask])
        length = int(of_block @ (of_block + 1)) // 2
        kept = self._compact(mask, block)
        self._pool, self._pool_at, self._norms2 = _kept_products(
            self._pool, self._pool_at, block, blocks, mask, kept, length
        )
        self.m = len(kept)
        return kept

    def _compact(self, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Drop the rows outside the mask, in place; returns the numbers of the others, in their new order."""
        kept = np.flatnonzero(mask)
        _compact(self._data, self._indices, self._start, kept)
        return kept

    def refresh(self, alpha: np.ndarray) -> None:
        _combine(self.cuts, alpha)

    def scale(self, factor: float) -> None:
        self.w *= factor

    def _whole(self) -> sp.csr_matrix:
        """All cuts as an (m, d) matrix that shares memory with the store."""
        end = self._start[self.m]
        arrays = (self._data[:end], self._indices[:end], self._start[: self.m + 1])
        return sp.csr_matrix(arrays, shape=(self.m, len(self.w)), copy=False)

    def matrix(self, chosen: np.ndarray) -> sp.csr_matrix:
        """The rows a_c of the chosen cuts, as a copy."""
        return self._whole()[chosen]

    def gram(self) -> np.ndarray:
        A = self._whole()
        return np.asarray((A @ A.T).toarray())

    def beyond_lengths(self) -> None:
        """None: products of explicit rows never exceed those of their lengths."""
        return None

    def rounding(self, alpha: np.ndarray) -> float:
        """0: search and model compute in the same numbers."""
        return 0.0

    def scorer(self, alpha: np.ndarray) -> LinearScorer:
        return LinearScorer(self.problem, self.w)

    def model(self, alpha: np.ndarray) -> LinearScorer:
        return LinearScorer(self.problem, self.w.copy())


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
        if self.m > len(self._q):
            size = max(self.m, min(2 * len(self._q), len(self._q) + 2**10))
            larger = np.empty((size, size))
            larger[:before, :before] = self._G[:before, :before]
            self._G, self._q = larger, grown(self._q, size)
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
