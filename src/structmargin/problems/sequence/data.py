"""The examples of `Sequence` as users bring them: sizes, names of labels and features, what is wrong."""

from __future__ import annotations

from collections import abc
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.inputs import features, labels
from structmargin.inputs.tokens import Tokens
from structmargin.kernels import Matrix
from structmargin.problems._params import Params


class SequenceData(Params):
    """What `Sequence` learns from its examples, and how these become matrices and label numbers."""

    n_labels: int | None
    n_features: int | None
    allowed: ArrayLike | None
    first: ArrayLike | None
    final: ArrayLike | None
    labels: labels.Names | None
    features: abc.Sequence[str] | None

    def _one_entry_per_label(self) -> list[Any]:
        """What the problem was given that has one entry per label."""
        return [given for given in (self.labels, self.allowed, self.first, self.final) if given is not None]

    @property
    def L(self) -> int:
        """The number of labels."""
        if self.n_labels is not None:
            return self.n_labels
        known = self._one_entry_per_label()
        if not known:
            raise ValueError("the labels of this Sequence are not known before `fit`, or `bind`")
        return len(known[0])

    @property
    def n_columns(self) -> int:
        """The number of features per token."""
        if self.n_features is not None:
            return self.n_features
        if self.features is None:
            raise ValueError("the features of this Sequence are not known before `fit`, or `bind`")
        return len(self.features)

    def class_labels(self) -> np.ndarray:
        """The labels in the order of their numbers."""
        return np.arange(self.L) if self.labels is None else labels.as_array(self.labels)

    def bind(self, X: Any, Y: Any) -> Self:
        """The problem with the labels and features that it was not given, learnt from training data."""
        changes: dict[str, Any] = {}
        tokens = Tokens(X)
        columns = self.features
        if columns is None and self.n_features is None and tokens.named:
            columns = changes["features"] = tokens.learnt_features()
        if self.n_features is None:
            changes["n_features"] = tokens.width() if columns is None else len(columns)
        if self.labels is not None or (self.n_labels is None and not self._one_entry_per_label()):
            changes["labels"] = tokens.learnt_labels(Y, self.labels)
        if self.n_labels is None:
            changes["n_labels"] = len(changes["labels"]) if "labels" in changes else self.L
        return self.with_params(**changes) if changes else self

    def wrap(self, X: Any, Y: Any) -> tuple[list[Matrix], list[np.ndarray] | None]:
        """Tokens as matrices, one for each input, and labels as their numbers."""
        tokens = Tokens(X)
        inputs = tokens.matrices() if self.features is None else tokens.columns(self.features)
        if Y is None:
            return inputs, None
        if self.labels is not None:
            return inputs, tokens.label_numbers(Y, self.labels)
        outputs = tokens.labels_of(Y)
        self.require_label_numbers(inputs, outputs)
        return inputs, [np.asarray(y, dtype=np.int64) for y in outputs]

    def unwrap(self, Y: abc.Sequence[np.ndarray]) -> list[Any]:
        """The labels with these numbers, in arrays or lists as `labels` has them."""
        if self.labels is None:
            return list(Y)
        if isinstance(self.labels, np.ndarray):
            return [labels.named(y, self.labels) for y in Y]
        return [[self.labels[k] for k in y.tolist()] for y in Y]

    def check_params(self) -> None:
        """Sizes of at least 1, names that are as many and differ; masks are looked at when they are made."""
        if self.L < 1 or self.n_columns < 1:
            raise ValueError(f"there must be labels and features, but they are {self.L} and {self.n_columns}")
        labels.require_names(self.labels, self.L, "labels")
        features.require_columns(self.features, self.n_columns)
        masks = {"allowed": (self.L, self.L), "first": (self.L,), "final": (self.L,)}
        for name, shape in masks.items():
            mask = getattr(self, name)
            if mask is not None and np.shape(np.asarray(mask, dtype=bool)) != shape:
                raise ValueError(f"{name} must be booleans of shape {shape}")

    def check_inputs(self, X: abc.Sequence[Matrix]) -> None:
        """Raise unless every x is a non-empty (T, n_features) array of finite numbers."""
        for i, x in enumerate(X):
            shape, n_features = getattr(x, "shape", None), self.n_columns
            if shape is None or len(shape) != 2 or shape[1] != n_features:
                raise ValueError(f"x of example {i} must be a (T, {n_features}) array, but has shape {shape}")
            if shape[0] == 0:
                raise ValueError(f"x of example {i} has no tokens: leave sequences of length 0 out")
            if not np.all(np.isfinite(x.data if sp.issparse(x) else x)):
                raise ValueError(f"x of example {i} has a NaN or infinite feature: correct or leave it out")

    def check_outputs(self, X: abc.Sequence[Matrix], Y: abc.Sequence[np.ndarray]) -> None:
        """Raise unless every y has a label number for each token, or -1 for an unknown label: it is wrong."""
        self.require_label_numbers(
            X, [np.where(np.asarray(y) == -1, 0, y) for y in Y] if self.labels is not None else Y
        )

    def require_label_numbers(self, X: abc.Sequence[Matrix], Y: abc.Sequence[np.ndarray]) -> None:
        """Raise unless every y has an integer from 0 to n_labels - 1 for each token of its x."""
        for i, (x, y) in enumerate(zip(X, map(np.asarray, Y), strict=True)):
            if y.shape != x.shape[:1]:
                raise ValueError(f"example {i} has {x.shape[0]} tokens, but labels of shape {y.shape}")
            wrong = np.flatnonzero(~labels.whole_numbers(y, self.L))
            if len(wrong) and self.labels is not None and y[wrong[0]] == -1:
                raise ValueError(
                    f"the label of token {wrong[0]} of example {i} is none of the {self.L} labels that "
                    "Sequence knows: leave the example out, or name all labels with labels=[...]"
                )
            if len(wrong):
                t = int(wrong[0])
                raise ValueError(
                    f"label {y[t]} of token {t} of example {i} is no integer from 0 to {self.L - 1}: name "
                    "labels of another kind with labels=[...], in the order of their numbers"
                )
