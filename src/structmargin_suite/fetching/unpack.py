"""Archives opened safely: only plain files and folders, only inside the folder given.

A zip or tar file can name absolute paths, climb with `..`, or carry links that later members are
written through. Any such member makes the whole archive refused, before a byte is written. `read_members`
refuses the same archives, and writes nothing at all: it returns the contents of the members asked for.
"""

from __future__ import annotations

import lzma
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from structmargin_suite.storage.errors import DataError, one_line

MAX_UNPACKED_BYTES = 8 * 2**30
MAX_MEMBERS = 200_000
MAX_READ_BYTES = 2**30
"""Of the members that `read_members` returns, all together: they are held in memory."""
DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, lzma.LZMAError, zlib.error, NotImplementedError,
    RuntimeError, ValueError, IndexError, struct.error, NotADirectoryError, FileExistsError,
    IsADirectoryError,
)  # fmt: skip
"""What is raised for an archive that is cut short, of another kind or encrypted, or that has a file where it
has a folder too."""


class UnsafeArchive(DataError, ValueError):
    """An archive with a member that must not be written, or that cannot be read."""


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a .zip or .tar[.gz|.bz2|.xz] into `folder`, whole or not at all; returns the folder.

    A folder that is already there is left as it is.
    """
    if folder.is_dir():
        return folder
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)

    def write(source: IO[bytes], name: str) -> None:
        _write(source, temporary / name)

    try:
        _each_member(archive, write)
        os.replace(temporary, folder)
    except DAMAGED as error:
        raise _damaged(archive, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def read_members(archive: Path, name_of: Callable[[str], str | None]) -> dict[str, bytes]:
    """The contents of the members for which name_of(name in the archive) is a name, by these names, sorted.

    Raises UnsafeArchive for every archive that `unpack` refuses, where two members get one name, and where
    the members asked for are too large to be held in memory.
    """
    contents: dict[str, bytes] = {}
    left = MAX_READ_BYTES

    def keep(source: IO[bytes], member: str) -> None:
        nonlocal left
        name = name_of(member)
        if name in contents:
            raise UnsafeArchive(f"{archive} has two members for {name}; do not use this file")
        if name is not None:
            contents[name] = source.read(left + 1)
            left -= len(contents[name])
            if left < 0:
                raise UnsafeArchive(
                    f"{archive}: what is read of it has more than {MAX_READ_BYTES} bytes; do not use it"
                )

    try:
        _each_member(archive, keep)
    except DAMAGED as error:
        raise _damaged(archive, error) from None
    return dict(sorted(contents.items()))


def _each_member(archive: Path, take: Callable[[IO[bytes], str], None]) -> None:
    """take(opened, name) of every file in an archive that is safe."""
    if zipfile.is_zipfile(archive):
        _unzip(archive, take)
    elif tarfile.is_tarfile(archive):
        _untar(archive, take)
    else:
        raise UnsafeArchive(f"{archive} is neither a zip nor a tar archive; fetch it again")


def _damaged(archive: Path, error: Exception) -> UnsafeArchive:
    """The error itself where it already says what is unsafe."""
    if isinstance(error, UnsafeArchive):
        return error
    what = f"is damaged, cut short, encrypted or contradicts itself ({one_line(error, 100)})"
    return UnsafeArchive(f"{archive} {what}; fetch it again")


def _unzip(archive: Path, take: Callable[[IO[bytes], str], None]) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = opened.infolist()
        for member in members:
            mode = member.external_attr >> 16
            if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_IFMT(mode) == 0):
                raise UnsafeArchive(
                    f"{archive}: member {member.filename!r} is a link or a device; do not use this file"
                )
            _inside(archive, member.filename)
        _bounded(archive, sum(member.file_size for member in members), [m.filename for m in members])
        for member in members:
            if not member.is_dir():
                with opened.open(member) as source:
                    take(source, member.filename)


def _untar(archive: Path, take: Callable[[IO[bytes], str], None]) -> None:
    with tarfile.open(archive) as opened:
        members: list[tarfile.TarInfo] = []
        size = 0
        for member in opened:  # a list of all could be endless, and so could be the bytes between two members
            members.append(member)
            size += member.size
            if len(members) > MAX_MEMBERS or size > MAX_UNPACKED_BYTES:
                break
            if not (member.isfile() or member.isdir()):
                raise UnsafeArchive(
                    f"{archive}: member {member.name!r} is a link or a device; do not use this file"
                )
            _inside(archive, member.name)
        _bounded(archive, size, [m.name for m in members if m.isfile()])
        for member in members:
            source = opened.extractfile(member) if member.isfile() else None
            if source is not None:
                with source:
                    take(source, member.name)


def _inside(archive: Path, name: str) -> None:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    outside = (
        posix.is_absolute()
        or windows.is_absolute()
        or windows.drive
        or ".." in posix.parts
        or ".." in windows.parts
        or "\0" in name
    )
    if outside:
        raise UnsafeArchive(f"{archive}: member {name!r} points outside the folder; do not use this file")


def _bounded(archive: Path, size: int, names: Sequence[str]) -> None:
    """Raise where an archive would unpack to too much, or writes one file twice."""
    if size > MAX_UNPACKED_BYTES:
        raise UnsafeArchive(
            f"{archive} would unpack to {size} bytes, more than {MAX_UNPACKED_BYTES}; do not use this file"
        )
    if len(names) > MAX_MEMBERS:
        raise UnsafeArchive(f"{archive} has more than {MAX_MEMBERS} members; do not use this file")
    if len(set(names)) < len(names):
        raise UnsafeArchive(f"{archive} has two members of one name; do not use this file")


def _write(source: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out)
