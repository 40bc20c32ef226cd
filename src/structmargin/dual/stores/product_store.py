"""Cuts in the space of a kernel with product structure, k((x, y), (z, y')) = kx(x, z) L[y, y'].

For problems whose outputs are class numbers. What is kept are rows of the n x n matrix of kx over all
examples and the label of each cut, never the products of cuts with cuts; scores of all examples are at hand
after every step, as in the decomposition methods for the SVM of two classes. A row is computed when its
example gets its first cut: examples that are never violated need none.

A matrix of up to DOUBLE_BYTES is of float64. A larger one is rounded to float32, once and for all: search,
dual and primal are then those of the rounded kernel, which differs from kx by less than 1e-7 of each value,
while sums are of float64 always.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import ProductCuts
from structmargin.dual.stores.store import Narrow
from structmargin.dual.stores.tensor_store import ClassCuts, combine_blocks
from structmargin.kernels import beyond_lengths, require_shape
from structmargin.problem import Problem
from structmargin.scorer import ClassScorer, picked

DOUBLE_BYTES = 2**28
"""The size up to which a kernel matrix is of float64: that of 5,792 examples."""

BLOCK = 512
"""Rows and columns of the kernel matrix that are computed at a time."""

AHEAD = 64
"""So many rows at least are computed together: one alone costs as much as several."""

N_COMPARED = 256
"""New rows are held against so many: |kx(x, z)|^2 may not exceed kx(x, x) kx(z, z)."""

MIN_NEW_ROWS = 512
"""So many examples may get their first cuts in a pass, or as many as had cuts before if these are more."""


MIN_NARROW = 2
"""An ascent works on the kernel between examples with cuts alone where n is at least so many times these."""


@compiled
def gathered(K, rows, columns):  # type: ignore[no-untyped-def]
    """K[rows][:, columns] as a matrix of float64."""
    out = np.empty((rows.shape[0], columns.shape[0]))
    for i in range(rows.shape[0]):
        row = K[rows[i]]
        for j in range(columns.shape[0]):
            out[i, j] = row[columns[j]]
    return out


def _untouched(n: int, dtype: Any) -> np.ndarray:
    """An (n, n) matrix that takes no memory where nothing is written to it."""
    try:
        return np.empty((n, n), dtype=dtype)
    except MemoryError as error:
        raise MemoryError(
            f"the kernel matrix of {n} examples may need {n * n * np.dtype(dtype).itemsize / 2**30:.0f} GB: "
            "train on fewer examples, or with explicit features"
        ) from error


class KernelRows:
    """Rows of the matrix of kx between n inputs, computed when they are first needed.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        The rows in the order in which they were computed; what follows them takes no memory yet.
    place : ndarray of int32, shape (n,)
        Which row of K is that of example i; -1 where it is not known.
    known : int
        How many rows are.
    """

    def __init__(self, kx: Callable[[Any, Any], np.ndarray], X: Any, n: int) -> None:
        self.kx, self.X = kx, X
        self.K = _untouched(n, np.float64 if 8 * n * n <= DOUBLE_BYTES else np.float32)
        self.place, self.known = np.full(n, -1, dtype=np.int32), 0

    def __getstate__(self) -> dict[str, Any]:
        """A copy or a pickle has the rows that are known, not the room for the others."""
        return {**self.__dict__, "K": self.K[: self.known]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        rows = self.K
        self.K = _untouched(len(self.place), rows.dtype)
        self.K[: self.known] = rows

    def compute(self, examples: np.ndarray) -> None:
        """See to it that the rows of these examples are known."""
        wanted = np.zeros(len(self.place), dtype=bool)
        wanted[examples] = True
        new = np.flatnonzero(wanted & (self.place < 0))
        if len(new) == 1:
            first = new[0] - new[0] % AHEAD
            new = first + np.flatnonzero(self.place[first : first + AHEAD] < 0)
        n = len(self.place)
        for first in range(0, len(new), BLOCK):
            part = new[first : first + BLOCK]
            rows, inputs = slice(self.known, self.known + len(part)), picked(self.X, part)
            for column in range(0, n, BLOCK):
                columns = slice(column, min(column + BLOCK, n))
                values = self.kx(inputs, self.X[columns])
                self.K[rows, columns] = require_shape(values, len(part), columns.stop - columns.start)
            self.place[part] = np.arange(rows.start, rows.stop)
            self.known = rows.stop

    def of(self, examples: np.ndarray) -> np.ndarray:
        """A copy of the rows of some examples, which must be known: (m, n) of float64."""
        rows: np.ndarray = self.K[self.place[examples]]
        return rows.astype(float, copy=False)


class TrainingScorer:
    """The scorer of a store at its present w: training examples by number, other inputs by expansion.

    It sees the steps that are taken after it was made as far as training examples go.
    """

    w = None

    def __init__(self, store: ProductStore, alpha: np.ndarray) -> None:
        self._store, self._alpha = store, alpha

    def of_training(self, examples: np.ndarray) -> np.ndarray:
        """The scores of all classes for training examples, given by number: (m, K)."""
        return self._store.scores(examples)

    @cached_property
    def _model(self) -> ClassScorer:
        return self._store.model(self._alpha)

    def __call__(self, x: Any, y: Any) -> float:
        return self._model(x, y)

    def potentials(self, x: Any) -> np.ndarray:
        return self._model.potentials(x)


class ProductStore:
    """One block an example; a cut is its example, a wrong class and a scale.

    A product of two cuts' features is K[i, i'] times that of their classes (see `ProductCuts`).
    """

    def __init__(self, problem: Problem | AdaptedProblem, kernel: Any, X: Any, Y: Any) -> None:
        self.problem, self.kernel = adapt(problem), kernel
        assert self.problem.factors is not None
        n_classes = self.problem.factors(X)[1].shape[0]
        self._kx, L = kernel.factors(n_classes)
        self.class_cuts = ClassCuts()
        self._M, self._L = np.ascontiguousarray(L), sp.csr_matrix(L)
        self._map_start, self._map_indices = (
            self._L.indptr.astype(np.int64),
            self._L.indices.astype(np.int32),
        )
        self._u, self._change = np.zeros(n_classes), np.zeros(n_classes + 1)
        self._hold(X, Y)

    def _hold(self, X: Any, Y: Any) -> None:
        """Make room for the examples; nothing is known of them yet."""
        n = len(Y)
        self.X, self._label = X, np.asarray(Y, dtype=np.int32)
        self._rows, self._compared = KernelRows(self._kx, X, n), 0
        self._norm2 = np.zeros(n)
        self._order = np.random.default_rng(0).permutation(n)
        self._Z = np.zeros((len(self._M), n))

    def admit(self, X: Any, Y: Any, alpha: np.ndarray) -> None:
        """Further examples: rows of the kernel are computed anew over all of them, for the cuts held.

        The scores of all examples are found from alpha.
        """
        self._hold(X, Y)
        self._know(self.class_cuts.arrays()[0])
        self.refresh(alpha)

    @property
    def cuts(self) -> ProductCuts:
        return ProductCuts(
            self._rows.K, self._rows.place, self._norm2, self._Z,
            self._L.data, self._map_indices, self._map_start, self._M, self._label,
            self.class_cuts.example, self.class_cuts.ybar, self.class_cuts.scale, self._u, self._change,
        )  # fmt: skip

    def spare(self) -> ProductCuts:
        """`cuts` with a Z of their own, which is 0."""
        return self.cuts._replace(Z=np.zeros_like(self._Z))

    def narrow(self, block: np.ndarray) -> Narrow | None:
        """The cuts with the kernel between examples that have any, where these are few: steps cost less.

        None where they are more than 1 / MIN_NARROW of the examples.
        """
        held, number = np.unique(block, return_inverse=True)
        if MIN_NARROW * len(held) > len(self._label):
            return None
        Kx = gathered(self._rows.K, self._rows.place[held], held)
        cuts = self.cuts._replace(
            Kx=Kx, place=np.arange(len(held), dtype=np.int32), norm2=self._norm2[held],
            Z=np.ascontiguousarray(self._Z[:, held]), label=self._label[held], block=number.astype(np.int32),
        )  # fmt: skip
        return Narrow(held, cuts, cuts._replace(Z=np.zeros_like(cuts.Z)))

    def class_losses(self) -> None:
        """None: with a kernel the scores of all labels are not found in one pass."""
        return None

    def carry_out(self, narrow: Narrow, blocks: Blocks, change: np.ndarray) -> None:
        """Bring the scores of all examples up to date after alpha has changed among those of `narrow`."""
        combine_blocks(self.cuts, blocks, change)
        self._Z[:, narrow.held] = narrow.cuts.Z

    @property
    def norms2(self) -> np.ndarray:
        return self.class_cuts.norms2(self._norm2, self._M, self._label)

    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None:
        self._know(cuts.example)
        self.class_cuts.extend(cuts)

    def _know(self, examples: np.ndarray) -> None:
        """See to it that the kernel's rows of these examples are there."""
        self._rows.compute(examples)
        self._norm2[examples] = self._rows.K[self._rows.place[examples], examples]

    def beyond_lengths(self) -> tuple[int, int] | None:
        """Two examples whose kernel exceeds the product of their lengths, if there are any among new rows."""
        place, first = self._rows.place, self._compared
        self._compared = self._rows.known
        known = self._norm2 > 0.0
        new, some = np.flatnonzero(known & (place >= first)), np.flatnonzero(known & (place < N_COMPARED))
        products = self._rows.K[np.ix_(place[new], some)]
        wrong = beyond_lengths(products, self._norm2[new], self._norm2[some])
        return (int(some[wrong[0, 1]]), int(new[wrong[0, 0]])) if len(wrong) else None

    entries = 0  # a cut takes three numbers, which do not count; rows of the kernel are never dropped

    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray:
        """Those of the chosen cuts that may be added now: of few examples that have had none so far.

        The next search, at a better w, finds most of the others satisfied, and their rows are never needed.
        Which examples come first is the same in every run, and has nothing to do with their order.
        """
        wanted = np.zeros(len(self._order), dtype=bool)
        wanted[cuts.example[chosen]] = True
        new = self._order[(wanted & (self._rows.place < 0))[self._order]]
        most = max(MIN_NEW_ROWS, self._rows.known)
        wanted[new[most:]] = False
        taken: np.ndarray = chosen[wanted[cuts.example[chosen]]]
        return taken

    def rounding(self, alpha: np.ndarray) -> float:
        """How far an H under the rounded kernel may lie from that under kx itself; 0 for float64."""
        if self._rows.K.dtype == np.float64 or not len(alpha):
            return 0.0
        weights = np.abs(self.coefficients(alpha) @ self._M).sum(axis=0).max()
        unit = 0.5 * float(np.finfo(self._rows.K.dtype).eps) * float(self._norm2.max())
        return float(2.0 * self.class_cuts.arrays()[2].max() * unit * weights)

    @property
    def rows_known(self) -> int:
        """How many rows of the kernel matrix were computed: those of examples that have had cuts."""
        return self._rows.known

    def link(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        """Nothing to do: the kernel's rows already hold every block's products."""

    def keep(self, mask: np.ndarray, block: np.ndarray, blocks: Blocks) -> np.ndarray:
        """Drop the cuts outside the mask; returns the numbers of the others, in their new order."""
        self.class_cuts.keep(mask)
        return np.flatnonzero(mask)

    def coefficients(self, alpha: np.ndarray) -> np.ndarray:
        """beta (n, K): f(x, y) = sum_i kx(x_i, x) sum_q beta[i, q] L[q, y]."""
        example, ybar, scale = self.class_cuts.arrays()
        beta = np.zeros((len(self._label), len(self._M)))
        np.add.at(beta, (example, self._label[example]), alpha * scale)
        np.add.at(beta, (example, ybar), -alpha * scale)
        return beta

    def refresh(self, alpha: np.ndarray) -> None:
        beta = self.coefficients(alpha)
        used = np.flatnonzero(np.any(beta != 0.0, axis=1))
        self._Z[:] = 0.0
        for first in range(0, len(used), BLOCK):
            rows = used[first : first + BLOCK]
            self._Z += beta[rows].T @ self._rows.of(rows)

    def scale(self, factor: float) -> None:
        self._Z *= factor

    def gram(self) -> np.ndarray:
        example, ybar, scale = self.class_cuts.arrays()
        y, M = self._label[example], self._M
        rows = M[y] - M[ybar]
        G = self._rows.of(example)[:, example] * (rows[:, y] - rows[:, ybar])
        return np.asarray(G * scale[:, None] * scale[None, :], dtype=float)

    def matrix(self, chosen: np.ndarray) -> None:
        """None: the feature space of a kernel has no coordinates."""
        return None

    def scores(self, examples: np.ndarray) -> np.ndarray:
        """The present scores of all classes for some of the examples: (m, K)."""
        every = len(examples) == self._Z.shape[1]
        by_class = self._Z if every and np.all(np.diff(examples) == 1) else self._Z[:, examples]
        scores: np.ndarray = np.ascontiguousarray((self._L @ by_class).T)
        return scores

    def scorer(self, alpha: np.ndarray) -> TrainingScorer:
        return TrainingScorer(self, alpha)

    def model(self, alpha: np.ndarray) -> ClassScorer:
        """The scorer that outlives training: the support examples, once each, and their coefficients."""
        beta = self.coefficients(alpha)
        used = np.flatnonzero(np.any(beta != 0.0, axis=1))
        return ClassScorer(self.problem, self.kernel, picked(self.X, used), beta[used])
