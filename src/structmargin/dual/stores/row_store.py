"""Cuts as sparse rows of an explicit feature space, with the products of a block's cuts in a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import SparseCuts, gathered
from structmargin.dual.stores.store import MIN_ROOM, Narrow, grown, most_violated
from structmargin.problem import Problem
from structmargin.scorer import LinearScorer


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
