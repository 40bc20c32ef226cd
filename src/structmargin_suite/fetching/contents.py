"""What a packed file holds, whoever packed it: a digest over contents, so that a repacked copy verifies too.

    digest = SHA-256 of the lines "<SHA-256 of a member>  <its name>", sorted by name
as `sha256sum *` prints them. A member's name is the part of its path that does not depend on who packed the
archive; members that are not read do not count. Contents are read by `unpack.read_members`, which refuses
hostile archives.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from structmargin_suite.fetching.unpack import read_members
from structmargin_suite.storage.errors import DataError

BLOCK = 1 << 20
MAX_GZIP_BYTES = 2**30


class Contents(Protocol):
    """How the contents of a packed file are verified."""

    def fault(self, path: Path) -> str | None:
        """Why a file does not hold what it should, or None."""
        ...

    def release(self, path: Path) -> str:
        """What a file calls the release that it is of, or nothing where only one is accepted."""
        ...


@dataclass(frozen=True)
class Members:
    """The members of an archive that a data set reads.

    Attributes
    ----------
    pattern : str
        What a member's whole path must match; its group 1 is the member's name.
    folder : str
        The folder in which `packed` puts them.
    digest : str
        Over their contents, as the module says.
    """

    pattern: str
    folder: str
    digest: str

    def name_of(self, member: str) -> str | None:
        """The name of a member, or None if it is not read."""
        match = re.fullmatch(self.pattern, member)
        return match[1] if match else None

    def fault(self, path: Path) -> str | None:
        """Why an archive's members are not these, or None."""
        return _differs(digest_of_members(read_members(path, self.name_of)), self.digest)

    def release(self, path: Path) -> str:
        """Nothing: only one is accepted."""
        return ""

    def packed(self, members: Mapping[str, bytes]) -> bytes:
        """An archive of these members, by name: the same members give the same bytes."""
        return packed(members, self.folder)


@dataclass(frozen=True)
class Unpacked:
    """The content of a gzip file; `digest` is its SHA-256 sum."""

    digest: str

    def fault(self, path: Path) -> str | None:
        """Why the content of a gzip file is not this, or None."""
        total, count = hashlib.sha256(), 0
        try:
            with gzip.open(path) as opened:
                while block := opened.read(BLOCK):
                    total.update(block)
                    count += len(block)
                    if count > MAX_GZIP_BYTES:
                        raise DataError(f"{path} unpacks to more than {MAX_GZIP_BYTES} bytes; do not use it")
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} is no gzip file, or breaks off ({error}); fetch it again") from None
        return _differs(total.hexdigest(), self.digest)

    def release(self, path: Path) -> str:
        """Nothing: only one is accepted."""
        return ""


def _differs(digest: str, right: str) -> str | None:
    return None if digest == right else f"its contents have the digest {digest}, but should have {right}"


def digest_of_members(members: Mapping[str, bytes]) -> str:
    """The digest of contents by name, as the module says."""
    lines = [f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members)]
    return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()


def packed(members: Mapping[str, bytes], folder: str) -> bytes:
    """A .tar.xz archive of members by name, all in one folder, without dates or owners."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", format=tarfile.USTAR_FORMAT, preset=1) as archive:
        for name in sorted(members):
            info = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
            info.size = len(members[name])
            archive.addfile(info, io.BytesIO(members[name]))
    return out.getvalue()


def first_lines(path: Path, count: int) -> bytes:
    """The first lines of a gzip file, as a gzip file without a date."""
    lines: list[bytes] = []
    try:
        with gzip.open(path) as opened:
            while len(lines) < count and (line := opened.readline(BLOCK)):
                lines.append(line)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is no gzip file, or breaks off ({error}); fetch it again") from None
    return gzip.compress(b"".join(lines), mtime=0)
