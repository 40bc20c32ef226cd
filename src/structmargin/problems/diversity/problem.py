"""Diverse subsets: K documents that together cover what a query is about (cacm09 Section 3.1).

    x    the n candidate documents of a query, each a set of items (a word at some level of coverage: in the
         title, in the body so many times), and phi(v, x), the features of every item
    y    K of the documents;  V(y) are the items that at least one of them has
    Psi  (x, y) = sum of phi(v, x) over v in V(y), so that <w, phi(v, x)> is what covering v is worth

What a set misses is the weighted share of the query's subtopics that none of its documents has. K documents
can seldom have them all, so the loss in training is counted from the best set y* found from the subtopics:

    Delta(y, ybar) = max(0, missed(ybar) - missed(y)),    y = y*

Prediction and the search for a violated constraint are budgeted coverage: subtopics are more items, worth
minus their weight once covered, and max(0, a) + b = max(b, a + b) takes two searches. Both are greedy, so
nothing is certified; `exact=True` searches all sets instead, which is for small n and K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.formulation import Cost
from structmargin.oracles.greedy import best_subset, coverage, greedy, union
from structmargin.problem import Found, Scorer
from structmargin.problems._params import Params


@dataclass(frozen=True, eq=False)
class Candidates:
    """Document d has the items[indptr[d] : indptr[d + 1]], each once; phi (m, n_features) describes them."""

    indptr: np.ndarray
    items: np.ndarray
    phi: np.ndarray

    def __len__(self) -> int:
        return len(self.indptr) - 1


class Selection(NamedTuple):
    """Documents, (K,) in the order of choosing; of a right answer also who has which subtopic.

    subtopics : (n, T) bool, which of the n candidates has which of T subtopics; None where unknown.
    weights : (T,) above 0, adding up to 1.
    """

    documents: np.ndarray
    subtopics: np.ndarray | None = None
    weights: np.ndarray | None = None


def missed(y: Selection, documents: ArrayLike) -> float:
    """The weighted share of y's subtopics that none of the documents has."""
    if y.subtopics is None or y.weights is None:
        raise ValueError("the loss of a selection needs the subtopics of the right one, but it has none")
    found = y.subtopics[np.asarray(documents, dtype=np.int64)].any(axis=0)
    return float(max(0.0, 1.0 - y.weights[found].sum()))


def best_selection(
    x: Candidates, subtopics: np.ndarray, K: int, weights: np.ndarray | None = None
) -> Selection:
    """y*: K documents that cover most of the subtopics, found greedily, with the subtopics themselves.

    Subtopics are weighted by the number of their documents unless weights are given, whole numbers too. Many
    sets do equally well: of those the one is taken that covers more of the items that two documents or more
    have, all of which weigh less than any difference in subtopics.
    """
    have = np.asarray(subtopics, dtype=bool)
    weights = have.sum(axis=0).astype(float) if weights is None else np.asarray(weights, dtype=float)
    shared = np.bincount(x.items, minlength=len(x.phi)) > 1
    indptr, items = joined(x, have)
    worth = np.concatenate([0.5 * shared / max(1, int(shared.sum())), weights])
    return Selection(greedy(indptr, items, worth, K), have, weights / weights.sum())


def joined(x: Candidates, subtopics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(indptr, items) with the subtopics numbered after x's own items."""
    words = sp.csr_matrix((np.ones(len(x.items)), x.items, x.indptr), shape=(len(x), len(x.phi)))
    both = sp.hstack([words, sp.csr_matrix(subtopics, dtype=float)], format="csr")
    return both.indptr.astype(np.int64), both.indices.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Diversity(Params):
    """Choose K of each query's candidates: inputs are `Candidates`, outputs `Selection` (`best_selection`).

    n_features : the length of phi. K : how many documents to choose. exact : whether all sets are searched.
    """

    n_features: int
    K: int = 5
    exact: bool = False

    explicit_only = "Psi is a sum over the items that a set covers and needs explicit features"

    @property
    def n_weights(self) -> int:
        return self.n_features

    def check(self, X: Sequence[Candidates], Y: Sequence[Selection]) -> None:
        """Enough documents, features of the right number, subtopics that some candidate has."""
        if self.K < 1:
            raise ValueError(f"K must be at least 1, but it is {self.K!r}")
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            if len(x) < self.K:
                raise ValueError(f"example {i} has {len(x)} documents, fewer than K={self.K}: leave it out")
            if x.phi.shape[1:] != (self.n_features,):
                raise ValueError(
                    f"example {i}: phi has shape {x.phi.shape}, but must have {self.n_features} columns"
                )
            if len(y.documents) != self.K:
                raise ValueError(
                    f"example {i}: the selection has {len(y.documents)} documents, not K={self.K}"
                )
            if y.subtopics is None or y.weights is None or not np.asarray(y.subtopics).any():
                raise ValueError(f"example {i} has no subtopic that a candidate covers: leave it out")
            if y.subtopics.shape != (len(x), len(y.weights)):
                raise ValueError(
                    f"example {i}: subtopics have shape {y.subtopics.shape}, but there are {len(x)} "
                    f"documents and {len(y.weights)} weights"
                )

    # -- Psi and Delta -----------------------------------------------------------------------------

    def psi(self, x: Candidates, y: Selection) -> np.ndarray:
        covered = union(x.indptr, x.items, len(x.phi), np.asarray(y.documents, dtype=np.int64))
        return np.asarray(x.phi[covered].sum(axis=0), dtype=float)

    def delta(self, y: Selection, ybar: Selection) -> float:
        return max(0.0, missed(y, ybar.documents) - missed(y, y.documents))

    def potentials(self, w: np.ndarray, x: Candidates) -> np.ndarray:
        """What covering each item is worth: (m,)."""
        if x.phi.shape[1] != len(w):
            raise ValueError(f"items have {x.phi.shape[1]} features, but the weights are for {len(w)}")
        return np.asarray(x.phi @ w, dtype=float)

    # -- searches ----------------------------------------------------------------------------------

    def choose(self, indptr: np.ndarray, items: np.ndarray, worth: np.ndarray) -> np.ndarray:
        """K sets that cover much, or the most if the problem is exact."""
        if self.K > len(indptr) - 1:
            raise ValueError(
                f"there are {len(indptr) - 1} documents, fewer than K={self.K}: choose a smaller K"
            )
        if self.exact:
            return np.asarray(best_subset(indptr, items, worth, self.K)[1])
        return np.asarray(greedy(indptr, items, worth, self.K))

    def argmax(self, f: Scorer, x: Candidates) -> Selection:
        return Selection(self.choose(x.indptr, x.items, f.potentials(x)))

    def augmented_argmax(self, f: Scorer, x: Candidates, y: Selection, H: Cost) -> Selection:
        assert y.subtopics is not None
        return self.violator(f.potentials(x), x, y, *joined(x, y.subtopics))

    def violator(
        self, worth: np.ndarray, x: Candidates, y: Selection, indptr: np.ndarray, items: np.ndarray
    ) -> Selection:
        """The better of two searches, with the loss and without; indptr and items have the subtopics too."""
        assert y.weights is not None
        with_loss = np.concatenate([worth, -y.weights])
        found = (self.choose(indptr, items, with_loss), self.choose(x.indptr, x.items, worth))
        values = [
            self.delta(y, Selection(documents)) + coverage(x.indptr, x.items, worth, documents)
            for documents in found
        ]
        return Selection(found[int(values[1] > values[0])])

    def refuse(self, H: Cost) -> str | None:
        if not H.folds:
            return "the search adds up words and subtopics, which gives the H of 'SVM1 margin' only"
        return None

    def batch(self, X: Sequence[Candidates], Y: Sequence[Selection] | None) -> DiversityBatch:
        return DiversityBatch(self, X, Y)

    def radius(self, x: Candidates) -> float:
        """|Psi(x, y) - Psi(x, y')| is at most that of all items' |phi| added up, feature by feature."""
        return float(np.linalg.norm(np.abs(x.phi).sum(axis=0)))

    def max_delta(self, y: Selection) -> float:
        return 1.0 - missed(y, y.documents)


class DiversityBatch:
    """Queries with their searches, subtopics joined to the items once."""

    def __init__(self, problem: Diversity, X: Sequence[Candidates], Y: Sequence[Selection] | None) -> None:
        self.problem, self.X, self.Y = problem, X, Y
        known = [] if Y is None else list(zip(X, Y, strict=True))
        self.joined = [joined(x, y.subtopics) for x, y in known if y.subtopics is not None]
        self.truth = [problem.psi(x, y) for x, y in known]

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Found:
        assert self.Y is not None
        problem, outputs, losses, rows = self.problem, [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            ybar = problem.violator(f.potentials(x), x, y, *self.joined[i])
            outputs.append(ybar)
            losses[j] = problem.delta(y, ybar)
            rows.append(self.truth[i] - problem.psi(x, ybar))
        return Found(outputs, losses, sp.csr_matrix(np.array(rows)))

    def argmax(self, f: Scorer) -> list[Selection]:
        return [self.problem.argmax(f, x) for x in self.X]
