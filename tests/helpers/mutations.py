"""Strategies that damage a saved model by the ways of `helpers.model_damage`, and a sweep over its indices.

`mutations` draws a list of changes, each a function from bytes to bytes. A change that cannot be made,
because an earlier one left nothing to change, leaves the bytes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import hypothesis.strategies as st

from helpers.model_damage import (
    INDICES,
    NUMBERS,
    SHAPES,
    TYPES,
    VALUES,
    all_set,
    array_changed,
    bomb,
    cut_entry,
    deepened,
    doubled,
    dropped,
    entry_set,
    flipped,
    header_edited,
    index_changed,
    key_added,
    leaf_replaced,
    node_copied,
    node_dropped,
    node_replaced,
    of_type,
    overwritten,
    renamed,
    reshaped,
    resized,
    reversed_order,
    sizes_changed,
    swapped,
    texts_swapped,
    truncated,
)
from helpers.model_files import Entries, as_array, as_entry, entries, put_together

Change = Callable[[bytes], bytes]

PLACES = st.integers(0, 2**16)


def _of_entries(change: Callable[..., Entries], deflated: bool, *arguments: Any) -> Change:
    """A change of entries as one of bytes; what is no archive any more stays as it is."""

    def changed(content: bytes) -> bytes:
        try:
            return put_together(change(entries(content), *arguments), deflated)
        except Exception:  # an earlier change may have left anything
            return content

    return changed


def _of_bytes(change: Callable[..., bytes], *arguments: Any) -> Change:
    return partial(_with, change, arguments)


def _with(change: Callable[..., bytes], arguments: tuple[Any, ...], content: bytes) -> bytes:
    return change(content, *arguments)


def _strategy(change: Callable[..., Entries], *arguments: Any) -> Any:
    return st.builds(partial(_of_entries, change), st.booleans(), PLACES, *arguments)


def _array_strategy(change: Callable[..., Any], *arguments: Any) -> Any:
    made = st.builds(lambda *drawn: lambda array: change(array, *drawn), *arguments)
    return st.builds(partial(_of_entries, array_changed), st.booleans(), PLACES, made)


ENTRY_VALUES = st.sampled_from([*NUMBERS[:18], 1e308, float("nan"), float("inf"), -float("inf")])
OF_BYTES = st.one_of(
    st.builds(partial(_of_bytes, flipped), PLACES, st.integers(0, 7)),
    st.builds(partial(_of_bytes, truncated), PLACES),
    st.builds(partial(_of_bytes, overwritten), PLACES, st.binary(min_size=1, max_size=40)),
    st.builds(partial(_of_bytes, sizes_changed), PLACES, st.sampled_from([0, 1, 2**20, 2**31, 2**32 - 1])),
)
OF_ENTRIES = st.one_of(
    _strategy(dropped),
    _strategy(doubled),
    _strategy(
        renamed, st.sampled_from(["a0.npy", "a99.npy", "json.npy", "x", "../x.npy", "a0", ".npy", "b.npy"])
    ),
    _strategy(swapped, PLACES),
    _strategy(cut_entry, PLACES),
    _strategy(header_edited, st.sampled_from([None, *TYPES]), st.none(), st.none()),
    _strategy(header_edited, st.none(), st.sampled_from(SHAPES), st.sampled_from([None, True, False])),
    _strategy(bomb, st.sampled_from([10**5, 5 * 10**6])),
)
OF_ARRAYS = st.one_of(
    *(_array_strategy(entry_set, PLACES, ENTRY_VALUES) for _ in range(8)),
    _array_strategy(all_set, ENTRY_VALUES),
    _array_strategy(of_type, st.sampled_from(TYPES[:13])),
    _array_strategy(resized, st.integers(0, 40)),
    _array_strategy(reshaped, st.integers(0, 3)),
    _array_strategy(reversed_order),
)
NUMERIC, TEXTS = st.just((int, float)), st.just((str,))
OF_HEADER = st.one_of(
    *(_strategy(leaf_replaced, NUMERIC, st.sampled_from(NUMBERS)) for _ in range(8)),
    *(_strategy(texts_swapped, PLACES) for _ in range(4)),
    _strategy(
        leaf_replaced,
        TEXTS,
        st.sampled_from(["", "x", "none", "cell", "box", "anova2", "profile", "roc_area"]),
    ),
    _strategy(leaf_replaced, st.just((bool,)), st.booleans()),
    _strategy(node_replaced, st.sampled_from(VALUES)),
    _strategy(node_dropped),
    _strategy(node_copied, PLACES),
    _strategy(
        key_added,
        st.sampled_from(["x", "Y", "array", "kernel", "support", "n_classes"]),
        st.sampled_from(VALUES),
    ),
    _strategy(deepened, st.sampled_from([5, 63, 64, 65, 500, 20_000])),
)
OF_INDICES = st.builds(
    partial(_of_entries, index_changed), st.booleans(), PLACES, PLACES, st.sampled_from(INDICES)
)
ANY: Any = st.one_of(OF_BYTES, OF_ENTRIES, OF_ARRAYS, OF_HEADER)
# Most have one small change: what is plainly no archive is refused before anything else is looked at.
mutations: Any = st.one_of(
    *(changes.map(lambda change: [change]) for changes in (OF_INDICES, OF_ARRAYS, OF_HEADER, ANY)),
    st.lists(ANY, min_size=2, max_size=3),
)
"""Lists of one change, two or three."""


def sweep(content: bytes) -> Iterator[bytes]:
    """Every array of whole numbers of a model with its first and its last entry out of range."""
    parts = entries(content)
    for k, (name, data) in enumerate(parts):
        array = as_array(data)
        if name != "json.npy" and array.dtype.kind in "iu" and array.size:
            for place, value in (
                (0, INDICES[0]),
                (0, INDICES[1]),
                (-1, INDICES[2]),
                (-1, int(array.max()) + 10**5),
            ):
                changed = entry_set(array, place, value)
                yield put_together([*parts[:k], (name, as_entry(changed)), *parts[k + 1 :]])


def mutated(content: bytes, changes: list[Change]) -> bytes:
    for change in changes:
        content = change(content)
    return content
