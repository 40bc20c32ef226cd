"""K documents at random, the same for the same seed and query (cacm09 Figure 4)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structmargin.problems.diversity.problem import Selection

OPTIONS: dict[str, Any] = {}


@dataclass(frozen=True)
class Model:
    """A seed, and how many documents to choose."""

    seed: int
    K: int

    def predict(self, X: Sequence[Any]) -> list[Selection]:
        """K of each query's candidates."""
        draws = (np.random.default_rng([self.seed, zlib.crc32(x.name.encode())]) for x in X)
        return [Selection(rng.permutation(len(x))[: self.K]) for rng, x in zip(draws, X, strict=True)]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"seed": np.array(self.seed), "K": np.array(self.K)}


def train(X: Sequence[Any], Y: Sequence[Selection], *, seed: int) -> Model:
    """Nothing is learnt but K, from the training selections."""
    return Model(seed, len(Y[0].documents))


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Model:
    """The model that `to_arrays` was called on."""
    return Model(int(arrays["seed"]), int(arrays["K"]))
