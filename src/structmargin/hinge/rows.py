"""Sums of hinges over independent rows, the linear SVM among them: the rows, and a certified solution.

    minimise   1/2 |w|^2 + sum_r price_r max(0, 1 - <w, a_r>)
    dual       maximise  sum_r beta_r - 1/2 |sum_r beta_r a_r|^2,   0 <= beta_r <= price_r

A row a with the offset b in place of 1 is the row a / b at b times its price.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.kernels import Matrix


class SignedRows(NamedTuple):
    """The rows a_r = factor_r (x_r, constant); without the last entry if the constant is 0."""

    X: Matrix  # (m, d), dense or CSR
    factor: np.ndarray  # (m,)
    constant: float

    @property
    def n_weights(self) -> int:
        return int(self.X.shape[1]) + (1 if self.constant else 0)

    def products(self, w: np.ndarray) -> np.ndarray:
        """<w, a_r> of every row."""
        d = self.X.shape[1]
        of_x: np.ndarray = self.X @ w[:d]
        scores: np.ndarray = self.factor * (of_x + self.constant * w[d] if self.constant else of_x)
        return scores

    def combined(self, beta: np.ndarray) -> np.ndarray:
        """sum_r beta_r a_r."""
        held = np.flatnonzero(beta)
        few = 2 * len(held) < len(beta)
        X, v = (self.X[held], (self.factor * beta)[held]) if few else (self.X, self.factor * beta)
        total = np.asarray(X.T @ v)
        return np.append(total, self.constant * v.sum()) if self.constant else total

    def take(self, chosen: np.ndarray, scale: np.ndarray) -> SignedRows:
        """Some of the rows, each times a number."""
        return SignedRows(self.X[chosen], self.factor[chosen] * scale, self.constant)

    def tocsr(self) -> sp.csr_matrix:
        """All a_r as one sparse matrix."""
        rows = sp.csr_matrix(sp.diags(self.factor) @ sp.csr_matrix(self.X))
        if not self.constant:
            return rows
        return sp.hstack([rows, sp.csr_matrix(self.constant * self.factor[:, None])], format="csr")

    def gram(self) -> np.ndarray:
        """sum_r a_r a_r', as an array."""
        d = self.X.shape[1]
        rows = self.X.toarray() if sp.issparse(self.X) else self.X.copy()
        rows *= self.factor[:, None]
        total = np.empty((self.n_weights, self.n_weights))
        total[:d, :d] = rows.T @ rows
        if self.constant:
            ends = self.constant * self.factor
            total[d, :d] = total[:d, d] = ends @ rows
            total[d, d] = ends @ ends
        return total


class Goal(NamedTuple):
    """The duality gap at which to stop: `gap`, or `share` of the primal objective."""

    gap: float
    share: float

    def met(self, primal: float, dual: float) -> bool:
        return primal - dual <= max(self.gap, self.share * primal)


class HingeFit(NamedTuple):
    """Weights with their certificate: dual <= optimum <= primal.

    Attributes
    ----------
    w : ndarray of float
        sum_r beta_r a_r; with a constant feature its weight is the last entry.
    beta : ndarray of float, shape (m,)
        The dual variables, 0 <= beta <= price.
    price : ndarray of float, shape (m,)
        The price that was given.
    primal, dual : float
        The objective at w, computed anew from all rows, and a lower bound on the optimum.
    n_iter : int
        Newton steps, or passes over the rows.
    converged : bool
        Whether primal - dual is as small as it was asked for.
    """

    w: np.ndarray
    beta: np.ndarray
    price: np.ndarray
    primal: float
    dual: float
    n_iter: int
    converged: bool

    def shares(self, price: np.ndarray) -> np.ndarray:
        """beta / price for other prices: a bound that is met stays met, other beta stay if they can."""
        below = (self.beta < self.price) | (self.price <= 0.0)
        return np.where(below, np.minimum(self.beta / np.where(price > 0.0, price, 1.0), 1.0), 1.0)


def certified(rows: SignedRows, price: np.ndarray, beta: np.ndarray, goal: Goal, n_iter: int) -> HingeFit:
    """The fit at w = sum_r beta_r a_r: both objectives computed anew."""
    w = rows.combined(beta)
    half = 0.5 * float(w @ w)
    primal = half + float(price @ np.maximum(1.0 - rows.products(w), 0.0))
    dual = float(beta.sum()) - half
    return HingeFit(w, beta, price, primal, dual, n_iter, goal.met(primal, dual))
