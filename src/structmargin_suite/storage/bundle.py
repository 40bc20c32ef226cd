"""Many small files as one: a zip archive whose entries are bound to what they were made from.

    X.zip     <entry>/<file>, ..., manifest.json
    manifest  for each entry its key (a digest of all that decides its contents), its status, and the size
              and SHA-256 sum of each of its files
    comment   the SHA-256 sum of all bytes before it: of the headers and dates too, which no manifest covers

A bundle is written whole or not at all, entry by entry, so that only one entry is in memory at a time. Equal
entries give equal bytes. Nothing is read from a bundle without its sum being checked.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structmargin_suite.storage.arrays import arrays_of
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import json_bytes, write_with

FORMAT = "structmargin-bundle-1"
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 2**20
AGAIN = "delete it and run again"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every member: the same contents are the same bytes whenever they are written."""
COMPRESSION = 1
SUM_BYTES = 64
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OverflowError, RuntimeError)
"""What Python's zip reader raises for bytes that are not an archive, beside an OSError for a wrong offset."""


class Entry(NamedTuple):
    """What one entry holds: its name, its key, its status, and its files by name."""

    name: str
    key: str
    status: str
    files: Mapping[str, bytes]


def write_bundle(path: Path, about: Mapping[str, object], entries: Iterable[Entry]) -> None:
    """Write a bundle of entries as they come; `about` describes the whole.

    Raises
    ------
    ValueError
        If two entries have one name.
    """

    def write(temporary: Path) -> None:
        listed: dict[str, dict[str, object]] = {}
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as archive:
            for entry in entries:
                if entry.name in listed:
                    raise ValueError(f"{path.name} would have two entries {entry.name!r}")
                files = {}
                for name, data in entry.files.items():
                    _add(archive, f"{entry.name}/{name}", data)
                    files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                listed[entry.name] = {"key": entry.key, "status": entry.status, "files": files}
            manifest = {"format": FORMAT, "about": about, "entries": listed}
            _add(archive, MANIFEST, json_bytes(manifest))
            archive.comment = bytes(SUM_BYTES)  # the last bytes of the file
        total = _sum(temporary)
        with open(temporary, "rb+") as handle:
            handle.seek(-SUM_BYTES, os.SEEK_END)
            handle.write(total)

    write_with(path, write)


def _sum(path: Path) -> bytes:
    """The SHA-256 sum of a bundle except for its comment, in hexadecimal."""
    total = hashlib.sha256()
    with open(path, "rb") as handle:
        left = max(os.fstat(handle.fileno()).st_size - SUM_BYTES, 0)
        while left and (block := handle.read(min(left, 2**20))):
            total.update(block)
            left -= len(block)
    return total.hexdigest().encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name, EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    archive.writestr(member, data, compresslevel=COMPRESSION)


class Bundle:
    """A bundle that is read; its manifest is checked at once, each file when it is read.

    Parameters
    ----------
    path : Path
        The archive.

    Raises
    ------
    DamagedFile
        If it is no bundle, or its manifest is not as `write_bundle` writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        manifest = self._manifest()
        self.about: dict[str, Any] = manifest["about"]
        self.entries: dict[str, dict[str, Any]] = manifest["entries"]

    def _manifest(self) -> dict[str, Any]:
        data = self._member(MANIFEST, MAX_MANIFEST_BYTES)
        try:
            manifest: dict[str, Any] = json.loads(data)
            if manifest["format"] != FORMAT:
                raise self._damaged(f"its format is {manifest['format']!r}, not {FORMAT!r}")
            if not isinstance(manifest["about"], dict):
                raise TypeError
            for entry in manifest["entries"].values():
                if not (isinstance(entry["key"], str) and isinstance(entry["status"], str)):
                    raise TypeError
                for file in entry["files"].values():
                    if not (isinstance(file["bytes"], int) and isinstance(file["sha256"], str)):
                        raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._damaged("its manifest cannot be read") from None
        return manifest

    def _damaged(self, why: str) -> DamagedFile:
        return DamagedFile(self.path, f"the file is not as it was written ({why})", AGAIN)

    def _member(self, name: str, limit: int) -> bytes:
        """The bytes of a member, if they are at most `limit`."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                size = archive.getinfo(name).file_size
                if size > limit:
                    raise self._damaged(f"{name} has {size} bytes where at most {limit} may be")
                return archive.read(name)
        except KeyError:
            raise self._damaged(f"it has no {name}") from None
        except DamagedFile:
            raise
        except BROKEN as error:
            raise self._damaged(str(error) or type(error).__name__) from None
        except OSError as error:
            if error.errno == errno.EINVAL:  # an offset that points before the file
                raise self._damaged(str(error)) from None
            raise

    def key(self, entry: str) -> str | None:
        """The key of an entry; None where there is no such entry."""
        known = self.entries.get(entry)
        return None if known is None else known["key"]

    def status(self, entry: str) -> str:
        """The status of an entry."""
        return str(self._entry(entry)["status"])

    def sums(self, entry: str) -> dict[str, str]:
        """The SHA-256 sums of an entry's files by name."""
        return {name: file["sha256"] for name, file in self._entry(entry)["files"].items()}

    def has(self, entry: str, file: str) -> bool:
        """Whether an entry has a file of this name."""
        return file in self._entry(entry)["files"]

    def read(self, entry: str, file: str) -> bytes:
        """The bytes of one file, checked."""
        listed = self._entry(entry)["files"].get(file)
        if listed is None:
            raise self._damaged(f"{entry} has no {file}")
        data = self._member(f"{entry}/{file}", listed["bytes"])
        if len(data) != listed["bytes"] or hashlib.sha256(data).hexdigest() != listed["sha256"]:
            raise self._damaged(f"{entry}/{file} has another SHA-256 sum than its manifest says")
        return data

    def json(self, entry: str, file: str) -> Any:
        """The value in a JSON file of an entry."""
        return json.loads(self.read(entry, file))

    def arrays(self, entry: str, file: str) -> dict[str, np.ndarray]:
        """The arrays in an .npz file of an entry."""
        return arrays_of(self.read(entry, file), self.path / entry / file)

    def verify(self) -> None:
        """Raise DamagedFile unless every byte of the archive is as it was written."""
        with open(self.path, "rb") as handle:
            handle.seek(-SUM_BYTES, os.SEEK_END)
            written = handle.read()
        if written != _sum(self.path):
            raise self._damaged("it has another SHA-256 sum than it ends with")

    def expect(self, keys: Mapping[str, str]) -> None:
        """Raise DamagedFile unless the entries are these, made from what the keys say."""
        missing = [name for name in keys if name not in self.entries]
        extra = [name for name in self.entries if name not in keys]
        other = [name for name, key in keys.items() if self.key(name) not in (None, key)]
        for what, names in (
            ("is not in it", missing),
            ("does not belong to it", extra),
            ("was made from another configuration, other data or other code", other),
        ):
            if names:
                raise DamagedFile(self.path, f"the file does not fit the plan ({names[0]!r} {what})", AGAIN)

    def taken(self) -> Iterator[Entry]:
        """The entries with all their files, checked."""
        for name, listed in self.entries.items():
            files = {file: self.read(name, file) for file in listed["files"]}
            yield Entry(name, listed["key"], listed["status"], files)

    def _entry(self, name: str) -> dict[str, Any]:
        if name not in self.entries:
            raise self._damaged(f"it has no entry {name!r}")
        return self.entries[name]
