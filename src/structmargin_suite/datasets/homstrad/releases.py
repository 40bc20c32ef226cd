"""Where the families come from: a collection with homologues and coordinates, or a release of HOMSTRAD.

The collection has a folder for each family of ours, and in it family.map, the family's chains aligned with
their homologues, and the coordinates of one chain, master.pdb. All three files are made from it: the chains'
own alignment is that of the map without the homologues and without the columns that are then empty, and
`dssp.py` finds the master's structure. Compared with our table, all states and all but three surfaces are the
same, and these differ by 1 A^2, which changes no class of accessibility: the table names its maker.

A release has one folder or none for each family and in it family.ali. Newer releases have more families and
may have changed some: of any release the families of `families.txt` are taken, which are those of ours, and
all of them must be there. An archive made from a release names it in the member RELEASE.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from structmargin_suite.datasets.homstrad import dssp
from structmargin_suite.fetching.contents import Members, Unpacked, digest_of_members, packed
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
HOMOLOGUES = Members(
    r"(?:.*/)?HOMSTRAD/([^/]+/[^/]+\.map)",
    "Data/HOMSTRAD",
    "3f81a0476edcb28bfb3a249f9d853f5f5298c6566cb8f82971732f017dd9538a",
)
COLUMNS = ("family", "master", "dssp_sequence", "dssp_ss8", "dssp_acc_A2")
OWN_COLUMNS = ("family", "master", "sequence", "ss8_by_structmargin", "acc_A2_by_structmargin")
"""Of a table in which something differs from that of the program DSSP."""


@dataclass(frozen=True)
class Structures(Unpacked):
    """The masters' structures: our table, by the program DSSP, or one that names `dssp.py` as its maker."""

    def fault(self, path: Path) -> str | None:
        """Why a file does not hold such a table, or None."""
        return None if self.release(path) else super().fault(path)

    def release(self, path: Path) -> str:
        """What the table says that made it, or nothing for ours."""
        try:
            with gzip.open(path) as opened:
                own = opened.readline(1000) == _line(OWN_COLUMNS).encode()
        except (OSError, EOFError, zlib.error):
            return ""  # the sum says what is wrong
        return "structures found by structmargin" if own else ""


def _line(cells: Sequence[str]) -> str:
    return "\t".join(cells) + "\n"


STRUCTURES = Structures("75b58a8102f755512c97ce4e6ccf4ef410fd07f6d4dadda88cace33548473259")
COLLECTED = re.compile(r"(?:.*/)?Data/HOMSTRAD/([^/]+)/([^/]+)\.(map|pdb)")
"""A member of the collection: its family, its name, and what it holds."""
LINE = 75
"""How many letters a line of an alignment has."""


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


def from_collection(original: Path) -> dict[str, bytes]:
    """Our three files from the collection of families with homologues and coordinates."""

    def name_of(member: str) -> str | None:
        found = COLLECTED.fullmatch(member)
        return f"{found[1]}/{found[2]}.{found[3]}" if found and found[1] in families() else None

    members = read_members(original, name_of)
    maps = {name: content for name, content in members.items() if name.endswith(".map")}
    masters = {name: content for name, content in members.items() if name.endswith(".pdb")}
    for what, known in (("map", maps), ("coordinates", masters)):
        missing = sorted(families() - {name.partition("/")[0] for name in known})
        if missing:
            raise DataError(
                f"{original} has no {what} of {missing[0]}, nor of {len(missing) - 1} other families; "
                "fetch it again"
            )
    alignments = {f"{PurePosixPath(name).stem}.ali": chains_of(content) for name, content in maps.items()}
    rows = [_structure_row(name, masters[name]) for name in sorted(masters)]
    table = "".join(map(_line, (COLUMNS, *rows))).encode("ascii")
    if hashlib.sha256(table).hexdigest() != STRUCTURES.digest:
        table = "".join(map(_line, (OWN_COLUMNS, *rows))).encode("ascii")
    return {
        "homstrad_ali.tar.xz": packed(alignments, FOLDER),
        "homstrad_master_dssp.tsv.gz": gzip.compress(table, mtime=0),
        "homstrad_map.tar.xz": HOMOLOGUES.packed(maps),
    }


def chains_of(homologues: bytes) -> bytes:
    """The alignment of a family's own chains, from that with their homologues; both in PIR format."""
    heads, rows = [], []
    for record in homologues.split(b">P1;")[1:]:
        name, about, *lines = record.split(b"\n")
        if about.startswith(b"structure"):
            heads.append(b">P1;" + name.strip() + b"\n" + about + b"\n")
            rows.append(b"".join(lines).translate(None, b" \t\r").partition(b"*")[0])
    used = [k for k, column in enumerate(zip(*rows)) if any(letter != ord("-") for letter in column)]
    text = []
    for head, row in zip(heads, rows):
        letters = bytes(row[k] for k in used) + b"*"
        lines = [letters[k : k + LINE] for k in range(0, len(letters), LINE)]
        text.append(head + b"\n".join(lines) + b"\n")
    return b"".join(text)


def _structure_row(name: str, coordinates: bytes) -> tuple[str, ...]:
    """The row of a master in the table of structures; `name` is family/master.pdb."""
    family, _, file = name.partition("/")
    found = dssp.assign(dssp.residues_of(coordinates.decode("ascii", "replace")))
    surfaces = ",".join(map(str, found.surfaces))
    return family, file.removesuffix(".pdb"), found.sequence, found.states, surfaces
