"""Cuts of problems with Psi(x, y) = Phi(x) ⊗ Lambda(y): kept as labels, never as rows.

A problem says so by `factors(X)`, which returns the matrix of all Phi(x_i) (n, D) and that of all
Lambda(y) (K, L); outputs are then class numbers, and w is W.ravel() for W of shape (D, L).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.compiled import compiled
from structmargin.cuts import Cuts, FactoredRows
from structmargin.dual.blocks import Blocks
from structmargin.dual.compiled_cuts import TensorCuts, close_block, move
from structmargin.dual.stores.store import Narrow, grown
from structmargin.problem import Problem
from structmargin.scorer import LinearScorer


class ClassCuts:
    """What is kept of a cut of one class: its example, the wrong class and the scale, for m cuts."""

    def __init__(self) -> None:
        self.m = 0
        self.example, self.ybar = np.zeros(256, dtype=np.int32), np.zeros(256, dtype=np.int32)
        self.scale = np.empty(256)

    def extend(self, cuts: Cuts) -> None:
        """Append cuts."""
        first, self.m = self.m, self.m + len(cuts.scale)
        for name, values in (("example", cuts.example), ("ybar", cuts.outputs), ("scale", cuts.scale)):
            array = grown(getattr(self, name), self.m)
            array[first : self.m] = values
            setattr(self, name, array)

    def keep(self, mask: np.ndarray) -> None:
        """Drop the cuts outside the mask."""
        for name in ("example", "ybar", "scale"):
            setattr(self, name, grown(getattr(self, name)[: self.m][mask], 256))
        self.m = int(mask.sum())

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(example, ybar, scale) of the m cuts."""
        return self.example[: self.m], self.ybar[: self.m], self.scale[: self.m]

    def norms2(self, norm2: np.ndarray, M: np.ndarray, label: np.ndarray) -> np.ndarray:
        """|a_c|^2 of each cut, from |Phi(x_i)|^2 (n,) and the products M (K, K) of the Lambda(y)."""
        example, ybar, scale = self.arrays()
        y = label[example]
        return np.asarray(norm2[example] * scale**2 * (M[y, y] - 2.0 * M[y, ybar] + M[ybar, ybar]))


@compiled
def combine_blocks(cuts, blocks, alpha):  # type: ignore[no-untyped-def]
    """w += sum_c alpha_c a_c, block by block."""
    for i in range(blocks.size.shape[0]):
        for p in range(blocks.size[i]):
            c = blocks.members[i, p]
            if alpha[c] != 0.0:
                move(cuts, c, alpha[c])
        close_block(cuts, i)


class TensorStore:
    """One block an example; a cut is its example, a wrong label and a scale."""

    def __init__(self, problem: Problem | AdaptedProblem, X: Any, Y: Any) -> None:
        self.problem = adapt(problem)
        self.admit(X, Y, np.empty(0))
        D, L = self.phi.shape[1], self.Lambda.shape[1]
        self.w = np.zeros(D * L)
        self.class_cuts = ClassCuts()
        self._u, self._change = np.zeros(L), np.zeros(L + 1)
        self._blocks: Blocks | None = None

    def admit(self, X: Any, Y: Any, alpha: np.ndarray) -> None:
        """The factors of all examples; those of the cuts held come first, in the same order."""
        assert self.problem.factors is not None
        phi, Lambda = (sp.csr_matrix(part, dtype=float) for part in self.problem.factors(X))
        self.phi, self.Lambda = phi, Lambda
        self._norm2 = np.asarray(phi.multiply(phi).sum(axis=1)).ravel()
        self._M = np.asarray((Lambda @ Lambda.T).toarray())
        self._label = np.asarray(Y, dtype=np.int32)
        self._start, self._map_start = phi.indptr.astype(np.int64), Lambda.indptr.astype(np.int64)
        self._indices, self._map_indices = phi.indices.astype(np.int32), Lambda.indices.astype(np.int32)
        assert phi.shape[0] == len(self._label)

    @property
    def cuts(self) -> TensorCuts:
        return TensorCuts(
            self.phi.data, self._indices, self._start, self._norm2,
            self.w.reshape(self.phi.shape[1], -1),
            self.Lambda.data, self._map_indices, self._map_start, self._M,
            self._label, self.class_cuts.example, self.class_cuts.ybar, self.class_cuts.scale,
            self._u, self._change,
        )  # fmt: skip

    def spare(self) -> TensorCuts:
        """`cuts` with a w of their own, which is 0."""
        return self.cuts._replace(W=np.zeros((self.phi.shape[1], self.Lambda.shape[1])))

    def narrow(self, block: np.ndarray) -> None:
        """None: a step costs the same however few examples have cuts."""
        return None

    def class_losses(self) -> np.ndarray | None:
        """The losses of all pairs of labels (K, K), if the problem knows them: see `all_labels.py`."""
        known = self.problem.class_losses
        return None if known is None else np.asarray(known(), dtype=float)

    def carry_out(self, narrow: Narrow, blocks: Blocks, change: np.ndarray) -> None:
        """Never asked for, as there is no `narrow`."""

    @property
    def norms2(self) -> np.ndarray:
        return self.class_cuts.norms2(self._norm2, self._M, self._label)

    entries = 0  # a cut takes three numbers, which do not count

    def affordable(self, cuts: Cuts, chosen: np.ndarray, room: int, share: float) -> np.ndarray:
        """All of the chosen cuts."""
        return chosen

    def extend(self, cuts: Cuts, alpha: np.ndarray) -> None:
        self.class_cuts.extend(cuts)

    def link(self, first: int, block: np.ndarray, blocks: Blocks) -> None:
        self._blocks = blocks

    def keep(self, mask: np.ndarray, block: np.ndarray, blocks: Blocks) -> np.ndarray:
        """Drop the cuts outside the mask; returns the numbers of the others, in their new order."""
        self.class_cuts.keep(mask)
        return np.flatnonzero(mask)

    def refresh(self, alpha: np.ndarray) -> None:
        self.w[:] = 0.0
        if self._blocks is not None:
            combine_blocks(self.cuts, self._blocks, alpha)

    def scale(self, factor: float) -> None:
        self.w *= factor

    def matrix(self, chosen: np.ndarray) -> FactoredRows:
        """The rows a_c of the chosen cuts, as factors."""
        example, ybar, scale = (part[chosen] for part in self.class_cuts.arrays())
        difference = sp.diags(scale) @ (self.Lambda[self._label[example]] - self.Lambda[ybar])
        used, example = np.unique(example, return_inverse=True)
        return FactoredRows(self.phi[used], sp.csr_matrix(difference), example)

    def gram(self) -> np.ndarray:
        example, ybar, s = self.class_cuts.arrays()
        apart = (self.Lambda[self._label[example]] - self.Lambda[ybar]).toarray()
        phi = self.phi[example]
        return np.asarray((phi @ phi.T).toarray() * (apart @ apart.T) * s[:, None] * s[None, :])

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
