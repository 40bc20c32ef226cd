"""Box searches against enumeration written here: pyramids cell by cell, overlaps pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import chi2_kernel

from helpers.boxes import listed, pyramid, shared
from structmargin.formulation import FORMULATIONS
from structmargin.oracles.box_search import (
    box_losses,
    boxes_of,
    integrals,
    most_violated,
    n_cells,
    overlap,
    scan,
    suppressed,
)
from structmargin.oracles.box_search_chi2 import (
    Pyramid,
    Support,
    additive_scan,
    additive_table,
    exponential_scan,
)
from structmargin.oracles.box_search_ess import branch_and_bound

KINDS = {"none": 0, "cell": 1, "box": 2}
NO_BOXES = np.zeros((0, 4), dtype=np.int64)
PLAIN = FORMULATIONS["SVM1 margin"].H


def random_map(rng: np.random.Generator, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = rng.integers(3, 10, size=2)
    words = rng.integers(-1, n_words, size=(rows, columns))
    windows = np.column_stack(
        [rng.integers(1, rows + 2, size=3), rng.integers(1, columns + 2, size=3), rng.integers(1, 3, size=3)]
    )
    windows[0] = (min(rows, 4), min(columns, 5), 1)
    return words, windows


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(KINDS)), levels=st.integers(1, 4))
def test_scan_scores_every_box_as_its_pyramid_says(seed: int, kind: str, levels: int) -> None:
    rng = np.random.default_rng(seed)
    words, windows = random_map(rng, 4)
    W = rng.normal(size=(n_cells(levels), 4))
    boxes = boxes_of(*words.shape, windows)
    assert boxes.tolist() == [list(box) for box in listed(*words.shape, windows)]
    expected = [float((W * pyramid(words, box, levels, kind, 4)).sum()) for box in boxes]
    found = scan(integrals(words, W), windows, levels, KINDS[kind])
    np.testing.assert_allclose(found, expected, atol=1e-10)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_overlap_counts_pixels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 12, size=(2, 2))
    boxes = np.concatenate([edges, edges + rng.integers(1, 12, size=(2, 2))], axis=1)
    assert overlap(boxes[0], boxes[1]) == pytest.approx(shared(*boxes))


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(FORMULATIONS)))
def test_the_most_violated_box_is_that_of_enumeration(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    words, windows = random_map(rng, 3)
    boxes = boxes_of(*words.shape, windows)
    scores, H = rng.normal(size=len(boxes)), FORMULATIONS[name].H
    truths = boxes[rng.choice(len(boxes), size=min(2, len(boxes)), replace=False)]
    at_truth = float(rng.normal())
    losses = box_losses(truths, boxes)
    deltas = [1.0 - max(shared(truth, box) for truth in truths) for box in boxes]
    np.testing.assert_allclose(losses, deltas, atol=1e-12)
    t = np.where(losses > 0.0, H.t(losses), -np.inf)
    k = most_violated(scores, t, H.s(losses), at_truth)
    values = [float(H(d, at_truth - s)) for d, s in zip(deltas, scores, strict=True) if d > 0.0]
    if not values:
        assert k == -1
        return
    assert deltas[k] > 0.0
    assert float(H(deltas[k], at_truth - scores[k])) == pytest.approx(max(values))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(FORMULATIONS)), levels=st.integers(1, 4))
def test_branch_and_bound_agrees_with_enumeration(seed: int, name: str, levels: int) -> None:
    """Without truths the best score, with two truths the best H, of all boxes within a range of sizes."""
    rng = np.random.default_rng(seed)
    words = rng.integers(-1, 3, size=rng.integers(3, 8, size=2))
    W, H = rng.normal(size=(n_cells(levels), 3)), FORMULATIONS[name].H
    low = np.array([rng.integers(1, n + 1) for n in words.shape])
    high = np.array([rng.integers(a, n + 1) for a, n in zip(low, words.shape, strict=True)])
    halves = integrals(words, np.maximum(W, 0.0)), integrals(words, np.minimum(W, 0.0))
    every = [(h, w, 1) for h in range(low[0], high[0] + 1) for w in range(low[1], high[1] + 1)]
    boxes = np.array(listed(*words.shape, np.array(every)))
    scores = np.array([float((W * pyramid(words, box, levels, "none", 3)).sum()) for box in boxes])
    box, loss, score, _ = branch_and_bound(
        *halves, levels, low, high, NO_BOXES, 0.0, PLAIN, NO_BOXES, 0.0, 0.0
    )
    assert box.tolist() in boxes.tolist()
    assert score == pytest.approx(scores.max())
    truths, at_truth = boxes[rng.integers(0, len(boxes), size=2)], float(rng.normal())
    deltas = np.array([1.0 - max(shared(truth, one) for truth in truths) for one in boxes])
    box, loss, score, looked = branch_and_bound(
        *halves, levels, low, high, truths, at_truth, H, NO_BOXES, 0.0, 0.0
    )
    if not np.any(deltas > 0.0):
        assert box[0] == -1
        return
    values = H(deltas, at_truth - scores)[deltas > 0.0]
    assert float(H(loss, at_truth - score)) == pytest.approx(float(values.max()))
    assert deltas[boxes.tolist().index(box.tolist())] == pytest.approx(loss)
    assert looked >= 1


def test_branch_and_bound_looks_at_few_of_many_boxes() -> None:
    """One good word in a corner of a map of bad ones: far fewer states than the 176,400 boxes."""
    words = np.ones((20, 40), dtype=np.int64)
    words[3:8, 20:30] = 0
    W = np.array([[1.0, -1.0]])
    halves = integrals(words, np.maximum(W, 0.0)), integrals(words, np.minimum(W, 0.0))
    box, _, score, looked = branch_and_bound(
        *halves, 1, np.array([1, 1]), np.array([20, 40]), NO_BOXES, 0.0, PLAIN, NO_BOXES, 0.0, 0.0
    )
    assert box.tolist() == [3, 20, 8, 30]
    assert score == 50.0
    assert looked < 2000


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 5))
def test_repeated_search_leaves_out_what_is_near(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    words, windows = random_map(rng, 3)
    boxes = boxes_of(*words.shape, windows)
    scores = rng.normal(size=len(boxes))
    kept: list[int] = []
    for k in np.argsort(-scores):
        far = True
        for j in kept:
            h, w = boxes[j, 2] - boxes[j, 0], boxes[j, 3] - boxes[j, 1]
            centres = (boxes[k, :2] + boxes[k, 2:] - boxes[j, :2] - boxes[j, 2:]) / 2.0
            far &= abs(centres[0]) >= 0.7 * h or abs(centres[1]) >= 0.4 * w
        if far and len(kept) < most:
            kept.append(int(k))
    assert suppressed(scores, boxes, 0.7, 0.4, most).tolist() == kept


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(KINDS)), levels=st.integers(1, 4))
def test_sliding_histograms_agree_with_scikit_learn(seed: int, kind: str, levels: int) -> None:
    rng = np.random.default_rng(seed)
    words, windows = random_map(rng, 4)
    other = rng.integers(-1, 4, size=(9, 9))
    support = np.array([pyramid(other, (t, t, t + 5, t + 4), levels, kind, 4).ravel() for t in range(4)])
    coef, gamma = rng.normal(size=4), float(rng.uniform(0.1, 2.0))
    hits = [[(j, h[k]) for j, h in enumerate(support) if h[k] > 0.0] for k in range(support.shape[1])]
    start = np.concatenate([[0], np.cumsum([len(hit) for hit in hits])]).astype(np.int64)
    owner = np.array([j for hit in hits for j, _ in hit], dtype=np.int64)
    value = np.array([h for hit in hits for _, h in hit])
    shape, packed = Pyramid(levels, KINDS[kind], 4), Support(start, owner, value, coef, support.sum(axis=1))
    boxes = boxes_of(*words.shape, windows)
    here = np.array([pyramid(words, box, levels, kind, 4).ravel() for box in boxes])
    expected = chi2_kernel(here, support, gamma=gamma) @ coef
    np.testing.assert_allclose(
        exponential_scan(words, windows, shape, packed, gamma),
        expected,
        rtol=1e-5,
        atol=1e-9,
    )
    both = here[:, None] + support[None]
    shares = np.divide(2 * here[:, None] * support[None], both, out=np.zeros_like(both), where=both > 0)
    scores = []
    for window in windows:
        table = additive_table(window, shape)
        once, again = (additive_scan(words, window, shape, packed, *table) for _ in range(2))
        np.testing.assert_array_equal(once, again)
        scores.append(once)
    np.testing.assert_allclose(np.concatenate(scores), shares.sum(axis=2) @ coef, rtol=1e-9, atol=1e-9)
