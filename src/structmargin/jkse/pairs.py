"""How JKSE keeps its training pairs psi_i = Psi(x_i, y_i), chosen by `pairs_of`.

RowPairs      psi_i as the rows of a matrix, dense or sparse
FactorPairs   psi_i = phi_i ⊗ Lambda(y_i) without ever forming the product
KernelPairs   a joint kernel between pairs: alpha instead of w
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, adapt, as_row
from structmargin.problem import Problem
from structmargin.scorer import KernelScorer, LinearScorer
from structmargin.training.online import joined

CHUNK = 4096


class _Explicit(ABC):
    """Pairs with explicit psi_i: what follows from a part of them and from their scores."""

    explicit = True
    problem: AdaptedProblem
    n: int

    @abstractmethod
    def part(self, points: np.ndarray) -> Any:
        """These pairs alone."""

    @abstractmethod
    def scores(self, w: np.ndarray) -> np.ndarray:
        """<w, psi_i> of all (n,)."""

    def all_scores(self, alpha: np.ndarray, w: Any) -> np.ndarray:
        return self.scores(w)

    def local(self, points: np.ndarray, alpha: np.ndarray, w: Any) -> tuple[np.ndarray, np.ndarray]:
        subset = self.part(points)
        return subset.gram(), subset.scores(w)

    def scorer(self, alpha: np.ndarray, w: Any) -> LinearScorer:
        return LinearScorer(self.problem, w)


class RowPairs(_Explicit):
    """psi_i is row i of M (n, d), a dense array or a CSR matrix."""

    def __init__(self, problem: AdaptedProblem, M: Any) -> None:
        self.problem, self.M, self.n = problem, M, M.shape[0]

    def part(self, points: np.ndarray) -> RowPairs:
        return RowPairs(self.problem, self.M[points])

    def gram(self) -> np.ndarray:
        G = self.M @ self.M.T
        return np.asarray(G.toarray() if sp.issparse(G) else G)

    def longest(self) -> float:
        if sp.issparse(self.M):
            return float(self.M.multiply(self.M).sum(axis=1).max())
        return float(max(np.einsum("ij,ij->i", part, part).max() for part in _cut(self.M)))

    def scores(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self.M @ w)

    def combine(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if len(points) < 0.1 * self.n:
            return np.asarray(self.M[points].T @ weights)
        whole = np.zeros(self.n)
        whole[points] = weights
        return np.asarray(self.M.T @ whole)

    def joined(self, other: Any) -> RowPairs:
        both = [self.M, other.M]
        put = sp.vstack(both, format="csr") if any(sp.issparse(M) for M in both) else np.vstack(both)
        return RowPairs(self.problem, put)


class FactorPairs(_Explicit):
    """psi_i = phi_i ⊗ Lambda[y_i] for dense phi (n, D) and Lambda (K, L); w is W.ravel() with W (D, L)."""

    def __init__(self, problem: AdaptedProblem, phi: np.ndarray, Lambda: np.ndarray, y: np.ndarray) -> None:
        self.problem, self.phi, self.Lambda, self.y, self.n = problem, phi, Lambda, y, len(y)

    def part(self, points: np.ndarray) -> FactorPairs:
        return FactorPairs(self.problem, self.phi[points], self.Lambda, self.y[points])

    def gram(self) -> np.ndarray:
        M = self.Lambda @ self.Lambda.T
        G: np.ndarray = self.phi @ self.phi.T
        for lo in range(0, self.n, CHUNK):
            G[lo : lo + CHUNK] *= M[self.y[lo : lo + CHUNK, None], self.y[None, :]]
        return G

    def longest(self) -> float:
        on_y = np.einsum("ij,ij->i", self.Lambda, self.Lambda)
        top = 0.0
        for lo in range(0, self.n, CHUNK):
            phi = self.phi[lo : lo + CHUNK]
            top = max(top, float((np.einsum("ij,ij->i", phi, phi) * on_y[self.y[lo : lo + CHUNK]]).max()))
        return top

    def scores(self, w: np.ndarray) -> np.ndarray:
        V = self.Lambda @ w.reshape(self.phi.shape[1], -1).T
        s = np.empty(self.n)
        for lo in range(0, self.n, CHUNK):
            s[lo : lo + CHUNK] = np.einsum("ij,ij->i", self.phi[lo : lo + CHUNK], V[self.y[lo : lo + CHUNK]])
        return s

    def combine(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        W = np.zeros((self.phi.shape[1], self.Lambda.shape[1]))
        for lo in range(0, len(points), CHUNK):
            c, a = points[lo : lo + CHUNK], weights[lo : lo + CHUNK]
            W += self.phi[c].T @ (a[:, None] * self.Lambda[self.y[c]])
        return W.ravel()

    def joined(self, other: Any) -> FactorPairs:
        phi, y = np.vstack([self.phi, other.phi]), np.concatenate([self.y, other.y])
        return FactorPairs(self.problem, phi, self.Lambda, y)


class KernelPairs:
    """Pairs under a joint kernel. The matrix is made when first asked for, and extended by `joined`."""

    explicit = False

    def __init__(self, problem: AdaptedProblem, kernel: Any, X: Any, Y: Any) -> None:
        self.problem, self.kernel, self.n = problem, kernel, len(Y)
        # Lists of our own: a kernel knows the last it met again, and the caller's may change between fits.
        everyone = np.arange(self.n)
        self.X, self.Y = items(X, everyone), items(Y, everyone)
        self._K: np.ndarray | None = None

    def _pick(self, points: np.ndarray) -> tuple[Any, Any]:
        return items(self.X, points), items(self.Y, points)

    def gram(self) -> np.ndarray:
        if self._K is None:
            self._K = np.ascontiguousarray(self.kernel.gram(self.X, self.Y, self.X, self.Y), dtype=float)
        return self._K

    def longest(self) -> float:
        if self._K is not None:
            return float(np.diagonal(self._K).max())
        ones = (self._pick(np.array([i])) for i in range(self.n))
        return max(float(self.kernel.gram(x, y, x, y)[0, 0]) for x, y in ones)

    def scores(self, w: np.ndarray) -> np.ndarray:
        raise TypeError("a kernel's space has no explicit w")

    def combine(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        raise TypeError("a kernel's space has no explicit w")

    def local(self, points: np.ndarray, alpha: np.ndarray, w: Any) -> tuple[np.ndarray, np.ndarray]:
        held = np.flatnonzero(alpha)
        X, Y = self._pick(points)
        K = self.kernel.gram(X, Y, X, Y)
        return np.ascontiguousarray(K, dtype=float), self._against(X, Y, held, alpha)

    def _against(self, X: Any, Y: Any, held: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        if not len(held):
            return np.zeros(len(Y))
        return np.asarray(self.kernel.gram(X, Y, *self._pick(held)) @ alpha[held])

    def all_scores(self, alpha: np.ndarray, w: Any) -> np.ndarray:
        held = np.flatnonzero(alpha)
        if self._K is not None:
            return np.asarray(alpha[held] @ self._K[held])
        chunks = (np.arange(lo, min(lo + CHUNK, self.n)) for lo in range(0, self.n, CHUNK))
        return np.concatenate([self._against(*self._pick(c), held, alpha) for c in chunks])

    def scorer(self, alpha: np.ndarray, w: Any) -> KernelScorer:
        held = np.flatnonzero(alpha)
        return KernelScorer(self.problem, self.kernel, *self._pick(held), alpha[held])

    def joined(self, other: Any) -> KernelPairs:
        both = KernelPairs(self.problem, self.kernel, joined(self.X, other.X), joined(self.Y, other.Y))
        if self._K is not None:
            across = self.kernel.gram(self.X, self.Y, other.X, other.Y)
            both._K = np.block([[self._K, across], [across.T, other.gram()]])
        return both


def pairs_of(
    problem: Problem | AdaptedProblem, X: Any, Y: Any, kernel: Any = None
) -> RowPairs | FactorPairs | KernelPairs:
    """The pairs (x_i, y_i) under a joint kernel, or under the problem's own Psi (factors or rows)."""
    problem = adapt(problem)
    if kernel is not None:
        return KernelPairs(problem, kernel, X, Y)
    if problem.factors is not None:
        phi, Lambda = problem.factors(X)
        y = np.asarray(Y, dtype=np.int64)
        if not sp.issparse(phi):
            Lambda = np.asarray(Lambda.toarray() if sp.issparse(Lambda) else Lambda, dtype=float)
            if Lambda.shape == (1, 1) and Lambda[0, 0] == 1.0:
                return RowPairs(problem, phi)
            return FactorPairs(problem, phi, Lambda, y)
    batch = problem.batch(X, Y)
    if batch is not None and batch.psi is not None:
        return RowPairs(problem, sp.csr_matrix(batch.psi()))
    return RowPairs(
        problem, sp.vstack([as_row(problem.psi(X[i], Y[i])) for i in range(len(Y))], format="csr")
    )


def items(values: Any, points: np.ndarray) -> Any:
    """Some of many inputs or outputs, as what they come as: rows of a matrix, or items of a list."""
    if sp.issparse(values) or isinstance(values, np.ndarray):
        return values[points]
    return [values[i] for i in points]


def _cut(M: np.ndarray) -> Iterator[np.ndarray]:
    return (M[lo : lo + CHUNK] for lo in range(0, len(M), CHUNK))
