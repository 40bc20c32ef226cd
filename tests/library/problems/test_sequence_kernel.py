"""k_seq by its definition, its expansions as potentials, and the degree-2 kernel by two ways."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, LinearKernel, Polynomial, degree2
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence
from structmargin.scorer import KernelScorer
from structmargin.solvers.n_slack import NSlack
from structmargin.training.space import Joint, Linear

L, D = 3, 4
TOKEN_KERNELS = {"linear": LinearKernel(), "degree 2": Polynomial(2), "rbf": RBF(0.3)}


def pairs(seed: int, n: int, longest: int = 5) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, size=n)
    X = [rng.integers(-2, 3, size=(T, D)).astype(float) for T in lengths]
    return X, [rng.integers(L, size=T) for T in lengths]


def by_definition(kx: Any, T: int, x: Any, y: Any, x2: Any, y2: Any) -> tuple[float, float]:
    """Equations (15) and (16), sum by sum: the data and the history term."""
    data = history = 0.0
    for r in range(len(y)):
        for s in range(len(y2)):
            if y[r] == y2[s]:
                data += float(kx(x[r : r + 1], x2[s : s + 1])[0, 0])
                for t in range(1, T + 1):
                    if r - t >= 0 and s - t >= 0:
                        history += float(y[r - t] == y2[s - t])
    return data, history


@pytest.mark.parametrize("name", TOKEN_KERNELS)
@pytest.mark.parametrize("known", [False, True])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), T=st.integers(0, 3), repeat=st.integers(1, 4))
def test_gram_is_the_papers_sum(name: str, known: bool, seed: int, T: int, repeat: int) -> None:
    kx = TOKEN_KERNELS[name]
    X, Y = pairs(seed, 3)
    X2, Y2 = pairs(seed + 1, 2)
    rng = np.random.default_rng(seed)
    X2, Y2 = X2 * repeat, Y2 + [rng.permutation(y) for _ in range(repeat - 1) for y in Y2]
    kernel = SequenceKernel(kx, T=T, eta=0.5)
    if known:
        kernel = kernel.on(X + X2[:2])
    terms = np.array([[by_definition(kx, T, x, y, z, v) for z, v in zip(X2, Y2)] for x, y in zip(X, Y)])
    np.testing.assert_allclose(kernel.data_gram(X, Y, X2, Y2), terms[..., 0], atol=1e-9)
    np.testing.assert_allclose(kernel.history_gram(X, Y, X2, Y2), 0.25 * terms[..., 1], atol=1e-9)
    np.testing.assert_allclose(kernel.gram(X, Y, X2, Y2), terms @ [1.0, 0.25], atol=1e-9)


def test_gram_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = pairs(0, 8)
    whole = SequenceKernel(RBF(0.1)).gram(X, Y, X, Y)
    monkeypatch.setattr("structmargin.problems.sequence.kernel.MAX_PRODUCTS", 60)
    np.testing.assert_allclose(SequenceKernel(RBF(0.1)).gram(X, Y, X, Y), whole, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), eta=st.sampled_from([0.0, 0.5, 1.0, 2.0]), sparse=st.booleans())
def test_linear_with_one_lag_is_the_product_of_psi(seed: int, eta: float, sparse: bool) -> None:
    problem = Sequence(L, D, eta=eta)
    X, Y = pairs(seed, 4)
    inputs: list[Any] = [sp.csr_matrix(x) for x in X] if sparse else X
    psi = sp.vstack([problem.psi(x, y) for x, y in zip(inputs, Y)])
    expected = (psi @ psi.T).toarray()
    np.testing.assert_allclose(SequenceKernel(eta=eta).gram(inputs, Y, inputs, Y), expected, atol=1e-9)


@pytest.mark.parametrize("T", [0, 1, 2])
@pytest.mark.parametrize("known", ["none", "supports", "all"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(TOKEN_KERNELS)))
def test_searches_run_on_an_expansion(T: int, known: str, seed: int, name: str) -> None:
    """argmax and the augmented search under potentials, against f(x, y) of every labelling."""
    problem = Sequence(L, D)
    X, Y = pairs(seed, 5, longest=4)
    x, y = X.pop(), Y.pop()
    X, Y = [*X, X[0]], [*Y, (Y[0] + 1) % L]
    kernel = SequenceKernel(TOKEN_KERNELS[name], T=T)
    kernel = {"none": kernel, "supports": kernel.on(X[:-1]), "all": kernel.on([*X[:-1], x])}[known]
    coef = np.random.default_rng(seed).normal(size=len(X))
    f = KernelScorer(problem, kernel, X, Y, coef)
    every = [np.array(labels) for labels in product(range(L), repeat=len(y))]
    exact = [
        sum(c * sum(by_definition(kernel.kx, T, z, v, x, ybar)) for c, z, v in zip(coef, X, Y))
        for ybar in every
    ]
    np.testing.assert_allclose([f(x, ybar) for ybar in every], exact, atol=1e-8)
    assert f(x, problem.argmax(f, x)) == pytest.approx(max(exact), abs=1e-8)
    at_truth = f(x, y)
    for formulation in FORMULATIONS.values():
        H = formulation.H
        best = max(
            float(H(problem.delta(y, ybar), at_truth - s))
            for ybar, s in zip(every, exact)
            if H.power > 0 or np.any(ybar != y)
        )
        ybar = problem.augmented_argmax(f, x, y, H)
        assert float(H(problem.delta(y, ybar), at_truth - f(x, ybar))) == pytest.approx(best, abs=1e-8)


def test_an_expansion_that_grows_is_not_taken_for_the_former() -> None:
    problem, kernel = Sequence(L, D), SequenceKernel(RBF(0.2))
    X, Y = pairs(3, 4)
    x, few, labels = X[0], X[:1], Y[:1]
    for j in range(1, 4):
        few.append(X[j])
        labels.append(Y[j])
        coef = np.arange(1.0, len(few) + 1.0)
        f, fresh = (KernelScorer(problem, k, few, labels, coef) for k in (kernel, SequenceKernel(RBF(0.2))))
        np.testing.assert_allclose(f.potentials(x)[0], fresh.potentials(x)[0])
        np.testing.assert_allclose(f.potentials(x)[1], fresh.potentials(x)[1])


def test_only_the_very_arrays_are_known_again() -> None:
    X, Y = pairs(5, 3)
    kernel = SequenceKernel(RBF(0.2)).on(X)
    others = [x + 1.0 for x in X]
    plain = SequenceKernel(RBF(0.2))
    for again in (kernel, copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_allclose(again.gram(X, Y, X, Y), plain.gram(X, Y, X, Y), atol=1e-12)
        np.testing.assert_allclose(again.gram(others, Y, X, Y), plain.gram(others, Y, X, Y), atol=1e-12)
    assert np.abs(kernel.gram(others, Y, X, Y) - kernel.gram(X, Y, X, Y)).max() > 0.01


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), width=st.integers(1, 7), binary=st.booleans())
def test_degree2_is_the_polynomial_kernel(seed: int, n: int, width: int, binary: bool) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.random((n, width)) < 0.5) * (1.0 if binary else rng.normal(size=(n, width)))
    phi = degree2(sp.csr_matrix(X))
    assert phi.shape == (n, (width + 1) * (width + 2) // 2)
    np.testing.assert_allclose((phi @ phi.T).toarray(), (1.0 + X @ X.T) ** 2, atol=1e-9)
    occurring = np.unique(phi.indices)
    kept = degree2(X, occurring)
    np.testing.assert_allclose(kept.toarray(), phi.toarray()[:, occurring], atol=0)


def test_degree2_drops_what_training_never_saw() -> None:
    train, test = np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 1.0]])
    columns = np.unique(degree2(train).indices)
    left, right = degree2(train, columns), degree2(test, columns)
    assert (left @ right.T)[0, 0] == pytest.approx((1.0 + 1.0) ** 2)
    assert degree2(test, columns).nnz == 3  # 1, sqrt(2) x_0 and x_0^2


@pytest.mark.parametrize("formulation", ["SVM1 margin", "SVM2 slack"])
def test_degree_2_on_tokens_by_kernel_and_by_products(formulation: str) -> None:
    rng = np.random.default_rng(7)
    X = [sp.csr_matrix((rng.random((T, 6)) < 0.4).astype(float)) for T in rng.integers(1, 6, size=12)]
    Y = [np.asarray(x.sum(axis=1)).ravel().astype(int) % L for x in X]
    columns = np.unique(degree2(sp.vstack(X)).indices)
    explicit = [degree2(x, columns) for x in X]
    settings_ = {"C": 10.0, "eps": 1e-4, "gap_tol": 1e-6}
    f = FORMULATIONS[formulation]
    first = NSlack().train(Sequence(L, len(columns)), (explicit, Y), f, Linear(), **settings_)
    problem = Sequence(L, 6)
    kept = SequenceKernel(Polynomial(2)).on(X)
    second = NSlack().train(problem, (X, Y), f, Joint(kept), **settings_)
    assert first.gap is not None and second.gap is not None and first.primal is not None
    assert first.gap <= 1e-5 * first.primal and second.gap <= 1e-5 * first.primal
    assert second.primal == pytest.approx(first.primal, rel=1e-5)
    new = sp.csr_matrix((rng.random((5, 6)) < 0.4).astype(float))
    score = first.scorer(degree2(new, columns), np.array([0, 1, 2, 1, 0]))
    assert second.scorer(new, np.array([0, 1, 2, 1, 0])) == pytest.approx(score, abs=0.02)


def test_what_it_cannot_do_it_says() -> None:
    X, Y = pairs(1, 2)
    one = np.ones(2)
    for problem, kernel, why in [
        (Sequence(L, D), SequenceKernel(T=3), "T=3"),
        (Sequence(L, D, eta=0.5), SequenceKernel(), "eta=0.5"),
        (Sequence(L, D, window=1), SequenceKernel(), "window"),
    ]:
        with pytest.raises(ValueError, match=why):
            KernelScorer(problem, kernel, X, Y, one).potentials(X[0])
    with pytest.raises(ValueError, match=r"pair 1 has .* labels"):
        SequenceKernel().gram(X, [Y[0], np.append(Y[1], 0)], X, Y)
    with pytest.raises(ValueError, match="T must be"):
        SequenceKernel(T=-1)
