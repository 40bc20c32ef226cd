"""Strings of a .npy file of objects, which holds a pickle: its instructions are read, none is followed.

A list of strings is written as MARK, the strings, APPENDS, or one string and APPEND. Strings are literals, or
taken from the memo by number. Every other instruction between them is an error; what stands around the list
(the making of an array) is passed over.
"""

from __future__ import annotations

import ast
import io
import pickletools
from collections.abc import Iterator
from pathlib import Path

from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import read_bytes

MAX_BYTES = 64 * 2**20
LITERALS = {"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "SHORT_BINSTRING", "BINSTRING"}
TO_MEMO = {"PUT", "BINPUT", "LONG_BINPUT"}
FROM_MEMO = {"GET", "BINGET", "LONG_BINGET"}
APPENDING, BETWEEN = {"APPENDS", "APPEND"}, {"MARK", "FRAME"}


def strings_of(path: Path) -> list[str]:
    """The strings of an array of one dimension, in order."""
    data = read_bytes(path, MAX_BYTES)
    try:
        length, start = _header(data)
        strings = list(_listed(data[start:]))
    except (ValueError, SyntaxError, IndexError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is no array of strings in numpy's format ({error}); fetch it again"
        ) from None
    if len(strings) != length:
        raise DataError(f"{path} says that it has {length} strings, but has {len(strings)}; fetch it again")
    return strings


def _header(data: bytes) -> tuple[int, int]:
    """(length of the array, where its pickle begins)."""
    if data[:6] != b"\x93NUMPY" or data[6] not in (1, 2):
        raise ValueError("it does not begin as such a file does")
    size = 2 if data[6] == 1 else 4
    start = 8 + size + int.from_bytes(data[8 : 8 + size], "little")
    about = ast.literal_eval(data[8 + size : start].decode("latin-1").strip())
    if about["descr"] != "|O" or len(about["shape"]) != 1:
        raise ValueError(f"it holds {about['descr']!r} of shape {about['shape']}")
    return int(about["shape"][0]), start


def _listed(pickled: bytes) -> Iterator[str]:
    """The strings of the one list in a pickle."""
    memo: dict[int, object] = {}
    last: object = None
    pending: list[str] = []  # those that the next APPENDS adds to the list
    inside = False
    lists = 0
    for instruction, argument, _ in pickletools.genops(io.BytesIO(pickled)):
        name = instruction.name
        if name == "MEMOIZE":
            memo[len(memo)] = last
        elif name in TO_MEMO:
            memo[int(str(argument))] = last
        elif name == "EMPTY_LIST":
            inside, last = True, None
            lists += 1
        elif name in LITERALS or (name in FROM_MEMO and inside):
            last = argument if name in LITERALS else memo[int(str(argument))]
            if inside and not isinstance(last, str):
                raise ValueError("the list holds something else than strings")
            pending += [str(last)] if inside else []
        elif name in APPENDING:
            yield from pending
            pending.clear()
        elif name not in BETWEEN:  # the list is complete, or has not begun
            if pending:
                raise ValueError("the list holds something else than strings")
            inside, last = False, None
    if lists != 1:
        raise ValueError(f"there are {lists} lists in it")
