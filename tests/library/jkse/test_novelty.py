"""Scores of given pairs by definition, and the nu-property of the threshold for every trainer."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from structmargin import JKSE
from structmargin.fit import ConvergenceWarning
from structmargin.jkse.trainers import OneClass, Online
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass, Sequence, Taxonomy

TRAINERS = {
    "one_class": "one_class",
    "libsvm": OneClass("libsvm"),
    "cutting plane": OneClass("cutting_plane"),
    "binary": "binary",
    "online": "online",
    "one pass": Online(passes=1),
}
KERNEL = Product(RBF(0.5), L=np.eye(2))


def pairs(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + np.where(y[:, None] == 0, [3.0, 0.5], [0.5, 3.0]), y


@pytest.mark.parametrize("name", TRAINERS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), nu=st.floats(0.03, 1.0), kernel=st.booleans())
@pytest.mark.filterwarnings("ignore::structmargin.fit.ConvergenceWarning")
def test_at_most_a_share_nu_of_the_training_pairs_are_novel(
    name: str, seed: int, n: int, nu: float, kernel: bool
) -> None:
    """Proposition 3 of Schoelkopf et al. 2001: outliers <= nu n <= pairs on or beyond the margin."""
    if name == "cutting plane":
        kernel = False
    X, Y = pairs(seed, n)
    model = JKSE(Multiclass(2, 2), KERNEL if kernel else None, nu=nu, trainer=TRAINERS[name]).fit(X, Y)
    novel, scores = model.is_novel(X, Y), model.score_samples(X, Y)
    assert novel.dtype == bool and np.array_equal(novel, scores - model.offset_ < 0.0)
    assert np.mean(novel) <= max(nu, model.fit_.nu) + 1e-9
    if name in ("one_class", "libsvm", "cutting plane"):
        assert model.offset_ == pytest.approx(model.fit_.rho, rel=2e-6)
        assert np.sum(scores <= model.fit_.rho * (1 + 1e-6)) >= nu * n - 1e-6
        assert np.sum(novel) == model.fit_.n_outliers


def test_the_threshold_is_that_of_libsvm() -> None:
    """scikit-learn's OneClassSVM on the same points: its scores are nu n times ours, and so is its offset."""
    from sklearn.svm import OneClassSVM

    X, _ = pairs(3, 60)
    Y = np.zeros(60, dtype=int)
    model = JKSE(Multiclass(1, 2), Product(RBF(0.5), L=np.eye(1)), nu=0.2, gap_tol=1e-9).fit(X, Y)
    reference = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(X)
    new = pairs(4, 50)[0] * 1.5
    expected = reference.score_samples(new) / (0.2 * 60)
    np.testing.assert_allclose(model.score_samples(new, np.zeros(50, int)), expected, rtol=1e-3, atol=1e-6)
    assert model.offset_ == pytest.approx(float(reference.offset_[0]) / (0.2 * 60), rel=1e-3)
    clear = np.abs(expected - model.offset_) > 1e-3 * model.offset_
    assert np.array_equal(model.is_novel(new, np.zeros(50, int))[clear], (reference.predict(new) < 0)[clear])


PROBLEMS = {
    "factors": (Taxonomy(2, 2, Lambda=np.array([[1.0, 1.0], [1.0, 0.0]])), None),
    "kernel": (Multiclass(2, 2), KERNEL),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_the_scorer(name: str, sparse: bool) -> None:
    problem, kernel = PROBLEMS[name]
    X, Y = pairs(1, 12)
    model = JKSE(problem, kernel, nu=0.3).fit(X, Y)
    given_X = sp.csr_matrix(X) if sparse and kernel is None else X
    for outputs in (Y, 1 - Y):
        expected = [model.scorer_(x, y) for x, y in zip(X, outputs, strict=True)]
        np.testing.assert_allclose(model.score_samples(given_X, outputs), expected, rtol=1e-12)


def test_wrong_labellings_are_less_normal() -> None:
    rng = np.random.default_rng(0)
    Y = [rng.integers(2, size=4) for _ in range(30)]
    X = [np.eye(2)[y] + 0.1 * rng.normal(size=(4, 2)) for y in Y]
    model = JKSE(Sequence(2, 2), nu=0.1).fit(X, Y)
    expected = [model.scorer_(x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(model.score_samples(X, Y), expected, rtol=1e-12)
    wrong = [1 - y for y in Y]
    assert np.mean(model.is_novel(X, Y)) <= 0.1 and np.all(model.is_novel(X, wrong))


def test_the_threshold_is_saved_and_follows_added_pairs(tmp_path: Any) -> None:
    X, Y = pairs(5, 20)
    for kernel in (None, KERNEL):
        model = JKSE(Multiclass(2, 2), kernel, nu=0.25).fit(X, Y)
        model.save(tmp_path / "model.npz")
        again = JKSE.load(tmp_path / "model.npz")
        assert again.offset_ == model.offset_
        np.testing.assert_array_equal(again.score_samples(X, Y), model.score_samples(X, Y))
        for retrain in (True, False):
            more_X, more_Y = pairs(6, 10)
            model.add(more_X, more_Y, retrain=retrain)
            both = np.concatenate([X, more_X]), np.concatenate([Y, more_Y])
            assert np.mean(model.is_novel(*both)) <= 0.25
            model.fit(X, Y)


def test_no_slack_means_no_outlier() -> None:
    X, Y = pairs(5, 20)
    model = JKSE(Multiclass(2, 2), KERNEL, trainer="binary", C=np.inf).fit(X, Y)
    assert not model.is_novel(X, Y).any()


def test_unequal_numbers_are_refused() -> None:
    X, Y = pairs(5, 20)
    model = JKSE(Multiclass(2, 2)).fit(X, Y)
    for call in (model.score_samples, model.is_novel):
        with pytest.raises(ValueError, match="X has 20 examples but Y has 19"):
            call(X, Y[:19])


def test_a_training_that_was_cut_short_keeps_the_property() -> None:
    X, Y = pairs(8, 40)
    with pytest.warns(ConvergenceWarning):
        model = JKSE(Multiclass(2, 2), nu=0.2, trainer=OneClass("cutting_plane"), max_iter=1).fit(X, Y)
    assert 0.0 < np.mean(model.is_novel(X, Y)) <= 0.2
    xi = np.maximum(model.fit_.rho - model.score_samples(X, Y), 0.0)
    np.testing.assert_allclose(model.fit_.xi, xi, atol=1e-12)  # the certificate is that of the w returned
    primal = 0.5 * model.w_ @ model.w_ + xi.sum() / (0.2 * 40) - model.fit_.rho
    assert model.fit_.primal == pytest.approx(primal)
