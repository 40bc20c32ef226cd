"""Greedy coverage of words by a fixed rule: unweighted words, and a coverage heuristic (cacm09 Figure 4).

A word v that is in a share r of the candidates is worth, if any chosen document has it,

    unweighted   1
    entropy      r log2(1 / r): most for words in about a third of the candidates, little for words in
                 nearly all or few
    rare         log2(1 / r), without the first factor
    variance     r (1 - r)

Essential Pages (Swaminathan et al. 2009) is such a rule, but no source for its formula was found. Nothing is
learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.oracles.greedy import greedy
from structmargin.problems.diversity.problem import Selection
from structmargin_suite.baselines import Schemas
from structmargin_suite.baselines._queries import QueryDocuments

RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unweighted": np.ones_like,
    "entropy": lambda r: -r * np.log2(r),
    "rare": lambda r: -np.log2(r),
    "variance": lambda r: r * (1.0 - r),
}
OPTIONS: Schemas = {"rule": {"enum": list(RULES)}}


def coverage_of(x: QueryDocuments, rule: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words of a query's candidates as `greedy` takes them.

    Returns (indptr, items, worth): candidate d has the words items[indptr[d] : indptr[d + 1]], and word v is
    worth worth[v].
    """
    has = (x.counts > 0).tocsr()
    r = np.asarray(has.sum(axis=0), dtype=float).ravel() / len(x)
    worth = np.zeros_like(r)
    worth[r > 0] = RULES[rule](r[r > 0])
    return has.indptr.astype(np.int64), has.indices.astype(np.int64), worth


@dataclass(frozen=True)
class WordCoverage:
    """The rule, and how many documents to choose."""

    rule: str
    K: int

    def predict(self, X: Sequence[QueryDocuments]) -> list[Selection]:
        """K documents of each query, found greedily: each adds most to the worth of the words covered."""
        return [Selection(greedy(*coverage_of(x, self.rule), self.K)) for x in X]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"rule": np.array(self.rule), "K": np.array(self.K)}


def train(
    X: Sequence[QueryDocuments], Y: Sequence[Selection], *, seed: int, rule: str = "unweighted"
) -> WordCoverage:
    """The only thing learnt is K, the number of documents in a training selection."""
    return WordCoverage(rule, len(Y[0].documents))


def from_arrays(arrays: Mapping[str, np.ndarray]) -> WordCoverage:
    """The model that `to_arrays` was called on."""
    return WordCoverage(str(arrays["rule"]), int(arrays["K"]))
