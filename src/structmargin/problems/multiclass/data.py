"""The examples of `Multiclass` as users bring them: sizes, names of classes and features, what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.inputs import features, labels, matrices
from structmargin.inputs.containers import count
from structmargin.kernels import Matrix
from structmargin.problems._params import Params

Labels = Sequence[int] | np.ndarray
"""Class numbers."""


class MulticlassData(Params):
    """What `Multiclass` learns from its examples, and how these become a matrix and class numbers."""

    n_classes: int | None
    n_features: int | None
    loss: ArrayLike | None
    classes: labels.Names | None
    features: Sequence[str] | None

    @property
    def K(self) -> int:
        """The number of classes."""
        if self.n_classes is not None:
            return self.n_classes
        known = self._one_row_per_class()
        if not known:
            raise ValueError(
                f"the classes of this {type(self).__name__} are not known before `fit`, or `bind`"
            )
        return count(known[0])

    @property
    def D(self) -> int:
        """The number of features."""
        if self.n_features is not None:
            return self.n_features
        if self.features is None:
            raise ValueError(
                f"the features of this {type(self).__name__} are not known before `fit`, or `bind`"
            )
        return len(self.features)

    def class_labels(self) -> np.ndarray:
        """The labels in the order of their numbers."""
        return np.arange(self.K) if self.classes is None else labels.as_array(self.classes)

    def _one_row_per_class(self) -> list[Any]:
        """What the problem was given that has one row per class."""
        return [rows for rows in (self.classes, self.loss) if rows is not None]

    def bind(self, X: Any, Y: Any) -> Self:
        """The problem with the classes and features that it was not given, learnt from training data."""
        changes: dict[str, Any] = {}
        columns = self.features
        if columns is None and self.n_features is None and features.has_names(X[0]):
            columns = changes["features"] = features.learnt(X)
        if self.n_features is None:
            changes["n_features"] = matrices.width(X) if columns is None else len(columns)
        if self.classes is not None:
            labels.require_different(self.classes, "classes")
            if self.n_classes not in (None, len(self.classes)):
                raise ValueError(
                    f"classes has {len(self.classes)} labels, but n_classes is {self.n_classes}: give one"
                )
            changes["classes"] = labels.of_type(self.classes, labels.label_array(Y))
        elif self.n_classes is None and not self._one_row_per_class():
            changes["classes"] = labels.learnt(labels.label_array(Y))
        if self.n_classes is None:
            changes["n_classes"] = len(changes["classes"]) if "classes" in changes else self.K
        return self.with_params(**changes) if changes else self

    def wrap(self, X: Any, Y: Any) -> tuple[Matrix, np.ndarray | None]:
        """Inputs as one matrix, and labels as class numbers."""
        if self.features is None:
            features.refuse_names(X[0], "example 0")
        rows = as_matrix(X) if self.features is None else features.columns(X, self.features)
        return rows, None if Y is None else self._numbers(labels.label_array(Y))

    def unwrap(self, Y: Labels) -> np.ndarray:
        """The labels with these class numbers."""
        return np.asarray(Y) if self.classes is None else labels.named(Y, self.classes)

    def _numbers(self, y: np.ndarray) -> np.ndarray:
        if self.classes is None:
            self.require_class_numbers(y)
            return y.astype(np.int64)
        return labels.numbers_of(y, self.classes)

    def require_class_numbers(self, y: np.ndarray) -> None:
        """Raise unless every y is a class number."""
        wrong = np.flatnonzero(~labels.whole_numbers(y, self.K))
        if len(wrong):
            i = int(wrong[0])
            if self.classes is not None and y[i] == -1:
                raise ValueError(
                    f"the label of example {i} is none of the {self.K} classes that {type(self).__name__} "
                    "knows: leave the example out, or name all labels with classes=[...]"
                )
            raise ValueError(
                f"label {labels.text_of(y, i)} of example {i} is not an integer from 0 to "
                f"{self.K - 1}: name labels of another kind with classes=[...], in the order of their numbers"
            )

    def check_params(self) -> None:
        """Sizes of at least 1, names that are as many and differ, a loss matrix with a zero diagonal."""
        if self.K < 1 or self.D < 1:
            raise ValueError(f"there must be classes and features, but they are {self.K} and {self.D}")
        labels.require_names(self.classes, self.K, "classes")
        features.require_columns(self.features, self.D)
        if self.loss is not None:
            losses = np.asarray(self.loss, dtype=float)
            if losses.shape != (self.K, self.K):
                raise ValueError(f"loss must be a {self.K} x {self.K} matrix, but has shape {losses.shape}")
            if np.any(np.diag(losses) != 0) or np.any(~(losses >= 0)) or not np.all(np.isfinite(losses)):
                raise ValueError("loss must be finite and >= 0 everywhere, and 0 on the diagonal")

    def check_inputs(self, X: Matrix) -> None:
        """Raise unless X is a matrix of n_features finite columns."""
        matrix = as_matrix(X)
        matrices.require_width(matrix, self.D, type(self).__name__)
        row = matrices.row_not_finite(matrix)
        if row is not None:
            raise ValueError(f"X has a NaN or infinite feature in example {row}: correct or leave it out")

    def check_outputs(self, X: Matrix, Y: Labels) -> None:
        """Raise unless every y is a class number, or -1 for an unknown class where that counts as wrong."""
        y = np.asarray(Y)
        self.require_class_numbers(y if self.loss is not None or self.classes is None else y[y != -1])


def as_matrix(X: Matrix) -> Matrix:
    """Inputs as one matrix of floats; those that were wrapped are one already."""
    return X if isinstance(X, sp.csr_matrix) and X.dtype == np.float64 else matrices.matrix(X)
