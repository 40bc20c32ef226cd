"""Arrays of numbers or text as bytes in numpy's .npz format: equal arrays are equal bytes; no objects."""

from __future__ import annotations

import errno
import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.storage.errors import DamagedFile, one_line

DAMAGED_ARRAYS = (
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, EOFError, SyntaxError, ValueError,
    TypeError, KeyError, IndexError, OverflowError, RuntimeError, NotImplementedError, Warning,
)  # fmt: skip
"""What zipfile and numpy raise for data that are cut short or of another kind."""


def npz_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays of numbers or text as .npz; equal arrays give equal bytes. Objects are refused."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"array {name!r} holds objects: store numbers or text only")
    data = io.BytesIO()
    np.savez(data, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return data.getvalue()


def arrays_of(data: bytes, path: Path) -> dict[str, np.ndarray]:
    """The arrays in what `npz_bytes` made, which `path` names in errors; nothing is unpickled.

    Raises DamagedFile for data that are cut short, of another kind, compressed, or hold objects. Every size
    is looked at before an array is made, so that few bytes cannot ask for much memory.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                fault = _array_fault(archive, member)
                if fault:
                    raise DamagedFile(path, f"{member.filename!r} {fault}")
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except DamagedFile:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # a fault of the disk, not of the file
            raise
        raise _no_arrays(path, error) from None
    except DAMAGED_ARRAYS as error:
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
