"""Detections judged: which are right, the curve of precision and recall, the equal error rate.

Detections of all images are ranked by score. In that order, one is right if it matches a car of its image
that no earlier one took, by the nearest first. Two ways to match:

    ellipse    the UIUC criterion: ((row - row*) / (.25 height))^2 + ((column - column*) / (.25 width))^2 <= 1
    overlap    area of intersection over area of union at least .5

At the equal error point as many detections are wrong as cars are missed. Among the first k detections k - t
are wrong and n - t missed, t being right: so that point is k = n, or the last detection where there are
fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

AXES, LEAST = 0.25, 0.5


class Curve(NamedTuple):
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
    """How well a box matches a car by overlap: 0 at the least that counts."""
    sides = np.minimum(car[2:4], box[2:4]) - np.maximum(car[:2], box[:2])
    if np.any(sides <= 0.0):
        return -LEAST
    both = float(np.prod(sides))
    areas = [float(np.prod(one[2:4] - one[:2])) for one in (car, box)]
    return both / (sum(areas) - both) - LEAST


CRITERIA = {"ellipse": ellipse, "overlap": overlap}


def right(cars: Sequence[np.ndarray], found: Sequence[np.ndarray], criterion: str) -> list[np.ndarray]:
    """For each image, which of its detections (k, 5), best first, are right."""
    match = CRITERIA[criterion]
    told = []
    for truths, boxes in zip(cars, found, strict=True):
        free = list(range(len(truths)))
        hits = np.zeros(len(boxes), dtype=bool)
        for k, box in enumerate(boxes):
            values = {c: match(truths[c], box) for c in free}
            best = max(values, key=lambda c: values[c], default=None)
            if best is not None and values[best] >= -1e-12:
                hits[k] = True
                free.remove(best)
        told.append(hits)
    return told


def curve(cars: Sequence[np.ndarray], found: Sequence[np.ndarray], criterion: str) -> Curve:
    """The curve over all images; of equal scores, the earlier image's comes first."""
    n = sum(len(truths) for truths in cars)
    hits = np.concatenate([np.zeros(0, dtype=bool), *right(cars, found, criterion)])
    scores = np.concatenate([np.zeros(0), *(boxes[:, 4] for boxes in found)])
    hits = hits[np.argsort(-scores, kind="stable")]
    count, good = np.arange(1, len(hits) + 1), np.cumsum(hits)
    at = min(n, len(hits))
    rate = 1.0 - good[at - 1] / n if at else 1.0
    return Curve(good / count, good / max(n, 1), float(rate))
