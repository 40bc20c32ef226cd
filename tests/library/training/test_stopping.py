"""When training stops: gap_tol alone, the papers' eps, or a relative gap of 1%; and convergence means it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers import references
from helpers.tables import Table
from helpers.toy_chain import ToyChain, chains
from structmargin import StructuredSVM
from structmargin.dual.working_set import NotSeparableError
from structmargin.fit import ConvergenceWarning
from structmargin.problems import Multiclass
from structmargin.solvers.olarank import OLaRank
from structmargin.training.stopping import Criterion

ALL_SEVEN = ["n_slack", "n_slack_a", "n_slack_b", "staged"]
SOLVERS = [*ALL_SEVEN, "one_slack", "bcfw", OLaRank(passes=2000)]


def digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_gap_tol_alone_decides(solver: Any) -> None:
    X, y = digits(120)
    loose = StructuredSVM(Multiclass(10, 64), solver=solver, C=20.0, gap_tol=1e-3, eps=10.0).fit(X, y).fit_
    assert loose.converged and loose.relative_gap <= 1e-3  # an eps that nothing exceeds does not stop it
    tight = StructuredSVM(Multiclass(10, 64), solver=solver, C=20.0, gap_tol=0.5, eps=1e-9).fit(X, y).fit_
    assert tight.converged and tight.n_iter <= loose.n_iter  # nor does a tiny one keep it going
    assert tight.relative_gap > 10 * loose.relative_gap


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_with_neither_the_objective_is_known_to_one_percent(solver: Any) -> None:
    X, y = digits(120)
    for scale in (1.0, 0.05):  # losses of .05 ended at w = 0 when eps was .1
        problem = Multiclass(10, 64, loss=scale * (1.0 - np.eye(10)))
        fit = StructuredSVM(problem, solver=solver, C=20.0 / scale).fit(X, y).fit_
        assert fit.converged and fit.relative_gap <= 1e-2
        assert np.linalg.norm(fit.w) > 0.0


@pytest.mark.parametrize("solver", ["n_slack", "n_slack_a", "n_slack_b"])
def test_eps_is_the_papers(solver: str) -> None:
    X, Y = chains(8, 3, 2, noise=0.5, seed=1)
    problem = ToyChain(n_labels=3)
    fit = StructuredSVM(problem, solver=solver, C=10.0, eps=0.3).fit(X, Y).fit_
    relaxed = np.zeros(len(Y))  # the slacks over the cuts with mass alone
    np.maximum.at(relaxed, fit.support.example, fit.support.H)
    assert fit.converged and np.all(fit.xi <= relaxed + 0.3 + 1e-9)


def test_where_no_gap_is_known_eps_is_one_percent_of_the_largest_loss() -> None:
    X, Y = chains(8, 3, 2, noise=0.5, seed=1)
    hasty = ToyChain(n_labels=3, exact=False)
    longest = max(map(len, Y))  # every label wrong
    by_default = StructuredSVM(hasty, C=10.0).fit(X, Y)
    by_name = StructuredSVM(hasty, C=10.0, eps=0.01 * longest).fit(X, Y)
    assert by_default.fit_.gap is None
    np.testing.assert_array_equal(by_default.w_, by_name.w_)
    assert Criterion.of(None, None, exact=False).absolute(3.0) == pytest.approx(0.03)


@pytest.mark.parametrize("C", [1e7, 1e10])
@pytest.mark.parametrize("solver", ALL_SEVEN)
def test_converged_means_that_the_relaxed_problem_is_solved_too(solver: str, C: float) -> None:
    """With so large a C an ascent of the dual takes long, and used to be taken for solved."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    model = StructuredSVM(Multiclass(3, 4), solver=solver, C=C, eps=0.1, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = model.fit(X, y).fit_
    assert (
        not fit.converged or fit.gap <= 1.1 * C * 0.1
    )  # eps more on every slack, and the rest of the ascent
    best = references.primal("SVM1 margin", 1e4, all_constraints(X, y), 30)
    assert fit.dual / C <= best.value / 1e4 * (1 + 1e-6)  # price of slack at the optimum: the same to 1e-4


def all_constraints(X: np.ndarray, y: np.ndarray) -> list[references.Constraint]:
    return references.constraints(Multiclass(3, 4), X, y, lambda x: range(3))


def test_hard_margins_are_relative_to_each_cut() -> None:
    fit = StructuredSVM(Multiclass(2, 1), "SVM0", gap_tol=1e-9).fit(np.array([[1e6], [-1.0]]), [0, 1]).fit_
    assert fit.primal == pytest.approx(0.25)  # w = (1/2, -1/2) puts the second example at margin 1


@pytest.mark.parametrize("solver", ["n_slack", "n_slack_b", "staged"])
def test_hard_margins_that_cannot_be_had_end_with_an_error(solver: str) -> None:
    X, _ = digits(100)
    y = np.random.default_rng(0).integers(10, size=100)
    few = X[:, 20:30]  # ten features cannot separate a hundred random labels
    with pytest.raises(NotSeparableError, match="use a formulation with slack"):
        StructuredSVM(Multiclass(10, 10), "SVM0", solver=solver).fit(few, y)


@pytest.mark.parametrize("formulation", ["SVM1 margin", "SVM1 slack", "SVM2", "SVM2 margin"])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_weight_of_two_is_the_example_twice_and_of_none_its_absence(solver: Any, formulation: str) -> None:
    if formulation.startswith("SVM2") and solver not in ALL_SEVEN:
        formulation = "SVM1"
    rng = np.random.default_rng(1)
    X = [
        {"psi": rng.normal(size=(3, 2)), "loss": np.array([[0, 1, 2.0], [1, 0, 1], [0.5, 2, 0]])}
        for _ in range(8)
    ]
    Y = [int(y) for y in rng.integers(3, size=8)]
    weights = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0])
    options: dict[str, Any] = {"formulation": formulation, "solver": solver, "gap_tol": 1e-5}
    weighted = StructuredSVM(Table(), C_per_example=2.0, **options).fit(X, Y, sample_weight=weights)
    repeated = np.repeat(np.arange(8), weights.astype(int))
    twice = StructuredSVM(Table(), C_per_example=2.0, **options)
    twice.fit([X[i] for i in repeated], [Y[i] for i in repeated])
    assert weighted.fit_.primal == pytest.approx(twice.fit_.primal, rel=3e-5)
    apart = 2.0 * np.sqrt(2e-5 * twice.fit_.primal)  # |w - w*|^2 / 2 is at most the gap
    np.testing.assert_allclose(weighted.w_, twice.w_, atol=apart)


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ([1.0, 2.0], r"sample_weight has shape \(2,\), but there are 3 examples"),
        ([1.0, -1.0, 1.0], "sample_weight of example 1 is -1: weights must be finite and >= 0"),
        ([1.0, np.nan, 1.0], "sample_weight of example 1 is nan"),
        ([0.0, 0.0, 0.0], "every sample_weight is zero"),
    ],
)
def test_bad_weights_are_refused(weights: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        StructuredSVM(Multiclass(2, 1)).fit([[1.0], [2.0], [-1.0]], [0, 0, 1], sample_weight=weights)
