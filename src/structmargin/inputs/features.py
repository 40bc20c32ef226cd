"""Features by name: dictionaries such as {"word": "Paris", "cap": True}, or lists of names that are on.

scikit-learn's DictVectorizer says which column a feature has: a text value gives the feature "word=Paris" the
value 1, a number or boolean gives "cap" that value. Features that were not met in training are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.inputs.containers import Place


def has_names(item: Any) -> bool:
    """Whether features come by name: as a dictionary, or as a list or tuple of texts, which may be empty."""
    if isinstance(item, Mapping):
        return True
    return isinstance(item, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in item)


def refuse_names(item: Any, place: str) -> None:
    """Raise where features come by name, but the names of columns are not known."""
    if isinstance(item, str):
        raise ValueError(
            f"{place} is the text {item!r}: give a dictionary of its features, or a list of the names of "
            "those that are on"
        )
    if isinstance(item, Mapping) or (has_names(item) and len(item)):
        raise ValueError(
            f"{place} is {_short(item)}, but the problem's features have no names: give numbers, or leave "
            "n_features out for `fit` to learn the names"
        )


def learnt(items: Sequence[Any], place: Place = "example {}".format) -> tuple[str, ...]:
    """The names of all features that the items have, sorted: one for each column."""
    vectorizer = _vectorizer()
    _run(vectorizer.fit, items, place)
    if not vectorizer.feature_names_:
        raise ValueError("no example has a feature: give dictionaries of features, or lists of their names")
    return tuple(vectorizer.feature_names_)


def require_columns(names: Sequence[str] | None, n: int) -> None:
    """Raise unless names of columns, where there are some, are n different texts."""
    if names is None:
        return
    texts = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != n or len(set(names)) != n:
        raise ValueError(f"features must be {n} different texts, one for each column")


def columns(items: Sequence[Any], names: Sequence[str], place: Place = "example {}".format) -> sp.csr_matrix:
    """Features by name as a CSR matrix, one row per item, with a column for each of the names."""
    vectorizer = _vectorizer()
    vectorizer.feature_names_ = list(names)
    vectorizer.vocabulary_ = {name: k for k, name in enumerate(names)}
    matrix = sp.csr_matrix(_run(vectorizer.transform, items, place))
    matrix.sum_duplicates()
    return matrix


def _run(method: Callable[[Any], Any], items: Sequence[Any], place: Place) -> Any:
    """Call a method of the vectorizer; an item that it cannot take is an error that names its place."""
    for k, item in enumerate(items):
        if not has_names(item):
            raise ValueError(
                f"{place(k)} is {_short(item)}, but features come by name here: give a dictionary of "
                "features, or a list of the names of those that are on"
            )
    mappings = [item if isinstance(item, Mapping) else dict.fromkeys(item, 1.0) for item in items]
    try:
        return method(mappings)
    except (TypeError, ValueError):
        for k, mapping in enumerate(mappings):
            for name, value in mapping.items():
                if not isinstance(name, str):
                    raise ValueError(f"{place(k)} has the feature {name!r}: give it a text as name") from None
                try:
                    _vectorizer().fit([{name: value}])
                except (TypeError, ValueError):
                    raise ValueError(
                        f"the feature {name!r} of {place(k)} is {_short(value)}: give a number, a boolean, a "
                        "text or a list of texts"
                    ) from None
        raise


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _vectorizer() -> Any:
    from sklearn.feature_extraction import DictVectorizer  # takes a second to load, and few need it

    return DictVectorizer(dtype=np.float64, sort=True)
