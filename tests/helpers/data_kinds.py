"""In how many forms a user may bring the same examples: containers, types of numbers, names.

`KINDS` has, for each problem, the kinds of data that it can be given. A kind turns the plain examples of
`helpers.every_problem` into the same examples in another form, and says which plain form is computed alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from helpers.every_problem import Example
from structmargin.problems.diversity.problem import Candidates

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
Form = Callable[[np.ndarray, Path], Any]
"""An array in another form; the folder is for files."""


def shuffled(n: int) -> np.ndarray:
    """An index in no order, so that a look-up by label would find another item."""
    return np.random.default_rng(7).permutation(n)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def memory_map(x: np.ndarray, folder: Path) -> np.ndarray:
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, x)
    return np.load(path, mmap_mode="r")


def read_only_csr(x: np.ndarray) -> sp.csr_matrix:
    matrix = sp.csr_matrix(x)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def with_duplicates(x: np.ndarray) -> sp.csr_matrix:
    """Every entry as two halves, columns in falling order."""
    matrix = sp.csr_matrix(x)
    matrix.data = np.repeat(matrix.data / 2, 2)
    matrix.indices = np.repeat(matrix.indices, 2)
    matrix.indptr = 2 * matrix.indptr
    for i in range(matrix.shape[0]):
        row = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[row], matrix.data[row] = (
            matrix.indices[row][::-1].copy(),
            matrix.data[row][::-1].copy(),
        )
    return sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


DENSE: dict[str, Form] = {
    "list": lambda x, _: x.tolist(),
    "list of arrays": lambda x, _: list(x),
    "tuple": lambda x, _: tuple(map(tuple, x.tolist())),
    "Fortran": lambda x, _: np.asfortranarray(x),
    "float32": lambda x, _: x.astype(np.float32),
    "int": lambda x, _: x.astype(int),
    "uint8": lambda x, _: x.astype(np.uint8),
    "object": lambda x, _: x.astype(object),
    "strides": lambda x, _: np.repeat(x, 2, axis=1)[:, ::2],
    "frame": lambda x, _: pd.DataFrame(x, index=shuffled(len(x))),
    "frame of types": lambda x, _: pd.DataFrame(x, index=shuffled(len(x))).astype({0: int, 1: "Int64"}),
    "memory map": memory_map,
    "read only": lambda x, _: read_only(x),
}
SPARSE: dict[str, Form] = {
    "sparse rows": lambda x, _: [sp.csr_matrix(row) for row in x],
    "read-only csr": lambda x, _: read_only_csr(x),
    "duplicates": lambda x, _: with_duplicates(x),
    "int csr": lambda x, _: sp.csr_matrix(x.astype(int)),
    "float32 csr": lambda x, _: sp.csr_matrix(x.astype(np.float32)),
    **{f"{name}_matrix": lambda x, _, name=name: getattr(sp, f"{name}_matrix")(x) for name in FORMATS},
    **{f"{name}_array": lambda x, _, name=name: getattr(sp, f"{name}_array")(x) for name in FORMATS},
}
BOOLEANS: dict[str, Form] = {
    "booleans": lambda x, _: x > 1,
    "list of booleans": lambda x, _: (x > 1).tolist(),
    "frame of booleans": lambda x, _: pd.DataFrame(x > 1, index=shuffled(len(x))),
    "sparse booleans": lambda x, _: sp.csc_array(x > 1),
}
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "object array": lambda Y: np.fromiter(Y, dtype=object, count=len(Y)),
    "series": lambda Y: pd.Series(np.fromiter(Y, dtype=object, count=len(Y)), index=shuffled(len(Y))),
}
LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "int8": lambda y: y.astype(np.int8),
    "float": lambda y: y.astype(float),
    "object": lambda y: y.astype(object),
    "series": lambda y: pd.Series(y, index=shuffled(len(y))),
    "Int64 series": lambda y: pd.Series(y, index=shuffled(len(y)), dtype="Int64"),
    "read only": read_only,
}
INNER: dict[str, Form] = {
    "read only": lambda x, _: read_only(x),
    "memory map": memory_map,
    "int32": lambda x, _: x.astype(np.int32) if x.dtype.kind == "i" else x,
    "Fortran": lambda x, _: np.asfortranarray(x),
    "float32": lambda x, _: x.astype(np.float32) if x.dtype.kind == "f" else x,
    "lists": lambda x, _: x.tolist(),
    "frames and series": lambda x, _: (pd.Series if x.ndim == 1 else pd.DataFrame)(x, index=shuffled(len(x))),
}
TAGS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "array": np.array,
    "object array": lambda x: np.array(x, dtype=object),
    "series": lambda x: pd.Series(x, index=shuffled(len(x))),
}


def changed(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """A structure with every array in it changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, Candidates):
        return Candidates(change(value.indptr), change(value.items), change(value.phi))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(part, change) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(changed(part, change) for part in value)
    return value


PLAIN: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": lambda x: x,
    "sparse": sp.csr_matrix,
    "zeros and ones": lambda x: (x > 1).astype(float),
    "sparse ones": lambda x: sp.csr_matrix(x > 1, dtype=float),
}
"""Plain forms of a matrix of features."""


class Brought(NamedTuple):
    """Examples in another form, with the problem that takes them so."""

    problem: Any
    X: Any
    Y: Any
    number_of: dict[Any, Any] | None = None  # labels by name: what stands for each in the plain form


class Kind(NamedTuple):
    """A form of data: how to bring examples in it, and the plain form that it is compared with."""

    bring: Callable[[Example, Path], Brought]
    plain: str = "dense"
    same_sums: bool = True  # whether all sums run in the same order as in the plain form


def plain_form(example: Example, plain: str) -> Example:
    """The examples with features in a plain form."""
    if plain == "dense":
        return example
    if isinstance(example.X, np.ndarray):
        return example._replace(X=PLAIN[plain](example.X))
    return example._replace(X=[PLAIN[plain](x) for x in example.X])


def plain(value: Any, number_of: dict[Any, Any] | None = None) -> Any:
    """Outputs as nested lists of numbers and texts; labels by name as their numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part, number_of) for part in value]
    return value if number_of is None else number_of[value]


def _features(form: Form, each: bool) -> Callable[[Example, Path], Brought]:
    """The matrix of features, or each of several, in another form."""

    def bring(example: Example, folder: Path) -> Brought:
        X = [form(x, folder) for x in example.X] if each else form(example.X, folder)
        return Brought(example.problem, X, example.Y)

    return bring


def _kinds_of_features(each: bool) -> dict[str, Kind]:
    kinds = {f"X: {name}": Kind(_features(form, each)) for name, form in DENSE.items()}
    for name, form in SPARSE.items():  # blocks of bsr hold zeros too, which other formats leave out
        kinds[f"X: {name}"] = Kind(_features(form, each), "sparse", not name.startswith("bsr"))
    for name, form in BOOLEANS.items():
        plain = "sparse ones" if name.startswith("sparse") else "zeros and ones"
        kinds[f"X: {name}"] = Kind(_features(form, each), plain)
    return kinds


def _kinds_of_labels(each: bool) -> dict[str, Kind]:
    def bring(form: Callable[[Any], Any]) -> Callable[[Example, Path], Brought]:
        return lambda e, _: Brought(e.problem, e.X, [form(y) for y in e.Y] if each else form(e.Y))

    return {f"Y: {name}": Kind(bring(form)) for name, form in LABELS.items()}


def _frame_and_series(example: Example, folder: Path) -> Brought:
    """Both with an index in no order, and not in the same."""
    X, Y = example.X, example.Y
    return Brought(
        example.problem, pd.DataFrame(X, index=shuffled(len(X))), pd.Series(Y, index=shuffled(len(Y))[::-1])
    )


NAMES = ("on", "off", "both")
COLUMNS = ("colour", "length", "size", "weight")


def _by_name(row: np.ndarray) -> dict[str, float]:
    return {name: value for name, value in zip(COLUMNS, row.tolist(), strict=True) if value}


def _texts(example: Example, folder: Path) -> Brought:
    """Labels as texts, whose order is not that of the numbers."""
    problem = replace(example.problem, classes=NAMES)
    return Brought(problem, example.X, np.array(NAMES)[example.Y], {name: k for k, name in enumerate(NAMES)})


def _texts_of_tokens(example: Example, folder: Path) -> Brought:
    Y = [[NAMES[label] for label in y] for y in example.Y]
    problem = replace(example.problem, labels=NAMES)
    return Brought(problem, example.X, Y, {name: k for k, name in enumerate(NAMES)})


def _texts_of_signs(example: Example, folder: Path) -> Brought:
    problem = replace(example.problem, positive="on")
    return Brought(problem, example.X, np.where(example.Y > 0, "on", "off"))


def _dictionaries(example: Example, folder: Path) -> Brought:
    problem = replace(example.problem, n_features=None, features=COLUMNS)
    return Brought(problem, [_by_name(row) for row in example.X], example.Y)


def _dictionaries_of_tokens(example: Example, folder: Path) -> Brought:
    problem = replace(example.problem, n_features=None, features=COLUMNS)
    return Brought(problem, [[_by_name(token) for token in x] for x in example.X], example.Y)


def _in_containers() -> dict[str, Kind]:
    def bring(form: Callable[[Any], Any]) -> Callable[[Example, Path], Brought]:
        return lambda e, _: Brought(e.problem, form(e.X), form(e.Y))

    return {f"examples: {name}": Kind(bring(form)) for name, form in CONTAINERS.items()}


def _inside(names: tuple[str, ...], outputs: bool = True) -> dict[str, Kind]:
    """Arrays inside of structures, those of outputs too."""

    def bring(form: Form) -> Callable[[Example, Path], Brought]:
        def inner(e: Example, folder: Path) -> Brought:
            X, Y = (changed(part, lambda x: form(x, folder)) for part in (e.X, e.Y))
            return Brought(e.problem, X, Y if outputs else e.Y)

        return inner

    return {f"arrays: {name}": Kind(bring(INNER[name])) for name in names}


def _tags() -> dict[str, Kind]:
    def bring(form: Callable[[Any], Any]) -> Callable[[Example, Path], Brought]:
        return lambda e, _: Brought(e.problem, [form(x) for x in e.X], e.Y)

    return {f"tags: {name}": Kind(bring(form)) for name, form in TAGS.items()}


_ROWS = {**_kinds_of_features(False), **_kinds_of_labels(False), "frame and series": Kind(_frame_and_series)}
_NAMED = {"texts as labels": Kind(_texts), "dictionaries": Kind(_dictionaries, "sparse")}
_WHOLE = ("read only", "memory map", "int32", "Fortran", "lists", "frames and series")

KINDS: dict[str, dict[str, Kind]] = {
    "Multiclass": {**_ROWS, **_NAMED},
    "Taxonomy": {**_ROWS, **_NAMED},
    "Measure": {**_ROWS, "texts as labels": Kind(_texts_of_signs)},
    "Sequence": {
        **_kinds_of_features(True),
        **_kinds_of_labels(True),
        **_in_containers(),
        "texts as labels": Kind(_texts_of_tokens),
        "dictionaries": Kind(_dictionaries_of_tokens, "sparse"),
    },
    "Alignment": {**_in_containers(), **_inside(_WHOLE)},
    "Grammar": {**_in_containers(), **_tags()},
    "Localization": {**_in_containers(), **_inside(_WHOLE)},
    "Diversity": {**_in_containers(), **_inside((*_WHOLE, "float32"), outputs=False)},
    "ProteinAlignment": {**_in_containers(), **_inside(_WHOLE)},
}
"""By problem and kind."""
