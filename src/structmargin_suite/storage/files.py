"""Files that are either whole or not there: write under a temporary name, flush to disk, rename.

A killed process or a full disk leaves at most a hidden file with `.tmp` in its name, which nothing reads.
Text is UTF-8 with \n line ends, JSON keeps the order given and has no NaN, numbers are written the
same way everywhere, so that equal results are equal bytes.
"""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Safe types only; the compiled parser where there is one."""


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
    write_bytes(path, text.encode("utf-8"))


def json_bytes(value: object) -> bytes:
    """`value` as JSON, one key per line."""
    text = json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` as JSON, one key per line."""
    write_bytes(path, json_bytes(value))


def read_json(path: Path) -> Any:
    """The value in a JSON file."""
    with open(path, encoding="utf-8") as handle:
        return json.load(handle)


def read_yaml(path: Path) -> Any:
    """The value in a YAML file of safe types."""
    with open(path, encoding="utf-8") as handle:
        return yaml.load(handle, YAML)


def write_csv(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows under the given columns; a missing or None value is an empty cell."""
    write_bytes(path, csv_bytes(rows, columns))


def csv_bytes(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    """Rows under the given columns as CSV; a missing or None value is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row.get(column)) for column in columns])
    return text.getvalue().encode("utf-8")


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text."""
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays of numbers or text as .npz; equal arrays give equal bytes. Objects are refused."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"array {name!r} holds objects: store numbers or text only")
    data = io.BytesIO()
    np.savez(data, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return data.getvalue()


def arrays_of(data: bytes, where: str) -> dict[str, np.ndarray]:
    """The arrays in the bytes of an .npz file, which `where` names; one that holds objects is refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{where} does not hold arrays ({error}): delete it and run again") from None


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
