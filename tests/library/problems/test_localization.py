"""Localization: its searches, losses and features against enumeration, trained models against cvxopt."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import references
from helpers.all_outputs import boxes as outputs
from helpers.boxes import pyramid, shared
from structmargin import JKSE, StructuredSVM, registry
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Localization
from structmargin.problems.localization.kernel import BoxChi2
from structmargin.scorer import KernelScorer, LinearScorer

WORDS = 5


def scene(rng: np.random.Generator, n_true: int) -> tuple[Any, np.ndarray]:
    """A map with `n_true` boxes full of words 0 to 2 in clutter of 2 to 4, and its windows."""
    words = rng.integers(2, WORDS, size=(8, 12))
    windows = np.array([[4, 5, 1], [5, 6, 2]])
    boxes = []
    for k in range(n_true):
        top, left = int(rng.integers(0, 5)), 6 * k + int(rng.integers(0, 2))
        words[top : top + 4, left : left + 5] = np.arange(20).reshape(4, 5) // 7
        boxes.append([top, left, top + 4, left + 5])
    return (words, windows), np.array(boxes)


def scenes(n: int, seed: int = 0) -> tuple[list[Any], list[np.ndarray]]:
    """n examples; every second image has two objects, and is there once with each of them first."""
    rng, X, Y = np.random.default_rng(seed), [], []
    while len(X) < n:
        x, boxes = scene(rng, 1 + len(X) % 2)
        for k in range(len(boxes)):
            X.append(x)
            Y.append(np.roll(boxes, -k, axis=0))
    return X[:n], Y[:n]


def moved(X: list[Any], Y: list[np.ndarray]) -> tuple[list[Any], list[np.ndarray]]:
    """The same images with one box each, every second a column aside: the objects are all alike."""
    aside = [(i % 2) * (1 if y[0, 3] < X[i][0].shape[1] else -1) for i, y in enumerate(Y)]
    return X, [y[:1] + np.array([0, 1, 0, 1]) * by for y, by in zip(Y, aside, strict=True)]


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(FORMULATIONS)),
    normalise=st.sampled_from(["none", "cell", "box"]),
    gamma=st.sampled_from(["linear", None, 1.5, "mean"]),
)
def test_searches_agree_with_enumeration(seed: int, name: str, normalise: str, gamma: Any) -> None:
    """argmax and augmented_argmax, alone and in a batch, with explicit weights and with all kernels."""
    rng = np.random.default_rng(seed)
    problem = Localization(WORDS, levels=2, normalise=normalise, scale=float(rng.uniform(0.5, 2.0)))
    X, Y = scenes(3, seed)
    if gamma == "linear":
        f: Any = LinearScorer(problem, rng.normal(size=problem.n_weights))
    else:
        kernel = BoxChi2(WORDS, 2, normalise, gamma).bind(*moved(X, Y))
        f = KernelScorer(problem, kernel, X, [y[:1] for y in Y], rng.normal(size=3))
    H = FORMULATIONS[name].H
    batch = problem.batch(X, Y)
    found = batch.search(f, np.arange(3), H)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        everything = outputs(x)
        scores = np.array([f(x, ybar) for ybar in everything])
        best = problem.argmax(f, x)
        assert f(x, best) == pytest.approx(scores.max(), abs=1e-9)
        assert batch.argmax(f)[i].tolist() == best.tolist()
        deltas = np.array([1.0 - max(shared(box, ybar[0]) for box in y) for ybar in everything])
        values = H(deltas, f(x, y) - scores)[deltas > 0.0]
        for ybar in (problem.augmented_argmax(f, x, y, H), found.outputs[i]):
            loss = problem.delta(y, ybar)
            assert loss > 0.0
            assert float(H(loss, f(x, y) - f(x, ybar))) == pytest.approx(float(values.max()), abs=1e-9)
        gap = (found.b[i] - found.H[i]) / found.scale[i]  # the loss is above 0, so the scale is
        assert gap == pytest.approx(f(x, y) - f(x, found.outputs[i]), abs=1e-9)


@pytest.mark.parametrize(("room", "n_kept"), [(0, 0), (6000, 2), (1 << 20, 6)])
def test_a_batch_keeps_boxes_and_losses_within_its_limit(room: int, n_kept: int, monkeypatch: Any) -> None:
    """A batch with room for no example, for some and for all finds the same outputs."""
    X, Y = scenes(6)
    problem = Localization(WORDS, levels=2, scale=1.0)
    rng = np.random.default_rng(0)
    scorers = [LinearScorer(problem, rng.normal(size=problem.n_weights)) for _ in range(2)]
    expected = [
        problem.batch(X, Y).search(f, np.arange(6), FORMULATIONS[name].H)
        for f in scorers
        for name in sorted(FORMULATIONS)
    ]
    monkeypatch.setattr("structmargin.problems.localization.problem.MAX_PREPARED_BYTES", room)
    batch = problem.batch(X, Y)
    for f in scorers:
        for name in sorted(FORMULATIONS):
            violators, other = batch.search(f, np.arange(6), FORMULATIONS[name].H), expected.pop(0)
            np.testing.assert_array_equal(np.concatenate(violators.outputs), np.concatenate(other.outputs))
            np.testing.assert_array_equal(violators.losses, other.losses)
            sizes = [sum(part.nbytes for part in entry) for entry in batch.prepared.entries.values()]
            assert sum(sizes) <= room
            assert len(sizes) == n_kept


def test_psi_and_the_kernels_are_those_of_the_pyramids() -> None:
    X, Y = scenes(4)
    for normalise in ("none", "cell", "box"):
        problem = Localization(WORDS, levels=3, normalise=normalise, scale=0.5)
        h = np.array([pyramid(x[0], y[0], 3, normalise, WORDS).ravel() for x, y in zip(X, Y, strict=True)])
        for row, x, y in zip(h, X, Y, strict=True):
            np.testing.assert_allclose(problem.psi(x, y).toarray()[0], 0.5 * row, atol=1e-12)
        a, b = h[:, None], h[None]
        both = np.where(a + b > 0, a + b, 1.0)
        for gamma, expected in (
            (None, (2 * a * b / both).sum(axis=2)),
            (0.7, np.exp(-0.7 * ((a - b) ** 2 / both).sum(axis=2))),
        ):
            kernel = BoxChi2(WORDS, 3, normalise, gamma)
            np.testing.assert_allclose(kernel.gram(X, Y, X, Y), expected, atol=1e-12)


def test_a_kernel_learns_its_width_from_the_training_pairs() -> None:
    """gamma is one over the mean distance of two pairs, in trained and in stored models of both kinds."""
    X, Y = moved(*scenes(5))
    kernel = BoxChi2(WORDS, 2, "box", "mean")
    h = np.array([pyramid(x[0], y[0], 2, "box", WORDS).ravel() for x, y in zip(X, Y, strict=True)])
    a, b = h[:, None], h[None]
    distances = ((a - b) ** 2 / np.where(a + b > 0, a + b, 1.0)).sum(axis=2)
    gamma = 1.0 / np.mean(distances[~np.eye(5, dtype=bool)])
    expected = np.exp(-gamma * distances)
    np.testing.assert_allclose(kernel.bind(X, Y).gram(X, Y, X, Y), expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"gamma is 'mean', which training pairs decide: call bind"):
        kernel.gram(X, Y, X, Y)
    with pytest.raises(ValueError, match="gamma is 'mean'"):
        kernel.check_expansion(None, X, Y, np.ones(5), 10**9)  # of a file that was tampered with
    problem = Localization(WORDS, 2)
    machine = StructuredSVM(problem, C=5.0, kernel=kernel, warm_start=True).fit(X, Y)
    models: list[Any] = [JKSE(problem, kernel=kernel, nu=0.5).fit(X, Y), machine]
    for model in models:
        again = type(model).from_arrays(model.to_arrays())
        for one in (model, again):
            assert one.scorer_.kernel.gamma == pytest.approx(gamma)
        assert model.kernel is kernel
        assert again.kernel.gamma == pytest.approx(gamma)
    more, boxes = moved(*scenes(4, seed=7))
    assert models[0].add(more, boxes).scorer_.kernel.gamma == pytest.approx(gamma)
    assert machine.set_params(C=9.0).fit(X, Y).scorer_.kernel.gamma == pytest.approx(gamma)
    assert BoxChi2(WORDS, 2, gamma="mean").bind(X[:1], Y[:1]).gamma == 1.0  # nothing to measure
    alone = BoxChi2(WORDS, 2, gamma=0.5)
    assert alone.bind(X, Y) is alone


def test_branch_and_bound_finds_what_the_scan_of_all_boxes_finds() -> None:
    rng = np.random.default_rng(3)
    X, Y = scenes(3)
    sizes = np.array([(h, w, 1) for h, w in product(range(3, 6), range(4, 7))])
    X = [(words, sizes) for words, _ in X]
    scan, bounded = (Localization(WORDS, 2, search=search) for search in ("scan", "branch_and_bound"))
    w = rng.normal(size=scan.n_weights)
    f, g = LinearScorer(scan, w), LinearScorer(bounded, w)
    for x, y in zip(X, Y, strict=True):
        first, second = scan.detect(f, x, most=4), bounded.detect(g, x, most=4)
        np.testing.assert_allclose(first.scores, second.scores, atol=1e-9)
        np.testing.assert_array_equal(first.boxes[0], second.boxes[0])
        H = FORMULATIONS["SVM1 slack"].H
        one, two = scan.augmented_argmax(f, x, y, H), bounded.augmented_argmax(g, x, y, H)
        assert H(scan.delta(y, one), f(x, y) - f(x, one)) == pytest.approx(
            float(H(scan.delta(y, two), f(x, y) - f(x, two)))
        )


@pytest.mark.parametrize("name", ["SVM1 margin", "SVM1 slack", "SVM2 margin", "SVM2"])
def test_training_reaches_the_optimum_over_all_boxes(name: str) -> None:
    """Scaled as bind says; the other object's box of an image constrains nothing."""
    X, Y = scenes(4)
    problem = Localization(WORDS, levels=2, normalise="cell")
    model = StructuredSVM(problem, name, "n_slack", C=5.0, eps=1e-6, gap_tol=1e-7).fit(X, Y)
    bound = model.problem_
    rows = np.array([bound.psi(x, y).toarray()[0] for x, y in zip(X, Y, strict=True)])
    assert np.mean((rows**2).sum(axis=1)) == pytest.approx(1.0)
    every = [c for c in references.constraints(bound, X, Y, outputs) if c.delta > 0.0]
    optimum = references.primal(name, 5.0, every, len(X)).value
    assert model.fit_.primal == pytest.approx(optimum, rel=1e-5)
    assert model.fit_.gap <= 1e-5 * optimum


def test_the_chi2_machine_is_trained_to_a_certified_gap() -> None:
    """The additive kernel's machine has the primal that its own expansion and a full search give."""
    X, Y = scenes(6)
    kernel = BoxChi2(WORDS, 2, "cell")
    model = StructuredSVM(
        Localization(WORDS, 2), "SVM1 margin", C=10.0, eps=1e-5, gap_tol=1e-5, kernel=kernel
    ).fit(X, Y)
    f = model.scorer_
    norm2 = sum(c * f(x, y) for c, x, y in zip(f.coef, f.X, f.Y, strict=True))
    H = FORMULATIONS["SVM1 margin"].H
    slacks = []
    for x, y in zip(X, Y, strict=True):
        others = [ybar for ybar in outputs(x) if model.problem_.delta(y, ybar) > 0.0]
        values = [float(H(model.problem_.delta(y, ybar), f(x, y) - f(x, ybar))) for ybar in others]
        slacks.append(max(0.0, *values))
    assert model.fit_.primal == pytest.approx(0.5 * norm2 + 10.0 / 6 * sum(slacks), rel=1e-6)
    assert model.fit_.gap <= 1e-4 * model.fit_.primal


def test_jkse_finds_objects_in_new_images() -> None:
    """Both kernels: the best box of every unseen image overlaps an object."""
    X, Y = scenes(12)
    new, truth = scenes(12, seed=99)
    kernels = [BoxChi2(WORDS, 3, *rest) for rest in (("cell",), ("cell", 1.0), ("box", "mean"))]
    for kernel in (None, *kernels):
        model = JKSE(Localization(WORDS, 3, "cell"), kernel=kernel, nu=0.2).fit(X, Y)
        assert max(model.problem_.delta(y, yhat) for y, yhat in zip(truth, model.predict(new))) < 0.5
        again = JKSE.from_arrays(model.to_arrays())
        assert [one.tolist() for one in again.predict(new)] == [one.tolist() for one in model.predict(new)]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), normalise=st.sampled_from(["none", "cell", "box"]))
def test_radius_and_loss_bound_every_pair_of_boxes(seed: int, normalise: str) -> None:
    problem = Localization(WORDS, levels=2, normalise=normalise, scale=1.7)
    (x,), (y,) = (part[:1] for part in scenes(1, seed))
    rows = np.array([problem.psi(x, ybar).toarray()[0] for ybar in outputs(x)])
    apart = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    assert apart.max() <= problem.radius(x) * (1 + 1e-12)
    assert max(problem.delta(y, ybar) for ybar in outputs(x)) <= problem.max_delta(y)


def test_several_true_boxes() -> None:
    problem = Localization(WORDS)
    y = np.array([[0, 0, 4, 5], [0, 6, 4, 11]])
    assert problem.delta(y, y) == 0.0
    assert problem.delta(y, y[::-1]) == 0.0
    assert problem.delta(y, np.array([[0, 7, 4, 12]])) == pytest.approx(1.0 - 16 / 24)
    assert problem.delta(np.zeros((0, 4), int), y) == 1.0


def test_a_kernel_that_knows_fewer_words_than_the_problem() -> None:
    """Its compiled code would count the others outside of its arrays."""
    X, Y = scenes(2)
    for estimator in (StructuredSVM, JKSE):
        for gamma in (None, 1.0):
            with pytest.raises(ValueError, match=r"example.* has word \d, but n_words is 2"):
                estimator(Localization(WORDS, 2), kernel=BoxChi2(2, 2, gamma=gamma)).fit(X, Y)
    problem = Localization(WORDS, levels=1, scale=1.0)
    for box in ([0, 0, 9, 3], [-1, 0, 3, 3], [2, 2, 2, 5], [0, 0, 10**9, 10**9]):
        with pytest.raises(ValueError, match="is empty or outside its map of 8 x 12"):
            problem.psi(X[0], np.array([box]))


def test_bad_input_is_named() -> None:
    X, Y = scenes(2)
    words, windows = X[0]
    cases = [
        ([(words, windows[:, :2])], Y[:1], r"x of example 0 is not \(words, windows\)"),
        ([(words.astype(float), windows)], Y[:1], "must be integers"),
        ([X[0], (words + WORDS, windows)], Y, f"example 1 has word .* n_words is {WORDS}"),
        ([(words, windows * 0)], Y[:1], "at least 1"),
        ([(words[:3], windows)], Y[:1], "no window of example 0 fits its map of 3 x 12"),
        (X[:1], [Y[0] + 9], r"box 0 of example 0, \[.*\], is empty or outside its map of 8 x 12"),
        (X[:1], [Y[0][:0]], "example 0 has no box"),
        (X[:1], [Y[0].ravel()], "an array .k, 4. of boxes"),
    ]
    for X_bad, Y_bad, message in cases:
        with pytest.raises(ValueError, match=message):
            StructuredSVM(Localization(WORDS, 2)).fit(X_bad, Y_bad)
    with pytest.raises(ValueError, match="normalise must be one of none, cell, box"):
        Localization(WORDS, normalise="l2")
    with pytest.raises(ValueError, match="branch_and_bound' bounds counts only"):
        Localization(WORDS, normalise="cell", search="branch_and_bound")
    with pytest.raises(ValueError, match="gamma must be None, 'mean' or a finite number above 0"):
        registry.kernel("box_chi2", n_words=WORDS, gamma=-1.0)
    with pytest.raises(ValueError, match="gamma must be None, 'mean' or a finite number above 0"):
        BoxChi2(WORDS, gamma="median")
    with pytest.raises(ValueError, match="takes no joint kernel: search 'branch_and_bound' bounds"):
        StructuredSVM(Localization(WORDS, 2, search="branch_and_bound"), kernel=BoxChi2(WORDS, 2)).fit(X, Y)
