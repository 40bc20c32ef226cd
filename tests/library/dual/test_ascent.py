"""The block QP: its optimum against cvxopt, its own measurements against their definitions, in every
way of keeping cuts."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from helpers import references
from helpers.cuttings import (
    SHAPES,
    STORES,
    Cutting,
    by_definition,
    cuttings,
    dual_of,
    set_alpha,
)
from structmargin import NotSeparableError
from structmargin.dual import reference


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
        total = np.bincount(cut.example, weights=dual.alpha, minlength=dual.n)
        assert np.all(total <= dual.cap * (1 + 1e-12))
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
        want = references.block_qp(cut.A @ cut.A.T, cut.b, cut.example, dual.cap, dual.ridge)
        dual.ascend(1e-9 * (1.0 + want))
        assert dual.value == pytest.approx(want, rel=1e-6)
