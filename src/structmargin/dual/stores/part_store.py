"""Cuts of problems whose Psi is a sum over parts (`parts.py`): kept as short rows over the parts.

A cut of a sequence of T tokens with F features each has up to 2 T F entries as a row, and 2 T and a few as a
short row; and a token's product with w is computed once for all cuts of its example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem
from structmargin.cuts import Cuts
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import PartCuts
from structmargin.dual.part_cuts import link_parts, parts_first
from structmargin.dual.stores.row_store import RowStore, rows_in_order
from structmargin.dual.stores.store import MIN_ROOM, most_violated
from structmargin.dual.stores.tensor_store import combine_blocks
from structmargin.parts import PartRows, Parts

MAX_PER_PART = 12
"""A short row has at most so many entries per part: two labels, and counts that the part has a share in."""


class PartStore(RowStore):
    """One block an example; a cut is a short row over the example's parts, scaled."""

    def __init__(self, problem: AdaptedProblem, n_weights: int, parts: Parts) -> None:
        super().__init__(problem, n_weights)
        self._blocks: Blocks | None = None
        self._block, self._pooled = np.empty(0, dtype=np.int32), 0
        self._hold(parts)

    def _hold(self, parts: Parts) -> None:
        self.parts = parts
        phi, self._direct = parts.phi, parts.longest * parts.n_labels
        self._part_start = phi.indptr.astype(np.int64)
        self._part_columns = phi.indices.astype(np.int32) * np.int32(parts.n_labels)
        self._part, self._label = np.divmod(np.arange(self._direct, dtype=np.int32), np.int32(parts.n_labels))
        self._u, self._change = np.empty(self._direct), np.zeros(self._direct)
        self._known = np.zeros(self._direct, dtype=np.int64)
        self._moved = np.empty(self._direct, dtype=np.int32)
        self._is_moved, self._now = np.zeros(self._direct, dtype=bool), np.zeros(3, dtype=np.int64)

    def admit(self, X: Any, Y: Any, alpha: np.ndarray) -> None:
        """The parts of all examples; those of the cuts held come first, in the same order."""
        batch, before = self.problem.batch(X, Y), self._direct
        assert batch is not None and batch.parts is not None
        self._hold(batch.parts)
        held = self._indices[: self._start[self.m]]
        held[held >= before] += self._direct - before

    @property
    def cuts(self) -> PartCuts:  # type: ignore[override]
        parts = self.parts
        return PartCuts(
            self._data, self._indices, self._start, self.w, self._pool, self._pool_at,
            parts.phi.data, self._part_columns, self._part_start, parts.offsets,
            self._part, self._label, self._direct, parts.phi.shape[1] * parts.n_labels - self._direct,
            self._u, self._known, self._change, self._moved, self._is_moved, self._now,
        )  # fmt: skip

    def spare(self) -> PartCuts:  # type: ignore[override]
        """`cuts` with a w of their own, which is 0."""
        return self.cuts._replace(w=np.zeros(len(self.w)))

    @property
    def entries(self) -> int:
        """The entries of all short rows, and the products of cuts of the same example."""
        return int(self._start[self.m]) + self._pooled

    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray:
        """Those of the chosen cuts that may be added now, as `RowStore` has it."""
        example = cuts.example[chosen]
        quota = share * max(room - self.entries, room // MIN_ROOM)
        width = MAX_PER_PART * self.parts.longest + 1
        if self._blocks is not None:
            width += int(self._blocks.size.max(initial=0))
        if width * len(chosen) <= quota:  # as nearly always: no need to know the lengths
            return chosen
        lengths = np.diff(self.parts.rows(example, [cuts.outputs[c] for c in chosen]).indptr) + 1
        if self._blocks is not None:
            lengths = lengths + self._blocks.size[example]
        return most_violated(cuts.H, chosen, lengths, quota)

    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None:
        before = self.m
        super().extend(cuts._replace(rows=self.parts.rows(cuts.example, cuts.outputs)), alpha)
        parts_first(self._data, self._indices, self._start, before, self.m, self._direct)

    def _compact(self, mask: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Copy the rows, which are short, so that those of an example are side by side."""
        kept = np.flatnonzero(mask)
        kept = kept[np.argsort(block[kept], kind="stable")]
        self._data, self._indices, self._start = rows_in_order(self._data, self._indices, self._start, kept)
        return kept

    def _fill_pool(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        self._block, self._blocks = block, blocks
        self._pooled = int(np.sum(blocks.place[: self.m], dtype=np.int64)) + self.m
        link_parts(self.cuts._replace(w=self._scratch), first, block, blocks, self._norms2)

    def refresh(self, alpha: np.ndarray) -> None:
        self.w[:] = 0.0
        if self._blocks is not None:
            combine_blocks(self.cuts, self._blocks, alpha)

    def matrix(self, chosen: np.ndarray) -> PartRows:
        """The rows a_c of the chosen cuts, as short rows, with the parts of their examples."""
        end, parts = self._start[self.m], self.parts
        arrays = (self._data[:end], self._indices[:end], self._start[: self.m + 1])
        width = self._direct + len(self.w) - parts.phi.shape[1] * parts.n_labels
        short = sp.csr_matrix(arrays, shape=(self.m, width), copy=False)[chosen]
        used, example = np.unique(self._block[chosen], return_inverse=True)
        offsets, phi = parts.offsets, parts.phi
        if len(used) < len(offsets) - 1:
            lengths = np.diff(offsets)[used]
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            phi = phi[np.repeat(parts.offsets[used] - offsets[:-1], lengths) + np.arange(offsets[-1])]
        return PartRows(short, offsets[example], phi, parts.n_labels, parts.longest)

    def gram(self) -> np.ndarray:
        A = self.matrix(np.arange(self.m)).tocsr()
        return np.asarray((A @ A.T).toarray())
