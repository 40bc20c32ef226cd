"""Classes with features of their own: Psi(x, y) = Phi(x) ⊗ Lambda(y) (jmlr05 Section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import tensor_rows
from structmargin.kernels import Matrix
from structmargin.problems.multiclass.data import Labels
from structmargin.problems.multiclass.problem import Multiclass, MulticlassBatch


@dataclass(frozen=True, eq=False)
class Taxonomy(Multiclass):
    """Multiclass classification with features of classes, such as the nodes of a taxonomy above them.

    An input x is a vector of n_features numbers, an output y a label of any hashable kind, as for
    `Multiclass`. Each class has a row Lambda(y) of R output features:

        Psi(x, y) = x ⊗ Lambda(y),    f(x, y) = sum_r Lambda(y)_r <v_r, x>

    with one weight vector v_r for each output feature, so that classes with a common feature learn from each
    other's examples. The outer product ⊗ is never formed: scores are (x W) Lambda^T with W =
    w.reshape(n_features, R). `structmargin.problems.taxonomy.taxonomies` makes Lambda from a taxonomy, from
    descriptions or from a similarity, and the tree loss.

    Parameters
    ----------
    n_classes : int, default=None
        The number of classes; labels are then the whole numbers 0 .. n_classes - 1, unless `classes` names
        them. None: as many as `classes`, `loss` or `Lambda` have, or else as many as `fit` meets.
    n_features : int, default=None
        The length of every x. None: that of the first x in `fit`.
    loss : array-like of shape (n_classes, n_classes), default=None
        loss[y, ybar] is Delta(y, ybar) for the classes number y and ybar: at least 0, and 0 on the diagonal.
        None is the 0/1 loss.
    Lambda : matrix of shape (n_classes, R), dense or sparse, default=None
        The output features, one row per class. None is the identity: then this is `Multiclass`.
    classes : sequence of labels, default=None
        The labels in the order of their numbers, which is that of the rows of `loss` and `Lambda`. None:
        labels are numbers where `n_classes`, `loss` or `Lambda` is given; else `fit` learns them.
    features : sequence of str, default=None
        Names of the columns, where inputs are dictionaries; see `Multiclass`.

    Attributes
    ----------
    n_weights : int
        n_features * R.
    class_features : csr_matrix of shape (n_classes, R)
        Lambda, or the identity.
    L : ndarray of shape (n_classes, n_classes)
        The inner products <Lambda(y), Lambda(y')>. With a kernel K on inputs, `Product(K, L=problem.L)` is
        the joint kernel.

    See Also
    --------
    Multiclass : Classes without features of their own.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Sections 4.2 and 5.1.

    Examples
    --------
    Cats and dogs are mammals, trout are fish:

    >>> import numpy as np
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Taxonomy
    >>> from structmargin.problems.taxonomy.taxonomies import node_features, tree_loss
    >>> parents = {"cat": "mammal", "dog": "mammal", "trout": "fish", "mammal": "animal", "fish": "animal"}
    >>> classes = ["cat", "dog", "trout"]
    >>> nodes, Lambda = node_features(parents, classes)
    >>> problem = Taxonomy(classes=classes, loss=tree_loss(parents, classes), Lambda=Lambda)
    >>> problem.delta(0, 1), problem.delta(0, 2)
    (1.0, 2.0)
    >>> X, Y = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]]), ["cat", "dog", "trout"]
    >>> StructuredSVM(problem, C=100.0).fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'trout']
    """

    Lambda: Matrix | None = None

    @cached_property
    def class_features(self) -> sp.csr_matrix:
        """Lambda as a sparse matrix; the identity if there is none."""
        if self.Lambda is None:
            return sp.identity(self.K, format="csr")
        return sp.csr_matrix(self.Lambda, dtype=float)

    @property
    def L(self) -> np.ndarray:
        """<Lambda(y), Lambda(y')> of all classes, (n_classes, n_classes)."""
        products: np.ndarray = (self.class_features @ self.class_features.T).toarray()
        return products

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.D * (self.K if self.Lambda is None else int(self.class_features.shape[1]))

    def _one_row_per_class(self) -> list[Any]:
        return super()._one_row_per_class() + ([] if self.Lambda is None else [self.class_features])

    def psi(self, x: Matrix, y: int) -> sp.csr_matrix:
        """Psi(x, y), a sparse row of shape (1, n_weights)."""
        row = sp.csr_matrix(x) if sp.issparse(x) else sp.csr_matrix(np.reshape(x, (1, -1)))
        return tensor_rows(row, self.class_features[int(y)])

    def potentials(self, w: np.ndarray, x: Matrix) -> np.ndarray:
        """Class scores: (n_classes,) for one input, (m, n_classes) for a matrix of inputs."""
        by_feature = np.atleast_2d(x @ w.reshape(self.D, -1))
        scores: np.ndarray = np.ascontiguousarray((self.class_features @ by_feature.T).T)
        single = x.shape[0] == 1 if sp.issparse(x) else np.ndim(x) == 1
        return scores[0] if single else scores

    def factors(self, X: Matrix) -> tuple[Matrix, Matrix]:
        """The matrices of all Phi(x) and of all Lambda(y), where Psi = Phi ⊗ Lambda."""
        return super().factors(X)[0], self.class_features

    def batch(self, X: Matrix, Y: Labels | None) -> TaxonomyBatch:
        """The examples packed, so that many are searched in one call."""
        return TaxonomyBatch(self, X, Y)

    def check_params(self) -> None:
        """As for `Multiclass`; besides, a finite row of Lambda for each class."""
        super().check_params()
        if self.Lambda is None:
            return
        Lambda = self.class_features
        if Lambda.shape[0] != self.K:
            raise ValueError(
                f"Lambda has {Lambda.shape[0]} rows, but there are n_classes={self.K} classes; "
                "give every class one row"
            )
        size = np.asarray(abs(Lambda).sum(axis=1)).ravel()
        bad = np.flatnonzero(~np.isfinite(size))
        if len(bad):
            raise ValueError(f"Lambda has a NaN or infinite feature for class {int(bad[0])}; correct its row")
        empty = np.flatnonzero(size == 0)
        if len(empty):
            raise ValueError(
                f"class {int(empty[0])} is empty: its row of Lambda has no feature, its score is always 0; "
                "give it a feature or take the class away"
            )

    def radius(self, x: Matrix) -> float:
        """|Psi(x, y) - Psi(x, y')| = |x| |Lambda(y) - Lambda(y')| at most."""
        values = x.data if sp.issparse(x) else np.asarray(x)
        L = self.L
        apart = np.diag(L)[:, None] - 2.0 * L + np.diag(L)[None, :]
        return float(np.sqrt(np.sum(np.square(values)) * max(float(apart.max()), 0.0)))


class TaxonomyBatch(MulticlassBatch):
    """All examples as one matrix; only rows of delta Psi differ from `Multiclass`."""

    problem: Taxonomy

    def rows(self, example: np.ndarray, ybar: np.ndarray) -> sp.csr_matrix:
        Lambda = self.problem.class_features
        return tensor_rows(sp.csr_matrix(self.X[example]), Lambda[self.Y[example]] - Lambda[ybar])
