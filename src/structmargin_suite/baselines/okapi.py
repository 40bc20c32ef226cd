"""Okapi BM25: the K documents that score highest for the query, each by itself (cacm09 Figure 4).

    score(d) = sum over the query's words v of idf(v) c_vd (k1 + 1) / (c_vd + k1 (1 - b + b |d| / mean |d|))
    idf(v)   = log(1 + (N - N_v + 1/2) / (N_v + 1/2))

with c_vd the count of v in d, k1 = 1.2, b = 0.75 (Robertson et al. 1994), and N documents, N_v of them with
v, among the training queries' candidates. Of equal scores the document first in the list wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.problems.diversity.problem import Selection
from structmargin_suite.baselines import Schemas
from structmargin_suite.baselines._queries import QueryDocuments

OPTIONS: Schemas = {
    "k1": {"type": "number", "minimum": 0},
    "b": {"type": "number", "minimum": 0, "maximum": 1},
}


@dataclass(frozen=True)
class OkapiRanking:
    """Statistics of a collection, and the parameters.

    Attributes
    ----------
    n : int
        The number of documents.
    having : ndarray (V,)
        The number of documents that have each word.
    length : float
        The mean length of a document.
    K : int
        How many documents to choose.
    k1, b : float
        The parameters of the formula.
    """

    n: int
    having: np.ndarray
    length: float
    K: int
    k1: float
    b: float

    def scores(self, x: QueryDocuments) -> np.ndarray:
        """BM25 of every candidate, (n,)."""
        c = np.asarray(x.counts[:, x.words].todense(), dtype=float)
        idf = np.log1p((self.n - self.having[x.words] + 0.5) / (self.having[x.words] + 0.5))
        lengths = np.asarray(x.counts.sum(axis=1), dtype=float)
        return np.asarray(
            c * (self.k1 + 1.0) / (c + self.k1 * (1.0 - self.b + self.b * lengths / self.length)) @ idf
        ).ravel()

    def predict(self, X: Sequence[QueryDocuments]) -> list[Selection]:
        """The K candidates of highest score."""
        return [Selection(np.argsort(-self.scores(x), kind="stable")[: self.K]) for x in X]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {name: np.asarray(value) for name, value in vars(self).items()}


def train(
    X: Sequence[QueryDocuments], Y: Sequence[Selection], *, seed: int, k1: float = 1.2, b: float = 0.75
) -> OkapiRanking:
    """Statistics of the training queries' candidates; nothing here is random."""
    having = sum(np.asarray((x.counts > 0).sum(axis=0)).ravel() for x in X)
    n = sum(len(x) for x in X)
    length = sum(float(x.counts.sum()) for x in X) / n
    return OkapiRanking(n, np.asarray(having, dtype=float), length, len(Y[0].documents), k1, b)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> OkapiRanking:
    """The model that `to_arrays` was called on."""
    numbers = {name: arrays[name].item() for name in ("n", "length", "K", "k1", "b")}
    return OkapiRanking(having=arrays["having"], **numbers)
