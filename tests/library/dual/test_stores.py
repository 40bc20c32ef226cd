"""Cuts kept as rows, as tensor factors or in a kernel's space: one problem, one solution, bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from helpers import references
from helpers.cuttings import SHAPES, STORES, Cutting, Described, add, by_definition, cuttings, dual_of
from structmargin import registry
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Multiclass


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@given(cut=cuttings())
@settings(max_examples=40)
def test_every_way_of_keeping_cuts_climbs_to_the_same_w(shape: str, cut: Cutting) -> None:
    ends = []
    for kind in STORES:
        dual = dual_of(cut, shape, kind)
        values = [0.0]
        for _ in range(3):
            dual.ascend(0.0, max_epochs=1)
            values.append(dual.value)
            want = by_definition(
                cut, dual.alpha, dual.cap, dual.ridge
            )  # what is known is known of this alpha
            assert dual.value == pytest.approx(want["value"], abs=1e-10)
            assert dual.relaxed_gap == pytest.approx(want["gap"], rel=1e-8, abs=1e-9)
            np.testing.assert_allclose(dual.xi, want["xi"], atol=1e-10)
        for i in range(len(cut.Y)):
            dual.ascend_block(i)
            dual.measure()
            values.append(dual.value)
        assert min(np.diff(values)) >= -1e-12 * (1 + values[-1])  # the dual never falls
        dual.ascend(1e-12)
        dual.measure()
        held = cut.A @ dual.store.w if kind in ("rows", "parts", "tensor") else cut.b - dual.h
        np.testing.assert_allclose(held, cut.A @ (cut.A.T @ dual.alpha), atol=1e-10)
        ends.append((dual.value, held))
    for value, held in ends[1:]:
        assert value == pytest.approx(ends[0][0], rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(held, ends[0][1], atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", STORES)
def test_cuts_added_to_a_solved_problem_see_its_w(shape: str, kind: str) -> None:
    """New cuts of a kernel start from q = <a, w>, not from 0."""
    rng = np.random.default_rng(5)
    Y = np.arange(6) % 3
    X = np.eye(3)[Y] + 0.3 * rng.normal(size=(6, 3))
    pairs = np.array([(i, y) for i in range(6) for y in range(3) if y != Y[i]])
    m = len(pairs)
    cut = Cutting(Described(3, 3, Lambda=np.eye(3)), X, Y, pairs[:, 0], pairs[:, 1], np.ones(m), np.ones(m))
    first = cut._replace(**{name: getattr(cut, name)[: m // 2] for name in ("example", "ybar", "scale", "b")})
    dual = dual_of(first, shape, kind)
    dual.ascend(1e-10)
    add(dual, cut, slice(m // 2, m))
    dual.measure()
    want = by_definition(cut, dual.alpha, dual.cap, dual.ridge)
    np.testing.assert_allclose(dual.xi, want["xi"], atol=1e-10)
    assert dual.relaxed_gap == pytest.approx(want["gap"], rel=1e-8)
    dual.ascend(1e-10)
    G = cut.A @ cut.A.T
    assert dual.value == pytest.approx(
        references.block_qp(G, cut.b, cut.example, dual.cap, dual.ridge), rel=1e-7
    )


def test_the_matrix_of_a_kernel_has_room_for_thousands_of_cuts_however_they_come() -> None:
    """From a thousand cuts on the matrix grows in smaller steps than the products with w do."""
    rng = np.random.default_rng(0)
    Y = np.arange(1075) % 3
    X = rng.normal(size=(len(Y), 2))
    pairs = np.array([(i, y) for i in range(len(Y)) for y in range(3) if y != Y[i]])
    scale, b = rng.uniform(0.2, 2.0, size=len(pairs)), np.ones(len(pairs))
    cut = Cutting(Described(3, 2, Lambda=np.eye(3)), X, Y, pairs[:, 0], pairs[:, 1], scale, b)
    first = cut._replace(**{name: getattr(cut, name)[:1100] for name in ("example", "ybar", "scale", "b")})
    dual = dual_of(first, "capped", "gram")
    dual.ascend_block(0)
    for part in (slice(1100, 1110), slice(1110, len(pairs))):
        add(dual, cut, part)
    np.testing.assert_allclose(dual.store.gram(), cut.A @ cut.A.T, atol=1e-10)
    dual.measure()
    np.testing.assert_allclose(cut.b - dual.h, cut.A @ (cut.A.T @ dual.alpha), atol=1e-10)


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@pytest.mark.parametrize("kind", STORES)
@given(cut=cuttings(most=6))
@settings(max_examples=25)
def test_pruning_changes_nothing_but_memory(shape: str, kind: str, cut: Cutting) -> None:
    dual = dual_of(cut, shape, kind)
    dual.ascend(1e-10)
    alpha, value = dual.alpha.copy(), dual.value
    idle, m = int(np.sum(alpha == 0)), dual.m
    before = np.ravel([dual.scorer().potentials(x) for x in cut.X])
    dropped = dual.prune(1)
    assert dropped == (idle if 3 * idle > m else 0)
    assert dual.m == m - dropped
    if dropped:
        assert np.all(dual.alpha > 0)
    for measured in (dual.measure, dual.refresh):
        measured()
        assert dual.value == pytest.approx(value, abs=1e-12 * (1 + value))
        after = np.ravel([dual.scorer().potentials(x) for x in cut.X])
        np.testing.assert_allclose(after, before, atol=1e-12 * (1 + np.abs(before).max()))
    # what was dropped can come back, and the optimum with it
    again = np.flatnonzero(alpha == 0)
    if dropped:
        back = cut._replace(**{name: getattr(cut, name)[again] for name in ("example", "ybar", "scale", "b")})
        add(dual, back, slice(0, len(again)))
        dual.ascend(1e-10)
        assert dual.value == pytest.approx(value, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("shape", ["capped", "ridge"])
@pytest.mark.parametrize("kind", STORES)
def test_moving_along_C_keeps_alpha_feasible_and_w_its_combination(shape: str, kind: str) -> None:
    cut = Cutting(
        Described(3, 2, Lambda=np.eye(3)),
        X=np.array([[1.0, 2.0], [0.5, -1.0]]),
        Y=np.array([0, 2]),
        example=np.array([0, 0, 1, 1]),
        ybar=np.array([1, 2, 0, 1]),
        scale=np.array([1.0, 2.0, 0.5, 1.0]),
        b=np.array([1.0, 2.0, 1.0, 0.5]),
    )
    dual = dual_of(cut, shape, kind, C=5.0)
    dual.ascend(1e-10)
    for C in (0.5, 50.0):
        dual.move_to(C)
        total = np.bincount(cut.example, weights=dual.alpha, minlength=dual.n)
        assert np.all(total <= dual.cap * (1 + 1e-12))
        want = by_definition(cut, dual.alpha, dual.cap, dual.ridge)
        assert dual.value == pytest.approx(want["value"], rel=1e-10)
        assert dual.relaxed_gap == pytest.approx(want["gap"], rel=1e-8)
        dual.ascend(1e-10)
        best = references.block_qp(cut.A @ cut.A.T, cut.b, cut.example, dual.cap, dual.ridge)
        assert dual.value == pytest.approx(best, rel=1e-7)


LEAN: dict[str, dict[str, int]] = {
    "n_slack": {"most": 1, "idle": 1},
    "bcfw": {"most": 1, "idle": 1},
    "one_slack": {"idle": 2},
}


@pytest.mark.parametrize("solver", LEAN)
def test_memory_stays_bounded_on_a_long_run(solver: str) -> None:
    """Going to and fro between two C, cuts are added without end, and as many dropped."""
    rng = np.random.default_rng(0)
    n, K, D = 40, 40, 8
    X = rng.normal(size=(n, D))
    Y = np.argmax(X @ rng.normal(size=(D, K)) + 0.5 * rng.normal(size=(n, K)), axis=1)
    fit, added, held, active = None, 0, 0, 0
    for C in [1.0, 1e5] * 6:
        fit = registry.solver(solver, **LEAN[solver]).train(
            Multiclass(K, D), (X, Y), FORMULATIONS["SVM1"], C=C, eps=1e-9, gap_tol=5e-3, warm_start=fit
        )
        assert fit.relative_gap <= 5e-3
        added += fit.n_constraints
        held = max(held, *(row["held"] for row in fit.trace))
        active = max(active, *(row["active"] for row in fit.trace))
    assert added > 4 * held
    assert held < 2 * active
