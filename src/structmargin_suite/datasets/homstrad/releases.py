"""Releases of HOMSTRAD: the alignments of the families that we know, from an archive of alignments only.

A release has one folder or none for each family and in it family.ali. Newer releases have more families and
may have changed some: of any release the families of `families.txt` are taken, which are those of ours, and
all of them must be there. An archive made from a release names it in the member RELEASE.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from structmargin_suite.fetching.contents import digest_of_members, packed
from structmargin_suite.fetching.unpack import read_members
from structmargin_suite.storage.errors import DataError

RELEASE = "RELEASE"
FOLDER = "homstrad_ali"
NAMED = re.compile(r"homstrad_(?:ali_only|with_PDB)_(\d{4}_[A-Z][a-z]{2}_\d{1,2})/")
"""The folder that a release has above its families."""


@functools.cache
def families() -> frozenset[str]:
    """The names of the families of our release."""
    text = resources.files("structmargin_suite.datasets.homstrad").joinpath("families.txt").read_text("ascii")
    return frozenset(text.split())


@dataclass(frozen=True)
class Alignments:
    """The alignments of all families: ours, whose digest is known, or those of a release that is named."""

    digest: str

    def fault(self, path: Path) -> str | None:
        """Why an archive does not hold the alignments, or None."""
        members = read_members(path, _name_of)
        alignments = {name: content for name, content in members.items() if name != RELEASE}
        if digest_of_members(alignments) == self.digest:
            return None
        if RELEASE not in members:
            return "it holds other alignments than ours, and names no release that they are of"
        wrong = {name.removesuffix(".ali") for name in alignments} ^ families()
        return f"it has other families than ours: {min(wrong)} is one" if wrong else None

    def release(self, path: Path) -> str:
        """The release that an archive names, or nothing for ours."""
        content = read_members(path, lambda name: name if name.endswith(f"/{RELEASE}") else None)
        return next((text.decode("ascii", "replace").strip() for text in content.values()), "")


ALIGNMENTS = Alignments("006e808b5f9f3db7246ad929c15bcdf3f25632e47930147c38ef5709bd088cec")


def _name_of(member: str) -> str | None:
    """The name of an alignment or of the member RELEASE, or None for other members."""
    name = PurePosixPath(member).name
    return name if name == RELEASE or name.endswith(".ali") else None


def from_release(original: Path) -> dict[str, bytes]:
    """Our archive of alignments from one of a release."""
    seen: set[str] = set()

    def name_of(member: str) -> str | None:
        named = NAMED.search(member)
        if named:
            seen.add(named[1])
        name = PurePosixPath(member).name
        return name if name.removesuffix(".ali") in families() and name.endswith(".ali") else None

    alignments = read_members(original, name_of)
    missing = sorted(families() - {name.removesuffix(".ali") for name in alignments})
    if missing:
        raise DataError(
            f"{original} has no alignment of {missing[0]}, nor of {len(missing) - 1} other families of ours; "
            "use another release"
        )
    if digest_of_members(alignments) != ALIGNMENTS.digest:
        release = min(seen) if len(seen) == 1 else f"unknown ({original.name})"
        alignments[RELEASE] = f"HOMSTRAD {release}\n".encode("ascii", "replace")
    return {"homstrad_ali.tar.xz": packed(alignments, FOLDER)}
