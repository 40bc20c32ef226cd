"""Files that are either whole or not there: write under a temporary name, flush to disk, rename.

A killed process or a full disk leaves at most a hidden file with `.tmp` in its name, which nothing reads.
Text is UTF-8 with \n line ends, JSON keeps the order given and has no NaN, numbers are written the
same way everywhere, so that equal results are equal bytes. A file that cannot be read as what it should be is
a DamagedFile (storage/errors.py): one sentence with its name.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.yaml_text import MAX_BYTES, read_text

MAX_FILE_BYTES = 256 * 2**20
"""Of a text that is read at once."""


def write_with(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write(temporary path)` make the file, then put it in place in one step.

    The temporary name keeps the suffix of `path`, since some writers add one of their own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    _sweep(path)
    try:
        write(temporary)
        with open(temporary, "rb+") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sweep(path: Path) -> None:
    """Remove what killed processes left of earlier attempts at this file."""
    head, tail = f".{path.stem}.", f".tmp{path.suffix}"
    for left in path.parent.glob(f"{glob.escape(head)}*{glob.escape(tail)}"):
        writer = left.name.removeprefix(head).removesuffix(tail)
        if writer.isdecimal() and not _alive(int(writer)):
            left.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # of a number that no process has
        return False
    except PermissionError:
        return True
    return True


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` as a whole file."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    write_with(path, write)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8."""
    write_bytes(path, encoded(text))


def encoded(text: str) -> bytes:
    """`text` as UTF-8; half a character pair, as a message may have it, in ASCII."""
    return text.encode("utf-8", errors="backslashreplace")


def json_bytes(value: object) -> bytes:
    """`value` as JSON, one key per line."""
    return encoded(json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_json(path: Path, value: object) -> None:
    """Write `value` as JSON, one key per line."""
    write_bytes(path, json_bytes(value))


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a plain file; a folder, a device or a file of more than `limit` bytes is refused."""
    refuse_unless_plain(path, limit)
    return path.read_bytes()


def refuse_unless_plain(path: Path, limit: int) -> None:
    """Raise DamagedFile for a folder, a device, or a file of more than `limit` bytes."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "a device, a pipe or a socket"
        raise DamagedFile(path, f"this is {what}, not a file", "remove it, or correct the name")
    if state.st_size > limit:
        raise DamagedFile(path, f"the file has {state.st_size} bytes, more than the {limit} allowed")


def read_json(path: Path, keys: Iterable[str] | None = None) -> Any:
    """The value in a JSON file.

    Parameters
    ----------
    path : Path
    keys : iterable of str, optional
        The value must then be a mapping that has these keys.

    Returns
    -------
    object

    Raises
    ------
    DamagedFile
        For a file that is cut short, of another kind, or without one of the keys.
    """
    try:
        value = json.loads(read_utf8(path), parse_constant=_refused_constant, parse_float=_finite)
    except DamagedFile:
        raise
    except (ValueError, RecursionError) as error:  # a ValueError also for a number of thousands of digits
        raise DamagedFile(path, f"this is no JSON file of ours, or it is cut short ({error})") from None
    if keys is not None:
        missing = [key for key in keys if not isinstance(value, dict) or key not in value]
        if missing or not isinstance(value, dict):
            raise DamagedFile(path, f"the file has no {', '.join(missing) or 'keys'}: it is of another kind")
    return value


def _refused_constant(word: str) -> Any:
    """For a word that Python writes as JSON and JSON does not have: NaN, Infinity."""
    raise ValueError(f"it holds {word}")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refused_constant(digits)


def read_utf8(path: Path, limit: int = MAX_FILE_BYTES) -> str:
    """The text of a plain file in UTF-8."""
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError:
        raise DamagedFile(path, "this is no UTF-8 text") from None


def read_yaml(path: Path) -> Any:
    """The value in a YAML file of safe types; DamagedFile, with the line, where there is a fault."""
    reading = read_text(read_bytes(path, MAX_BYTES))
    for fault in reading.faults:
        where = f"line {fault.line}: {'.'.join(fault.key)} ".rstrip()
        raise DamagedFile(path, f"{where} {fault.message}", "correct the file")
    return reading.values


def plain(value: object) -> Any:
    """`value` in JSON's own types: numpy numbers unwrapped, NaN and infinities as null and text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def cell(value: object) -> str:
    """A value as CSV text: numbers to ten significant digits, None and NaN empty."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.10g}"
    return str(value)


def in_order(value: Any) -> Any:
    """Plain data with the keys of every mapping sorted.

    Examples
    --------
    >>> in_order({"b": [{"d": 1, "c": 2}], "a": 0})
    {'a': 0, 'b': [{'c': 2, 'd': 1}]}
    """
    if isinstance(value, Mapping):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, (list, tuple)) else value


def sha256(path: Path) -> str:
    """The SHA-256 sum of a file, in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(value: object) -> str:
    """A digest of plain data: equal values have equal digests, whatever the order of keys."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:20]
