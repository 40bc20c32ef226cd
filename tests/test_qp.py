"""The block QP: its optimum against cvxopt, its own measurements against their definitions, in every
way of keeping cuts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
import references
import scipy.sparse as sp
from hypothesis import given, settings

from structmargin import NotSeparableError
from structmargin.dual import reference
from structmargin.dual.stores import Cuts, GramStore, RowStore
from structmargin.dual.tensor_store import TensorStore
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.problems import Multiclass

SHAPES = {"capped": "SVM1 margin", "ridge": "SVM2 margin", "hard": "SVM0"}
STORES = ("rows", "tensor", "gram")


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
    elif kind == "tensor":
        store = TensorStore(cut.problem, cut.X, cut.Y)
    else:
        L = cut.problem.Lambda @ cut.problem.Lambda.T
        store = GramStore(cut.problem, Product(LinearKernel(), L=L), list(cut.X), list(cut.Y))
    dual = Dual(store, len(cut.Y), FORMULATIONS[SHAPES[shape]], C)
    half = len(cut.b) // 2
    for part in (slice(0, half), slice(half, len(cut.b))):
        if len(cut.b[part]):
            add(dual, cut, part)
    dual.measure()
    return dual


def add(dual: Dual, cut: Cutting, part: slice) -> None:
    cuts = Cuts(cut.scale[part], cut.example[part], list(cut.ybar[part]), sp.csr_matrix(cut.unscaled[part]))
    dual.add(cut.example[part], cut.b[part], cut.b[part], cuts)


def set_alpha(dual: Dual, alpha: np.ndarray) -> None:
    dual.alpha[:] = alpha
    dual.refresh()


def by_definition(cut: Cutting, alpha: np.ndarray, cap: float, ridge: float) -> dict[str, Any]:
    """Value, slacks, gap and KKT violation at alpha from the cuts alone."""
    n, block, w = len(cut.Y), cut.example, cut.A.T @ alpha
    h = cut.b - cut.A @ w
    xi, total = np.zeros(n), np.zeros(n)
    for c, i in enumerate(block):
        xi[i], total[i] = max(xi[i], h[c]), total[i] + alpha[c]
    value = cut.b @ alpha - 0.5 * w @ w - 0.5 * ridge * total @ total
    if ridge:
        primal = 0.5 * w @ w + 0.5 / ridge * xi @ xi
    elif np.isfinite(cap):
        primal = 0.5 * w @ w + cap * xi.sum()
    else:  # w / smallest margin is feasible
        smallest = 1.0 - h.max()
        primal = 0.5 * w @ w / min(smallest, 1.0) ** 2 if smallest > 0 else np.inf
    # a pair (up, down): mass moved from one cut of a block to another, or to and from the slack
    worst = 0.0
    for i in range(n):
        slope = {c: h[c] - ridge * total[i] for c in np.flatnonzero(block == i)}
        ups = [*slope.values(), 0.0]
        downs = [g for c, g in slope.items() if alpha[c] > 0] + ([0.0] if total[i] < cap else [])
        worst = max([worst] + [up - down for up in ups for down in downs])
    return {"value": value, "xi": xi, "gap": primal - value, "violation": worst, "norm2": w @ w}


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
@settings(max_examples=60)
def test_measurements_equal_their_definitions(shape: str, data: Any) -> None:
    cut = data.draw(cuttings(hard=shape == "hard"))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    alpha = rng.uniform(size=len(cut.b)) * (rng.uniform(size=len(cut.b)) < 0.7)
    for kind in STORES:
        dual = dual_of(cut, shape, kind)
        if shape == "capped":
            total = np.bincount(cut.example, weights=alpha, minlength=len(cut.Y))
            alpha = alpha * np.minimum(1.0, dual.cap / np.maximum(total, 1e-12))[cut.example]
        set_alpha(dual, alpha)
        want = by_definition(cut, alpha, dual.cap, dual.ridge)
        assert dual.value == pytest.approx(want["value"], abs=1e-10)
        assert dual.norm2 == pytest.approx(want["norm2"], abs=1e-10)
        np.testing.assert_allclose(dual.xi, want["xi"], atol=1e-10)
        assert dual.relaxed_gap == pytest.approx(want["gap"], rel=1e-8, abs=1e-9)
        assert dual.violation == pytest.approx(want["violation"], abs=1e-9)
        np.testing.assert_allclose(dual.store.norms2, np.sum(cut.A**2, axis=1), atol=1e-10)
        np.testing.assert_allclose(dual.store.gram(), cut.A @ cut.A.T, atol=1e-10)
        for i in range(len(cut.Y)):
            assert dual.slack(i) == pytest.approx(want["xi"][i], abs=1e-10)


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@given(cut=cuttings(), C=st.sampled_from([0.1, 3.0, 100.0]))
@settings(max_examples=60)
def test_ascent_reaches_the_optimum(shape: str, cut: Cutting, C: float) -> None:
    want = None
    for kind in STORES:
        dual = dual_of(cut, shape, kind, C)
        if want is None:
            want = references.block_qp(cut.A @ cut.A.T, cut.b, cut.example, dual.cap, dual.ridge)
        dual.ascend(1e-9 * (1.0 + want), max_epochs=100_000)  # cuts that nearly cancel take many
        assert dual.value == pytest.approx(want, rel=1e-7, abs=1e-8)
        assert np.all(dual.alpha >= 0)
        total = np.bincount(cut.example, weights=dual.alpha)
        assert total.max() <= dual.cap * (1 + 1e-12)
        alpha = reference.solve(dual.store.gram(), dual.b, dual.block, dual.cap, dual.ridge)
        assert by_definition(cut, alpha, dual.cap, dual.ridge)["value"] == pytest.approx(
            want, rel=1e-7, abs=1e-8
        )


@given(cut=cuttings(hard=True))
@settings(max_examples=60)
def test_hard_ascent_reaches_the_optimum_or_says_there_is_none(cut: Cutting) -> None:
    listed = [references.Constraint(0, 1.0, a) for a in cut.A]
    feasible = references.separable(listed)
    for kind in STORES:
        dual = dual_of(cut, "hard", kind)
        if not feasible:
            with pytest.raises(NotSeparableError):
                dual.ascend(1e-9)
            continue
        want = references.block_qp(cut.A @ cut.A.T, cut.b, cut.example, np.inf, 0.0)
        dual.ascend(1e-9 * (1.0 + want))
        assert dual.value == pytest.approx(want, rel=1e-6)
