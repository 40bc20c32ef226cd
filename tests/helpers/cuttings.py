"""Cuts of small multiclass samples in every way of keeping them, and their dual by definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import scipy.sparse as sp

from helpers import references
from structmargin.cuts import Cuts
from structmargin.dual.stores.gram_store import GramStore
from structmargin.dual.stores.part_store import PartStore
from structmargin.dual.stores.product_store import ProductStore
from structmargin.dual.stores.row_store import RowStore
from structmargin.dual.stores.tensor_store import TensorStore
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.parts import Parts
from structmargin.problems import Multiclass

SHAPES = {"capped": "SVM1 margin", "ridge": "SVM2 margin", "hard": "SVM0"}

STORES = ("rows", "parts", "tensor", "product", "gram")


@dataclass(frozen=True, eq=False)
class Described(Multiclass):
    """Psi(x, y) = x (x) Lambda(y) for any rows Lambda, which need not be orthogonal."""

    Lambda: Any = None

    @property
    def n_weights(self) -> int:
        return self.n_features * self.Lambda.shape[1]

    def psi(self, x: Any, y: Any) -> Any:
        return np.outer(x, self.Lambda[y]).ravel()

    def potentials(self, w: np.ndarray, x: Any) -> np.ndarray:
        return x @ w.reshape(self.n_features, -1) @ self.Lambda.T

    def factors(self, X: Any) -> tuple[Any, Any]:
        return X, self.Lambda


class Cutting(NamedTuple):
    """Cuts of one multiclass sample: a_c = scale_c * x_i (x) (e_y - e_ybar), b_c."""

    problem: Described
    X: np.ndarray
    Y: np.ndarray
    example: np.ndarray
    ybar: np.ndarray
    scale: np.ndarray
    b: np.ndarray

    @property
    def unscaled(self) -> np.ndarray:
        dense = references.dense
        psi = self.problem.psi
        return np.array(
            [
                dense(psi(self.X[i], self.Y[i])) - dense(psi(self.X[i], y))
                for i, y in zip(self.example, self.ybar)
            ]
        )

    @property
    def parts(self) -> Parts:
        """Every example as two parts that add up to it and overlap. A short row has them alike."""
        n = len(self.X)
        phi = np.repeat(self.X, 2, axis=0)
        phi[0::2, 1:] *= 0.25
        phi[1::2, 1:] *= 0.75
        phi[1::2, 0] = 0.0
        Lambda = self.problem.Lambda

        def rows(example: np.ndarray, outputs: Any) -> sp.csr_matrix:
            apart = Lambda[self.Y[example]] - Lambda[np.asarray(outputs, dtype=int)]
            return sp.csr_matrix(np.hstack([apart, apart]))

        return Parts(2 * np.arange(n + 1), sp.csr_matrix(phi), Lambda.shape[1], 2, rows)

    @property
    def A(self) -> np.ndarray:
        return self.scale[:, None] * self.unscaled


@st.composite
def cuttings(draw: Any, hard: bool = False, most: int = 4) -> Cutting:
    """Up to `most` blocks; a random choice of wrong classes in each, in a random order of arrival."""
    n, K, D = draw(st.integers(1, most)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(-4, 5, size=(n, D)) / 2.0
    if draw(st.booleans()):
        X = rng.normal(size=(n, D))
    Y = rng.integers(K, size=n)
    pairs = [(i, y) for i in range(n) for y in range(K) if y != Y[i]]
    chosen = rng.permutation(len(pairs))[: draw(st.integers(1, len(pairs)))]
    example, ybar = np.array([pairs[j] for j in chosen]).T
    m = len(chosen)
    scale = np.ones(m) if hard else rng.uniform(0.2, 2.0, size=m)
    b = np.ones(m) if hard else rng.choice([0.0, 0.5, 1.0, 2.0], size=m)
    Lambda = rng.integers(-1, 3, size=(K, 3)).astype(float) if draw(st.booleans()) else np.eye(K)
    return Cutting(Described(K, D, Lambda=Lambda), X, Y, example, ybar, scale, b)


def dual_of(cut: Cutting, shape: str, kind: str, C: float = 3.0) -> Dual:
    """A Dual that holds the cuts, added in two parts."""
    if kind == "rows":
        store: Any = RowStore(cut.problem, cut.problem.n_weights)
    elif kind == "parts":
        store = PartStore(cut.problem, cut.problem.n_weights, cut.parts)
    elif kind == "tensor":
        store = TensorStore(cut.problem, cut.X, cut.Y)
    elif kind == "product":
        L = cut.problem.Lambda @ cut.problem.Lambda.T
        store = ProductStore(cut.problem, Product(LinearKernel(), L=L), cut.X, cut.Y)
    else:
        L = cut.problem.Lambda @ cut.problem.Lambda.T
        store = GramStore(cut.problem, Product(LinearKernel(), L=L), list(cut.X), list(cut.Y))
    weights = np.resize([1.0, 0.5, 2.0], len(cut.Y))  # blocks differ in their caps and ridges
    dual = Dual(store, len(cut.Y), FORMULATIONS[SHAPES[shape]], C, weights=weights)
    half = len(cut.b) // 2
    for part in (slice(0, half), slice(half, len(cut.b))):
        if len(cut.b[part]):
            add(dual, cut, part)
    dual.measure()
    return dual


def add(dual: Dual, cut: Cutting, part: slice) -> None:
    b, rows = cut.b[part], sp.csr_matrix(cut.unscaled[part])
    dual.add(Cuts(cut.example[part], list(cut.ybar[part]), b, cut.scale[part], b, rows, b, 0.0 * b))


def set_alpha(dual: Dual, alpha: np.ndarray) -> None:
    dual.alpha[:] = alpha
    dual.refresh()


def by_definition(cut: Cutting, alpha: np.ndarray, cap: np.ndarray, ridge: np.ndarray) -> dict[str, Any]:
    """Value, slacks, gap and KKT violation at alpha from the cuts alone; caps and ridges are per block."""
    n, block, w = len(cut.Y), cut.example, cut.A.T @ alpha
    h = cut.b - cut.A @ w
    xi, total = np.zeros(n), np.zeros(n)
    for c, i in enumerate(block):
        xi[i], total[i] = max(xi[i], h[c]), total[i] + alpha[c]
    value = cut.b @ alpha - 0.5 * w @ w - 0.5 * ridge @ total**2
    if ridge.any():
        primal = 0.5 * w @ w + sum(0.5 / ridge[i] * xi[i] ** 2 for i in range(n) if ridge[i] > 0)
    elif np.isfinite(cap).all():
        primal = 0.5 * w @ w + cap @ xi
    else:  # w / smallest margin is feasible
        smallest = 1.0 - h.max()
        primal = 0.5 * w @ w / min(smallest, 1.0) ** 2 if smallest > 0 else np.inf
    # a pair (up, down): mass moved from one cut of a block to another, or to and from the slack
    worst = 0.0
    for i in range(n):
        slope = {c: h[c] - ridge[i] * total[i] for c in np.flatnonzero(block == i)}
        ups = [*slope.values(), 0.0]
        downs = [g for c, g in slope.items() if alpha[c] > 0] + ([0.0] if total[i] < cap[i] else [])
        worst = max([worst] + [up - down for up in ups for down in downs])
    return {"value": value, "xi": xi, "gap": primal - value, "violation": worst, "norm2": w @ w}
