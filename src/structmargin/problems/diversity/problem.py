"""Diverse subsets: K documents that together cover what a query is about (cacm09 Section 3.1).

K documents can seldom have all subtopics, so the loss in training is counted from the best set y* found from
the subtopics. Prediction and the search for a violated constraint are budgeted coverage: subtopics are more
items, worth minus their weight once covered, and max(0, a) + b = max(b, a + b) takes two searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.inputs.containers import by_position
from structmargin.inputs.gate import require_equal
from structmargin.inputs.matrices import matrix, row_not_finite
from structmargin.oracles.greedy import best_subset, coverage, greedy, union
from structmargin.problem import Scorer
from structmargin.problems._params import Params

ROUNDING = 1e-6
"""How far from 1 weights may add up to."""


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
    covered = y.subtopics[np.asarray(documents, dtype=np.int64)].any(axis=0)
    return float(max(0.0, 1.0 - y.weights[covered].sum()))


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


def _as_candidates(x: Candidates, name: str) -> Candidates:
    """The same candidates with integer arrays, and phi as an array of floats."""
    if not isinstance(x, Candidates):
        raise ValueError(f"{name} is of type {type(x).__name__}: give Candidates(indptr, items, phi)")
    arrays: dict[str, np.ndarray] = {"phi": matrix(x.phi, f"phi of {name}", "item")}
    for part in ("indptr", "items"):
        values = np.asarray(by_position(getattr(x, part), f"{part} of {name}"))
        if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
            raise ValueError(f"{part} of {name} must be a 1-d array of integers, not one of {values.dtype}")
        arrays[part] = np.ascontiguousarray(values, dtype=np.int64)
    if sp.issparse(arrays["phi"]):
        raise ValueError(f"phi of {name} is a sparse matrix: give it as an array, with phi.toarray()")
    if not len(arrays["indptr"]):
        raise ValueError(f"indptr of {name} is empty: it begins with 0, and has one entry more per document")
    return replace(x, **arrays)


def _require_array(part: object, name: str, what: str, kinds: str, ndim: int) -> None:
    """Raise unless a part of a selection is an array of such numbers."""
    array = by_position(part, name)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.ndim != ndim:
        of = f" of {array.dtype} and shape {array.shape}" if isinstance(array, np.ndarray) else ""
        raise ValueError(f"{name} are a {type(array).__name__}{of}: give an array of {what}")


@dataclass(frozen=True, eq=False)
class Diversity(Params):
    """Diversified retrieval: K documents that together cover what a query is about.

    An input x is a `Candidates`: n documents, each a set of items (such as words at some level of
    importance), and phi (m, n_features), the features of every item. An output y is a `Selection` of K
    documents; the right one also says which document has which subtopic of the query (`best_selection` makes
    it from subtopics).

        Psi(x, y)       the sum of phi(v, x) over the items v that at least one selected document has
        Delta(y, ybar)  max(0, missed(ybar) - missed(y)), where `missed` is the weighted share of the query's
                        subtopics that no selected document has

    Both searches are greedy, so that no gap is certified; they fold the loss into the worth of items, which
    is right for "SVM1 margin" only.

    Parameters
    ----------
    n_features : int
        The number of features of an item.
    K : int, default=5
        How many documents to select.
    exact : bool, default=False
        Whether all sets of K documents are searched instead: for small n and K.

    Attributes
    ----------
    n_weights : int
        n_features.

    References
    ----------
    .. [1] Yue and Joachims, "Predicting diverse subsets using structural SVMs", ICML 2008.
    .. [2] Joachims, Hofmann, Yue and Yu, "Predicting structured objects with support vector machines",
       Communications of the ACM 52(11), 2009, Section 3.1.

    Examples
    --------
    Three documents with the items {0, 1}, {0, 1} and {2}; the first two are on one subtopic, the third on
    another:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Diversity
    >>> from structmargin.problems.diversity.problem import Candidates, best_selection
    >>> x = Candidates(indptr=np.array([0, 2, 4, 5]), items=np.array([0, 1, 0, 1, 2]), phi=np.ones((3, 1)))
    >>> subtopics = np.array([[True, False], [True, False], [False, True]])
    >>> y = best_selection(x, subtopics, K=2)
    >>> y.documents.tolist()
    [0, 2]
    >>> model = StructuredSVM(Diversity(n_features=1, K=2), C=100.0).fit([x], [y])
    >>> model.predict([x])[0].documents.tolist()
    [0, 2]
    """

    n_features: int
    K: int = 5
    exact: bool = False

    explicit_only = "Psi is a sum over the items that a set covers and needs explicit features"

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.n_features

    def wrap(
        self, X: Sequence[Candidates], Y: Sequence[Selection] | None
    ) -> tuple[list[Candidates], Sequence[Selection] | None]:
        """Candidates with arrays of the types that compiled searches know."""
        return [_as_candidates(x, f"x of example {i}") for i, x in enumerate(X)], Y

    def check(self, X: Sequence[Candidates], Y: Sequence[Selection]) -> None:
        """Items that exist, enough documents, features of the right number, subtopics that some have."""
        require_equal(X, Y)
        self.check_inputs(X)
        self.check_outputs(X, Y)

    def check_params(self) -> None:
        """Raise unless there are features, and documents to select."""
        for name, value in (("K", self.K), ("n_features", self.n_features)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, but it is {value!r}")

    def check_inputs(self, X: Sequence[Candidates]) -> None:
        """Raise unless every x has K documents or more, items with features, and finite features."""
        self.check_params()
        for i, x in enumerate(X):
            if len(x) < self.K:
                raise ValueError(f"example {i} has {len(x)} documents, fewer than K={self.K}: leave it out")
            if x.phi.shape[1:] != (self.n_features,):
                raise ValueError(
                    f"example {i}: phi has shape {x.phi.shape}, but must have {self.n_features} columns"
                )
            row = row_not_finite(x.phi)
            if row is not None:
                raise ValueError(f"example {i}: item {row} has a NaN or infinite feature: correct its phi")
            if x.indptr[0] != 0 or x.indptr[-1] != len(x.items) or np.any(np.diff(x.indptr) < 0):
                raise ValueError(
                    f"example {i}: indptr must rise from 0 to the {len(x.items)} items, document by document"
                )
            wrong = np.flatnonzero((x.items < 0) | (x.items >= len(x.phi)))
            if len(wrong):
                raise ValueError(
                    f"example {i} has item {x.items[wrong[0]]}, but phi has rows for 0 to {len(x.phi) - 1}: "
                    "give every item a row"
                )

    def check_outputs(self, X: Sequence[Candidates], Y: Sequence[Selection]) -> None:
        """Raise unless every y selects K documents of its x and says who has which subtopic."""
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            if not isinstance(y, Selection):
                raise ValueError(
                    f"y of example {i} is of type {type(y).__name__}: give Selection(documents, subtopics, "
                    "weights)"
                )
            documents = np.asarray(by_position(y.documents, f"the documents of example {i}"))
            _require_array(documents, f"the documents of example {i}", "K whole numbers", "iu", 1)
            if len(documents) != self.K:
                raise ValueError(f"example {i}: the selection has {len(documents)} documents, not K={self.K}")
            if documents.min() < 0 or documents.max() >= len(x):
                raise ValueError(
                    f"example {i}: the selection is {documents.tolist()}, but documents are 0 to {len(x) - 1}"
                )
            if y.subtopics is None or y.weights is None or not np.asarray(y.subtopics).any():
                raise ValueError(f"example {i} has no subtopic that a candidate covers: leave it out")
            _require_array(y.subtopics, f"the subtopics of example {i}", "booleans (n, T)", "biu", 2)
            _require_array(y.weights, f"the weights of example {i}", "T numbers", "fiu", 1)
            if y.subtopics.shape != (len(x), len(y.weights)):
                raise ValueError(
                    f"example {i}: subtopics have shape {y.subtopics.shape}, but there are {len(x)} "
                    f"documents and {len(y.weights)} weights"
                )
            if not (np.all(y.weights >= 0.0) and abs(y.weights.sum() - 1.0) <= ROUNDING):
                raise ValueError(
                    f"example {i}: the weights of subtopics must be at least 0 and add up to 1: divide them "
                    "by their sum"
                )

    # -- Psi and Delta -----------------------------------------------------------------------------

    def psi(self, x: Candidates, y: Selection) -> np.ndarray:
        """Psi(x, y), an array of shape (n_weights,)."""
        covered = union(x.indptr, x.items, len(x.phi), np.asarray(y.documents, dtype=np.int64))
        return np.asarray(x.phi[covered].sum(axis=0), dtype=float)

    def delta(self, y: Selection, ybar: Selection) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        return max(0.0, missed(y, ybar.documents) - missed(y, y.documents))

    def potentials(self, w: np.ndarray, x: Candidates) -> np.ndarray:
        """What covering each item is worth: (m,)."""
        if x.phi.shape[1] != len(w):
            raise ValueError(f"items have {x.phi.shape[1]} features, but the weights are for {len(w)}")
        with np.errstate(over="ignore", invalid="ignore"):
            worth = np.asarray(x.phi @ w, dtype=float)
        if not np.isfinite(worth).all():  # no set would be the best, and the searches would return any number
            raise ValueError("the worth of an item is not finite: scale the features of items")
        return worth

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
        """The best-scoring output of x under the scorer f."""
        return Selection(self.choose(x.indptr, x.items, f.potentials(x)))

    def augmented_argmax(self, f: Scorer, x: Candidates, y: Selection, H: Cost) -> Selection:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        assert y.subtopics is not None
        return self.violator(f.potentials(x), x, y, *joined(x, y.subtopics))

    def draw(self, x: Candidates, y: Selection, rng: np.random.Generator) -> Selection:
        """K random documents, every set equally likely."""
        return Selection(rng.choice(len(x), self.K, replace=False))

    def violator(
        self, worth: np.ndarray, x: Candidates, y: Selection, indptr: np.ndarray, items: np.ndarray
    ) -> Selection:
        """The better of two searches, with the loss and without; indptr and items have the subtopics too."""
        assert y.weights is not None
        with_loss = np.concatenate([worth, -y.weights])
        choices = (self.choose(indptr, items, with_loss), self.choose(x.indptr, x.items, worth))
        values = [
            self.delta(y, Selection(documents)) + coverage(x.indptr, x.items, worth, documents)
            for documents in choices
        ]
        return Selection(choices[int(values[1] > values[0])])

    def refuse(self, H: Cost) -> str | None:
        """One sentence that says why the augmented search cannot handle H, or None if it can."""
        if not H.folds:
            return "the search adds up words and subtopics, which gives the H of 'SVM1 margin' only"
        return None

    def batch(self, X: Sequence[Candidates], Y: Sequence[Selection] | None) -> DiversityBatch:
        """The examples packed, so that many are searched in one call."""
        return DiversityBatch(self, X, Y)

    def radius(self, x: Candidates) -> float:
        """|Psi(x, y) - Psi(x, y')| is at most that of all items' |phi| added up, feature by feature."""
        return float(np.linalg.norm(np.abs(x.phi).sum(axis=0)))

    def max_delta(self, y: Selection) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0 - missed(y, y.documents)


class DiversityBatch:
    """Queries with their searches, subtopics joined to the items once."""

    grain = 1

    def __init__(self, problem: Diversity, X: Sequence[Candidates], Y: Sequence[Selection] | None) -> None:
        self.problem, self.X, self.Y = problem, X, Y
        known = [] if Y is None else list(zip(X, Y, strict=True))
        self.joined = [joined(x, y.subtopics) for x, y in known if y.subtopics is not None]
        self.truth = [problem.psi(x, y) for x, y in known]

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The most violated output of each example in `indices`."""
        assert self.Y is not None
        problem, outputs, losses, rows = self.problem, [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            ybar = problem.violator(f.potentials(x), x, y, *self.joined[i])
            outputs.append(ybar)
            losses[j] = problem.delta(y, ybar)
            rows.append(self.truth[i] - problem.psi(x, ybar))
        matrix = sp.csr_matrix(np.array(rows))
        return Cuts.of_search(H, indices, outputs, losses, matrix @ f.w, matrix)

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[Selection]:
        """The best-scoring output of every example, or of some."""
        which = range(len(self.X)) if indices is None else indices
        return [self.problem.argmax(f, self.X[i]) for i in which]
