"""JKSE itself: balls and hyperplanes, a C for a nu, synonyms, labels added later, the base kernel's scale."""

from __future__ import annotations

import numpy as np
import pytest

from structmargin import JKSE
from structmargin.kernels import RBF, LinearKernel, Product
from structmargin.problems import Multiclass, Sequence
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin_suite.analysis.experiments.jkse import ball_and_plane, plane_and_binary, smallest_ball
from structmargin_suite.baselines import jkse_in_two_steps
from structmargin_suite.datasets import ocr

ARRAYS = ocr.synthesize(4, words_per_fold=12)
LETTERS = ocr.view(ARRAYS, 0, letters=80)
PROBLEM = Multiclass(26, 128)


@pytest.mark.parametrize(
    ("points", "centre"),
    [
        ([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3.0)]], [1.0, 1.0 / np.sqrt(3.0)]),  # equilateral
        ([[0.0, 0.0], [4.0, 0.0], [2.0, 0.5]], [2.0, 0.0]),  # the longest side is a diameter
    ],
)
def test_the_smallest_ball_around_a_triangle(points, centre):
    X = np.array(points)
    alpha, gap = smallest_ball(X @ X.T, 1e-6)
    assert alpha @ X == pytest.approx(np.array(centre), abs=1e-5)
    assert gap < 1e-6


@pytest.mark.parametrize("nu", [0.2, 0.5, 0.7])
def test_a_ball_with_outliers_on_a_line_is_the_best_of_a_fine_grid(nu):
    """R^2 + 1/(nu n) sum xi at its best radius is the mean of the largest share nu of squared distances."""
    x = np.array([0.0, 0.4, 1.0, 2.0, 10.0])
    centres = np.linspace(-1.0, 11.0, 24001)
    ordered = -np.sort(-((x[:, None] - centres) ** 2), axis=0)
    weights = np.clip(nu * 5 - np.arange(5), 0.0, 1.0) / (nu * 5)
    alpha, gap = smallest_ball(np.outer(x, x), nu)
    assert alpha @ x == pytest.approx(centres[np.argmin(weights @ ordered)], abs=1e-3)
    assert gap < 1e-6 and np.all(alpha <= 1.0 / (nu * 5) + 1e-9)


class Trained:
    """Models on the same letters, by name, as results give them."""

    def __init__(self, **models):
        self.models = models

    def model(self, run):
        return self.models[run]

    def split(self, run):
        return LETTERS


def trained(kernel=None, **options):
    return JKSE(PROBLEM, kernel, gap_tol=1e-8, **options).fit(*LETTERS.train)


def test_ball_and_hyperplane_are_one_where_lengths_are_equal_and_two_where_not():
    results = Trained(
        equal=trained(Product(RBF(0.02)), nu=0.2), unequal=trained(nu=0.2),
        spoilt=trained(Product(RBF(0.02)), nu=0.2),
    )  # fmt: skip
    equal, unequal = (ball_and_plane(results, run) for run in ("equal", "unequal"))
    assert equal.same and equal.distance < 1e-4 and equal.lengths == 0.0
    assert not unequal.same and unequal.distance > 0.1
    norms = np.linalg.norm(LETTERS.train.X, axis=1)
    assert unequal.lengths == pytest.approx(norms.max() / norms.min() - 1.0)
    alpha = results.models["spoilt"].fit_.alpha
    alpha[:] = np.roll(alpha, 1)
    assert not ball_and_plane(results, "spoilt").same


@pytest.mark.parametrize("kernel", [None, Product(RBF(0.02))])
def test_the_binary_svm_at_the_C_of_a_nu_has_the_hyperplane_of_that_nu(kernel):
    results = Trained(
        plane=trained(kernel, nu=0.3), binary=trained(kernel, nu=0.3, trainer="binary"),
        other=trained(kernel, nu=0.6, trainer="binary"),
    )  # fmt: skip
    found = results.models["binary"].fit_
    same = plane_and_binary(results, "plane", "binary")
    assert same.same and same.distance < 1e-3
    w = found.alpha / found.alpha.sum() - results.models["plane"].fit_.alpha
    K = (kernel or Product(LinearKernel())).gram(*LETTERS.train, *LETTERS.train)
    plane = results.models["plane"].fit_.alpha
    assert same.distance == pytest.approx(np.sqrt(max(w @ K @ w, 0.0) / (plane @ K @ plane)), abs=1e-7)
    assert not plane_and_binary(results, "plane", "other").same  # the C of another nu
    found.alpha[:] = np.roll(found.alpha, 1)
    assert not plane_and_binary(results, "plane", "binary").same


def test_synonyms_are_right_labels_of_the_same_letter():
    plain, doubled = (ocr.view(ARRAYS, 0, letters=300, synonyms=m) for m in (1, 2))
    assert plain.problem["n_classes"] == 26 and doubled.problem["n_classes"] == 52
    for subset in ("train", "test"):
        assert np.array_equal(getattr(plain, subset).X, getattr(doubled, subset).X)
    assert np.array_equal(doubled.train.Y % 26, plain.train.Y)
    assert 0.4 < np.mean(doubled.train.Y >= 26) < 0.6
    y = np.array([3, 4, 5, 6])
    assert ocr.score(y, np.array([29, 4, 31, 7]))["letter_error"] == 25.0
    kept = ocr.keep(y, np.array([29, 4, 31, 7]))
    assert kept["predicted"].tolist() == [3, 4, 5, 7] and kept["labels"].tolist() == y.tolist()
    words = [np.array([3, 4])]  # of words, other labels are no synonyms
    assert ocr.score(words, [np.array([29, 4])])["letter_error"] == 50.0
    assert "single letters" in ocr.refuse({}, {"synonyms": 2}) and ocr.refuse({}, {"rotation": 1}) is None
    assert "of words" in ocr.refuse({}, {"base_scale": 2.0, "letters": 5})


def test_labels_added_later_are_those_of_training_at_once_without_slack():
    """Different labels share no features, so the two parts side by side are the exact solution there."""
    later = jkse_in_two_steps.train(*LETTERS.train, seed=0, nu=1e-6, first=13, gap_tol=1e-9)
    problem = Multiclass(int(LETTERS.train.Y.max()) + 1, 128)
    at_once = JKSE(problem, nu=1e-6, gap_tol=1e-9).fit(*LETTERS.train)
    u, v = (np.asarray(model.w_) / np.linalg.norm(model.w_) for model in (later, at_once))
    assert np.linalg.norm(u - v) < 1e-3
    again = jkse_in_two_steps.from_arrays(later.to_arrays())
    assert np.array_equal(again.predict(LETTERS.test.X), later.predict(LETTERS.test.X))
    first = LETTERS.train.Y < 13
    early = JKSE(PROBLEM, nu=1e-6, gap_tol=1e-9).fit(*(part[first] for part in LETTERS.train))
    former = later.fit_.alpha[: np.count_nonzero(first)]  # learnt first, and kept in proportion
    assert former / former.sum() == pytest.approx(early.fit_.alpha, abs=1e-12)
    with pytest.raises(ValueError, match="no examples on one side of label 26"):
        jkse_in_two_steps.train(*LETTERS.train, seed=0, first=26)


def test_the_scale_of_the_base_kernel_divides_the_data_term_alone():
    raw, scaled = (ocr.view(ARRAYS, 0, rotation=1, base_scale=b).train for b in (1.0, 128.0))
    kernel = SequenceKernel()
    K = kernel.data_gram(*raw, *raw) / 128.0 + kernel.history_gram(*raw, *raw)
    model = JKSE(Sequence(26, 128), nu=0.3, gap_tol=1e-8).fit(*scaled)
    assert model.fit_.pairs.gram() == pytest.approx(K)
    assert not np.allclose(model.fit_.pairs.gram(), kernel.gram(*raw, *raw) / 128.0)
