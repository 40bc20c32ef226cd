"""Class labels of any kind as the numbers 0 .. K - 1, and back.

Names of classes are kept as an array where all have one type that numpy knows, such as str or int, and as a
tuple otherwise. So the names say in which form predictions come back, and both forms can be saved.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from structmargin.inputs.containers import Place

Names: TypeAlias = "np.ndarray | Sequence[Hashable]"
"""The labels in the order of their numbers."""

_PLAIN = ((bool, np.bool_), (int, np.integer), (float, np.floating), (str, np.str_))
"""Types of which numpy has arrays; True and 1 are not to be mixed up, so bool comes first."""


def label_array(Y: Any, name: str = "Y") -> np.ndarray:
    """Labels, one per example, as a 1-d array: of their own type where they share one, else of objects."""
    if not isinstance(Y, np.ndarray):
        values = list(Y)
        kinds = {_plain(kind) for kind in {type(value) for value in values}}
        if len(kinds) == 1 and None not in kinds and not any("\0" in v for v in values if isinstance(v, str)):
            return np.asarray(values)
        return np.fromiter(values, dtype=object, count=len(values))
    if Y.ndim == 2 and Y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: give y.ravel()",
            DataConversionWarning,
            stacklevel=5,
        )
        return Y[:, 0]
    if Y.ndim != 1:
        raise ValueError(f"{name} must have one label per example, but is an array of shape {Y.shape}")
    return Y


def learnt(labels: np.ndarray, place: Place = "example {}".format) -> Names:
    """The different labels of a 1-d array: sorted, or in order of first appearance where they have no order.

    A label that does not equal itself, such as NaN, or that is infinite is an error that names its place.
    """
    if labels.dtype.kind == "f":
        _refuse_first(~np.isfinite(labels), labels, place)
    if not labels.dtype.hasobject:
        return np.unique(labels)
    _refuse_first(np.array([not _is_value(label) for label in labels], dtype=bool), labels, place)
    seen = dict.fromkeys(labels)
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(seen)


def numbers_of(labels: np.ndarray, names: Names, place: Place = "example {}".format) -> np.ndarray:
    """The number of each label of a 1-d array, -1 for one that is not among the names.

    A label of another kind than all names, such as the text '1' among numbers, is an error that names its
    place: it is no label that training happens not to have met.
    """
    number = {name: k for k, name in enumerate(values_of(names))}
    if labels.dtype.hasobject:
        _refuse_first(np.array([not _is_value(label) for label in labels], dtype=bool), labels, place)
        numbers = np.array([number.get(label, -1) for label in labels], dtype=np.int64)
    else:
        unique, where = np.unique(labels, return_inverse=True)
        numbers = np.array([number.get(label, -1) for label in unique.tolist()], dtype=np.int64)[where]
    kinds = {_kind(name) for name in number}
    for i in np.flatnonzero(numbers < 0).tolist():
        label = labels[i : i + 1].tolist()[0]
        if _kind(label) not in kinds:
            raise ValueError(
                f"label {label!r} of {place(i)} is of type {type(label).__name__}, but the labels that the "
                f"problem knows are not, such as {next(iter(number))!r}: give labels of one kind"
            )
        if not labels.dtype.hasobject:  # all of one kind
            break
    return numbers


def whole_numbers(labels: np.ndarray, n: int) -> np.ndarray:
    """Which labels of a 1-d array are whole numbers from 0 to n - 1: an array of booleans."""
    if labels.dtype.kind in "biu":
        return np.asarray((labels >= 0) & (labels < n))
    if labels.dtype.kind == "f":
        return np.asarray((labels >= 0) & (labels < n) & (labels == np.floor(labels)))
    if not labels.dtype.hasobject:
        return np.zeros(len(labels), dtype=bool)
    plain = (bool, int, float, np.bool_, np.integer, np.floating)
    return np.array([isinstance(y, plain) and 0 <= y < n and y == int(y) for y in labels], dtype=bool)


def named(numbers: Any, names: Names) -> np.ndarray:
    """The labels with these numbers, as an array of the names' type."""
    return as_array(names)[np.asarray(numbers, dtype=np.int64)]


def as_array(names: Names) -> np.ndarray:
    """Names as a 1-d array: of their own type where they are an array, else of objects."""
    return names if isinstance(names, np.ndarray) else np.fromiter(names, dtype=object, count=len(names))


def of_type(names: Names, labels: np.ndarray) -> Names:
    """Names that a user gave, in their order and in the form that `learnt` gives to labels like these."""
    given = label_array(names, "classes")
    if labels.dtype.hasobject or given.dtype.hasobject or given.dtype.kind != labels.dtype.kind:
        return tuple(values_of(names))
    return given


def text_of(labels: np.ndarray, i: int) -> str:
    """The i-th label of a 1-d array as messages show it."""
    return repr(labels[i : i + 1].tolist()[0])


def require_different(names: Names, name: str) -> None:
    """Raise where a name stands twice."""
    if _of_one_type(names):
        first = np.unique(names, return_index=True, equal_nan=False)[1]
        twins = np.delete(np.arange(len(names)), first)[:1].tolist()
    else:
        seen: dict[Hashable, int] = {}
        twins = [k for k, label in enumerate(names) if seen.setdefault(label, k) < k][:1]
    for k in twins:
        label = values_of(names[k : k + 1])[0]
        raise ValueError(f"{name} has {label!r} twice, the second time as number {k}: keep it once")


def require_names(names: Names | None, n: int, name: str) -> None:
    """Raise unless names, where there are some, are n different labels."""
    if names is None:
        return
    if not isinstance(names, (np.ndarray, list, tuple)) or np.ndim(as_array(names)) != 1 or len(names) != n:
        raise ValueError(f"{name} must be {n} labels, one for each number")
    bad = names != names if _of_one_type(names) else [not _is_value(label) for label in names]
    if np.any(bad):
        label = values_of(names[int(np.argmax(bad)) :][:1])[0]
        raise ValueError(f"{name} has {label!r}, which names no class: a label must be hashable and no NaN")
    require_different(names, name)


def _of_one_type(names: Names) -> TypeGuard[np.ndarray]:
    """Whether names can be compared all at once: a list of as many Python objects may not fit into memory."""
    return isinstance(names, np.ndarray) and not names.dtype.hasobject


def values_of(names: Names) -> list[Any]:
    """Names as a list of Python values."""
    return names.tolist() if isinstance(names, np.ndarray) else list(names)


def _plain(kind: type) -> int | None:
    return next((k for k, kinds in enumerate(_PLAIN) if issubclass(kind, kinds)), None)


def _kind(label: Any) -> Any:
    """Labels are of one kind if they are both texts, both numbers, or of one class."""
    return next((k for k in (str, (int, float)) if isinstance(label, k)), type(label))


def _is_value(label: Any) -> bool:
    """Whether a label can be told from others: hashable, and equal to itself."""
    try:
        hash(label)
        return bool(label == label)
    except (TypeError, ValueError):
        return False


def _refuse_first(bad: np.ndarray, labels: np.ndarray, place: Place) -> None:
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"label {text_of(labels, i)} of {place(i)} names no class: a label must be hashable, not NaN "
            "and not infinite; give one, or leave the example out"
        )
