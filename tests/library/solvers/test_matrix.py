"""Every problem under every formulation by every solver, against the primal over all constraints."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import references
from helpers.toy_chain import ToyChain, chains
from helpers.trees import all_trees
from structmargin import NotSeparableError, registry
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import LinearKernel, Product
from structmargin.problems import Grammar, Multiclass

ALL_SEVEN = ("n_slack", "n_slack_a", "n_slack_b", "n_slack_cvxopt", "staged")
SOLVERS = (*ALL_SEVEN, "one_slack", "bcfw")
LINEAR_ONLY = ("one_slack", "bcfw")
K, D = 4, 3
LOSS = np.array([[0, 0, 2, 0.5], [1, 0, 3, 1], [2, 0.25, 0, 1], [4, 1, 0.5, 0]])
"""Asymmetric, with a wrong class that costs nothing: margin re-scaling constrains it, the others do not."""


def points(n: int, *, noise: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """n points labelled by a linear model with a margin; the first `noise` share of labels shifted by one."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(D, K))
    X = rng.normal(size=(400, D))
    scores = np.sort(X @ W, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.5][:n]
    Y = np.argmax(X @ W, axis=1)
    wrong = np.arange(n) < noise * n
    return X, np.where(wrong, (Y + 1) % K, Y)


S, A, B = ("S",), ("A",), ("B",)
RULES = (
    (S, A, B), (S, B, A), (S, A, "x", B), (A, "x"), (B, "x"), (B, "y"), (A, A, B), (B, "y", A), (A, B), (B, A)
)  # fmt: skip
"""A may be B and B may be A: so there are other trees of the same brackets, which cost nothing by F1."""
SENTENCES = ("xx", "yx", "xxx", "yxx", "xxy", "yyx", "xyxy")


def parses(x: Any) -> list[Any]:
    """Every tree of a sentence."""
    return list(all_trees(RULES, S, x))


def treebank(problem: Grammar, *, noise: bool) -> tuple[list[Any], list[Any]]:
    """Sentences with the trees that some weights make the best; every third tree the worst under noise."""
    w = np.random.default_rng(7).normal(size=problem.n_weights)
    X = [tuple(tags) for tags in SENTENCES]
    ranked = [sorted(parses(x), key=lambda y, x=x: problem.psi(x, y) @ w) for x in X]
    return X, [trees[0 if noise and i % 3 == 0 else -1] for i, trees in enumerate(ranked)]


@cache
def case(name: str, separable: bool) -> tuple[Any, Any, Any, list[references.Constraint]]:
    """(problem, X, Y, every constraint)."""
    noise = 0.0 if separable else 0.4
    if name.startswith("chain"):
        problem: Any = ToyChain(
            loss="zero_one" if "0/1" in name else "hamming", sparse=name.endswith("sparse")
        )
        X, Y = chains(6, noise=0.0 if separable else 0.5)
        return problem, X, Y, references.constraints(problem, X, Y, problem.outputs)
    if name.startswith("grammar"):
        loss = "zero_one" if "0/1" in name else "f1"
        problem = Grammar(loss=loss, rules=RULES, start=("S",), spans=True)
        X, Y = treebank(problem, noise=not separable)
        return problem, X, Y, references.constraints(problem, X, Y, parses)
    problem = Multiclass(K, D, loss=LOSS if "matrix" in name else None)
    X, Y = points(15, noise=noise)
    listed = references.constraints(problem, X, Y, lambda x: range(K))
    return problem, (sp.csr_matrix(X) if name.endswith("sparse") else X), Y, listed


CASES = (
    "multiclass 0/1 dense",
    "multiclass 0/1 sparse",
    "multiclass matrix dense",
    "multiclass matrix sparse",
    "chain hamming dense",
    "chain hamming sparse",
    "chain 0/1 dense",
    "grammar 1-F1",
    "grammar 0/1",
)


@cache
def optimum(name: str, formulation: str, C: float) -> references.Optimum:
    _, _, Y, listed = case(name, formulation == "SVM0")
    return references.primal(formulation, C, listed, len(Y))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", CASES)
def test_optimum_of_the_all_constraints_primal(name: str, formulation: str, solver: str) -> None:
    problem, X, Y, listed = case(name, formulation == "SVM0")
    C, n = 8.0, len(Y)
    train = registry.solver(solver).train
    if solver in LINEAR_ONLY and not formulation.startswith("SVM1"):
        with pytest.raises(
            ValueError, match=rf"solver '{solver}' takes SVM1.*formulation '{formulation}' has"
        ):
            train(problem, (X, Y), FORMULATIONS[formulation], C=C)
        return
    tol = 1e-4 if solver == "bcfw" else 1e-6
    fit = train(problem, (X, Y), FORMULATIONS[formulation], C=C, eps=1e-9, gap_tol=0.5 * tol, max_iter=3000)
    best = optimum(name, formulation, C).value
    assert fit.converged
    assert fit.exact
    assert fit.gap == pytest.approx(fit.primal - fit.dual, abs=1e-12)
    assert fit.relative_gap <= tol
    assert fit.primal == pytest.approx(best, rel=tol)
    assert fit.dual <= best * (1 + 1e-8)
    # the primal is what the constraints themselves say of w
    w = fit.w
    if formulation == "SVM0":
        smallest = min(float(c.dpsi @ w) for c in listed if c.delta > 0)
        assert fit.primal == pytest.approx(0.5 * w @ w / min(smallest, 1.0) ** 2, rel=1e-9)
    else:
        xi = references.slacks(formulation, listed, n, w)
        np.testing.assert_allclose(fit.xi, xi, atol=1e-9)
        assert fit.primal == pytest.approx(references.objective(formulation, C, xi, w), rel=1e-9)
    # alpha is feasible, w is its combination, and the dual value is that of the support
    support = fit.support
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, w, atol=1e-9)
    total = np.bincount(support.example, weights=support.alpha)
    assert np.all(support.alpha > 0)
    value = support.alpha @ support.b - 0.5 * w @ w
    if formulation.startswith("SVM1"):
        assert total.max() <= (C if solver == "one_slack" else C / n) * (1 + 1e-9)
    if formulation.startswith("SVM2"):
        value -= 0.5 * n / C * total @ total
    assert fit.dual == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("solver", ALL_SEVEN)
@pytest.mark.parametrize("name", ["multiclass 0/1 dense", "multiclass 0/1 sparse", "chain hamming dense"])
def test_hard_margin_says_when_data_cannot_be_separated(name: str, solver: str) -> None:
    problem, X, Y, listed = case(name, False)
    assert references.separable(case(name, True)[3])
    assert not references.separable(listed)
    with pytest.raises(
        NotSeparableError, match=r"SVM0 asks every constraint to hold.*formulation with slack"
    ):
        registry.solver(solver).train(problem, (X, Y), FORMULATIONS["SVM0"], C=1.0, eps=1e-3)


@pytest.mark.parametrize("solver", ALL_SEVEN)
def test_hard_margin_in_a_kernel_space_says_so_too(solver: str) -> None:
    problem, X, Y, _ = case("multiclass 0/1 dense", False)
    space = registry.space(Product(LinearKernel()))
    with pytest.raises(NotSeparableError, match="SVM0"):
        registry.solver(solver).train(problem, (X, Y), FORMULATIONS["SVM0"], space, eps=1e-3)


def test_same_input_with_two_labels_is_not_separable() -> None:
    """The shortest proof: two cuts that cancel."""
    X, Y = np.ones((2, 1)), np.array([0, 1])
    for solver in ALL_SEVEN:
        with pytest.raises(NotSeparableError):
            registry.solver(solver).train(Multiclass(2, 1), (X, Y), FORMULATIONS["SVM0"])


def test_an_input_of_zeros_is_not_separable() -> None:
    """A single cut of norm 0."""
    for solver in ALL_SEVEN:
        with pytest.raises(NotSeparableError):
            registry.solver(solver).train(
                Multiclass(2, 2), (np.array([[1.0, 0], [0, 0]]), np.array([0, 1])), FORMULATIONS["SVM0"]
            )


def test_a_margin_too_thin_to_be_told_from_rounding_is_not_called_impossible() -> None:
    """These two points can be separated, by a margin of 5e-8 for rows of length 1."""
    X, Y = np.array([[1.0, 0.0], [1.0, 1e-7]]), np.array([0, 1])
    with pytest.raises(NotSeparableError, match=r"margin is at most 5\.0e-08 .* 1e-06 or less counts as"):
        registry.solver("n_slack").train(Multiclass(2, 2), (X, Y), FORMULATIONS["SVM0"], C=1.0)
