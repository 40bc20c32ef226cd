"""K documents at random, the same for the same seed and query (cacm09 Figure 4)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.problems.diversity.problem import Selection
from structmargin_suite.baselines import Schemas
from structmargin_suite.baselines._queries import QueryDocuments

OPTIONS: Schemas = {}


@dataclass(frozen=True)
class RandomSubset:
    """A seed, and how many documents to choose."""

    seed: int
    K: int

    def predict(self, X: Sequence[QueryDocuments]) -> list[Selection]:
        """K of each query's candidates."""
        draws = (np.random.default_rng([self.seed, zlib.crc32(x.name.encode())]) for x in X)
        return [Selection(rng.permutation(len(x))[: self.K]) for rng, x in zip(draws, X, strict=True)]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"seed": np.array(self.seed), "K": np.array(self.K)}


def train(X: Sequence[QueryDocuments], Y: Sequence[Selection], *, seed: int) -> RandomSubset:
    """The only thing learnt is K, the number of documents in a training selection."""
    return RandomSubset(seed, len(Y[0].documents))


def from_arrays(arrays: Mapping[str, np.ndarray]) -> RandomSubset:
    """The model that `to_arrays` was called on."""
    return RandomSubset(int(arrays["seed"]), int(arrays["K"]))
