"""Cars in street pictures: the methods of Table 1, kernels at right and random boxes (jkse09 Section 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin_suite.results import ExperimentResults

SSVM, LINEAR, CHI2 = "S-SVM (linear)", "JKSE (linear)", "JKSE (chi2)"
ERROR = "test_equal_error_ellipse"
NOISE = ("clean", "noise", "noise, far")
"""The studies of label noise: without noise one draw, swapped boxes in several, far ones in one."""
TABLE_1 = (*NOISE, "variants")
"""The studies that make Table 1, with histograms per cell in one draw."""
MIN_LOSS = 0.5  # of a random box: it overlaps no car by more than half


def kernel_values(
    experiment: ExperimentResults, run: str, size: int = 100
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Per kernel, values between training boxes and (correct, random) boxes of test images, each scaled to a
    mean diagonal of 1 over the training boxes. Random boxes have the size of a car and overlap no car by
    more than half.
    """
    from structmargin.oracles.box_search import box_loss, boxes_of
    from structmargin.problems.localization.boxes import KINDS, pyramids
    from structmargin.problems.localization.kernel import BoxChi2

    split, rng = experiment.split(run), np.random.default_rng(0)
    problem = experiment.model(run).problem_
    X, Y = split.train.X[:size], split.train.Y[:size]
    test_boxes: list[tuple[Any, np.ndarray, np.ndarray]] = []
    for x, cars in zip(split.test.X[:size], split.test.Y[:size], strict=True):
        boxes = boxes_of(*x[0].shape, x[1])
        losses = np.array([box_loss(cars, box.astype(float)) for box in boxes])
        wrong = np.flatnonzero(losses >= MIN_LOSS)
        if len(wrong):
            test_boxes.append((x, boxes[[int(np.argmin(losses))]], boxes[[rng.choice(wrong)]]))
    X2, right, wrong_boxes = (list(column) for column in zip(*test_boxes, strict=True))
    kind = KINDS[problem.normalise]

    def linear(A: Any, B: Any, C: Any, D: Any) -> np.ndarray:
        left, other = (pyramids(x, y, problem.n_words, problem.levels, kind) for x, y in ((A, B), (C, D)))
        return (left @ other.T).toarray()

    values = {}
    chi2_kernel = BoxChi2(problem.n_words, problem.levels, problem.normalise)
    for name, gram in (("linear", linear), ("chi2", chi2_kernel.gram)):
        scale = float(np.mean(np.diagonal(gram(X, Y, X, Y))))
        values[name] = gram(X, Y, X2, right) / scale, gram(X, Y, X2, wrong_boxes) / scale
    return values
