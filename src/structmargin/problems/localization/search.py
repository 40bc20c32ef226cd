"""The two ways to search boxes: scan them all, or branch and bound. Each has the same four functions.

potentials(problem, w, x)                what the others work on
detect(problem, potentials, ...)         the best boxes by repeated search
prepared(words, windows, y, H)           what a violator is looked for among, the same for every w
violator(problem, potentials, among, at_truth)   the most violated box, its loss and its score
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structmargin.formulation import Cost
from structmargin.oracles.box_search import box_losses, boxes_of, integrals, most_violated, scan, suppressed
from structmargin.oracles.box_search_ess import branch_and_bound
from structmargin.problems.localization.boxes import KINDS, NO_BOXES, as_input

PLAIN = Cost(1.0, 0.0, 1.0)
"""H = Delta - gap: without truths, the search for the best score."""


class Detections(NamedTuple):
    """Boxes (k, 4) and their scores (k,), best first."""

    boxes: np.ndarray
    scores: np.ndarray


class Candidates(NamedTuple):
    """Boxes (m, 4), their losses (m,), and t and s of H at these."""

    boxes: np.ndarray
    losses: np.ndarray
    t: np.ndarray
    s: np.ndarray


class Halves(NamedTuple):
    """Integral images of the positive and the negative worth of words: what branch and bound works on."""

    positive: np.ndarray
    negative: np.ndarray


class Scan:
    """Every box that the windows allow; potentials are their scores."""

    @staticmethod
    def potentials(problem: Any, w: np.ndarray, x: Any) -> np.ndarray:
        words, windows = as_input(x)
        S = integrals(words, problem.worth(w))
        return scan(S, windows, problem.levels, KINDS[problem.normalise])

    @staticmethod
    def detect(
        problem: Any, scores: Any, words: Any, windows: Any, down: float, across: float, most: int
    ) -> Detections:
        boxes = boxes_of(*words.shape, windows)
        chosen = suppressed(scores, boxes, float(down), float(across), most)
        return Detections(boxes[chosen], scores[chosen])

    @staticmethod
    def prepared(words: Any, windows: Any, y: np.ndarray, H: Cost) -> Candidates:
        """The boxes, and t and s of H at their losses; no true box is a violator."""
        boxes = boxes_of(*words.shape, windows)
        losses = box_losses(y, boxes)
        return Candidates(boxes, losses, np.where(losses > 0.0, H.t(losses), -np.inf), H.s(losses))

    @staticmethod
    def violator(
        problem: Any, scores: Any, among: Candidates, at_truth: float
    ) -> tuple[np.ndarray | None, float, float]:
        """(box (1, 4) or None, loss, score) of the most violated output."""
        k = most_violated(scores, among.t, among.s, at_truth)
        if k < 0:
            return None, 0.0, at_truth
        return among.boxes[k : k + 1], float(among.losses[k]), float(scores[k])


class BranchAndBound:
    """All boxes between the smallest and the largest window; potentials are integral images."""

    @staticmethod
    def potentials(problem: Any, w: np.ndarray, x: Any) -> Halves:
        words, W = as_input(x)[0], problem.worth(w)
        return Halves(integrals(words, np.maximum(W, 0.0)), integrals(words, np.minimum(W, 0.0)))

    @staticmethod
    def detect(
        problem: Any, halves: Any, words: Any, windows: Any, down: float, across: float, most: int
    ) -> Detections:
        low, high = windows[:, :2].min(axis=0), windows[:, :2].max(axis=0)
        found, scores = NO_BOXES, np.zeros(0)
        for _ in range(most):
            box, _, score, _ = branch_and_bound(
                *halves, problem.levels, low, high, NO_BOXES, 0.0, PLAIN, found, float(down), float(across)
            )
            if box[0] < 0:
                break
            found, scores = np.vstack([found, box]), np.append(scores, score)
        return Detections(found, scores)

    @staticmethod
    def prepared(words: Any, windows: Any, y: np.ndarray, H: Cost) -> tuple[Any, ...]:
        """The range of sizes, the truths, and H."""
        return windows[:, :2].min(axis=0), windows[:, :2].max(axis=0), y, H

    @staticmethod
    def violator(
        problem: Any, halves: Any, among: tuple[Any, ...], at_truth: float
    ) -> tuple[np.ndarray | None, float, float]:
        low, high, y, H = among
        box, loss, score, _ = branch_and_bound(
            *halves, problem.levels, low, high, y, at_truth, H, NO_BOXES, 0.0, 0.0
        )
        return (None, 0.0, at_truth) if box[0] < 0 else (box[None], float(loss), float(score))


SEARCHES: dict[str, Any] = {"scan": Scan, "branch_and_bound": BranchAndBound}
