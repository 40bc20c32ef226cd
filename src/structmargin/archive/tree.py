"""Models as arrays and JSON: a tree of plain values, arrays and known classes, and back.

`pack` turns a tree (numbers, strings, None, lists, tuples, dicts, numpy arrays, scipy matrices,
and dataclasses listed in a registry) into named arrays, one of which is a JSON text that says how
they hang together; `unpack` is its inverse. Nothing is pickled, so nothing is executed on loading, and what
is loaded is checked before anything is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.archive.errors import ModelFileError, short
from structmargin.archive.npz import KINDS, checked
from structmargin.archive.typed import require_options
from structmargin.inputs.containers import csr, require_csr

FORMAT = "structmargin-2"


def pack(tree: Any, classes: Mapping[str, type]) -> dict[str, np.ndarray]:
    """The tree as arrays for numpy.savez; a value of an unknown class is an error that names it."""
    arrays: dict[str, np.ndarray] = {}
    names = {kind: name for name, kind in classes.items()}

    def keep(array: np.ndarray) -> str:
        name = f"a{len(arrays)}"
        arrays[name] = array
        return name

    def walk(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise TypeError("an array of Python objects cannot be saved; use arrays of numbers or lists")
            return {"array": keep(value)}
        if sp.issparse(value):
            csr = sp.csr_matrix(value)
            parts = {part: keep(getattr(csr, part)) for part in ("data", "indices", "indptr")}
            return {"sparse": parts, "shape": list(csr.shape)}
        if isinstance(value, tuple):
            return {"tuple": [walk(item) for item in value]}
        if isinstance(value, list):
            return {"list": _packed_list(value, walk, keep)}
        if isinstance(value, dict):
            return {"dict": [[walk(key), walk(item)] for key, item in value.items()]}
        if is_dataclass(value) and type(value) in names:
            members = {f.name: walk(getattr(value, f.name)) for f in fields(value) if f.init}
            return {"object": names[type(value)], "fields": members}
        raise TypeError(f"a {type(value).__name__} cannot be saved as arrays and JSON")

    document = json.dumps({"format": FORMAT, "tree": walk(tree)})
    return {"json": np.frombuffer(document.encode(), dtype=np.uint8), **arrays}


def _packed_list(values: list[Any], walk: Any, keep: Any) -> Any:
    """A list item by item; a long list of alike 1-d arrays as one array and its cuts."""
    alike = len(values) > 8 and all(
        isinstance(v, np.ndarray) and v.ndim == 1 and v.dtype == values[0].dtype and not v.dtype.hasobject
        for v in values
    )
    if not alike:
        return [walk(item) for item in values]
    return {"joined": keep(np.concatenate(values)), "cuts": keep(np.cumsum([len(v) for v in values])[:-1])}


MAX_HEADER_BYTES = 2**25
"""How large the JSON text may be: 32 MiB."""
MAX_ITEMS = 2**22
"""Of how many values a tree may consist: each takes some hundred bytes of memory."""
MAX_DEPTH = 64
"""How deep values may lie in each other."""
AGAIN = "save the model again"


def unpack(arrays: Mapping[str, np.ndarray], classes: Mapping[str, type]) -> Any:
    """The tree that `pack` was given; what is no such tree is a ModelFileError.

    Names, types, shapes and indices are checked, so that compiled code can rely on them. Whether the numbers
    are right for a model is for those to say who make one of them.
    """
    document = _document(arrays)
    reader = _Reader(arrays, classes)
    tree = reader.value(document["tree"])
    left = set(arrays) - reader.used - {"json"}
    if left:
        raise ModelFileError(
            f"it holds {sorted(map(str, left))[0]!r}, which its header does not name; {AGAIN}"
        )
    return tree


def _document(arrays: Any) -> dict[str, Any]:
    if not isinstance(arrays, Mapping) or "json" not in arrays:
        raise ModelFileError(
            "there is no entry 'json', so it is no structmargin model; give the arrays that to_arrays "
            "returned, or a file that save wrote"
        )
    header = checked(arrays["json"])
    if header.dtype != np.uint8 or header.ndim != 1 or header.nbytes > MAX_HEADER_BYTES:
        raise ModelFileError(f"its header is no text of at most {MAX_HEADER_BYTES} bytes; {AGAIN}")
    try:
        document = json.loads(header.tobytes().decode())
    except ValueError as error:
        raise ModelFileError(f"its header is no JSON text; {AGAIN}") from error
    if not isinstance(document, dict) or set(document) != {"format", "tree"}:
        raise ModelFileError(f"its header is not that of a structmargin model; {AGAIN}")
    if document["format"] != FORMAT:
        raise ModelFileError(
            f"its format is {short(document['format'])}, but this version reads {FORMAT!r}; load it with the "
            "version that saved it"
        )
    return document


class _Reader:
    """Nodes of the header as values."""

    def __init__(self, arrays: Mapping[str, np.ndarray], classes: Mapping[str, type]) -> None:
        self.arrays, self.classes = arrays, classes
        self.used: set[str] = set()
        self.items = 0

    def value(self, node: Any, depth: int = 0) -> Any:
        self._count(1)
        if depth > MAX_DEPTH:
            raise ModelFileError(f"its header is nested more than {MAX_DEPTH} deep; {AGAIN}")
        if node is None or type(node) in (bool, str, float):
            return node
        if type(node) is int and abs(node) < 2**63:
            return node
        keys = set(node) if isinstance(node, dict) else set()
        if keys == {"array"}:
            return self.array(node["array"])
        if keys == {"sparse", "shape"}:
            return self._sparse(node["sparse"], node["shape"])
        if keys == {"tuple"}:
            return tuple(self._each(node["tuple"], depth))
        if keys == {"list"}:
            if isinstance(node["list"], dict):
                return self._split(node["list"])
            return self._each(node["list"], depth)
        if keys == {"dict"}:
            pairs = [self._each(pair, depth) for pair in self._listed(node["dict"])]
            return dict(pairs)
        if keys == {"object", "fields"}:
            return self._object(node["object"], node["fields"], depth)
        raise ModelFileError(f"its header has a value of an unknown kind; {AGAIN}")

    def _count(self, n: int) -> None:
        self.items += n
        if self.items > MAX_ITEMS:
            raise ModelFileError(f"it consists of more than {MAX_ITEMS} values; {AGAIN}")

    def _listed(self, node: Any) -> list[Any]:
        if not isinstance(node, list):
            raise ModelFileError(f"its header has no list where one must be; {AGAIN}")
        return node

    def _each(self, node: Any, depth: int) -> list[Any]:
        return [self.value(item, depth + 1) for item in self._listed(node)]

    def array(self, name: Any, ndim: int | None = None, kinds: str = KINDS) -> np.ndarray:
        """The array of that name, which no other part of the model may name too."""
        if not isinstance(name, str) or name not in self.arrays or name in self.used or name == "json":
            raise ModelFileError(f"its header names an array that is not there, or names one twice; {AGAIN}")
        self.used.add(name)
        array = checked(self.arrays[name])
        if array.dtype.kind not in kinds or ndim not in (None, array.ndim):
            raise ModelFileError(f"its array {name!r} is of another kind than its header says; {AGAIN}")
        return array

    def _sparse(self, parts: Any, shape: Any) -> sp.csr_matrix:
        if not isinstance(parts, dict) or set(parts) != {"data", "indices", "indptr"}:
            raise ModelFileError(f"its header has a sparse matrix without its three parts; {AGAIN}")
        if not isinstance(shape, list) or len(shape) != 2 or not all(map(_is_size, shape)):
            raise ModelFileError(f"its header has a sparse matrix of the shape {short(shape)}; {AGAIN}")
        data = self.array(parts["data"], 1, "biuf")
        indices, indptr = (self.array(parts[part], 1, "iu") for part in ("indices", "indptr"))
        require_csr(indices, indptr, tuple(shape), len(data), "a sparse matrix of the model")
        if not np.isfinite(data).all():
            raise ModelFileError(f"a sparse matrix of it has an entry that is not finite; {AGAIN}")
        return csr(sp.csr_matrix((data, indices, indptr), shape=tuple(shape)), "a sparse matrix of the model")

    def _split(self, node: dict[str, Any]) -> list[np.ndarray]:
        """A list of 1-d arrays that are stored as one."""
        if set(node) != {"joined", "cuts"}:
            raise ModelFileError(f"its header has a value of an unknown kind; {AGAIN}")
        joined, cuts = self.array(node["joined"], 1), self.array(node["cuts"], 1, "iu")
        self._count(len(cuts))
        inside = len(cuts) == 0 or (cuts.min() >= 0 and cuts.max() <= len(joined))
        if not inside or np.any(cuts[1:] < cuts[:-1]):
            raise ModelFileError(f"a list of its arrays is cut where it has no entries; {AGAIN}")
        return list(np.split(joined, cuts.astype(np.int64)))

    def _object(self, name: Any, members: Any, depth: int) -> Any:
        if not isinstance(name, str) or name not in self.classes:
            raise ModelFileError(
                f"the model needs the class {short(name)}, which is not known here; load it with the version "
                "that saved it"
            )
        kind: Any = self.classes[name]
        if not isinstance(members, dict):
            raise ModelFileError(f"its {name} has no options by name; {AGAIN}")
        values = {key: self.value(item, depth + 1) for key, item in members.items()}
        require_options(name, values, {f.name: f.type for f in fields(kind) if f.init})
        return kind(**values)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62
