"""Strides of the block QP: the best point of their plane, feasible, never down, and fewer epochs."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from helpers.cuttings import STORES, Cutting, Described, by_definition, cuttings, dual_of, set_alpha
from structmargin.dual import ascent
from structmargin.dual.acceleration import stride
from structmargin.dual.working_set import Dual


def sweep(dual: Dual, seed: int) -> tuple[tuple[float, ...], int, float]:
    """One epoch of the ascent, which has no stride yet."""
    return ascent.ascend(
        dual.qp, dual.store.spare(), ascent.Until(0.0, 0.0, 0.0, 1), seed, dual.xi, np.empty(0)
    )


def combination(rows: Any, kind: str) -> np.ndarray:
    held = {
        "rows": lambda: rows.w,
        "parts": lambda: rows.w,
        "tensor": lambda: rows.W.ravel(),
        "product": lambda: rows.Z.ravel(),
        "gram": lambda: rows.q,
    }
    return held[kind]()


def columns(cut: Cutting, kind: str) -> np.ndarray:
    """What one unit of alpha adds to the combination, a column per cut."""
    if kind == "product":  # of every class, the kernel between the cut's example and all examples
        e = np.eye(len(cut.problem.Lambda))
        classes = cut.scale[:, None] * (e[cut.Y[cut.example]] - e[cut.ybar])
        return np.array([np.kron(c, k) for c, k in zip(classes, (cut.X @ cut.X.T)[cut.example])]).T
    return cut.A @ cut.A.T if kind == "gram" else cut.A.T


def best_of_plane(cut: Cutting, dual: Dual, directions: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(coefficients, alpha) of the dual's maximum over alpha + the span of the directions, bounds aside."""
    block = np.eye(len(cut.Y))[cut.example]
    Q = cut.A @ cut.A.T + block @ np.diag(dual.ridge) @ block.T
    S = np.array(directions).T
    x = np.linalg.lstsq(S.T @ Q @ S, S.T @ (cut.b - Q @ dual.alpha), rcond=1e-9)[0]
    return x, dual.alpha + S @ x


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@pytest.mark.parametrize("kind", STORES)
@given(cut=cuttings(most=6), C=st.sampled_from([0.1, 3.0, 100.0]), seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_a_stride_goes_to_the_best_point_that_is_allowed(
    kind: str, shape: str, cut: Cutting, C: float, seed: int
) -> None:
    dual = dual_of(cut, shape, kind, C)
    rng = np.random.default_rng(seed)
    top = np.where(np.isfinite(dual.cap), dual.cap, 1.0)[cut.example]
    set_alpha(dual, 0.5 * top * rng.uniform(size=len(cut.b)) / np.bincount(cut.example)[cut.example])
    spare, d = dual.store.spare(), np.zeros(len(cut.b))
    A = columns(cut, kind)
    for k in range(3):
        alpha0, w0 = dual.alpha.copy(), combination(dual.store.cuts, kind).copy()
        sweep(dual, seed + k)
        before = by_definition(cut, dual.alpha, dual.cap, dual.ridge)["value"]
        s, earlier = dual.alpha - alpha0, d.copy()
        x, aim = best_of_plane(cut, dual, [s, earlier])
        plane = np.array([cut.A.T @ s, cut.A.T @ earlier])
        apart = np.linalg.matrix_rank(plane, tol=1e-3 * np.abs(plane).max(initial=1e-9)) == 2
        gain = stride(dual.qp, spare, alpha0, w0, d)
        after = by_definition(cut, dual.alpha, dual.cap, dual.ridge)["value"]
        assert gain >= 0.0
        assert after - before == pytest.approx(gain, abs=1e-10 * (1 + abs(after)))
        total = np.bincount(cut.example, weights=dual.alpha, minlength=dual.n)
        assert np.all(dual.alpha >= 0) and np.all(total <= dual.cap * (1 + 1e-12))
        held = combination(dual.store.cuts, kind)
        np.testing.assert_allclose(held, A @ dual.alpha, atol=1e-9 * (1 + np.abs(held).max()))
        if np.any(d):
            np.testing.assert_allclose(d, dual.alpha - alpha0, atol=0)
        np.testing.assert_allclose(combination(spare, kind), A @ d, atol=1e-9 * (1 + np.abs(held).max()))
        inside = np.all(aim >= 0) and np.all(
            np.bincount(cut.example, weights=aim, minlength=dual.n) <= dual.cap
        )
        if apart and inside and np.abs(x).max() < 50 and np.any(d):
            np.testing.assert_allclose(dual.alpha, aim, rtol=1e-5, atol=1e-6 * (1 + aim.max()))


def crowded(seed: int) -> Cutting:
    """Sixty examples that pull at the same four weights."""
    rng = np.random.default_rng(seed)
    n, K = 60, 3
    X, Y = rng.normal(size=(n, 4)) + 2.0, rng.integers(K, size=n)
    pairs = np.array([(i, y) for i in range(n) for y in range(K) if y != Y[i]])
    ones = np.ones(len(pairs))
    return Cutting(Described(K, 4, Lambda=np.eye(K)), X, Y, pairs[:, 0], pairs[:, 1], ones, ones)


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@pytest.mark.parametrize("kind", STORES)
def test_where_blocks_share_weights_strides_save_epochs(kind: str, shape: str) -> None:
    cut = crowded(3)
    tol = 1e-4
    plain, epochs = dual_of(cut, shape, kind, C=600.0), 0
    gap = np.inf
    while gap > tol:
        (gap, *_), _, _ = sweep(plain, epochs)
        epochs += 1
    dual = dual_of(cut, shape, kind, C=600.0)
    until = ascent.Until(tol, 0.0, 0.0, 100_000)
    measured, strided, _ = ascent.ascend(dual.qp, dual.store.spare(), until, 0, dual.xi, np.empty(0))
    assert measured[0] <= tol
    assert by_definition(cut, dual.alpha, dual.cap, dual.ridge)["gap"] <= 1.01 * tol
    assert 2 * strided < epochs, (strided, epochs)
