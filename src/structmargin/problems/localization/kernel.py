"""The localization kernel: chi-squared between the pyramids of two boxes (jkse09 Section 5.1, Figure 2).

    additive      k = sum over bins of 2 h h' / (h + h')                      gamma = None
    exponential   k = exp(-gamma sum over bins of (h - h')^2 / (h + h'))

over the pyramids h, h' of the first boxes of y and y', as in `problems.localization` (whose linear kernel is
the inner product of its own Psi). With normalise "cell" or "box" a pyramid in full sums to 1, so that the
additive kernel of a box with itself is 1 and the exponent is at most 2 gamma. With gamma = "mean" the
exponent is the distance over its mean between the training pairs, as was usual in computer vision at the
time (Zhang, Marszalek, Lazebnik and Schmid 2007).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.oracles.box_search import n_cells
from structmargin.oracles.box_search_chi2 import (
    Pyramid,
    Support,
    additive_scan,
    additive_table,
    chi2_rows,
    exponential_scan,
)
from structmargin.problems._memory import KernelMemory
from structmargin.problems.localization.boxes import KINDS, Image, as_input, pyramids, require_known_words

Images = Sequence[Image]
Boxes = Sequence[np.ndarray]
MEAN = "mean"
"""The gamma that training pairs decide."""
ROUNDING = 1e-12
"""A mean distance below this is that of pairs that are all alike."""


_STORING = threading.Lock()
"""Held while a pyramid is stored: searches run side by side. One for all stores, which are pickled."""


class PackedBoxes(NamedTuple):
    """The pyramids of the distinct pairs of a list, and the row of each pair."""

    pyramids: sp.csr_matrix  # (distinct pairs, bins)
    which: np.ndarray  # (n,) int64


class BoxExpansion(NamedTuple):
    """What an expansion amounts to for any x."""

    support: Support
    tables: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]  # of `additive_table`, by height and width


class Pyramids:
    """Pyramids already made, by image and box: sorted bins and their values."""

    def __init__(self) -> None:
        self.images: dict[int, np.ndarray] = {}
        self.sparse: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray]] = {}


Memory = KernelMemory[PackedBoxes, BoxExpansion, Pyramids]


@dataclass(frozen=True)
class BoxChi2:
    """The chi-squared kernel between the pyramids of two boxes, for `Localization`.

        additive      k = sum over bins of 2 h h' / (h + h')                      gamma = None
        exponential   k = exp(-gamma sum over bins of (h - h')^2 / (h + h'))

    where h and h' are the pyramids of visual words in the first boxes of y and y', as in `Localization`. With
    normalise "cell" or "box" a pyramid full of words sums to 1: the additive kernel of a box with itself is
    then 1, and the exponent at most 2 gamma.

    Parameters
    ----------
    n_words : int
        The number of visual words.
    levels : int, default=4
        The levels of the pyramid.
    normalise : {"none", "cell", "box"}, default="cell"
        What counts are divided by, as for `Localization`.
    gamma : float or "mean", default=None
        The inverse width of the exponential kernel; None for the additive one. "mean": one over the mean
        distance between two of the training pairs, which `bind` learns.

    References
    ----------
    .. [1] Lampert and Blaschko, "Structured prediction by joint kernel support estimation", Machine Learning
       77, 2009, Section 5.1.
    .. [2] Zhang, Marszalek, Lazebnik and Schmid, "Local features and kernels for classification of
       texture and object categories", International Journal of Computer Vision 73, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin.problems.localization.kernel import BoxChi2
    >>> words = np.array([[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> x = (words, np.array([[2, 2, 1]]))
    >>> boxes = [np.array([[0, 0, 2, 2]]), np.array([[0, 1, 2, 3]])]
    >>> BoxChi2(n_words=2, levels=1).gram([x, x], boxes, [x, x], boxes).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    n_words: int
    levels: int = 4
    normalise: str = "cell"
    gamma: float | str | None = None
    memory: Memory = field(
        default_factory=lambda: KernelMemory(Pyramids()), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.n_words < 1 or self.levels < 1:
            raise ValueError(
                f"n_words and levels must be at least 1, but they are {self.n_words} and {self.levels}"
            )
        if self.normalise not in KINDS:
            raise ValueError(f"normalise must be one of {', '.join(KINDS)}, but it is {self.normalise!r}")
        number = isinstance(self.gamma, (int, float)) and 0.0 < self.gamma < np.inf
        if not (self.gamma is None or self.gamma == MEAN or number):
            raise ValueError(
                f"gamma must be None, {MEAN!r} or a finite number above 0, but it is {self.gamma!r}"
            )

    def bind(self, X: Images, Y: Boxes) -> BoxChi2:
        """The kernel with its gamma learnt from training pairs, where it is "mean"; otherwise itself.

        Pairs that are all alike have no distance to scale by: gamma is 1 then.
        """
        if self.gamma != MEAN:
            return self
        distances = self._distances(X, Y, X, Y)
        n = len(distances)
        mean = (distances.sum() - np.trace(distances)) / max(n * (n - 1), 1)
        bound = replace(self, gamma=float(1.0 / mean) if mean > ROUNDING else 1.0)
        bound.memory.packed.set(self._pack(X, Y), X, Y)
        return bound

    def check_expansion(self, problem: Any, X: Images, Y: Boxes, coef: np.ndarray, max_bytes: int) -> None:
        """Raise unless the pyramids fit into memory, and gamma is known: for expansions from a file."""
        self._known_gamma()
        if 8 * n_cells(self.levels) * self.n_words * max(len(coef), 1) > max_bytes:
            raise ValueError(f"pyramids of {self.levels} levels need more than {max_bytes} bytes")
        for i, x in enumerate(X):
            require_known_words(as_input(x)[0], self.n_words, f"example {i}")

    def gram(self, X: Images, Y: Boxes, X2: Images, Y2: Boxes) -> np.ndarray:
        """The kernel between two lists of pairs; a pair that occurs again is worked out once."""
        gamma = self._known_gamma()
        if gamma is None:
            return self._unique(X, Y, X2, Y2, lambda m, mass: m)
        return self._unique(X, Y, X2, Y2, lambda m, mass: np.exp(-gamma * (mass - 2.0 * m)))

    def potentials(self, problem: object, x: Image, X: Images, Y: Boxes, coef: np.ndarray) -> np.ndarray:
        """Scores (m,) of all boxes of x under sum_j coef_j k((x_j, y_j), .)."""
        words, windows = as_input(x)
        require_known_words(words, self.n_words, "this example")
        support, tables = self._expansion(X, Y, coef)
        gamma = self._known_gamma()
        if gamma is not None:
            exponential: np.ndarray = exponential_scan(words, windows, self._pyramid, support, gamma)
            return exponential
        scores = []
        for window in windows:
            size = int(window[0]), int(window[1])
            if size not in tables:
                tables[size] = additive_table(window, self._pyramid)
            scores.append(additive_scan(words, window, self._pyramid, support, *tables[size]))
        return np.concatenate(scores)

    def _known_gamma(self) -> float | None:
        """gamma as a number, or None; an error where it is still to be learnt."""
        if self.gamma is None:
            return None
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma is {self.gamma!r}, which training pairs decide: call bind(X, Y) first")
        return float(self.gamma)

    def _distances(self, X: Images, Y: Boxes, X2: Images, Y2: Boxes) -> np.ndarray:
        """The chi-squared distances between two lists of pairs."""
        return self._unique(X, Y, X2, Y2, lambda m, mass: mass - 2.0 * m)

    def _unique(
        self,
        X: Images,
        Y: Boxes,
        X2: Images,
        Y2: Boxes,
        value: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """value(m, |h| + |h'|) between two lists of pairs, with m of `chi2_rows`."""
        (left, row), (right, column) = self._pack(X, Y), self._pack(X2, Y2)
        width = left.shape[1]
        m = chi2_rows(left.indices, left.data, left.indptr, right.indices, right.data, right.indptr, width)
        mass = np.asarray(left.sum(axis=1)) + np.asarray(right.sum(axis=1)).T
        gram: np.ndarray = value(m, mass)[np.ix_(row, column)]
        return gram

    @property
    def _pyramid(self) -> Pyramid:
        return Pyramid(self.levels, KINDS[self.normalise], self.n_words)

    def _expansion(self, X: Images, Y: Boxes, coef: np.ndarray) -> BoxExpansion:
        """sum_j coef_j k((x_j, y_j), .) with equal pairs added up, computed once."""
        known = self.memory.expansion.get(X, Y, coef)
        if known is not None:
            return known
        rows, which = self._pack(X, Y)
        total = np.bincount(which, weights=np.asarray(coef, dtype=float), minlength=rows.shape[0])
        total = total.astype(float)  # whole numbers where there are no coefficients
        bins = rows.tocsc()
        mass = np.asarray(rows.sum(axis=1)).ravel()
        start, owner = bins.indptr.astype(np.int64), bins.indices.astype(np.int64)
        support = Support(start, owner, bins.data, total.astype(float), mass)
        return self.memory.expansion.set(BoxExpansion(support, {}), X, Y, coef)

    def _pack(self, X: Images, Y: Boxes) -> PackedBoxes:
        known = self.memory.packed.get(X, Y)
        if known is not None:
            return known
        place: dict[tuple[int, bytes], int] = {}
        which = np.empty(len(X), dtype=np.int64)
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        for j, (x, y) in enumerate(zip(X, Y, strict=True)):
            key = id(x[0]), np.asarray(y, dtype=np.int64)[0].tobytes()
            if key not in place:
                place[key] = len(parts)
                parts.append(self._sparse_pyramid(key, x, y))
            which[j] = place[key]
        start = np.concatenate([[0], np.cumsum([len(bins) for bins, _ in parts])]).astype(np.int64)
        bins = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
        values = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
        width = n_cells(self.levels) * self.n_words
        packed = PackedBoxes(sp.csr_matrix((values, bins, start), shape=(len(parts), width)), which)
        if len(X) > 1:
            self.memory.packed.set(packed, X, Y)
        return packed

    def _sparse_pyramid(
        self, key: tuple[int, bytes], x: Image, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The sorted bins of a pair's pyramid and their values; the key is (the image's id, the box)."""
        store = self.memory.store
        with _STORING:
            if store.images.get(key[0]) is not x[0]:  # a new image, or another at an old one's address
                store.images[key[0]] = x[0]
                store.sparse = {k: v for k, v in store.sparse.items() if k[0] != key[0]}
            if key not in store.sparse:
                row = pyramids([x], [y], self.n_words, self.levels, KINDS[self.normalise])
                store.sparse[key] = row.indices.astype(np.int64), row.data
            return store.sparse[key]
