"""Classes with features of their own: Psi(x, y) = Phi(x) (x) Lambda(y) (jmlr05 Section 4.2).

f(x, y) = sum_r lambda_r(y) <v_r, x>, one weight vector v_r for every output feature (Proposition 22), so
classes that share a feature learn from each other's examples. Lambda is any matrix with a row a class; see
`structmargin.problems.taxonomy.taxonomies` for taxonomy nodes, descriptions and similarities, and for the
tree loss. Without Lambda it is `Multiclass`. The tensor product is never formed: scores are (x W) Lambda^T
with w = W.ravel(), W of shape (n_features, number of output features).
With a kernel K on inputs the joint kernel is K(x, x') L[y, y'] (Proposition 21): `Product(K, L=problem.L)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from structmargin.kernels import Matrix
from structmargin.problems.multiclass.problem import Labels, Multiclass, MulticlassBatch


@dataclass(frozen=True, eq=False)
class Taxonomy(Multiclass):
    """`n_classes` classes with the rows of `Lambda` (n_classes, R), dense or sparse, as their features;
    `loss[y, ybar]` or None for 0/1."""

    Lambda: Matrix | None = None

    @cached_property
    def class_features(self) -> sp.csr_matrix:
        """Lambda as a sparse matrix; the identity if there is none."""
        if self.Lambda is None:
            return sp.identity(self.n_classes, format="csr")
        return sp.csr_matrix(self.Lambda, dtype=float)

    @property
    def L(self) -> np.ndarray:
        """<Lambda(y), Lambda(y')> of all classes, (n_classes, n_classes)."""
        found: np.ndarray = (self.class_features @ self.class_features.T).toarray()
        return found

    @property
    def n_weights(self) -> int:
        return self.n_features * int(self.class_features.shape[1])

    def psi(self, x: Matrix, y: int) -> sp.csr_matrix:
        row = sp.csr_matrix(x) if sp.issparse(x) else sp.csr_matrix(np.reshape(x, (1, -1)))
        return tensor_rows(row, self.class_features[int(y)])

    def potentials(self, w: np.ndarray, x: Matrix) -> np.ndarray:
        """Class scores: (n_classes,) for one input, (m, n_classes) for a matrix of inputs."""
        by_feature = np.atleast_2d(x @ w.reshape(self.n_features, -1))
        scores: np.ndarray = np.ascontiguousarray((self.class_features @ by_feature.T).T)
        single = x.shape[0] == 1 if sp.issparse(x) else np.ndim(x) == 1
        return scores[0] if single else scores

    def factors(self, X: Matrix) -> tuple[Matrix, Matrix]:
        return super().factors(X)[0], self.class_features

    def batch(self, X: Matrix, Y: Labels | None) -> TaxonomyBatch:
        return TaxonomyBatch(self, X, Y)

    def check(self, X: Matrix, Y: Labels) -> None:
        """As for `Multiclass`; besides, a label an input, and a finite row of Lambda, not all 0, a class."""
        n = X.shape[0] if sp.issparse(X) else len(X)
        if n != len(Y):
            raise ValueError(f"X has {n} examples but Y has {len(Y)} labels; they must be of one length")
        super().check(X, Y)
        Lambda = self.class_features
        if Lambda.shape[0] != self.n_classes:
            raise ValueError(
                f"Lambda has {Lambda.shape[0]} rows, but there are n_classes={self.n_classes} classes; "
                "give every class one row"
            )
        size = np.asarray(abs(Lambda).sum(axis=1)).ravel()
        bad = np.flatnonzero(~np.isfinite(size))
        if len(bad):
            raise ValueError(f"Lambda has a NaN or infinite feature for class {int(bad[0])}; mend its row")
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


def tensor_rows(left: sp.csr_matrix, right: sp.csr_matrix) -> sp.csr_matrix:
    """Row by row left (x) right: (m, D) and (m, R) to (m, D * R)."""
    left, right = sp.csr_matrix(left, dtype=float), sp.csr_matrix(right, dtype=float)
    of_left, of_right = np.diff(left.indptr), np.diff(right.indptr)
    repeats = np.repeat(of_right, of_left)  # each entry on the left meets all of its row on the right
    first = np.repeat(np.repeat(right.indptr[:-1], of_left), repeats)
    at = first + np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    R = right.shape[1]
    columns = np.repeat(left.indices.astype(np.int64), repeats) * R + right.indices[at]
    data = np.repeat(left.data, repeats) * right.data[at]
    indptr = np.concatenate([[0], np.cumsum(of_left * of_right)])
    return sp.csr_matrix((data, columns, indptr), shape=(left.shape[0], left.shape[1] * R))
