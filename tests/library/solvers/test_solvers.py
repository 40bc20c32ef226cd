"""What every solver promises around the optimum: paths over C, warm starts, seeds, traces, warnings."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from helpers import references
from helpers.sameness import CLOCKS
from helpers.toy_chain import ToyChain, chains
from structmargin import ConvergenceWarning, registry
from structmargin.dual.working_set import Dual
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.problem import best_of
from structmargin.problems import Multiclass
from structmargin.solvers.n_slack import NSlack
from structmargin.training.space import Joint, Linear

CERTIFYING = ("n_slack", "n_slack_a", "n_slack_b", "staged", "one_slack", "bcfw")
K, D = 4, 3


def sample(n: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.argmax(X @ rng.normal(size=(D, K)) + rng.normal(size=(n, K)), axis=1)


def fitted(solver: Any, formulation: str = "SVM1 margin", **settings: Any) -> Any:
    X, Y = sample()
    made = registry.solver(solver) if isinstance(solver, str) else solver
    return made.train(Multiclass(K, D), (X, Y), FORMULATIONS[formulation], **settings)


@pytest.mark.parametrize("solver", CERTIFYING)
def test_a_path_over_C_reuses_cuts(solver: str) -> None:
    data, train = chains(6, noise=0.5), registry.solver(solver).train
    tight: dict[str, Any] = {"eps": 1e-9, "gap_tol": 1e-6 if solver != "bcfw" else 1e-4, "max_iter": 5000}
    warm, calls, cold_calls = None, 0, 0
    for C in (5.0, 10.0, 20.0, 40.0, 20.0):
        cold = train(ToyChain(), data, FORMULATIONS["SVM1 margin"], C=C, **tight)
        warm = train(ToyChain(), data, FORMULATIONS["SVM1 margin"], C=C, warm_start=warm, **tight)
        assert warm.primal == pytest.approx(cold.primal, rel=2 * tight["gap_tol"])
        assert warm.relative_gap <= tight["gap_tol"]
        calls, cold_calls = calls + warm.oracle_calls, cold_calls + cold.oracle_calls
    assert calls < cold_calls


@pytest.mark.parametrize("formulation", ["SVM1 slack", "SVM2 margin", "SVM2"])
@pytest.mark.parametrize("space", [Linear(), Joint(Product(LinearKernel()))], ids=["explicit", "kernel"])
def test_a_path_over_C_under_other_formulations_and_in_a_kernel_space(formulation: str, space: Any) -> None:
    X, Y = sample()
    data, chosen, solver = (X, Y), FORMULATIONS[formulation], registry.solver("n_slack")
    tight: dict[str, Any] = {"eps": 1e-9, "gap_tol": 1e-7}
    warm = None
    for C in (0.5, 5.0, 50.0):
        warm = solver.train(Multiclass(K, D), data, chosen, space, C=C, warm_start=warm, **tight)
        cold = solver.train(Multiclass(K, D), data, chosen, space, C=C, **tight)
        assert warm.primal == pytest.approx(cold.primal, rel=2e-7)
    if space.explicit:  # over all labels searches are few, warm or cold: new cuts count
        assert warm.n_constraints < cold.n_constraints
    else:
        assert warm.oracle_calls < cold.oracle_calls


def test_a_former_fit_is_not_changed_by_what_starts_from_it() -> None:
    first = fitted("n_slack", C=1.0)
    w, primal, alpha = first.w.copy(), first.primal, first.support.alpha.copy()
    fitted("n_slack", C=10.0, warm_start=first)
    np.testing.assert_array_equal(first.w, w)
    np.testing.assert_array_equal(first.support.alpha, alpha)
    np.testing.assert_allclose(first.support.rows.tocsr().T @ alpha, w, atol=1e-12)
    assert first.primal == primal


def test_a_fit_under_another_formulation_is_no_start() -> None:
    first = fitted("n_slack", "SVM1 margin", C=2.0)
    again = fitted("n_slack", "SVM2 margin", C=2.0, eps=1e-9, gap_tol=1e-7, warm_start=first)
    assert again.primal == pytest.approx(
        fitted("n_slack", "SVM2 margin", C=2.0, eps=1e-9, gap_tol=1e-7).primal
    )


@pytest.mark.parametrize("solver", [*CERTIFYING, "perceptron"])
def test_the_same_seed_gives_the_same_bytes(solver: str) -> None:
    one, same, other = (fitted(solver, C=20.0, eps=1e-4, random_state=seed) for seed in (7, 7, 8))
    assert one.w.tobytes() == same.w.tobytes()
    clocks = CLOCKS
    rows = [[{k: v for k, v in row.items() if k not in clocks} for row in fit.trace] for fit in (one, same)]
    assert rows[0] == rows[1]
    if solver in ("bcfw", "perceptron"):  # the others are too exact for the order to show
        assert other.w.tobytes() != one.w.tobytes()


@pytest.mark.parametrize("solver", CERTIFYING)
def test_max_iter_warns_and_names_the_gap(solver: str) -> None:
    made = NSlack(all_labels=False) if solver == "n_slack" else registry.solver(solver)
    with pytest.warns(ConvergenceWarning) as caught:
        fit = fitted(made, C=100.0, eps=1e-9, gap_tol=1e-9, max_iter=1)
    assert not fit.converged
    assert f"left a duality gap of {fit.gap:.3g}" in str(caught[0].message)
    assert "stopped at max_iter = 1 passes: raise max_iter" in str(caught[0].message)
    assert caught[0].filename == __file__
    listed = references.constraints(Multiclass(K, D), *sample(), lambda x: range(K))
    best = references.primal("SVM1 margin", 100.0, listed, len(sample()[1])).value
    assert fit.dual - 1e-9 <= best <= fit.primal + 1e-9


@pytest.mark.parametrize("solver", CERTIFYING)
@pytest.mark.parametrize("formulation", ["SVM1 margin", "SVM2 slack"])
def test_trace_and_progress(solver: str, formulation: str) -> None:
    if solver in ("one_slack", "bcfw") and formulation == "SVM2 slack":
        formulation = "SVM1 slack"
    seen: list[dict[str, float]] = []
    fit = fitted(solver, formulation, C=20.0, eps=1e-3, progress=lambda row: seen.append(dict(row)))
    assert seen == fit.trace
    assert [row["iteration"] for row in seen] == list(range(1, len(seen) + 1))
    calls = [row["oracle_calls"] for row in seen]
    assert all(np.diff(calls)[:-1] > 0) and calls[-1] >= calls[-2]  # the last row may need no search
    assert calls[-1] == fit.oracle_calls
    assert min(np.diff([row["dual"] for row in seen])) >= -1e-9
    for row in seen:
        if "primal" in row:
            assert row["dual"] <= row["primal"] + 1e-9
            assert row["gap"] == pytest.approx(row["primal"] - row["dual"], abs=1e-9)
        assert row["active"] <= row["held"] <= row["constraints"]
    for clock in CLOCKS:
        assert min(np.diff([row[clock] for row in seen])) >= 0
    assert seen[-1]["constraints"] == fit.n_constraints
    assert seen[-1]["active"] == fit.n_active == len(fit.support.alpha)


def test_perceptron_trace_counts_mistakes_and_calls() -> None:
    X, Y = sample()
    fit = registry.solver("perceptron", epochs=3).train(Multiclass(K, D), (X, Y), FORMULATIONS["SVM1"])
    assert sum(row["mistakes"] for row in fit.trace) == fit.n_constraints
    assert [row["oracle_calls"] for row in fit.trace] == [30, 60, 90]


@pytest.mark.parametrize("solver", CERTIFYING)
@pytest.mark.parametrize("gap_tol", [1e-2, 1e-4])
def test_gap_tol_stops_once_certified(solver: str, gap_tol: float) -> None:
    fit = fitted(solver, C=30.0, eps=1e-9, gap_tol=gap_tol, max_iter=5000)
    assert fit.converged
    assert fit.relative_gap <= gap_tol


@pytest.mark.parametrize("eps", [0.5, 0.01])
def test_eps_is_the_violation_that_may_remain(eps: float) -> None:
    """n_slack: no H above xi + eps; one_slack: nor on average; bcfw: gap <= C eps."""
    C = 30.0
    for solver in ("n_slack", "n_slack_a", "n_slack_b"):
        fit = fitted(solver, C=C, eps=eps)
        relaxed = np.zeros(len(fit.xi))
        h = fit.support.b - fit.support.rows.tocsr() @ fit.w
        np.maximum.at(relaxed, fit.support.example, h)
        assert np.all(fit.xi <= relaxed + eps + 0.02 * eps)
        assert fit.gap <= C * eps * 1.02
    fit = fitted("one_slack", C=C, eps=eps)
    relaxed_one = max(0.0, float(np.max(fit.support.b - fit.support.rows.tocsr() @ fit.w)))
    assert np.mean(fit.xi) <= relaxed_one + eps * 1.02
    assert fitted("bcfw", C=C, eps=eps).gap <= C * eps


@dataclass(frozen=True)
class Hasty(ToyChain):
    """A search that looks at half of the outputs, and says that it is approximate."""

    exact: bool = False

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
        outputs = self.outputs(x)
        return best_of(self, f, x, y, H, outputs[int(abs(hash(f(x, outputs[-1])))) % 2 :: 2])


@pytest.mark.parametrize("solver", CERTIFYING)
def test_an_approximate_search_claims_nothing(solver: str) -> None:
    X, Y = chains(6, noise=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = registry.solver(solver).train(
            Hasty(), (X, Y), FORMULATIONS["SVM1 margin"], C=5.0, eps=0.01, max_iter=20
        )
    with pytest.raises(ValueError, match="gap_tol asks for a certified gap, but the problem's search is app"):
        registry.solver(solver).train(Hasty(), (X, Y), FORMULATIONS["SVM1 margin"], gap_tol=0.5)
    assert fit.gap is None
    assert fit.relative_gap is None
    assert fit.exact is False
    assert np.isnan(fit.trace[-1]["gap"])


def test_one_example_is_enough() -> None:
    X, Y = np.array([[1.0, -1.0]]), np.array([1])
    for solver in CERTIFYING:
        fit = registry.solver(solver).train(
            Multiclass(3, 2), (X, Y), FORMULATIONS["SVM1"], C=10.0, eps=1e-9, gap_tol=1e-8
        )
        # w = (x (x) (e_1 - (e_0 + e_2) / 2)) / 3, margins 1 on both sides
        assert fit.primal == pytest.approx(1 / 6, rel=1e-6)


def test_a_perfect_start_ends_at_once() -> None:
    """With one class there is nothing to learn: no cut, no gap."""
    for solver in CERTIFYING:
        fit = registry.solver(solver).train(
            Multiclass(1, 2), (np.ones((3, 2)), np.zeros(3, dtype=int)), FORMULATIONS["SVM1 margin"]
        )
        assert (fit.primal, fit.dual, fit.gap, fit.n_constraints) == (0.0, 0.0, 0.0, 0)


@pytest.mark.parametrize("solver", ["n_slack_a", "n_slack_b"])
@pytest.mark.parametrize("formulation", ["SVM1 slack", "SVM2 margin"])
@pytest.mark.parametrize("space", [Linear(), Joint(Product(LinearKernel()))], ids=["explicit", "kernel"])
def test_without_restarting_every_qp_begins_at_zero_and_ends_at_the_same_optimum(
    solver: str, formulation: str, space: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []
    ascend = Dual.ascend

    def watched(self: Dual, *given: Any, **options: Any) -> None:
        before = float(np.abs(self.alpha).sum())
        ascend(self, *given, **options)
        begun.append(before)
        if before == 0.0:  # w was 0 as well: else it would not be the combination of the new alpha
            w_norm2 = self.norm2
            self.refresh()
            assert self.norm2 == pytest.approx(w_norm2, rel=1e-9, abs=1e-12)

    monkeypatch.setattr(Dual, "ascend", watched)
    X, Y = sample()
    fits = {}
    for restart in (True, False):
        begun.clear()
        fits[restart] = registry.solver(solver, restart=restart).train(
            Multiclass(K, D), (X, Y), FORMULATIONS[formulation], space, C=10.0, eps=1e-4
        )
        assert len(begun) > 2 and any(before > 0.0 for before in begun) == restart
    assert fits[True].converged and fits[False].converged
    assert fits[False].primal == pytest.approx(fits[True].primal, rel=1e-3)


def test_a_batch_of_cuts_has_no_cold_start() -> None:
    with pytest.raises(ValueError, match="restart=False is for one cut at a time: choose variant 'a' or 'b'"):
        registry.solver("n_slack", restart=False)
