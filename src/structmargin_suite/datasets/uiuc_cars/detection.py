"""Evaluation of detections: which are right, the curve of precision and recall, the equal error rate.

Detections of all images are ranked by score. In that order, a detection is right if it matches a car of
its image that no earlier detection has matched; of several cars it takes the nearest. Two ways to match:

    ellipse    the UIUC criterion: ((row - row*) / (.25 height))^2 + ((column - column*) / (.25 width))^2 <= 1
    overlap    area of intersection over area of union at least .5

At the equal error point as many detections are wrong as cars are missed. If t of the first k detections are
right, k - t are wrong and n - t cars are missed, so that this point is k = n, or the last detection where
there are fewer than n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

AXES = 0.25
"""The axes of the ellipse, as shares of the car's height and width."""
MIN_OVERLAP = 0.5


class PrecisionRecall(NamedTuple):
    """Precision and recall after each detection, best first, and the equal error rate, as shares."""

    precision: np.ndarray
    recall: np.ndarray
    equal_error: float


def ellipse(car: np.ndarray, box: np.ndarray) -> float:
    """How well a box matches a car by the UIUC criterion: 1 at its place, 0 at the edge of the ellipse."""
    down = (box[0] - car[0]) / (AXES * (car[2] - car[0]))
    across = (box[1] - car[1]) / (AXES * (car[3] - car[1]))
    return 1.0 - float(np.hypot(down, across))


def overlap(car: np.ndarray, box: np.ndarray) -> float:
    """How well a box matches a car by overlap: the overlap less the smallest that counts as a match."""
    sides = np.minimum(car[2:4], box[2:4]) - np.maximum(car[:2], box[:2])
    if np.any(sides <= 0.0):
        return -MIN_OVERLAP
    both = float(np.prod(sides))
    areas = [float(np.prod(corners[2:4] - corners[:2])) for corners in (car, box)]
    return both / (sum(areas) - both) - MIN_OVERLAP


CRITERIA = {"ellipse": ellipse, "overlap": overlap}


def correct(cars: Sequence[np.ndarray], detections: Sequence[np.ndarray], criterion: str) -> list[np.ndarray]:
    """Which detections are right, one boolean array (k,) per image.

    `cars` has the true boxes (c, 4) of every image, `detections` its boxes with their scores (k, 5), best
    first; `criterion` is a name in CRITERIA.
    """
    match = CRITERIA[criterion]
    outcomes = []
    for truths, boxes in zip(cars, detections, strict=True):
        free = list(range(len(truths)))
        hits = np.zeros(len(boxes), dtype=bool)
        for k, box in enumerate(boxes):
            values = {c: match(truths[c], box) for c in free}
            best = max(values, key=lambda c: values[c], default=None)
            if best is not None and values[best] >= -1e-12:
                hits[k] = True
                free.remove(best)
        outcomes.append(hits)
    return outcomes


def precision_recall(
    cars: Sequence[np.ndarray], detections: Sequence[np.ndarray], criterion: str
) -> PrecisionRecall:
    """The curve over all images, with arguments as for `correct`; ties are ordered by image."""
    n = sum(len(truths) for truths in cars)
    hits = np.concatenate([np.zeros(0, dtype=bool), *correct(cars, detections, criterion)])
    scores = np.concatenate([np.zeros(0), *(boxes[:, 4] for boxes in detections)])
    hits = hits[np.argsort(-scores, kind="stable")]
    count, good = np.arange(1, len(hits) + 1), np.cumsum(hits)
    rank = min(n, len(hits))  # of the equal error point
    rate = 1.0 - good[rank - 1] / n if rank else 1.0
    return PrecisionRecall(good / count, good / max(n, 1), float(rate))
