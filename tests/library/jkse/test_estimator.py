"""Joint kernel support estimation: every trainer against a general QP solver, scikit-learn and each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.svm import SVC

from helpers.points import points
from structmargin.dual.working_set import NotSeparableError
from structmargin.fit import ConvergenceWarning
from structmargin.jkse.estimate import Estimate
from structmargin.jkse.estimator import JKSE
from structmargin.jkse.trainers import Binary, OneClass, Online
from structmargin.kernels import RBF, LinearKernel, Product
from structmargin.problems.multiclass.problem import Multiclass
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.problems.sequence.problem import Sequence

EXACT = {"gap_tol": 1e-9, "max_iter": 100_000}


def labelled(seed: int, n: int, n_classes: int = 3, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return np.abs(rng.normal(size=(n, d))) + 2.0 * rng.random((n_classes, d))[y], y


def direction(w: np.ndarray) -> np.ndarray:
    return w / np.linalg.norm(w)


def one_class_objective(estimate: Estimate, nu: float) -> float:
    """The one-class primal at the best multiple of the estimate's w, from its scores alone."""
    s = np.sort(estimate.pairs.all_scores(estimate.alpha, estimate.w))
    share = np.clip(nu * len(s) - np.arange(len(s)), 0.0, 1.0) / (nu * len(s))
    return -0.5 * float(share @ s) ** 2 / float(estimate.alpha @ estimate.pairs.gram() @ estimate.alpha)


# ---- the dual -------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12), d=st.integers(2, 5))
def test_without_slack_one_class_and_binary_agree_in_direction(seed: int, n: int, d: int) -> None:
    X, y = np.abs(points(seed, n, d)) + 0.1, np.zeros(n, dtype=int)
    problem = Multiclass(1, d)
    first = JKSE(problem, nu=1.0 / n, **EXACT).fit(X, y)
    second = JKSE(problem, trainer="binary", C=np.inf, **EXACT).fit(X, y)
    np.testing.assert_allclose(direction(first.w_), direction(second.w_), atol=1e-4)
    assert (X @ second.w_).min() == pytest.approx(1.0, abs=1e-4)
    assert second.fit_.primal == pytest.approx(0.5 / np.linalg.norm(first.w_) ** 2, rel=1e-6)


@pytest.mark.parametrize("C", [0.5, 20.0, 2000.0])
def test_binary_is_the_svm_on_data_and_mirror_image(C: float) -> None:
    X = points(4, 60, 3, 1.5)
    K = X @ X.T
    mirrored = np.block([[K, -K], [-K, K]])
    labels = np.repeat([1, -1], len(X))
    svc = SVC(C=C / (2 * len(X)), kernel="precomputed", tol=1e-9).fit(mirrored, labels)
    coef = np.zeros(2 * len(X))
    coef[svc.support_] = svc.dual_coef_[0]
    w = X.T @ (coef[: len(X)] - coef[len(X) :])
    model = JKSE(Multiclass(1, 3), trainer="binary", C=C, **EXACT).fit(X, np.zeros(60, dtype=int))
    np.testing.assert_allclose(model.w_, w, atol=1e-4 * np.linalg.norm(w))
    assert svc.intercept_[0] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.3))])
@pytest.mark.parametrize("nu", [0.05, 0.4, 1.0])
def test_binary_and_online_find_the_c_of_nu(kernel: Any, nu: float) -> None:
    X, y = labelled(5, 120)
    problem = Multiclass(3, 4)
    exact = JKSE(problem, kernel, nu=nu, **EXACT).fit(X, y).fit_
    binary = JKSE(problem, kernel, nu=nu, trainer="binary", gap_tol=1e-8).fit(X, y).fit_
    assert binary.nu == pytest.approx(nu, rel=1e-6) and binary.gap <= 1e-8 * binary.primal
    assert one_class_objective(binary, nu) == pytest.approx(exact.primal, rel=1e-5)
    np.testing.assert_allclose(binary.alpha / binary.alpha.sum(), exact.alpha, atol=1e-2 / (nu * 120))
    # rho of the one-class problem and C are tied: C = 1 / (nu rho)
    assert nu == 1.0 or pytest.approx(1.0 / (nu * exact.rho), rel=1e-3) == binary.C
    online = JKSE(problem, kernel, nu=nu, trainer=Online(passes=200)).fit(X, y).fit_
    assert one_class_objective(online, nu) == pytest.approx(exact.primal, rel=1e-3)


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.3))])
def test_online_rises_to_the_exact_objective(kernel: Any) -> None:
    X, y = labelled(6, 150)
    exact = JKSE(Multiclass(3, 4), kernel, trainer="binary", C=30.0, **EXACT).fit(X, y).fit_
    assert exact.dual is not None
    duals = []
    for passes in (1, 3, 10, 100):
        found = JKSE(Multiclass(3, 4), kernel, trainer=Online(passes=passes, chunk=32), C=30.0).fit(X, y).fit_
        assert found.dual is not None and found.primal >= exact.primal * (1.0 - 1e-8)
        assert found.alpha.min() >= 0.0 and found.alpha.max() <= 30.0 / 150 * (1.0 + 1e-12)
        K = found.pairs.gram()
        assert found.dual == pytest.approx(found.alpha.sum() - 0.5 * found.alpha @ K @ found.alpha)
        duals.append(found.dual)
    assert duals == sorted(duals) and duals[0] > 0.5 * exact.dual
    assert duals[-1] == pytest.approx(exact.dual, rel=1e-4) and found.primal == pytest.approx(
        exact.dual, rel=1e-3
    )


# ---- how pairs are kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("trainer", [OneClass("smo"), OneClass("cutting_plane"), Binary(), Online(passes=60)])
def test_factors_rows_and_kernel_give_one_model(trainer: Any) -> None:
    X, y = labelled(7, 80)
    problem = Multiclass(3, 4)
    options: dict[str, Any] = {"nu": 0.2, "gap_tol": 1e-7, "max_iter": 20_000}
    dense = JKSE(problem, trainer=trainer, **options).fit(X, y)
    sparse = JKSE(problem, trainer=trainer, **options).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.w_, sparse.w_, atol=1e-3 * np.linalg.norm(dense.w_))
    assert dense.fit_.primal == pytest.approx(sparse.fit_.primal, rel=1e-5)
    if trainer == OneClass("cutting_plane"):
        return
    kernel = JKSE(problem, Product(LinearKernel()), trainer=trainer, **options).fit(X, y)
    assert kernel.w_ is None and kernel.fit_.primal == pytest.approx(dense.fit_.primal, rel=1e-5)
    score = [dense.scorer_(X[0], c) for c in range(3)]
    np.testing.assert_allclose([kernel.scorer_(X[0], c) for c in range(3)], score, atol=1e-3 * max(score))
    new = labelled(8, 40)[0]
    assert np.mean(np.asarray(kernel.predict(new)) == np.asarray(dense.predict(new))) >= 0.95


def test_many_explicit_pairs_go_by_cutting_planes() -> None:
    X, y = labelled(9, 6000)
    problem = Multiclass(3, 4)
    planes = JKSE(problem, nu=0.1, gap_tol=1e-5).fit(X, y).fit_
    matrix = JKSE(problem, nu=0.1, gap_tol=1e-7, trainer=OneClass("smo")).fit(X, y).fit_
    assert planes.n_constraints < 1000 and planes.relative_gap is not None and planes.relative_gap <= 1e-5
    assert planes.primal == pytest.approx(matrix.primal, rel=1e-5)
    duals = [row["dual"] for row in planes.trace]
    assert all(after >= before - 1e-9 for before, after in pairwise(duals))


def test_sequences_by_k_seq_and_by_psi() -> None:
    rng = np.random.default_rng(10)
    X = [rng.random((T, 5)) for T in rng.integers(1, 6, size=40)]
    Y = [rng.integers(3, size=len(x)) for x in X]
    problem = Sequence(3, 5)
    first = JKSE(problem, nu=0.2, **EXACT).fit(X, Y)
    second = JKSE(problem, SequenceKernel().on(X), nu=0.2, **EXACT).fit(X, Y)
    assert first.fit_.primal == pytest.approx(second.fit_.primal, rel=1e-7)
    for x in X[:10]:
        for part, other in zip(first.scorer_.potentials(x)[:2], second.scorer_.potentials(x)[:2]):
            np.testing.assert_allclose(part, other, atol=1e-4)
    for left, right in zip(first.predict(X), second.predict(X)):
        np.testing.assert_array_equal(left, right)


# ---- what the paper promises ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Unsearchable:
    """Psi = (x if y = 0 else -x, y) with searches that must not be called."""

    def psi(self, x: float, y: int) -> np.ndarray:
        return np.array([1.0 + x * (1 - 2 * y), 1.0 * y, 1.0 - y])

    def delta(self, y: int, ybar: int) -> float:
        return float(y != ybar)

    def argmax(self, f: Any, x: float) -> int:
        raise AssertionError("training searched for an output")

    augmented_argmax = argmax


@pytest.mark.parametrize("trainer", ["one_class", "binary", "online"])
def test_training_never_searches_an_output(trainer: str) -> None:
    model = JKSE(Unsearchable(), trainer=trainer, nu=0.5).fit([0.1, 0.4, 0.2, 0.9], [0, 1, 1, 0])
    assert model.fit_.oracle_calls == 0 and model.scorer_(0.2, 0) > 0.0
    with pytest.raises(AssertionError, match="searched"):
        model.predict([0.1])


def test_several_right_outputs_for_one_input() -> None:
    """Inputs of two kinds: kind 0 is right as class 0 and as class 1, kind 1 as class 2 alone."""
    rng = np.random.default_rng(11)
    kinds = np.array([[1.0, 0.0], [0.0, 1.0]])
    first, second = (kinds[k] + 0.05 * rng.random((20, 2)) for k in (0, 1))
    X = np.vstack([first, first, second])
    Y = np.repeat([0, 1, 2], 20)
    model = JKSE(Multiclass(3, 2), Product(RBF(1.0)), nu=0.1).fit(X, Y)
    a, b, c = (model.scorer_(kinds[0], y) for y in range(3))
    assert a == pytest.approx(b, rel=0.02) and c < 0.5 * a
    a, b, c = (model.scorer_(kinds[1], y) for y in range(3))
    assert c > 2.0 * max(a, b)


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.3))])
@pytest.mark.parametrize("trainer", ["one_class", OneClass("libsvm"), "binary", Online(passes=100)])
def test_adding_pairs_later_is_training_on_all(kernel: Any, trainer: Any) -> None:
    X, y = labelled(12, 90)
    model = JKSE(Multiclass(3, 4), kernel, nu=0.2, trainer=trainer, gap_tol=1e-7, max_iter=20_000)
    whole = clone(model).fit(X, y).fit_
    part = model.fit(X[:50], y[:50]).add(X[50:70], y[50:70]).add(X[70:], y[70:]).fit_
    assert part.primal == pytest.approx(whole.primal, rel=1e-4)
    share = [found.alpha / found.alpha.sum() for found in (part, whole)]
    np.testing.assert_allclose(share[0], share[1], atol=0.02 / (0.2 * 90))
    np.testing.assert_allclose(part.pairs.gram(), whole.pairs.gram(), atol=1e-12)


def test_new_labels_leave_the_former_ones_alone() -> None:
    X, y = labelled(13, 40, n_classes=4)
    old = y < 2
    problem = Multiclass(4, 4)
    model = JKSE(problem, nu=1e-3, **EXACT).fit(X[old], y[old])
    before = np.array([[model.scorer_(x, c) for c in (0, 1)] for x in X])
    model.add(X[~old], y[~old], retrain=False)
    after = np.array([[model.scorer_(x, c) for c in (0, 1)] for x in X])
    ratio = after / before
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)
    assert model.fit_.gap is None and model.fit_.dual is None
    # labels share no features, and there is no slack: this is the solution on all pairs
    whole = JKSE(problem, nu=1e-3, **EXACT).fit(
        np.vstack([X[old], X[~old]]), np.concatenate([y[old], y[~old]])
    )
    np.testing.assert_allclose(direction(model.w_), direction(whole.w_), atol=1e-4)
    assert model.fit_.primal == pytest.approx(whole.fit_.primal, rel=1e-6)


# ---- the front door -------------------------------------------------------------------------------------


def test_bad_input_is_refused_in_words() -> None:
    X, y = labelled(14, 10)
    problem = Multiclass(3, 4)
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({"nu": 1.5}, (X, y), "nu must be at most 1"),
        ({"nu": 0.0}, (X, y), "nu must be a finite number above 0"),
        ({"C": -1.0}, (X, y), "C must be"),
        ({"gap_tol": 0.0}, (X, y), "gap_tol must be"),
        ({"trainer": "one_clas"}, (X, y), "did you mean 'one_class'"),
        ({"trainer": OneClass("cutting_plane"), "kernel": Product(RBF())}, (X, y), "explicit features"),
        ({}, (X[:5], y), "X has 5 examples but Y has 10"),
        ({}, (X[:0], y[:0]), "empty"),
        ({}, (X, y + 1), "label"),
    ]
    for options, data, why in cases:
        with pytest.raises(ValueError, match=why):
            JKSE(problem, **options).fit(*data)
    with pytest.raises(ValueError, match="engine must be"):
        OneClass("fast")


def test_what_cannot_be_separated_says_so() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    with pytest.raises(NotSeparableError, match="origin"):
        JKSE(Multiclass(1, 2), trainer="binary", C=np.inf).fit(X, np.zeros(4, dtype=int))


def test_too_few_steps_warn_with_the_gap() -> None:
    X, y = labelled(15, 200)
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        model = JKSE(Multiclass(3, 4), nu=0.5, trainer=OneClass("cutting_plane"), max_iter=1).fit(X, y)
    assert not model.fit_.converged and model.fit_.gap is not None and model.fit_.gap > 0.0


def test_the_same_seed_gives_the_same_model() -> None:
    X, y = labelled(16, 100)
    first, second = (
        JKSE(Multiclass(3, 4), trainer="online", random_state=seed).fit(X, y).w_ for seed in (3, 3)
    )
    np.testing.assert_array_equal(first, second)
    assert np.any(first != JKSE(Multiclass(3, 4), trainer="online", random_state=4).fit(X, y).w_)


def test_it_is_cloned_and_searched_like_any_estimator() -> None:
    X, y = labelled(17, 30)
    model = JKSE(Multiclass(3, 4), nu=0.3).fit(X, y)
    other = clone(model).set_params(nu=0.9).fit(X, y)
    assert other.fit_.alpha.max() <= 1.0 / (0.9 * 30) + 1e-12 < model.fit_.alpha.max()
    wrong = np.mean(np.asarray(model.predict(X)) != y)
    assert model.score(X, y) == pytest.approx(-wrong)


def test_fit_add_and_predict_wrap_alike() -> None:
    class Halved(Multiclass):
        """Reads every input as half of itself."""

        def wrap(self, X: Any, Y: Any) -> tuple[Any, Any]:
            return X / 2.0, Y

    X, y = labelled(18, 30)
    plain, wrapped = JKSE(Multiclass(3, 4)).fit(X, y), JKSE(Halved(3, 4)).fit(2.0 * X, y)
    np.testing.assert_array_equal(wrapped.w_, plain.w_)
    np.testing.assert_array_equal(wrapped.predict(2.0 * X), plain.predict(X))
    more, labels = labelled(19, 10)
    np.testing.assert_array_equal(wrapped.add(2.0 * more, labels).w_, plain.add(more, labels).w_)
