"""The localization kernel: chi-squared between the pyramids of two boxes (jkse09 Section 5.1, Figure 2).

    additive      k = sum over bins of 2 h h' / (h + h')                      gamma = None
    exponential   k = exp(-gamma sum over bins of (h - h')^2 / (h + h'))

over the pyramids h, h' of the first boxes of y and y', as in `problems.localization` (whose linear kernel is
the inner product of its own Psi). With normalise "cell" or "box" a pyramid in full sums to 1, so that the
additive kernel of a box with itself is 1 and the exponent is at most 2 gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.oracles.box_search_chi2 import additive_scan, additive_table, chi2_rows, exponential_scan
from structmargin.problems.localization.boxes import KINDS, as_input, pyramids


class Memory:
    """Pyramids already made, by image and box, and the last expansion met; shared by copies, not pickled."""

    def __init__(self) -> None:
        self.images: dict[int, Any] = {}
        self.rows: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}
        self.packed: tuple[Any, Any, int, Any] | None = None
        self.expansion: tuple[Any, Any, Any, int, Any] | None = None

    def __deepcopy__(self, memo: Any) -> Memory:
        return self

    def __reduce__(self) -> tuple[type[Memory], tuple[()]]:
        return Memory, ()


@dataclass(frozen=True)
class BoxChi2:
    """`gamma` None for the additive kernel, else the exponential one's."""

    n_words: int
    levels: int = 4
    normalise: str = "cell"
    gamma: float | None = None
    memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.normalise not in KINDS:
            raise ValueError(f"normalise must be one of {', '.join(KINDS)}, but it is {self.normalise!r}")
        if self.gamma is not None and not 0.0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be None or a finite number above 0, but it is {self.gamma!r}")

    def gram(self, X: Any, Y: Any, X2: Any, Y2: Any) -> np.ndarray:
        """The kernel between two lists of pairs; a pair that occurs again is worked out once."""
        (left, row), (right, column) = self._pack(X, Y), self._pack(X2, Y2)
        width = left.shape[1]
        m = chi2_rows(left.indices, left.data, left.indptr, right.indices, right.data, right.indptr, width)
        if self.gamma is not None:
            mass = np.asarray(left.sum(axis=1)) + np.asarray(right.sum(axis=1)).T
            m = np.exp(-self.gamma * (mass - 2.0 * m))
        return m[np.ix_(row, column)]

    def potentials(self, problem: Any, x: Any, X: Any, Y: Any, coef: np.ndarray) -> np.ndarray:
        """Scores (m,) of all boxes of x under sum_j coef_j k((x_j, y_j), .)."""
        words, windows = as_input(x)
        tables, at, owner, value, coef, mass = self._expansion(X, Y, coef)
        shape, support = (self.levels, KINDS[self.normalise], self.n_words), (at, owner, value, coef)
        if self.gamma is not None:
            return exponential_scan(words, windows, *shape, *support, mass, float(self.gamma))
        scores = []
        for window in windows:
            size = int(window[0]), int(window[1])
            if size not in tables:
                tables[size] = additive_table(window, self.levels, self.n_words)
            scores.append(additive_scan(words, window, *shape, *support, *tables[size]))
        return np.concatenate(scores)

    def _expansion(self, X: Any, Y: Any, coef: np.ndarray) -> Any:
        """Tables by size; the support bin by bin, as at, owner and value; coefficients; masses."""
        kept = self.memory.expansion
        if kept is not None and kept[0] is X and kept[1] is Y and kept[2] is coef and kept[3] == len(X):
            return kept[4]
        rows, which = self._pack(X, Y)
        total = np.bincount(which, weights=np.asarray(coef, dtype=float), minlength=rows.shape[0])
        bins = rows.tocsc()
        mass = np.asarray(rows.sum(axis=1)).ravel()
        tables: dict[tuple[int, int], Any] = {}
        at, owner = bins.indptr.astype(np.int64), bins.indices.astype(np.int64)
        found = tables, at, owner, bins.data, total, mass
        self.memory.expansion = (X, Y, coef, len(X), found)
        return found

    def _pack(self, X: Any, Y: Any) -> tuple[sp.csr_matrix, np.ndarray]:
        """(pyramids of the distinct pairs, the row of each pair)."""
        kept = self.memory.packed
        if kept is not None and kept[0] is X and kept[1] is Y and kept[2] == len(X):
            return kept[3]
        place: dict[tuple[int, bytes], int] = {}
        which = np.empty(len(X), dtype=np.int64)
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        for j, (x, y) in enumerate(zip(X, Y, strict=True)):
            key = id(x[0]), np.asarray(y, dtype=np.int64)[0].tobytes()
            if key not in place:
                place[key] = len(parts)
                parts.append(self._row(key, x, y))
            which[j] = place[key]
        start = np.concatenate([[0], np.cumsum([len(bins) for bins, _ in parts])]).astype(np.int64)
        bins = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
        values = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
        width = self.levels * (self.levels + 1) * (2 * self.levels + 1) // 6 * self.n_words
        packed = sp.csr_matrix((values, bins, start), shape=(len(parts), width)), which
        if len(X) > 1:
            self.memory.packed = (X, Y, len(X), packed)
        return packed

    def _row(self, key: tuple[int, bytes], x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        memory = self.memory
        if memory.images.get(key[0]) is not x[0]:  # a new image, or another at an old one's address
            memory.images[key[0]] = x[0]
            memory.rows = {k: v for k, v in memory.rows.items() if k[0] != key[0]}
        if key not in memory.rows:
            row = pyramids([x], [y], self.n_words, self.levels, KINDS[self.normalise])
            memory.rows[key] = row.indices.astype(np.int64), row.data
        return memory.rows[key]
