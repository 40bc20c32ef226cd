"""One example that is a sum of independent rows: the same optimum, a cut that is valid at every w."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from structmargin import FORMULATIONS, StructuredSVM, certify
from structmargin.parts import IndependentRows
from structmargin.problems import Measure
from structmargin.problems.measures.batch import Sample
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.one_slack import OneSlack

SOLVERS = pytest.mark.parametrize("solver", [NSlack, OneSlack])


def data(n: int = 150, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 5 == 0, 1, -1)
    return rng.normal(size=(n, d)) + 0.6 * y[:, None], y


@dataclass(frozen=True, eq=False)
class Weighted:
    """Labels of rows, each with a loss of its own; the rows are counted by threes."""

    psi_factor: float = 3.0

    def psi(self, x: Any, y: Any) -> np.ndarray:
        return self.psi_factor * (y @ x[0])

    def delta(self, x: Any, y: Any, ybar: Any) -> float:
        return float(x[1] @ (y != ybar))

    def argmax(self, f: Any, x: Any) -> np.ndarray:
        return np.where(x[0] @ f.w > 0, 1.0, -1.0)

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> np.ndarray:
        wrong = x[1] - 2.0 * self.psi_factor * y * (x[0] @ f.w) > 0
        return np.where(wrong, -y, y)

    def independent_rows(self, x: Any, y: Any) -> IndependentRows:
        return IndependentRows(x[0], 2.0 * self.psi_factor * y, 0.0, x[1])


@pytest.mark.parametrize("intercept", [0.0, 2.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_add_up_to_the_loss_and_to_psi(intercept: float, form: Any):
    X, y = data(20)
    problem, rng = Measure("error_rate", intercept=intercept), np.random.default_rng(1)
    x = Sample(form(X), y > 0)
    rows = problem.independent_rows(x, y)
    full = np.hstack([X, np.full((20, 1), intercept)]) if intercept else X
    for _ in range(20):
        ybar = problem.draw(x, y, rng)
        wrong = ybar != y
        assert problem.delta(y, ybar) == pytest.approx(rows.losses[wrong].sum())
        difference = problem.psi(x, y) - problem.psi(x, ybar)
        np.testing.assert_allclose((rows.factor[:, None] * full)[wrong].sum(axis=0), difference, atol=1e-12)


def test_other_measures_have_no_independent_rows():
    X, y = data(20)
    for measure in ("f1", "prbep", "roc_area"):
        assert Measure(measure).independent_rows(Sample(X, y > 0), y) is None


@SOLVERS
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("C", [0.5, 50.0, 5e3])
def test_the_optimum_is_that_of_cutting_planes(solver: Any, form: Any, C: float):
    X, y = data()
    problem = Measure("error_rate", intercept=1.0)
    by_rows, by_cuts = (
        StructuredSVM(problem, solver=solver(by_rows=flag), C=C, gap_tol=1e-6).fit(form(X), y).fit_
        for flag in (True, False)
    )
    assert by_rows.converged and by_rows.relative_gap <= 1e-6
    assert by_rows.oracle_calls == 2 < by_cuts.oracle_calls
    assert by_rows.primal == pytest.approx(by_cuts.primal, rel=2e-6)
    assert by_rows.dual <= by_cuts.primal and by_cuts.dual <= by_rows.primal
    np.testing.assert_allclose(by_rows.support.rows.tocsr().T @ by_rows.support.alpha, by_rows.w)
    assert by_rows.support.alpha.sum() <= C * (1 + 1e-12)


@SOLVERS
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_cut_is_an_average_of_outputs(solver: Any, weight: float):
    """At no w whatever may it exceed the most violated output."""
    X, y = data()
    problem, formulation, rng = (
        Measure("error_rate", intercept=1.0),
        FORMULATIONS["SVM1 margin"],
        np.random.default_rng(2),
    )
    wrapped = problem.wrap(X, y)
    fit = solver().train(problem, wrapped, formulation, C=20.0, sample_weight=[weight])
    (alpha,), (b,), (row,) = fit.support.alpha, fit.support.b, fit.support.rows.toarray()
    factor = weight if solver is OneSlack else 1.0  # whose cuts are weighted means
    assert alpha == pytest.approx(20.0 * weight / factor)
    full = np.hstack([X, np.ones((len(y), 1))])
    for scale in (0.0, 0.1, 1.0, 10.0):
        for w in [scale * fit.w, *(scale * rng.normal(size=(5, 5)))]:
            largest = np.mean(np.maximum(1.0 - 2.0 * y * (full @ w), 0.0))
            assert b - row @ w <= factor * largest * (1 + 1e-12)
    certificate = certify(problem, *wrapped, fit.scorer, formulation, 20.0, sample_weight=[weight])
    assert certificate.primal == pytest.approx(fit.primal)


@SOLVERS
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_rows_with_losses_of_their_own(solver: Any, C: float):
    X, y = data(60)
    losses = np.random.default_rng(3).uniform(0.1, 2.0, size=60)
    given = [(X, losses)], [y.astype(float)]
    by_rows, by_cuts = (
        StructuredSVM(Weighted(), solver=solver(by_rows=flag), C=C, gap_tol=1e-7).fit(*given).fit_
        for flag in (True, False)
    )
    assert by_rows.oracle_calls < by_cuts.oracle_calls
    assert by_rows.primal == pytest.approx(by_cuts.primal, rel=2e-7)


@SOLVERS
def test_a_wrong_decomposition_is_found_out(solver: Any):
    """Rows that are not those of psi would make a dual above the optimum."""

    class Wrong(Weighted):
        def independent_rows(self, x: Any, y: Any) -> IndependentRows:
            return IndependentRows(x[0], 0.5 * self.psi_factor * y, 0.0, x[1])

    X, y = data(60)
    with pytest.raises(ValueError, match="independent_rows of Wrong"):
        StructuredSVM(Wrong(), solver=solver(), C=3.0).fit([(X, np.ones(60))], [y.astype(float)])


@pytest.mark.parametrize("eps", [1e-2, 1e-5])
def test_the_papers_criterion(eps: float):
    X, y = data()
    fit = StructuredSVM(Measure("error_rate"), solver="one_slack", C=50.0, eps=eps).fit(X, y).fit_
    assert fit.converged and 0.0 <= fit.gap <= 50.0 * eps and fit.oracle_calls == 2


@pytest.mark.parametrize("formulation", ["SVM1 slack", "SVM2 margin"])
def test_other_formulations_are_searched_as_before(formulation: str):
    X, y = data(40)
    model = StructuredSVM(Measure("error_rate"), formulation, "n_slack", C=5.0).fit(X, y)
    assert model.fit_.converged and model.fit_.oracle_calls > 2


def test_two_samples_are_searched_as_before():
    X, y = data(60)
    samples, labels = [Sample(X[:30], y[:30] > 0), Sample(X[30:], y[30:] > 0)], [y[:30], y[30:]]
    fit = NSlack().train(Measure("error_rate"), (samples, labels), FORMULATIONS["SVM1 margin"], C=5.0)
    assert fit.converged and fit.oracle_calls > 4


def test_a_warm_start_at_another_C():
    problem = Measure("error_rate")
    wrapped = problem.wrap(*data())
    fit = None
    for C in (1.0, 10.0, 100.0):
        fit = OneSlack().train(
            problem, wrapped, FORMULATIONS["SVM1 margin"], C=C, gap_tol=1e-6, warm_start=fit
        )
        cold = OneSlack().train(problem, wrapped, FORMULATIONS["SVM1 margin"], C=C, gap_tol=1e-6)
        assert fit.converged and fit.primal == pytest.approx(cold.primal, rel=2e-6)


def test_same_bytes_for_any_number_of_jobs():
    X, y = data()
    weights = {
        StructuredSVM(Measure("error_rate"), C=50.0, gap_tol=1e-5, n_jobs=jobs).fit(X, y).w_.tobytes()
        for jobs in (1, 2, 3)
    }
    assert len(weights) == 1
