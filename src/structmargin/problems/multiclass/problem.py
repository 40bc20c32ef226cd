"""Multiclass classification: Psi(x, y) = x ⊗ e_y, one weight vector per class (jmlr05 Section 4.1).

Over a batch both searches are one matrix product of inputs and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.inputs.gate import require_equal
from structmargin.inputs.labels import Names
from structmargin.kernels import Matrix
from structmargin.problem import Scorer
from structmargin.problems.multiclass.data import Labels, MulticlassData, as_matrix

GRAIN = 4096
"""The scores of so many examples are one product of matrices, which rounds by its shape: n_jobs must not
change it."""


@dataclass(frozen=True, eq=False)
class Multiclass(MulticlassData):
    """Multiclass classification: one of K classes for each input.

    An input x is a vector of n_features numbers, an output y a label of any hashable kind, such as a text or
    a number. Psi places x in the block of its class, so that every class has a weight vector of its own (⊗ is
    the outer product):

        Psi(x, y) = x ⊗ e_y,    f(x, y) = <w_y, x>,    w.reshape(n_features, n_classes)[:, y] = w_y

    Both searches look at all classes and are exact for every formulation. There is no intercept: append a
    constant feature to x to have one (it is then regularised).

    Parameters
    ----------
    n_classes : int, default=None
        The number of classes K; labels are then the whole numbers 0 .. K - 1, unless `classes` names them.
        None: as many as `classes` or `loss` have, or else as many different labels as `fit` meets.
    n_features : int, default=None
        The length of every x. None: that of the first x in `fit`.
    loss : array-like of shape (n_classes, n_classes), default=None
        loss[y, ybar] is Delta(y, ybar) for the classes number y and ybar: at least 0, and 0 on the diagonal.
        None is the 0/1 loss.
    classes : sequence of labels, default=None
        The labels in the order of their numbers, which is that of the rows of `loss`. None: labels are
        numbers where `n_classes` or `loss` is given; else `fit` learns them, sorted, or in order of first
        appearance where they cannot be sorted. Predictions come back as labels, in an array of their type.
    features : sequence of str, default=None
        Names of the columns, where inputs are dictionaries such as {"word": "Paris", "cap": True}, or lists
        of the names of features that are on. None: `fit` learns them, and other features are ignored later.

    Attributes
    ----------
    n_weights : int
        n_classes * n_features.

    See Also
    --------
    Taxonomy : Classes that share features.

    Notes
    -----
    A label that is none of the classes cannot be predicted: in `score` it has the loss 1, or is an error
    where `loss` is a matrix, and `JKSE.add` refuses it. Name all labels in `classes` where some may be
    missing from the training data. The functions of a problem itself, such as `psi` and `delta`, take class
    numbers.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Multiclass
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [-1.0, -1.0]])
    >>> model = StructuredSVM(Multiclass(), C=100.0).fit(X, ["east", "east", "north", "south-west"])
    >>> model.classes_.tolist()
    ['east', 'north', 'south-west']
    >>> model.predict([[2.0, 0.5], [0.0, 3.0]]).tolist()
    ['east', 'north']
    """

    n_classes: int | None = None
    n_features: int | None = None
    loss: ArrayLike | None = None
    classes: Names | None = field(default=None, kw_only=True)
    features: Sequence[str] | None = field(default=None, kw_only=True)

    matrix_inputs: ClassVar[bool] = True

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.K * self.D

    def psi(self, x: Matrix, y: int) -> sp.csr_matrix:
        """Psi(x, y), a sparse row of shape (1, n_weights)."""
        if sp.issparse(x):
            row = x.tocsr()
            features, values, ends = row.indices, row.data, row.indptr
        else:
            values = np.ravel(x)
            features = np.flatnonzero(values).astype(np.int32)
            values, ends = values[features], np.array([0, len(features)], dtype=np.int32)
        columns = features * self.K + int(y)
        return sp.csr_matrix((values.astype(float), columns, ends), shape=(1, self.n_weights))

    def losses(self) -> np.ndarray:
        """The loss as a matrix (n_classes, n_classes)."""
        return 1.0 - np.eye(self.K) if self.loss is None else np.asarray(self.loss, dtype=float)

    def class_losses(self) -> np.ndarray:
        """The losses of all pairs of classes, (n_classes, n_classes)."""
        return self.losses()

    def delta(self, y: int, ybar: int) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        if self.loss is None:
            return float(int(y) != int(ybar))
        return float(np.asarray(self.loss)[int(y), int(ybar)])

    def potentials(self, w: np.ndarray, x: Matrix) -> np.ndarray:
        """Class scores: (n_classes,) for one input, (m, n_classes) for a matrix of inputs."""
        scores: np.ndarray = x @ w.reshape(self.D, self.K)
        return scores[0] if sp.issparse(x) and x.shape[0] == 1 else scores

    def argmax(self, f: Scorer, x: Matrix) -> int:
        """The best-scoring output of x under the scorer f."""
        return int(np.argmax(f.potentials(x)))

    def augmented_argmax(self, f: Scorer, x: Matrix, y: int, H: Cost) -> int:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        scores = np.ravel(f.potentials(x))
        return int(np.argmax(H(self.losses()[int(y)], scores[int(y)] - scores)))

    def k_best(self, f: Scorer, x: Matrix, k: int) -> list[tuple[float, int]]:
        """The k best-scoring classes with their scores, best first; of equals the smaller class number."""
        scores = np.ravel(f.potentials(x))
        order = np.argsort(-scores, kind="stable")[:k]
        return [(float(scores[y]), int(y)) for y in order]

    def draw(self, x: Matrix, y: int, rng: np.random.Generator) -> int:
        """A random class, all equally likely."""
        return int(rng.integers(self.K))

    def factors(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """The matrices of all Phi(x) and of all Lambda(y), where Psi = Phi ⊗ Lambda."""
        return as_matrix(X), sp.identity(self.K, format="csr")

    def batch(self, X: Matrix, Y: Labels | None) -> MulticlassBatch:
        """The examples packed, so that many are searched in one call."""
        return MulticlassBatch(self, X, Y)

    def check(self, X: Matrix, Y: Labels) -> None:
        """Shapes, finite features, labels in range, a loss matrix with a zero diagonal."""
        require_equal(X, Y)
        self.check_inputs(X)
        self.require_class_numbers(np.asarray(Y))
        self.check_params()

    def radius(self, x: Matrix) -> float:
        """Proposition 20: |Psi(x, y) - Psi(x, y')|^2 <= 2 |x|^2."""
        values = x.data if sp.issparse(x) else np.asarray(x)
        return float(np.sqrt(2.0 * np.sum(np.square(values))))

    def max_delta(self, y: int) -> float:
        """An upper bound on Delta(y, .)."""
        return float(self.losses()[int(y)].max())


class MulticlassBatch:
    """All examples as one matrix."""

    takes_kernels = True
    search_cost = 1
    grain = GRAIN

    def __init__(self, problem: Multiclass, X: Matrix, Y: Labels | None) -> None:
        self.problem, self.X = problem, as_matrix(X)
        self.Y = np.zeros(0, dtype=np.int64) if Y is None else np.asarray(Y, dtype=np.int64)
        self.losses = np.zeros((0, 0)) if Y is None else problem.losses()  # predicting needs none

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The most violated output of each example in `indices`."""
        margins, values = self._values(f, indices, H)
        return self._cuts(H, indices, margins, np.arange(len(indices)), np.argmax(values, axis=1))

    def search_many(self, f: Scorer, indices: np.ndarray, H: Cost, most: int) -> Cuts:
        """The `most` classes with the largest H, those with H > 0 only (the best one always)."""
        margins, values = self._values(f, indices, H)
        if most < values.shape[1]:
            top = np.argpartition(-values, most, axis=1)[:, :most]
            order = np.argsort(-np.take_along_axis(values, top, axis=1), axis=1, kind="stable")
            top = np.take_along_axis(top, order, axis=1)
        else:
            top = np.argsort(-values, axis=1, kind="stable")
        wanted = np.take_along_axis(values, top, axis=1) > 0.0
        wanted[:, 0] = True
        row, place = np.nonzero(wanted)
        return self._cuts(H, indices, margins, row, top[row, place])

    def _values(self, f: Scorer, indices: np.ndarray, H: Cost) -> tuple[np.ndarray, np.ndarray]:
        """f(x, y) - f(x, .) and H of every class: both (m, n_classes)."""
        y, scores = self.Y[indices], self._scores(f, indices, known=True)
        margins = scores[np.arange(len(y)), y][:, None] - scores
        return margins, H(self.losses[y], margins)

    def _cuts(
        self, H: Cost, indices: np.ndarray, margins: np.ndarray, row: np.ndarray, ybar: np.ndarray
    ) -> Cuts:
        example = indices[row]
        return Cuts.of_search(H, example, ybar, self.losses[self.Y[example], ybar], margins[row, ybar])

    def _scores(self, f: Scorer, indices: np.ndarray, known: bool) -> np.ndarray:
        """The scores of all classes (m, n_classes), GRAIN examples at a time, those `known` from training."""
        parts = []
        for lo in range(0, max(len(indices), 1), GRAIN):
            some = indices[lo : lo + GRAIN]
            scores = f.of_training(some) if known else None
            if scores is None:
                scores = np.asarray(f.potentials(self._rows(some))).reshape(len(some), -1)
            parts.append(scores)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _rows(self, indices: np.ndarray) -> Matrix:
        """The inputs of some examples; of all of them, or of a run of dense rows, without a copy."""
        first, m = indices[0] if len(indices) else 0, len(indices)
        if not np.array_equal(indices, np.arange(first, first + m)):
            return self.X[indices]
        return self.X if m == self.X.shape[0] else self.X[first : first + m]

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> np.ndarray:
        """The best-scoring output of every example, or of some."""
        indices = np.arange(self.X.shape[0]) if indices is None else indices
        labels: np.ndarray = np.argmax(self._scores(f, indices, known=False), axis=1)
        return labels

    def rows(self, example: np.ndarray, ybar: np.ndarray) -> sp.csr_matrix:
        """x ⊗ (e_y - e_ybar): each entry of x twice, with a plus and a minus."""
        X, y, K = sp.csr_matrix(self.X[example]), self.Y[example], self.problem.K
        where = np.repeat(np.arange(len(y)), np.diff(X.indptr))
        columns, data = np.empty((X.nnz, 2), dtype=np.int32), np.empty((X.nnz, 2))
        base = X.indices * K
        columns[:, 0], columns[:, 1] = base + y[where], base + ybar[where]
        data[:, 0] = X.data * (y != ybar)[where]
        data[:, 1] = -data[:, 0]
        shape = (len(y), self.problem.n_weights)
        indptr = 2 * X.indptr.astype(np.int64)  # X may have more than 2^30 entries
        return sp.csr_matrix((data.ravel(), columns.ravel(), indptr), shape=shape)
