"""The arrays of an .npz file, read with a limit and without trust in what the file says of itself.

An .npz file is a zip archive of .npy files: each a header with type and shape, then the numbers. A small file
may claim, or unpack to, any size: so sizes are compared with the limit, with each other, and with what can be
in the file at all, before memory is asked for.
"""

from __future__ import annotations

import math
import os
import sys
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from structmargin.archive.errors import ModelFileError, reading, short

MAX_BYTES = 2**30
"""How large the arrays of a file may be together, unless another limit is asked for: 1 GiB."""
MAX_DEFLATION = 1032
"""Deflate makes data smaller by at most this factor."""
ZIP_MAGIC = b"PK\x03\x04"
"""How an .npz file begins. That these bytes occur further on does not make a file one."""
KINDS = "biufU"
"""Types of numbers and texts that a model is made of, as numpy abbreviates them."""
ENCRYPTED = 0x1
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
AGAIN = "save the model again"


def read_arrays(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=MAX_BYTES
        How large all arrays together may be.

    Returns
    -------
    dict of str to ndarray
        Numbers, booleans and texts in native byte order; each array can be written to.

    Raises
    ------
    ModelFileError
        If the file is none, is damaged, holds Python objects, or is larger than the limit.
    """
    with reading(repr(os.fspath(path))):
        return unpacked(path, max_bytes)


def unpacked(path: str | os.PathLike[str], max_bytes: int) -> dict[str, np.ndarray]:
    """`read_arrays`, with errors that do not name the file."""
    if Path(path).is_dir():
        raise ModelFileError("it is a folder; give the .npz file in it")
    with Path(path).open("rb") as file:
        if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
            raise ModelFileError(
                "it is no structmargin model, which is an .npz file that save wrote; give one"
            )
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
                _require_sizes(members, max_bytes)
                return {info.filename.removesuffix(".npy"): _array(archive, info) for info in members}
        except zipfile.BadZipFile as error:
            raise ModelFileError(f"it is damaged or cut off ({short(str(error))}); {AGAIN}") from error


def _require_sizes(members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    names = [info.filename for info in members]
    if len(set(names)) != len(names):
        raise ModelFileError(f"an entry stands in it twice; {AGAIN}")
    for info in members:
        if not info.filename.endswith(".npy") or info.flag_bits & ENCRYPTED:
            raise ModelFileError(
                f"it has the entry {short(info.filename)}, which is no array, so it is no structmargin "
                "model; give a file that save wrote"
            )
        limits = {zipfile.ZIP_STORED: info.compress_size, zipfile.ZIP_DEFLATED: _inflated(info)}
        if info.file_size > limits.get(info.compress_type, -1):
            raise ModelFileError(
                f"its entry {info.filename!r} cannot have the {info.file_size} bytes it claims; {AGAIN}"
            )
    total = sum(info.file_size for info in members)
    if total > max_bytes:
        raise ModelFileError(
            f"its arrays have {total} bytes, more than the limit of {max_bytes}; if you trust it, give a "
            "larger max_bytes"
        )


def _inflated(info: zipfile.ZipInfo) -> int:
    return MAX_DEFLATION * info.compress_size + MAX_DEFLATION


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One entry as an array whose type and size are those of its header and of the entry."""
    with archive.open(info) as entry:
        version = np.lib.format.read_magic(entry)
        if version not in HEADERS:
            raise ModelFileError(f"its entry {info.filename!r} has the unknown version {version}; {AGAIN}")
        shape, fortran, dtype = HEADERS[version](entry)
        if dtype.hasobject:
            raise ModelFileError(
                f"it is no structmargin model, or it is damaged: its entry {info.filename!r} holds pickled "
                f"objects, which are never loaded; {AGAIN}"
            )
        if dtype.kind not in KINDS or dtype.itemsize == 0 or dtype == np.longdouble or dtype.subdtype:
            raise ModelFileError(
                f"its entry {info.filename!r} has the type {dtype}, which models do not have; {AGAIN}"
            )
        if not all(type(side) is int and 0 <= side < 2**62 for side in shape):
            raise ModelFileError(f"its entry {info.filename!r} has the shape {shape}; {AGAIN}")
        if math.prod(shape) * dtype.itemsize != info.file_size - entry.tell():
            raise ModelFileError(
                f"its entry {info.filename!r} says {dtype} of shape {shape}, but has another size; {AGAIN}"
            )
        array = np.empty(shape, dtype, order="F" if fortran else "C")
        _fill(entry, array.ravel(order="K"))
    return checked(array.astype(dtype.newbyteorder("="), copy=False))


def _fill(entry: IO[bytes], flat: np.ndarray) -> None:
    """Read as many bytes as the array has; asking for the end of the entry too tests its checksum."""
    room = memoryview(flat.view(np.uint8).data) if flat.size else memoryview(b"")
    done = 0
    while done < len(room):
        n = entry.readinto(room[done:])  # type: ignore[attr-defined]
        if not n:
            break
        done += n
    if done < len(room) or entry.read(1):
        raise ModelFileError(f"an entry is shorter or longer than it claims; {AGAIN}")


def checked(array: Any) -> np.ndarray:
    """The array, if it holds what its type says: bytes of booleans are 0 or 1, texts have characters."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in KINDS or not array.dtype.isnative:
        raise ModelFileError(
            f"it holds {getattr(array, 'dtype', type(array).__name__)} where models have numbers; {AGAIN}"
        )
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFileError(f"it holds booleans that are neither true nor false; {AGAIN}")
    if array.dtype.kind == "U" and array.size and array.ravel().view(np.uint32).max() > sys.maxunicode:
        raise ModelFileError(f"it holds characters that do not exist; {AGAIN}")
    return array
