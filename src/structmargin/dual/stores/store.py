"""The growing set of cuts and their combination w = sum_c alpha_c a_c: what every store does.

A cut is a scaled difference a = s * (Psi(x, y) - Psi(x, ybar)). `working_set.py` asks every store for
the same few things: `extend` by new cuts, `keep` some of them, `cuts` (what `ascent.py` works on),
`refresh` the combination from alpha, and the `scorer` it stands for: as long as training goes on, and
the `model` that outlives it. A stream of examples has them `admit` further ones: X and Y then hold the known
examples first.

Cuts are explicit rows (`row_store.py`), short rows over parts (`part_store.py`), products of factors
(`product_store.py`, `tensor_store.py`), or known by a joint kernel alone (`gram_store.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts, FactoredRows
from structmargin.dual.blocks import Blocks

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


def most_violated(H: np.ndarray, chosen: np.ndarray, lengths: np.ndarray, quota: float) -> np.ndarray:
    """The chosen cuts in the order of their H as far as their lengths fit into the quota, at least one."""
    if lengths.sum() <= quota:
        return chosen
    order = np.argsort(-H[chosen], kind="stable")
    most = max(1, int(np.searchsorted(np.cumsum(lengths[order]), quota, side="right")))
    return np.sort(chosen[order[:most]])
