"""Models as arrays and JSON: a tree of plain values, arrays and known classes, and back.

`pack` turns a tree (numbers, strings, None, lists, tuples, dicts, numpy arrays, scipy matrices,
and dataclasses listed in a registry) into named arrays, one of which is a JSON text that says how
they hang together; `unpack` is its inverse. Nothing is pickled, so nothing is executed on loading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

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


def unpack(arrays: Mapping[str, np.ndarray], classes: Mapping[str, type]) -> Any:
    """The tree that `pack` was given."""
    if "json" not in arrays:
        raise ValueError("this is no structmargin model: it holds no 'json' entry")
    document = json.loads(bytes(np.asarray(arrays["json"], dtype=np.uint8)).decode())
    if document.get("format") != FORMAT:
        raise ValueError(f"the model's format is {document.get('format')!r}; this version reads {FORMAT!r}")

    def walk(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        if "array" in node:
            return arrays[node["array"]]
        if "sparse" in node:
            parts = tuple(arrays[node["sparse"][part]] for part in ("data", "indices", "indptr"))
            return sp.csr_matrix(parts, shape=tuple(node["shape"]))
        if "tuple" in node:
            return tuple(walk(item) for item in node["tuple"])
        if "list" in node:
            if isinstance(node["list"], dict):
                return list(np.split(arrays[node["list"]["joined"]], arrays[node["list"]["cuts"]]))
            return [walk(item) for item in node["list"]]
        if "dict" in node:
            return {walk(key): walk(item) for key, item in node["dict"]}
        if node["object"] not in classes:
            raise ValueError(
                f"the model needs the class {node['object']!r}, which is not known here; pass it on loading"
            )
        return classes[node["object"]](**{name: walk(item) for name, item in node["fields"].items()})

    return walk(document["tree"])
