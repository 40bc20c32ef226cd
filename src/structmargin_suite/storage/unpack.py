"""Archives opened safely: only plain files and folders, only inside the folder given.

A zip or tar file can name absolute paths, climb with `..`, or carry links that later members are
written through. Any such member makes the whole archive refused, before a byte is written.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

MAX_UNPACKED_BYTES = 8 * 2**30


class UnsafeArchive(ValueError):
    """An archive with a member that must not be written."""


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a .zip or .tar[.gz|.bz2|.xz] into `folder`, whole or not at all; returns the folder.

    A folder that is already there is left as it is.
    """
    if folder.is_dir():
        return folder
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, temporary)
        elif tarfile.is_tarfile(archive):
            _untar(archive, temporary)
        else:
            raise UnsafeArchive(f"{archive} is neither a zip nor a tar archive; fetch it again")
        os.replace(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return folder


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        for member in members:
            mode = member.external_attr >> 16
            if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_IFMT(mode) == 0):
                raise UnsafeArchive(
                    f"{archive}: member {member.filename!r} is a link or a device; do not use this file"
                )
            _inside(archive, member.filename)
        _bounded(archive, sum(member.file_size for member in members))
        for member in members:
            if not member.is_dir():
                with opened.open(member) as source:
                    _write(source, folder / member.filename)


def _untar(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
        for member in members:
            if not (member.isfile() or member.isdir()):
                raise UnsafeArchive(
                    f"{archive}: member {member.name!r} is a link or a device; do not use this file"
                )
            _inside(archive, member.name)
        _bounded(archive, sum(member.size for member in members))
        for member in members:
            source = opened.extractfile(member) if member.isfile() else None
            if source is not None:
                with source:
                    _write(source, folder / member.name)


def _inside(archive: Path, name: str) -> None:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    outside = (
        posix.is_absolute()
        or windows.is_absolute()
        or windows.drive
        or ".." in posix.parts
        or ".." in windows.parts
    )
    if outside:
        raise UnsafeArchive(f"{archive}: member {name!r} points outside the folder; do not use this file")


def _bounded(archive: Path, size: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        raise UnsafeArchive(
            f"{archive} would unpack to {size} bytes, more than {MAX_UNPACKED_BYTES}; do not use this file"
        )


def _write(source: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out)
