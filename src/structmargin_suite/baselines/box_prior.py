"""Boxes chosen without looking at the image: at random, or nearest to its middle.

Any detector should do better. `random` scores every box by a number drawn for the image and the box; `centre`
scores a box by how near its centre is to that of the image, relative to the sides of the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from structmargin.oracles.box_search import boxes_of
from structmargin.problems.localization.problem import Localization
from structmargin_suite.baselines import Schemas

WordMap = tuple[np.ndarray, np.ndarray]
"""The visual words (rows, columns) of an image, and the windows (k, 3) that boxes may be."""
OPTIONS: Schemas = {"prior": {"enum": ["random", "centre"]}}


@dataclass(frozen=True)
class BoxPrior:
    """A scorer of boxes, and the problem that searches by it."""

    prior: str
    seed: int
    problem_: Localization = field(default_factory=lambda: Localization(1))

    @property
    def scorer_(self) -> BoxPrior:
        return self

    def potentials(self, x: WordMap) -> np.ndarray:
        """Scores (m,) of all boxes of an image."""
        words, windows = x
        boxes = boxes_of(*words.shape, np.asarray(windows, dtype=np.int64))
        if self.prior == "random":
            rng = np.random.default_rng([self.seed, *words.shape, int(words.sum())])
            return rng.random(len(boxes))
        centre = (boxes[:, :2] + boxes[:, 2:]) / 2.0 / np.array(words.shape)
        return -np.hypot(*(centre - 0.5).T)

    def predict(self, X: Sequence[WordMap]) -> list[np.ndarray]:
        """The best box of every image."""
        return [self.problem_.argmax(self, x) for x in X]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"prior": np.array(self.prior), "seed": np.array(self.seed)}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> BoxPrior:
    """The model that `to_arrays` was called on."""
    return BoxPrior(str(arrays["prior"]), int(arrays["seed"]))


def train(X: Sequence[WordMap], Y: Sequence[np.ndarray], *, seed: int, prior: str = "random") -> BoxPrior:
    """Nothing is learnt from X and Y."""
    return BoxPrior(prior, seed)
