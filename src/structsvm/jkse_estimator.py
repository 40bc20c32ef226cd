"""`JKSE`, joint kernel support estimation behind the scikit-learn front door (jkse09).

How training pairs psi_i = Psi(x_i, y_i) are kept, chosen by `pairs_of`:

    RowPairs      psi_i as the rows of a matrix, dense or sparse
    FactorPairs   psi_i = phi_i (x) Lambda(y_i) without ever forming the product
    KernelPairs   a joint kernel between pairs: alpha instead of w
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from structsvm import registry
from structsvm.estimators import Structured
from structsvm.scorer import KernelScorer, LinearScorer, as_row
from structsvm.solvers.jkse import TRAINERS, Estimate, Pairs, Trainer, beside
from structsvm.task import count, require_number

CHUNK = 4096


class JKSE(Structured):
    """The support of p(x, y) from right pairs alone: yhat = argmax_y sum_i alpha_i k((x, y), (x_i, y_i)).

    Training never searches an output. An input with several right outputs is given once with each. There is
    no intercept, and no example of a wrong output is needed or used.

    Parameters
    ----------
    problem : an object with psi, delta and argmax (see `structsvm.problem`).
    kernel : a joint kernel (`structsvm.kernels`), or None for the problem's own Psi.
    nu : in (0, 1]; at most this share of the pairs become outliers, at least this share have alpha > 0.
    trainer : 'one_class' (equations 5-8, to a certified gap), 'binary' (an SVM on the data and their mirror
        image), 'online' (the same by stochastic steps), or a trainer object with options of its own.
    C : for 'binary' and 'online' the price C/n of a slack; None looks for the C that nu amounts to, and
        infinity allows no slack.
    gap_tol : the relative duality gap to reach.
    max_iter : steps (divided by the number of pairs) or cuts of 'one_class', values of C that 'binary' tries,
        passes of 'online', at most; reached first, a ConvergenceWarning tells the gap.
    random_state : an int; the same int gives the same model.

    After `fit`: `w_` (None with a kernel), `problem_`, and `fit_` with primal, dual, gap, rho, alpha, xi,
    n_active, n_outliers and more (`structsvm.solvers.jkse.Estimate`).
    """

    def __init__(
        self,
        problem: Any,
        kernel: Any = None,
        nu: float = 0.1,
        trainer: Any = "one_class",
        C: float | None = None,
        gap_tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | None = 0,
    ) -> None:
        self.problem = problem
        self.kernel = kernel
        self.nu = nu
        self.trainer = trainer
        self.C = C
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from right pairs: inputs X and outputs Y, two sequences of one length (X may be a matrix)."""
        problem = self._bind(X, Y)
        return self._keep(problem, self._train(self._pairs(problem, X, Y), None))

    def add(self, X: Any, Y: Any, retrain: bool = True) -> Self:
        """Learn further pairs; kernel values among those already known are not computed again.

        With `retrain` the result is that of training on all pairs, begun at the former alpha. Without, the
        new pairs are learnt alone and put beside the former estimate, whose coefficients keep their
        proportions: new labels join, and scores of outputs that share nothing with them only change scale.
        """
        check_is_fitted(self, "fit_")
        problem, former = self.problem_, self.fit_
        new = self._pairs(problem, X, Y)
        both = former.pairs.joined(new)
        if not retrain:
            return self._keep(problem, beside(former, self._train(new, None), both))
        mean = float(former.alpha.mean()) if former.C is None else 0.0
        return self._keep(problem, self._train(both, np.concatenate([former.alpha, np.full(new.n, mean)])))

    def _pairs(self, problem: Any, X: Any, Y: Any) -> Pairs:
        """The pairs, checked."""
        if count(X) != count(Y):
            raise ValueError(f"X has {count(X)} examples but Y has {count(Y)}: each input needs one output")
        if count(Y) == 0:
            raise ValueError("the training set is empty: X and Y must hold at least one pair")
        check = getattr(problem, "check", None)
        if check is not None:
            check(X, Y)
        explicit_only = getattr(problem, "explicit_only", None)
        if self.kernel is not None and explicit_only:
            raise ValueError(f"problem {type(problem).__name__!r} takes no joint kernel: {explicit_only}")
        return pairs_of(problem, X, Y, self.kernel)

    def _train(self, pairs: Pairs, start: np.ndarray | None) -> Estimate:
        require_number("nu", self.nu)
        if self.nu > 1.0:
            raise ValueError(f"nu must be at most 1, but it is {self.nu!r}: it is a share of the pairs")
        if self.C is not None and self.C != math.inf:
            require_number("C", self.C)
        require_number("gap_tol", self.gap_tol)
        require_number("max_iter", self.max_iter)
        seed = int(np.random.SeedSequence(self.random_state).generate_state(1)[0] >> 2)
        return self._trainer().train(pairs, self.nu, self.C, self.gap_tol, int(self.max_iter), seed, start)

    def _trainer(self) -> Trainer:
        if not isinstance(self.trainer, str):
            return self.trainer
        if self.trainer not in TRAINERS:
            raise registry.unknown("trainer", self.trainer, TRAINERS)
        return TRAINERS[self.trainer]()

    def _keep(self, problem: Any, estimate: Estimate) -> Self:
        self.problem_, self.fit_ = problem, estimate
        self.scorer_, self.w_ = estimate.scorer, estimate.w
        return self


class _Explicit:
    explicit = True
    problem: Any
    n: int

    def part(self, points: np.ndarray) -> Any:
        raise NotImplementedError

    def all_scores(self, alpha: np.ndarray, w: Any) -> np.ndarray:
        return self.scores(w)

    def local(self, points: np.ndarray, alpha: np.ndarray, w: Any) -> tuple[np.ndarray, np.ndarray]:
        few = self.part(points)
        return few.gram(), few.scores(w)

    def scores(self, w: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def scorer(self, alpha: np.ndarray, w: Any) -> LinearScorer:
        return LinearScorer(self.problem, w)


class RowPairs(_Explicit):
    """psi_i is row i of M (n, d), a dense array or a CSR matrix."""

    def __init__(self, problem: Any, M: Any) -> None:
        self.problem, self.M, self.n = problem, M, M.shape[0]

    def part(self, points: np.ndarray) -> RowPairs:
        return RowPairs(self.problem, self.M[points])

    def gram(self) -> np.ndarray:
        G = self.M @ self.M.T
        return G.toarray() if sp.issparse(G) else G

    def longest(self) -> float:
        if sp.issparse(self.M):
            return float(self.M.multiply(self.M).sum(axis=1).max())
        return float(max(np.einsum("ij,ij->i", part, part).max() for part in _cut(self.M)))

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.M @ w

    def combine(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if len(points) < 0.1 * self.n:
            return self.M[points].T @ weights
        whole = np.zeros(self.n)
        whole[points] = weights
        return self.M.T @ whole

    def joined(self, other: RowPairs) -> RowPairs:
        put = (
            sp.vstack([self.M, other.M], format="csr")
            if sp.issparse(self.M)
            else np.vstack([self.M, other.M])
        )
        return RowPairs(self.problem, put)


class FactorPairs(_Explicit):
    """psi_i = phi_i (x) Lambda[y_i] for dense phi (n, D) and Lambda (K, L); w is W.ravel() with W (D, L)."""

    def __init__(self, problem: Any, phi: np.ndarray, Lambda: np.ndarray, y: np.ndarray) -> None:
        self.problem, self.phi, self.Lambda, self.y, self.n = problem, phi, Lambda, y, len(y)

    def part(self, points: np.ndarray) -> FactorPairs:
        return FactorPairs(self.problem, self.phi[points], self.Lambda, self.y[points])

    def gram(self) -> np.ndarray:
        M = self.Lambda @ self.Lambda.T
        G = self.phi @ self.phi.T
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

    def joined(self, other: FactorPairs) -> FactorPairs:
        phi, y = np.vstack([self.phi, other.phi]), np.concatenate([self.y, other.y])
        return FactorPairs(self.problem, phi, self.Lambda, y)


class KernelPairs:
    """Pairs under a joint kernel. The matrix is made when first asked for, and extended by `joined`."""

    explicit = False

    def __init__(self, problem: Any, kernel: Any, X: Any, Y: Any) -> None:
        self.problem, self.kernel, self.X, self.Y = problem, kernel, X, Y
        self.n = len(Y)
        self._K: np.ndarray | None = None

    def _pick(self, points: np.ndarray) -> tuple[Any, Any]:
        return _items(self.X, points), _items(self.Y, points)

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
        return self.kernel.gram(X, Y, *self._pick(held)) @ alpha[held]

    def all_scores(self, alpha: np.ndarray, w: Any) -> np.ndarray:
        held = np.flatnonzero(alpha)
        if self._K is not None:
            return alpha[held] @ self._K[held]
        chunks = (np.arange(lo, min(lo + CHUNK, self.n)) for lo in range(0, self.n, CHUNK))
        return np.concatenate([self._against(*self._pick(c), held, alpha) for c in chunks])

    def scorer(self, alpha: np.ndarray, w: Any) -> KernelScorer:
        held = np.flatnonzero(alpha)
        return KernelScorer(self.problem, self.kernel, *self._pick(held), alpha[held])

    def joined(self, other: Self) -> KernelPairs:
        both = KernelPairs(self.problem, self.kernel, _put(self.X, other.X), _put(self.Y, other.Y))
        if self._K is not None:
            across = self.kernel.gram(self.X, self.Y, other.X, other.Y)
            both._K = np.block([[self._K, across], [across.T, other.gram()]])
        return both


def pairs_of(problem: Any, X: Any, Y: Any, kernel: Any = None) -> RowPairs | FactorPairs | KernelPairs:
    """The pairs (x_i, y_i) under a joint kernel, or under the problem's own Psi (factors or rows)."""
    if kernel is not None:
        return KernelPairs(problem, kernel, X, Y)
    factors, batch = getattr(problem, "factors", None), getattr(problem, "batch", None)
    if factors is not None:
        phi, Lambda = factors(X)
        y = np.asarray(Y, dtype=np.int64)
        if not sp.issparse(phi):
            Lambda = np.asarray(Lambda.toarray() if sp.issparse(Lambda) else Lambda, dtype=float)
            if Lambda.shape == (1, 1) and Lambda[0, 0] == 1.0:
                return RowPairs(problem, phi)
            return FactorPairs(problem, phi, Lambda, y)
    rows = None if batch is None else getattr(batch(X, Y), "psi", None)
    if rows is not None:
        return RowPairs(problem, sp.csr_matrix(rows()))
    return RowPairs(
        problem, sp.vstack([as_row(problem.psi(X[i], Y[i])) for i in range(len(Y))], format="csr")
    )


def _items(values: Any, points: np.ndarray) -> Any:
    if sp.issparse(values) or isinstance(values, np.ndarray):
        return values[points]
    return [values[i] for i in points]


def _put(former: Any, new: Any) -> Any:
    """Two lists, arrays or sparse matrices one after the other."""
    if sp.issparse(former):
        return sp.vstack([former, new], format="csr")
    if isinstance(former, np.ndarray) and isinstance(new, np.ndarray) and former.dtype != object:
        return np.concatenate([former, new])
    return [*former, *new]


def _cut(M: np.ndarray) -> Iterator[np.ndarray]:
    return (M[lo : lo + CHUNK] for lo in range(0, len(M), CHUNK))
