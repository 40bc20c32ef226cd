"""OLaRank: every step raises the dual, never past the optimum, and enough of them reach it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from structmargin.cuts import Cuts
from structmargin.dual.stores.row_store import RowStore
from structmargin.dual.working_set import Dual
from structmargin.fit import ConvergenceWarning, Fit
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, Product
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence
from structmargin.solvers import olarank
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import HELD, OLaRank, smo_step
from structmargin.training.certificate import certify
from structmargin.training.space import Joint, Linear

pytestmark = pytest.mark.filterwarnings("ignore:training left:structmargin.fit.ConvergenceWarning")
LINEAR_PENALTY = ["SVM1", "SVM1 slack", "SVM1 margin"]


def words(seed: int, n: int = 20) -> tuple[Sequence, list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    pictures = rng.random((3, 6))
    Y = [rng.integers(3, size=T) for T in rng.integers(1, 5, size=n)]
    return Sequence(3, 6), [pictures[y] + 0.4 * rng.normal(size=(len(y), 6)) for y in Y], Y


def classes(seed: int, n: int = 40) -> tuple[Multiclass, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    loss = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    return Multiclass(4, 5, loss=loss), rng.normal(size=(4, 5))[y] + rng.normal(size=(n, 5)), y


def spaces(name: str) -> tuple[Any, Any, Any, Any]:
    """(problem, X, Y, space): cuts as rows, as labels, and in the spaces of two joint kernels."""
    problem: Any
    if name in ("rows", "k_seq"):
        problem, X, Y = words(1, n=20 if name == "rows" else 7)
        return problem, X, Y, Linear() if name == "rows" else Joint(SequenceKernel(RBF(0.5)).on(X))
    problem, Z, y = classes(2)
    return problem, Z, y, Linear() if name == "factors" else Joint(Product(RBF(0.2)))


def duals(fit: Fit) -> list[float]:
    return [row["dual"] for row in fit.trace]


@pytest.mark.parametrize("formulation", LINEAR_PENALTY)
@pytest.mark.parametrize("name", ["rows", "factors", "product", "k_seq"])
def test_the_dual_rises_to_the_optimum_and_not_past_it(name: str, formulation: str) -> None:
    problem, X, Y, space = spaces(name)
    f, C = FORMULATIONS[formulation], 20.0
    exact = NSlack().train(problem, (X, Y), f, space, C=C, eps=1e-5, gap_tol=1e-6)
    assert exact.primal is not None and exact.gap is not None and exact.gap <= 1e-5 * exact.primal
    one = OLaRank(reprocess=2).train(problem, (X, Y), f, space, C=C)
    assert one.n_iter == 1 and one.dual is not None and 0.25 * exact.primal < one.dual <= exact.primal
    many = OLaRank(passes=200, reprocess=2).train(problem, (X, Y), f, space, C=C, eps=1e-9, gap_tol=1e-3)
    path = duals(many)
    assert path[0] == pytest.approx(one.dual)
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(path))
    assert many.converged and many.dual is not None and many.gap is not None
    assert many.dual <= exact.primal * (1.0 + 1e-9) and many.dual == pytest.approx(exact.primal, rel=2e-3)
    assert many.gap <= 1.1e-3 * exact.primal


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_support_patterns_are_the_examples_with_mass_at_any_moment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, per = 7, 3
    dual = Dual(RowStore(None, 2), n, FORMULATIONS["SVM1"], 10.0)
    block = np.repeat(np.arange(n), per)
    ones, rows = np.ones(n * per), sp.csr_matrix(rng.normal(size=(n * per, 2)))
    dual.add(Cuts(block, [0] * n * per, ones, ones, ones, rows, ones, 0.0 * ones))
    patterns = olarank.Patterns(dual)
    assert patterns.known == 0 and not len(patterns.draw(rng, 5))
    for _ in range(20):
        touched = rng.integers(n, size=rng.integers(1, 4))
        for i in touched:
            dual.alpha[block == i] = rng.uniform(size=per) * (rng.uniform(size=per) < 0.3)
        patterns.see(dual, touched)
        held = {int(i) for i in block[dual.alpha > 0]}
        drawn = {int(i) for i in patterns.draw(rng, 200)}
        assert patterns.known == len(held) and drawn == held


def test_the_certificate_is_that_of_a_full_search() -> None:
    problem, X, Y = words(3)
    f = FORMULATIONS["SVM1 margin"]
    fit = OLaRank(reprocess=1).train(problem, (X, Y), f, C=10.0)
    checked = certify(problem, X, Y, fit.scorer, f, 10.0)
    assert fit.primal == pytest.approx(checked.primal) and fit.dual is not None and fit.w is not None
    assert fit.gap == pytest.approx(checked.primal - fit.dual)
    # w and the dual from the support itself, which is feasible
    support = fit.support
    assert support is not None and support.rows is not None
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, fit.w, atol=1e-9)
    assert fit.dual == pytest.approx(support.alpha @ support.b - 0.5 * fit.w @ fit.w)
    assert support.alpha.min() > 0.0
    assert np.bincount(support.example, weights=support.alpha).max() <= 10.0 / len(Y) * (1.0 + 1e-9)


def test_every_single_step_raises_the_dual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step's gain is what the dual rose by, for searched steps and for those without a search."""
    problem, X, Y = words(4, n=8)
    gains: list[float] = []

    def value(dual: Dual) -> float:
        dual.refresh()
        return dual.value

    def watched(task: Any, dual: Dual, i: int, process: Any = OLaRank._process) -> float:
        before = value(dual)
        gain = process(task, dual, i)
        assert gain >= 0.0 and value(dual) == pytest.approx(before + gain, abs=1e-9)
        before = value(dual)
        held = smo_step(dual.qp, i, HELD)
        assert held >= 0.0 and value(dual) == pytest.approx(before + held, abs=1e-9)
        gains.extend([gain, held])
        return gain

    monkeypatch.setattr(OLaRank, "_process", staticmethod(watched))
    OLaRank(passes=3).train(problem, (X, Y), FORMULATIONS["SVM1 margin"], C=5.0, eps=1e-9)
    assert sum(gain > 1e-6 for gain in gains[0::2]) > 20 and sum(gain > 1e-6 for gain in gains[1::2]) > 3


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), full=st.booleans())
def test_a_step_is_the_best_between_its_two_outputs(seed: int, k: int, full: bool) -> None:
    """Against a fine grid over the mass moved, for every target: a held cut, the truth, or the steepest."""
    rng = np.random.default_rng(seed)
    rows, b, cap = rng.normal(size=(k, 3)), rng.random(k), 0.8
    start = rng.dirichlet(np.ones(k + 1))[:k] * cap * (rng.random(k) < 0.7)
    if full and start.sum() > 0.0:
        start *= cap / start.sum()

    def objective(alpha: np.ndarray) -> float:
        w = rows.T @ alpha
        return float(b @ alpha - 0.5 * w @ w)

    gradient = np.append(b - rows @ (rows.T @ start), 0.0)  # the truth comes last
    mass = np.append(start, cap - start.sum())
    mass[-1] = 0.0 if mass[-1] < 1e-12 else mass[-1]
    for up in [*range(k), olarank.TRUTH, HELD]:
        store = RowStore(None, 3)
        dual = Dual(store, 1, FORMULATIONS["SVM1"], cap)
        ones, block = np.ones(k), np.zeros(k, dtype=int)
        dual.add(Cuts(block, None, ones, ones, b, sp.csr_matrix(rows), b, 0.0 * ones))
        dual.alpha[:] = start
        dual.refresh()
        gain = smo_step(dual.qp._replace(cap=np.array([cap if mass[-1] else start.sum()])), 0, up)
        eligible = [c for c in range(k) if start[c] > 0.0] + [k]
        target = max(eligible, key=lambda c: gradient[c]) if up == HELD else k if up == olarank.TRUTH else up
        holders = np.flatnonzero(mass > 0.0)
        source = int(holders[np.argmin(gradient[holders])])
        best = objective(start)
        if gradient[target] > gradient[source]:
            for step in np.linspace(0.0, mass[source], 400):
                moved = np.append(start, 0.0)
                moved[target] += step
                moved[source] -= step
                best = max(best, objective(moved[:k]))
        assert objective(dual.alpha) == pytest.approx(objective(start) + gain, abs=1e-9)
        assert objective(dual.alpha) == pytest.approx(best, abs=1e-4) and gain >= 0.0
        assert objective(dual.alpha) >= best - 1e-9
        assert dual.alpha.min() >= 0.0 and dual.alpha.sum() <= cap * (1.0 + 1e-12)


def test_a_former_fit_is_carried_on() -> None:
    problem, X, Y = words(5)
    f = FORMULATIONS["SVM1 margin"]
    first = OLaRank(reprocess=1).train(problem, (X, Y), f, C=10.0)
    before = first.dual
    second = OLaRank(reprocess=1).train(problem, (X, Y), f, C=10.0, warm_start=first)
    assert before is not None and second.dual is not None and second.dual > before
    assert second.trace[0]["dual"] > before


def test_squared_slacks_and_hard_margins_are_refused() -> None:
    problem, X, Y = words(6, n=3)
    for name in ("SVM0", "SVM2", "SVM2 slack", "SVM2 margin"):
        with pytest.raises(ValueError, match="solver 'olarank' takes SVM1, SVM1 slack, SVM1 margin"):
            OLaRank().train(problem, (X, Y), FORMULATIONS[name])


def test_the_same_seed_gives_the_same_model() -> None:
    problem, X, Y = words(7)
    f = FORMULATIONS["SVM1 margin"]
    runs = [OLaRank().train(problem, (X, Y), f, C=5.0, random_state=seed).w for seed in (1, 1, 2)]
    assert runs[0] is not None and runs[2] is not None
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.any(runs[0] != runs[2])


def test_a_training_that_ends_before_its_criterion_is_met_says_so() -> None:
    problem, X, Y = words(3)
    f = FORMULATIONS["SVM1 margin"]
    with pytest.warns(
        ConvergenceWarning, match="left a duality gap of .* it ended with pass 1: ask for more"
    ):
        one = OLaRank(reprocess=1).train(problem, (X, Y), f, C=10.0)
    assert not one.converged and one.relative_gap is not None and one.relative_gap > 1e-2
    many = OLaRank(passes=500).train(problem, (X, Y), f, C=10.0)
    assert many.converged and many.relative_gap is not None and many.relative_gap <= 1e-2
