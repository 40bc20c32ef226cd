"""Ways to damage a saved model: its bytes, the entries of its archive, arrays, and the JSON header.

Each is a function of bytes, entries or an array, and of where and what to change; places are modulo what
there is.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.model_files import Entries, as_array, as_entry, header_of, put_together, with_header

HUGE = [2**31 - 1, 2**31, 2**40, 2**62, 2**63, 10**30]
NUMBERS = [0, 1, -1, 2, 3, 7, -7, 1000, 10**6, *HUGE, *(-n for n in HUGE), 0.5, -0.5, 1e-320, 1e200, -1e308]
VALUES = [
    None, True, False, *NUMBERS, float("nan"), float("inf"), -float("inf"), "", "x", "SVM2", "RBF", "Grammar",
    "Multiclass", "n_slack", "binary", "json", "a0", "\ud800", [], {}, [[]], {"list": []}, {"tuple": []},
    {"dict": []}, {"array": "a0"}, {"list": {"joined": "a0", "cuts": "a1"}}, {"object": "RBF", "fields": {}},
    {"object": "Product", "fields": {"kx": {"object": "RBF", "fields": {}}, "L": None}},
    {"sparse": {"data": "a0", "indices": "a1", "indptr": "a2"}, "shape": [3, 4]},
]  # fmt: skip
TYPES = [
    "<f8", ">f8", "<f4", "<f2", "<i8", "<i4", "<u1", "<u8", "|b1", "<c16", "<U1", "<U40", "|S3", "<M8[s]",
    "|O", "|V8", "<U0", "<f16", "(2,)<f8", "[('a', '<f8')]", "nonsense",
]  # fmt: skip
SHAPES = [
    (),
    (0,),
    (1,),
    (2, 2),
    (10**12,),
    (2**31, 2**31),
    (2**40, 2**40),
    (-1,),
    (0, 10**15),
    (3, -2),
    (True,),
]


def _some(items: list[Any], place: int) -> int:
    return place % len(items)


# -- bytes ---------------------------------------------------------------------------------------------


def flipped(content: bytes, place: int, bit: int) -> bytes:
    data = bytearray(content)
    if data:
        data[place % len(data)] ^= 1 << bit
    return bytes(data)


def truncated(content: bytes, place: int) -> bytes:
    return content[: place % (len(content) + 1)]


def overwritten(content: bytes, place: int, junk: bytes) -> bytes:
    place %= len(content) + 1
    return content[:place] + junk + content[place + len(junk) :]


def sizes_changed(content: bytes, place: int, size: int) -> bytes:
    """Another unpacked size in the central directory."""
    data, where, found = bytearray(content), 0, []
    while (where := content.find(b"PK\x01\x02", where)) >= 0:
        found.append(where)
        where += 4
    if found and found[place % len(found)] + 28 <= len(data):
        struct.pack_into("<I", data, found[place % len(found)] + 24, size)
    return bytes(data)


# -- entries -------------------------------------------------------------------------------------------


def dropped(parts: Entries, place: int) -> Entries:
    k = _some(parts, place)
    return parts[:k] + parts[k + 1 :]


def doubled(parts: Entries, place: int) -> Entries:
    return [*parts, parts[_some(parts, place)]]


def renamed(parts: Entries, place: int, name: str) -> Entries:
    k = _some(parts, place)
    return [*parts[:k], (name, parts[k][1]), *parts[k + 1 :]]


def swapped(parts: Entries, place: int, other: int) -> Entries:
    k, m = _some(parts, place), _some(parts, other)
    changed = list(parts)
    changed[k], changed[m] = (parts[k][0], parts[m][1]), (parts[m][0], parts[k][1])
    return changed


def cut_entry(parts: Entries, place: int, length: int) -> Entries:
    k = _some(parts, place)
    data = parts[k][1]
    return [*parts[:k], (parts[k][0], data[: length % (len(data) + 1)]), *parts[k + 1 :]]


def header_edited(parts: Entries, place: int, descr: str | None, shape: Any, fortran: bool | None) -> Entries:
    """Another type, shape or order in the header of an array, over the same bytes."""
    k = _some(parts, place)
    array = as_array(parts[k][1])
    given = descr if descr is None or descr[0] != "[" else [("a", "<f8")]
    fields = {
        "descr": np.lib.format.dtype_to_descr(array.dtype) if given is None else given,
        "fortran_order": array.flags.f_contiguous and array.ndim > 1 if fortran is None else fortran,
        "shape": array.shape if shape is None else shape,
    }
    text = repr(fields).encode()
    text += b" " * ((-len(text) - 11) % 64) + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + array.tobytes("A")
    return [*parts[:k], (parts[k][0], data), *parts[k + 1 :]]


def bomb(parts: Entries, place: int, size: int) -> Entries:
    """Zeros in place of an array, of a size that is small once deflated."""
    k = _some(parts, place)
    return [*parts[:k], (parts[k][0], as_entry(np.zeros(size))), *parts[k + 1 :]]


# -- arrays --------------------------------------------------------------------------------------------


def array_changed(parts: Entries, place: int, change: Callable[[np.ndarray], Any]) -> Entries:
    """An array other than the header changed."""
    places = [k for k, (name, _) in enumerate(parts) if name != "json.npy"]
    k = places[place % len(places)]
    with np.errstate(all="ignore"):
        return [*parts[:k], (parts[k][0], as_entry(change(as_array(parts[k][1])))), *parts[k + 1 :]]


INDICES = [-1, -(2**31), 2**31 - 1, 3, 5, 100]
"""What an index may be set to."""


def index_changed(parts: Entries, place: int, entry: int, value: int) -> Entries:
    """An entry of an array of whole numbers changed."""
    places = [
        k for k, (name, data) in enumerate(parts) if name != "json.npy" and as_array(data).dtype.kind in "iu"
    ]
    k = places[place % len(places)]
    return [
        *parts[:k],
        (parts[k][0], as_entry(entry_set(as_array(parts[k][1]), entry, value))),
        *parts[k + 1 :],
    ]


def entry_set(array: np.ndarray, place: int, value: float) -> np.ndarray:
    array = np.array(array)
    if array.size:
        array.flat[place % array.size] = np.array(value).astype(array.dtype)
    return array


def all_set(array: np.ndarray, value: float) -> np.ndarray:
    return np.full_like(array, np.array(value).astype(array.dtype))


def of_type(array: np.ndarray, dtype: str) -> np.ndarray:
    return array.astype(dtype)


def resized(array: np.ndarray, length: int) -> np.ndarray:
    return np.resize(array, (length, *array.shape[1:]))


def reshaped(array: np.ndarray, ndim: int) -> np.ndarray:
    return array.reshape((-1,) + (1,) * ndim) if ndim < 3 else np.asfortranarray(array)


def reversed_order(array: np.ndarray) -> np.ndarray:
    return array[::-1]


# -- the header ----------------------------------------------------------------------------------------


def _paths(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        found += _paths(item, (*path, key))
    return found


def _at(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def node_replaced(parts: Entries, place: int, value: Any) -> Entries:
    document = header_of(parts)
    paths = _paths(document)[1:]
    path = paths[place % len(paths)]
    _at(document, path[:-1])[path[-1]] = value
    return with_header(parts, document)


def leaf_replaced(parts: Entries, place: int, kinds: tuple[type, ...], value: Any) -> Entries:
    """A number or a text of the header replaced by another."""
    document = header_of(parts)
    paths = [path for path in _paths(document) if type(_at(document, path)) in kinds and path != ("format",)]
    path = paths[place % len(paths)]
    _at(document, path[:-1])[path[-1]] = value
    return with_header(parts, document)


def texts_swapped(parts: Entries, place: int, other: int) -> Entries:
    """A text of the header replaced by another one of it: a name of an array, class, option or label."""
    document = header_of(parts)
    texts = [path for path in _paths(document) if type(_at(document, path)) is str and path != ("format",)]
    value = _at(document, texts[other % len(texts)])
    path = texts[place % len(texts)]
    _at(document, path[:-1])[path[-1]] = value
    return with_header(parts, document)


def node_dropped(parts: Entries, place: int) -> Entries:
    document = header_of(parts)
    paths = _paths(document)[1:]
    path = paths[place % len(paths)]
    del _at(document, path[:-1])[path[-1]]
    return with_header(parts, document)


def node_copied(parts: Entries, place: int, other: int) -> Entries:
    document = header_of(parts)
    paths = _paths(document)[1:]
    return node_replaced(parts, place, _at(document, paths[other % len(paths)]))


def key_added(parts: Entries, place: int, key: str, value: Any) -> Entries:
    document = header_of(parts)
    nodes = [node for path in _paths(document) if isinstance(node := _at(document, path), dict)]
    nodes[place % len(nodes)][key] = value
    return with_header(parts, document)


def deepened(parts: Entries, place: int, depth: int) -> Entries:
    text = json.dumps(header_of(node_replaced(parts, place, "HERE")))
    opening, closing = '{"list": [', "]}"
    return with_header(parts, text.replace('"HERE"', opening * depth + closing * depth, 1))


# -- other files ---------------------------------------------------------------------------------------


def foreign_files() -> dict[str, bytes]:
    """Files that are no models, by what they are."""
    other = io.BytesIO()
    np.savez(other, X=np.zeros(3), json=np.zeros(3))
    picture = b"\x89PNG\r\n\x1a\n" + bytes(100)
    plain_zip = put_together([("readme.txt", b"hello")])
    text = np.frombuffer(b'{"format": "structmargin-2", "tree": null}', dtype=np.uint8)
    return {
        "empty": b"",
        "a picture": picture,
        "a text": b"not a model",
        "a zip": plain_zip,
        "an empty zip": put_together([]),
        "somebody's arrays": other.getvalue(),
        "an empty tree": put_together([("json.npy", as_entry(text))]),
        "an array": as_entry(np.zeros(4)),
    }
