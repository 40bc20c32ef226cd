"""Files that are either whole or not there: write under a temporary name, flush to disk, rename.

A killed process or a full disk leaves at most a hidden file with `.tmp` in its name, which nothing reads.
Text is UTF-8 with \n line ends, JSON keeps the order given and has no NaN, numbers are written the
same way everywhere, so that equal results are equal bytes. A file that cannot be read as what it should be is
a DamagedFile (storage/errors.py): one sentence with its name.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import math
import os
import stat
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structmargin_suite.storage import csv_text
from structmargin_suite.storage.errors import DamagedFile, one_line
from structmargin_suite.storage.yaml_text import MAX_BYTES, read_text

MAX_FILE_BYTES = 256 * 2**20
"""Of a text that is read at once."""
MAX_ARRAY_BYTES = 8 * 2**30
DAMAGED_ARRAYS = (
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, SyntaxError, ValueError,
    TypeError, KeyError, IndexError, OverflowError, RuntimeError, NotImplementedError, Warning,
)  # fmt: skip
"""What zipfile and numpy raise for a file that is cut short or of another kind."""


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
    except ProcessLookupError:
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
    write_bytes(path, text.encode("utf-8", errors="backslashreplace"))  # half a character pair, in a message


def write_json(path: Path, value: object) -> None:
    """Write `value` as JSON, one key per line."""
    write_text(path, json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a plain file; a folder, a device or a file of more than `limit` bytes is refused."""
    _refuse_unless_plain(path, limit)
    return path.read_bytes()


def _refuse_unless_plain(path: Path, limit: int) -> None:
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
        value = json.loads(_text(path), parse_constant=_refused_constant)
    except (json.JSONDecodeError, RecursionError, _NotJson) as error:
        raise DamagedFile(path, f"this is no JSON file of ours, or it is cut short ({error})") from None
    if keys is not None:
        missing = [key for key in keys if not isinstance(value, dict) or key not in value]
        if missing or not isinstance(value, dict):
            raise DamagedFile(path, f"the file has no {', '.join(missing) or 'keys'}: it is of another kind")
    return value


class _NotJson(ValueError):
    """A word that Python writes as JSON and JSON does not have: NaN, Infinity."""


def _refused_constant(word: str) -> Any:
    raise _NotJson(f"it holds {word}")


def _text(path: Path, limit: int = MAX_FILE_BYTES) -> str:
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


def write_csv(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows under the given columns; a missing or None value is an empty cell.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, which `read_csv` takes off
    again; numbers stay numbers.
    """
    lines = [columns, *([cell(row.get(column)) for column in columns] for row in rows)]
    write_text(path, "".join(csv_text.line(cells) for cells in lines))


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text; see `read_csv_lines`."""
    header, lines = read_csv_lines(path)
    return [dict(zip(header, line, strict=True)) for line in lines]


def read_csv_lines(path: Path) -> tuple[list[str], list[list[str]]]:
    """(columns, rows) of a CSV file as text.

    Raises DamagedFile where a line has more or fewer cells than there are columns, where two columns have one
    name, or where the last line does not end: the file was cut short, or is of another kind.
    """
    text = _text(path)
    if not text.endswith("\n"):
        raise DamagedFile(
            path, "the last line does not end", "end it, or make the file again if it was cut short"
        )
    try:
        return csv_text.parsed(text)
    except ValueError as error:
        raise DamagedFile(path, str(error)) from None


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays of numbers or text as .npz; equal arrays give equal bytes. Objects are refused."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"array {name!r} for {path.name} holds objects: store numbers or text only")

    def write(temporary: Path) -> None:
        np.savez(temporary, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]

    write_with(path, write)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file that `write_arrays` wrote; nothing is unpickled.

    Raises DamagedFile for a file that is cut short, of another kind, compressed, or holds objects. Every size
    is looked at before an array is made, so that a small file cannot ask for much memory.
    """
    _refuse_unless_plain(path, MAX_ARRAY_BYTES)
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                fault = _array_fault(archive, member)
                if fault:
                    raise DamagedFile(path, f"{member.filename!r} {fault}")
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except DamagedFile:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a fault of the disk, not of the file
            raise
        raise _no_arrays(path, error) from None
    except DAMAGED_ARRAYS as error:  # fmt: skip
        raise _no_arrays(path, error) from None


def _no_arrays(path: Path, error: Exception) -> DamagedFile:
    return DamagedFile(path, f"this is no .npz file of ours, or it is cut short ({error})")


def _array_fault(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str | None:
    """Why a member of an archive cannot be read as an array of numbers or text; None if it can."""
    if not member.filename.endswith(".npy") or member.flag_bits & 1:
        return "is no array"
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        return "is compressed, which our files are not"
    with archive.open(member) as opened, warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy warns of headers that it has to repair
        version = np.lib.format.read_magic(opened)
        headers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in headers:
            return f"is in version {version} of numpy's format, which our files are not"
        shape, _, dtype = headers[version](opened)
        if dtype.hasobject:
            return "holds objects, which are never read"
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != member.file_size - opened.tell():
            return f"has not as many bytes as its shape {one_line(shape, 60)} needs"
    return None


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


def sha256(path: Path) -> str:
    """The SHA-256 sum of a file, in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def digest(value: object) -> str:
    """A digest of plain data: equal values have equal digests, whatever the order of keys."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:20]
