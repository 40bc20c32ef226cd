"""The two ways to search boxes: scan them all, or branch and bound. Both are a `BoxSearch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from structmargin.formulation import Cost
from structmargin.oracles.box_search import box_losses, boxes_of, integrals, most_violated, scan, suppressed
from structmargin.oracles.box_search_ess import branch_and_bound
from structmargin.problems.localization.boxes import KINDS, NO_BOXES, Image, as_input

if TYPE_CHECKING:
    from structmargin.problems.localization.problem import Localization

SCORE_ALONE = Cost(1.0, 0.0, 1.0)
"""H = Delta - margin: without truths, the search for the best score."""


class Detections(NamedTuple):
    """Boxes (k, 4) and their scores (k,), best first."""

    boxes: np.ndarray
    scores: np.ndarray


class BoxCandidates(NamedTuple):
    """Boxes (m, 4), their losses (m,), and t and s of H at these."""

    boxes: np.ndarray
    losses: np.ndarray
    t: np.ndarray
    s: np.ndarray


class SizeRange(NamedTuple):
    """The smallest and the largest (height, width) of a box, the true boxes (k, 4), and H."""

    low: np.ndarray
    high: np.ndarray
    truths: np.ndarray
    H: Cost


class SignedIntegrals(NamedTuple):
    """Integral images of the positive and the negative worth of words: what branch and bound works on."""

    positive: np.ndarray
    negative: np.ndarray


class BoxSearch(Protocol):
    """One way to search. Potentials and what is prepared are of a type of its own."""

    def potentials(self, problem: Localization, w: np.ndarray, x: Image) -> Any:
        """What the searches work on under explicit weights."""

    def detect(
        self,
        problem: Localization,
        potentials: Any,
        words: np.ndarray,
        windows: np.ndarray,
        down: float,
        across: float,
        most: int,
        /,
    ) -> Detections:
        """The best boxes by repeated search."""

    def prepared(self, words: np.ndarray, windows: np.ndarray, y: np.ndarray, H: Cost) -> tuple[Any, ...]:
        """What a violator is looked for among, the same for every w."""

    def violator(
        self, problem: Localization, potentials: Any, among: Any, at_truth: float, /
    ) -> tuple[np.ndarray | None, float, float]:
        """(box (1, 4) or None, loss, score) of the most violated output."""

    def draw(self, words: np.ndarray, windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random box (1, 4) among those that are searched."""


class Scan:
    """Every box that the windows allow; potentials are their scores."""

    @staticmethod
    def potentials(problem: Localization, w: np.ndarray, x: Image) -> np.ndarray:
        words, windows = as_input(x)
        S = integrals(words, problem.worth(w))
        scores: np.ndarray = scan(S, windows, problem.levels, KINDS[problem.normalise])
        return scores

    @staticmethod
    def detect(
        problem: Localization,
        scores: np.ndarray,
        words: np.ndarray,
        windows: np.ndarray,
        down: float,
        across: float,
        most: int,
    ) -> Detections:
        boxes = boxes_of(*words.shape, windows)
        chosen = suppressed(scores, boxes, float(down), float(across), most)
        return Detections(boxes[chosen], scores[chosen])

    @staticmethod
    def prepared(words: np.ndarray, windows: np.ndarray, y: np.ndarray, H: Cost) -> BoxCandidates:
        """The boxes, and t and s of H at their losses; no true box is a violator."""
        boxes = boxes_of(*words.shape, windows)
        losses = box_losses(y, boxes)
        return BoxCandidates(boxes, losses, np.where(losses > 0.0, H.t(losses), -np.inf), H.s(losses))

    @staticmethod
    def violator(
        problem: Localization, scores: np.ndarray, among: BoxCandidates, at_truth: float
    ) -> tuple[np.ndarray | None, float, float]:
        """(box (1, 4) or None, loss, score) of the most violated output."""
        k = most_violated(scores, among.t, among.s, at_truth)
        if k < 0:
            return None, 0.0, at_truth
        return among.boxes[k : k + 1], float(among.losses[k]), float(scores[k])

    @staticmethod
    def draw(words: np.ndarray, windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        boxes = boxes_of(*words.shape, windows)
        box: np.ndarray = boxes[rng.integers(len(boxes))]
        return box[None]


class BranchAndBound:
    """All boxes between the smallest and the largest window; potentials are integral images."""

    @staticmethod
    def potentials(problem: Localization, w: np.ndarray, x: Image) -> SignedIntegrals:
        words, W = as_input(x)[0], problem.worth(w)
        return SignedIntegrals(integrals(words, np.maximum(W, 0.0)), integrals(words, np.minimum(W, 0.0)))

    @staticmethod
    def detect(
        problem: Localization,
        integral_images: SignedIntegrals,
        words: np.ndarray,
        windows: np.ndarray,
        down: float,
        across: float,
        most: int,
    ) -> Detections:
        low, high = windows[:, :2].min(axis=0), windows[:, :2].max(axis=0)
        boxes_so_far, scores = NO_BOXES, np.zeros(0)
        for _ in range(most):
            box, _, score, _ = branch_and_bound(
                *integral_images,
                problem.levels,
                low,
                high,
                NO_BOXES,
                0.0,
                SCORE_ALONE,
                boxes_so_far,
                float(down),
                float(across),
            )
            if box[0] < 0:
                break
            boxes_so_far, scores = np.vstack([boxes_so_far, box]), np.append(scores, score)
        return Detections(boxes_so_far, scores)

    @staticmethod
    def prepared(words: np.ndarray, windows: np.ndarray, y: np.ndarray, H: Cost) -> SizeRange:
        """The range of sizes, the truths, and H."""
        return SizeRange(windows[:, :2].min(axis=0), windows[:, :2].max(axis=0), y, H)

    @staticmethod
    def violator(
        problem: Localization, integral_images: SignedIntegrals, among: SizeRange, at_truth: float
    ) -> tuple[np.ndarray | None, float, float]:
        low, high, y, H = among
        box, loss, score, _ = branch_and_bound(
            *integral_images, problem.levels, low, high, y, at_truth, H, NO_BOXES, 0.0, 0.0
        )
        return (None, 0.0, at_truth) if box[0] < 0 else (box[None], float(loss), float(score))

    @staticmethod
    def draw(words: np.ndarray, windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        low, high = windows[:, :2].min(axis=0), windows[:, :2].max(axis=0)
        size = rng.integers(low, np.minimum(high, words.shape) + 1)
        corner = rng.integers(0, np.array(words.shape) - size + 1)
        return np.concatenate([corner, corner + size])[None]


SEARCHES: dict[str, BoxSearch] = {"scan": Scan(), "branch_and_bound": BranchAndBound()}
