"""Cars in street pictures: the methods of Table 1, detections, kernels at right and random boxes (jkse09
Section 5).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structmargin_suite.datasets.uiuc_cars import view
from structmargin_suite.datasets.uiuc_cars.detection import correct, overlap
from structmargin_suite.results import ExperimentResults

SSVM, LINEAR, CHI2, SSVM_CHI2 = "S-SVM (linear)", "JKSE (linear)", "JKSE (chi2)", "S-SVM (chi2)"
ERROR = "test_equal_error_ellipse"
NOISE = ("clean", "noise", "other noise")
"""The studies of label noise: without noise one draw, swapped boxes in several, other kinds in one."""
TABLE_1 = (*NOISE, "scaled", "variants")
"""The studies that make Table 1, with other features and kernels in one draw."""
MIN_LOSS = 0.5  # of a random box: it overlaps no car by more than half


@dataclass(frozen=True)
class Detections:
    """All detections of a test set, best first, so that images can be weighted.

    Parameters
    ----------
    hits : ndarray of bool (k,)
        Whether each detection finds a car, by the data set's own criterion.
    image : ndarray of int (k,)
        The image of each.
    cars : ndarray of int (images,)
        How many cars each image has.
    """

    hits: np.ndarray
    image: np.ndarray
    cars: np.ndarray
    _computed: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)

    def equal_error(self, weights: np.ndarray) -> np.ndarray:
        """Equal error rates in percent, one for each row of weights (r, images).

        As many detections are taken as there are cars (datasets/uiuc_cars/detection.py); the last one in
        part where whole images weigh more than is left.
        """
        known = self._computed.get("equal_error")  # statements about the same cars have the same weights
        if known is None or known[0] is not weights:
            known = self._computed["equal_error"] = weights, self._equal_error(weights)
        return known[1]

    def _equal_error(self, weights: np.ndarray) -> np.ndarray:
        n = weights @ self.cars
        for first in (2 * int(self.cars.sum()), len(self.image)):  # as a rule far fewer than all are taken
            of_detection = weights[:, self.image[:first]]
            after = np.cumsum(of_detection, axis=1)
            if after.shape[1] == 0 or np.all(after[:, -1] >= n):
                break
        taken = np.clip(n[:, None] - after + of_detection, 0.0, of_detection)
        return np.asarray(100.0 * (1.0 - taken @ self.hits[:first] / np.maximum(n, 1e-12)))

    def recall(self, weights: np.ndarray) -> np.ndarray:
        """The largest recall in percent."""
        return np.asarray(100.0 * (weights[:, self.image] @ self.hits) / (weights @ self.cars))

    def precise_share(self, weights: np.ndarray, precision: float) -> np.ndarray:
        """The part of the curve, in percent of the recall that it reaches, with a precision above this."""
        of_detection = weights[:, self.image]
        right = of_detection * self.hits
        good, count = np.cumsum(right, axis=1), np.cumsum(of_detection, axis=1)
        above = good > precision * count
        return np.asarray(100.0 * np.sum(right * above, axis=1) / np.maximum(good[:, -1], 1e-12))


def cars_and_detections(experiment: ExperimentResults, run: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(cars, detections) of every test image of a run."""
    arrays = experiment.kept_predictions(run)
    cars, found = (np.split(arrays[name], np.cumsum(arrays[f"{name}_n"])[:-1]) for name in ("cars", "found"))
    return cars, found


@functools.cache  # used by several statements
def detections(experiment: ExperimentResults, run: str) -> Detections:
    """What a run found in the test images."""
    cars, found = cars_and_detections(experiment, run)
    hits = np.concatenate(correct(cars, found, "ellipse"))
    image = np.repeat(np.arange(len(found)), [len(boxes) for boxes in found])
    order = np.argsort(-np.concatenate([boxes[:, 4] for boxes in found]), kind="stable")
    return Detections(hits[order], image[order], np.array([len(boxes) for boxes in cars]))


def wrong_boxes(experiment: ExperimentResults, run: str) -> tuple[np.ndarray, np.ndarray]:
    """(image, whether its box is wrong) of every training example of a run.

    A box is wrong where it overlaps no car of its image by half.
    """
    record, arrays = experiment.record(run), experiment.ready(run)
    given = view(arrays, record["view_seed"], **record["view"]).train
    true = view(arrays, record["view_seed"], **{**record["view"], "label_noise": 0.0}).train
    cars = {x[0].tobytes(): boxes.astype(float) for x, boxes in zip(true.X, true.Y, strict=True)}
    places = {words: i for i, words in enumerate(cars)}
    images = [x[0].tobytes() for x in given.X]
    wrong = [
        max(overlap(car, boxes[0].astype(float)) for car in cars[words]) < 0.0
        for words, boxes in zip(images, given.Y, strict=True)
    ]
    return np.array([places[words] for words in images]), np.array(wrong)


@functools.cache  # used by several statements and a figure
def kernel_values(
    experiment: ExperimentResults, linear_run: str, chi2_run: str, size: int = 100
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For the kernels of two runs, values between training boxes and (correct, random) boxes of test images.

    Training boxes are of many sizes, and a linear kernel of counts is the larger the larger a box is: every
    value is divided by the length of its training box in feature space, and all by the mean length of the
    correct test boxes. Test boxes all have the size of a car; random ones overlap no car by more than half.
    """
    from structmargin.oracles.box_search import box_loss, boxes_of
    from structmargin.problems.localization.boxes import KINDS, pyramids

    split, rng = experiment.split(linear_run), np.random.default_rng(0)
    problem = experiment.model(linear_run).problem_
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
    chi2_kernel = experiment.model(chi2_run).kernel
    for name, gram in (("linear", linear), ("chi2", chi2_kernel.gram)):
        of_training, of_right = (np.sqrt(np.diagonal(gram(A, B, A, B))) for A, B in ((X, Y), (X2, right)))
        length = np.maximum(of_training, 1e-12)[:, None] * float(np.mean(of_right))
        values[name] = gram(X, Y, X2, right) / length, gram(X, Y, X2, wrong_boxes) / length
    return values
