"""A joint kernel trains what its explicit Psi trains, under every formulation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import references
from helpers.toy_chain import ToyChain, chains
from helpers.unfactored import Unfactored
from structmargin import SearchError, StructuredSVM, registry
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, LinearKernel, Pairwise, Polynomial, Product
from structmargin.problems import Multiclass
from structmargin.training.space import Joint

K, D = 3, 2
LOSS = np.array([[0, 1, 2], [1, 0, 0.5], [3, 1, 0]])
MAP = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]])
"""Lambda(y) a row a class; L = MAP MAP' is the class similarity."""


def sample(separable: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    Y = np.arange(12) % K
    spread = 0.2 if separable else 1.0
    angle = 2 * np.pi * Y / K
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + spread * rng.normal(size=(12, D)), Y


def squares(X: np.ndarray) -> np.ndarray:
    """phi with <phi(x), phi(z)> = (2 <x, z> + 3)^2."""
    root = np.sqrt(2.0)
    pairs = [root * 2 * X[:, [0]] * X[:, [1]]]
    return np.hstack([2 * X**2, *pairs, np.sqrt(12.0) * X, np.full((len(X), 1), 3.0)])


@dataclass(frozen=True)
class Mapped:
    """Psi(x, y) = x (x) Lambda(y), written out: for the test alone."""

    problem: Multiclass

    def psi(self, x: Any, y: Any) -> np.ndarray:
        return np.outer(x, MAP[y]).ravel()

    def delta(self, y: Any, ybar: Any) -> float:
        return self.problem.delta(y, ybar)

    def argmax(self, f: Any, x: Any) -> int:
        return int(np.argmax([f(x, y) for y in range(K)]))

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> int:
        return int(np.argmax([float(H(self.delta(y, c), f(x, y) - f(x, c))) for c in range(K)]))


KERNELS: dict[str, Any] = {
    "linear": (Product(LinearKernel()), lambda X: X),
    "polynomial": (Product(Polynomial(degree=2, gamma=2.0, coef0=3.0)), squares),
    "similarity": (Product(LinearKernel(), L=MAP @ MAP.T), lambda X: X),
}


def both(kind: str, X: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """(problem for the kernel, kernel, problem with explicit Psi, its inputs)."""
    kernel, phi = KERNELS[kind]
    explicit: Any = Multiclass(K, phi(X).shape[1], loss=LOSS)
    if kind == "similarity":
        explicit = Mapped(explicit)
    return Multiclass(K, D, loss=LOSS), kernel, explicit, phi(X)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_equals_explicit_features(kind: str, formulation: str) -> None:
    X, Y = sample(formulation == "SVM0")
    problem, kernel, explicit, Z = both(kind, X)
    settings: dict[str, Any] = {"C": 6.0, "eps": 1e-9, "gap_tol": 1e-8, "max_iter": 5000}
    chosen = FORMULATIONS[formulation]
    listed = references.constraints(explicit, Z, Y, lambda x: range(K))
    best = references.primal(formulation, 6.0, listed, len(Y))
    for solver, joint in product(
        ("n_slack", "n_slack_a", "n_slack_b", "staged"), (kernel, Unfactored(kernel))
    ):
        fit = registry.solver(solver).train(problem, (X, Y), chosen, Joint(joint), **settings)
        assert fit.w is None
        assert fit.relative_gap <= 1e-8
        assert fit.primal == pytest.approx(best.value, rel=1e-7)
        scores = np.array([[fit.scorer(x, y) for y in range(K)] for x in X])
        wanted = np.array([[references.dense(explicit.psi(z, y)) @ best.w for y in range(K)] for z in Z])
        np.testing.assert_allclose(scores, wanted, atol=2e-3)
        np.testing.assert_allclose(
            [fit.scorer.potentials(x) for x in X],
            [[fit.scorer(x, y) for y in range(K)] for x in X],
            atol=1e-10,
        )


@pytest.mark.parametrize("formulation", ["SVM1 slack", "SVM2 margin"])
def test_kernel_over_sparse_rows(formulation: str) -> None:
    X, Y = sample(False)
    problem, kernel, _, _ = both("polynomial", X)
    fits = [
        registry.solver("n_slack").train(
            problem, (rows, Y), FORMULATIONS[formulation], Joint(kernel), eps=1e-9, gap_tol=1e-9
        )
        for rows in (X, sp.csr_matrix(X))
    ]
    assert fits[0].primal == pytest.approx(fits[1].primal, rel=1e-8)
    scores = fits[1].scorer.potentials(sp.csr_matrix(X))
    np.testing.assert_allclose(fits[0].scorer.potentials(X), scores, atol=1e-3)
    one_by_one = [fits[1].scorer.potentials(sp.csr_matrix(x)) for x in X]
    np.testing.assert_allclose(one_by_one, scores, atol=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_pairwise_kernel_on_a_chain(formulation: str) -> None:
    """Any function of two pairs, for a problem that only asks f(x, y)."""
    problem = ToyChain(sparse=False)
    X, Y = chains(5, noise=0.0 if formulation == "SVM0" else 0.5)
    kernel = Pairwise(lambda x, y, x2, y2: float(problem.psi(x, y) @ problem.psi(x2, y2)))
    listed = references.constraints(problem, X, Y, problem.outputs)
    best = references.primal(formulation, 4.0, listed, len(Y)).value
    fit = registry.solver("n_slack").train(
        problem, (X, Y), FORMULATIONS[formulation], Joint(kernel), C=4.0, eps=1e-9, gap_tol=5e-7
    )
    assert fit.relative_gap <= 1e-6
    assert fit.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("kind", KERNELS)
def test_perceptron_is_the_same_in_both_spaces(kind: str, averaged: bool) -> None:
    X, Y = sample(False)
    problem, kernel, explicit, Z = both(kind, X)
    solver = registry.solver("perceptron", epochs=4, averaged=averaged)
    chosen = FORMULATIONS["SVM1"]
    by_rows = solver.train(explicit, (Z, Y), chosen, random_state=2)
    want = [[by_rows.scorer(z, y) for y in range(K)] for z in Z]
    for joint in (kernel, Unfactored(kernel)):
        by_kernel = solver.train(problem, (X, Y), chosen, Joint(joint), random_state=2)
        assert by_kernel.n_constraints == by_rows.n_constraints > 0
        scores = [[by_kernel.scorer(x, y) for y in range(K)] for x in X]
        np.testing.assert_allclose(scores, want, atol=1e-9)


def test_perceptron_averages_every_w_it_met() -> None:
    """The mean over steps of w, kept here by the slow way."""
    X, Y = sample(False)
    problem = Multiclass(K, D)
    w, met = np.zeros(problem.n_weights), []
    for _ in range(3):
        for x, y in zip(X, Y):
            yhat = int(np.argmax(x @ w.reshape(D, K)))
            if yhat != y:
                w = w + references.dense(problem.psi(x, y)) - references.dense(problem.psi(x, yhat))
            met.append(w)
    for averaged, want in ((True, np.mean(met, axis=0)), (False, w)):
        solver = registry.solver("perceptron", epochs=3, averaged=averaged, shuffle=False)
        fit = solver.train(problem, (X, Y), FORMULATIONS["SVM1"])
        np.testing.assert_allclose(fit.w, want, atol=1e-12)
        assert fit.oracle_calls == len(met)
        assert fit.gap is None
        assert fit.dual is None


@pytest.mark.parametrize("rows", ["dense", "sparse"])
def test_kernels_on_inputs_by_their_formulas(rows: str) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    X, Z = (sp.csr_matrix(A), sp.csr_matrix(B)) if rows == "sparse" else (A, B)
    for kernel, k in (
        (LinearKernel(), lambda x, z: sum(x * z)),
        (Polynomial(3, 0.5, 2.0), lambda x, z: (0.5 * sum(x * z) + 2.0) ** 3),
        (RBF(0.7), lambda x, z: np.exp(-0.7 * sum((x - z) ** 2))),
    ):
        np.testing.assert_allclose(kernel(X, Z), [[k(x, z) for z in B] for x in A], atol=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8])
@pytest.mark.parametrize("rows", ["dense", "sparse", "list", "sparse list"])
def test_kernels_on_bools_and_small_integers_are_computed_in_floats(rows: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    A, B = rng.integers(2, size=(4, 200)), rng.integers(2, size=(3, 200))
    make: dict[str, Any] = {
        "dense": lambda M: M.astype(dtype),
        "sparse": lambda M: sp.csr_matrix(M.astype(dtype)),
        "list": lambda M: list(M.astype(dtype)),
        "sparse list": lambda M: [sp.csr_matrix(row.astype(dtype)) for row in M],
    }
    for kernel in (LinearKernel(), Polynomial(2, 0.1), RBF(0.01)):
        want = kernel(A.astype(float), B.astype(float))
        np.testing.assert_allclose(kernel(make[rows](A), make[rows](B)), want, atol=1e-12)


@pytest.mark.parametrize("solver", ["one_slack", "bcfw"])
def test_solvers_with_explicit_features_refuse_a_kernel(solver: str) -> None:
    X, Y = sample(False)
    with pytest.raises(ValueError, match=f"solver '{solver}' needs explicit features, but a joint kernel"):
        registry.solver(solver).train(
            Multiclass(K, D), (X, Y), FORMULATIONS["SVM1 margin"], Joint(Product(LinearKernel()))
        )


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "scale", None])
def test_a_width_that_is_none(gamma: Any) -> None:
    """With gamma < 0 the kernel is indefinite, and a training would certify what is not so."""
    with pytest.raises(ValueError, match="gamma of RBF must be a finite number above 0, but it is"):
        RBF(gamma)


@pytest.mark.parametrize("kernel", [Product(lambda X, Z: -(X @ Z.T)), Product(LinearKernel(), L=-np.eye(3))])
def test_an_indefinite_kernel_certifies_nothing(kernel: Any) -> None:
    X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]), np.array([0, 1, 2])
    with pytest.raises(SearchError, match=r"cut of example 0 the squared length -.*not positive"):
        StructuredSVM(Multiclass(3, 2), kernel=kernel).fit(X, Y)
