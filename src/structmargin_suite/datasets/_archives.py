"""Files inside tar and zip archives, read without unpacking them. A damaged archive is a DataError."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from structmargin_suite.storage.errors import DataError

DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, lzma.LZMAError, zlib.error, NotImplementedError,
    RuntimeError,
)  # fmt: skip
"""What reading an archive may raise when the file is of another kind, ends too early, or is encrypted."""
MAX_CONTENT_BYTES = 4 * 2**30
"""Of all files that are read from one archive."""


def tar_files(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every file in a tar archive whose name is wanted, in the order of the archive.

    The archive is read as far as the caller iterates.
    """
    try:
        with tarfile.open(path) as archive:
            size = 0
            for member in archive:
                size += member.size if wanted(member.name) else 0
                if size > MAX_CONTENT_BYTES:
                    raise tarfile.ReadError(f"its files have more than {MAX_CONTENT_BYTES} bytes")
                opened = archive.extractfile(member) if member.isfile() and wanted(member.name) else None
                if opened is not None:
                    yield member.name, opened.read()
    except DAMAGED as error:
        raise _damaged(path, "tar", error) from None


def zip_files(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The contents of all files in a zip archive whose names are wanted, by name, in alphabetical order."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist() if wanted(member.filename))
            if size > MAX_CONTENT_BYTES:
                raise zipfile.BadZipFile(f"its files have {size} bytes")
            return {name: archive.read(name) for name in sorted(archive.namelist()) if wanted(name)}
    except DAMAGED as error:
        raise _damaged(path, "zip", error) from None


def text_of(content: bytes, name: object) -> str:
    """UTF-8 bytes as text; `name` is what an error calls the file."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{name} is no text in UTF-8; convert it, or fetch it again") from None


def _damaged(path: Path, kind: str, error: Exception) -> DataError:
    return DataError(
        f"{path} is no {kind} archive, or is damaged or cut short ({error}); delete it and fetch it again"
    )
