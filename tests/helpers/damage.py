"""Ways to damage a file of a finished project, and the files that there are to damage, both as data.

A damage is a function of the file and of a twin: another file of its kind. A kind of file is a path in the
project's folder, with `{e}` for the experiment.
"""

from __future__ import annotations

import base64
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

A_YEAR = 366 * 86400
TABLES = ("runs.csv", "timings.csv", "toy.csv", "toy.md", "toy.tex", "summary.json", "files.json")
TWINS = {
    "runs.csv": "timings.csv", "timings.csv": "runs.csv", "toy.csv": "solvers.csv", "toy.md": "solvers.md",
    "toy.tex": "solvers.tex", "summary.json": "files.json", "files.json": "summary.json",
}  # fmt: skip
OTHERS = {"toy": "second", "second": "third", "third": "toy"}
"""The experiments of the project, and for each another one, named {o} in paths."""


class Kind(NamedTuple):
    """A kind of file: where it lies, another of its kind, and what is removed too so that it is read."""

    path: str
    twin: str
    removed: str | None = None


def _kinds() -> dict[str, Kind]:
    own = "results/scales/standard/{e}/"
    jobs = own + "jobs/method="
    cache = ".cache/runs/standard/{e}/margin,n_train=12,repetition="
    kinds = {
        "corpus": Kind("data/ready/standard/{e}/clusters.zip", "data/ready/standard/{o}/clusters.zip"),
        "trained": Kind(jobs + "margin.trained.zip", jobs + "any.trained.zip"),
        "clocks": Kind(jobs + "margin.clocks.zip", jobs + "any.clocks.zip"),
        "evaluated": Kind(jobs + "margin.evaluated.zip", jobs + "any.evaluated.zip"),
        "cached training": Kind(cache + "0.train.zip", cache + "1.train.zip", jobs + "margin.trained.zip"),
        "cached evaluation": Kind(
            cache + "0.evaluate.zip", cache + "1.evaluate.zip", jobs + "margin.evaluated.zip"
        ),
        "log": Kind(
            own + "logs/train_method=margin.log",
            own + "logs/train_method=any.log",
            jobs + "margin.trained.zip",
        ),
        "Snakemake's note": Kind(note_of(jobs + "margin.trained.zip"), note_of(jobs + "any.trained.zip")),
    }
    for name in TABLES:
        kinds[f"tabulated {name}"] = Kind(own + name, own + TWINS[name])
        kinds[f"shown {name}"] = Kind("results/{e}/" + name, "results/{e}/" + TWINS[name])
    return kinds


def note_of(path: str) -> str:
    """Where Snakemake keeps its notes on a file."""
    return f"note:{path}"


def place(root: Path, path: str, experiment: str) -> Path:
    """A path of a kind of file, for one experiment."""
    text = path.format(e=experiment, o=OTHERS[experiment])
    if text.startswith("note:"):
        name = base64.b64encode(text.removeprefix("note:").encode()).decode()
        return root / ".snakemake" / "metadata" / name
    return root / text


KINDS = _kinds()
"""Files that every experiment has for itself."""
COMMON_KINDS = {
    "statements.csv": Kind("results/statements.csv", "results/index.html"),
    "distances.svg": Kind("results/distances.svg", "results/index.html"),
    "index.html": Kind("results/index.html", "results/statements.csv"),
    "a page": Kind("results/toy/index.html", "results/index.html"),
    "statements.md": Kind("results/toy/statements.md", "results/toy/index.html"),
    "the page's seal": Kind("results/files.json", "results/complete.json"),
    "complete.json": Kind("results/complete.json", "results/files.json"),
}
"""Files of all experiments together."""


def flip(path: Path, twin: Path) -> None:
    """Other bits in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x11
    path.write_bytes(data)


def meaningless(path: Path, twin: Path) -> None:
    """Other bytes that say the same: the date of an archive's member, or a blank at the end of a text."""
    data = bytearray(path.read_bytes())
    if zipfile.is_zipfile(path):
        data[10] ^= 0x04
    else:
        data += b" "
    path.write_bytes(data)


def edit(path: Path, twin: Path) -> None:
    """Another digit, as a person would do it: in a member of an archive that stays valid, or in a text."""
    if not zipfile.is_zipfile(path):
        path.write_bytes(_other_digit(path.read_bytes()))
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    first = next(iter(members))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, _other_digit(data) if name == first else data)
        archive.comment = comment


def _other_digit(data: bytes) -> bytes:
    position = next((k for k, byte in enumerate(data) if 0x30 <= byte <= 0x39), len(data) // 2)
    changed = bytearray(data)
    changed[position] = 0x37 if data[position] != 0x37 else 0x38
    return bytes(changed)


def truncate(path: Path, twin: Path) -> None:
    """The first half only."""
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, twin: Path) -> None:
    """No bytes."""
    os.truncate(path, 0)


def lengthen(path: Path, twin: Path) -> None:
    """More bytes at the end; archives can still be read."""
    with open(path, "ab") as handle:
        handle.write(bytes(100))


def other_kind(path: Path, twin: Path) -> None:
    """A picture's first bytes in place of the file."""
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))


def folder(path: Path, twin: Path) -> None:
    """A folder with a file in place of the file."""
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("1\n")


def dangling(path: Path, twin: Path) -> None:
    """A link to nothing."""
    path.unlink()
    path.symlink_to("nowhere")


def swap(path: Path, twin: Path) -> None:
    """The twin's contents, and the twin has this file's."""
    mine, other = path.read_bytes(), twin.read_bytes()
    path.write_bytes(other)
    twin.write_bytes(mine)


def age(path: Path, twin: Path) -> None:
    """A date in the past."""
    os.utime(path, (1e9, 1e9))


def postdate(path: Path, twin: Path) -> None:
    """A date in the future."""
    later = path.stat().st_mtime + A_YEAR
    os.utime(path, (later, later))


def delete(path: Path, twin: Path) -> None:
    """No file."""
    path.unlink()


def other_configuration(path: Path, twin: Path) -> None:
    """The file of the same name that another configuration made; `twin` is that file."""
    shutil.copyfile(twin, path)


Damage = Callable[[Path, Path], None]
DAMAGES: dict[str, Damage] = {
    "flip": flip,
    "meaningless": meaningless,
    "edit": edit,
    "truncate": truncate,
    "empty": empty,
    "lengthen": lengthen,
    "other kind": other_kind,
    "folder": folder,
    "dangling": dangling,
    "swap": swap,
    "age": age,
    "postdate": postdate,
    "delete": delete,
    "other configuration": other_configuration,
}


def inflict(root: Path, experiment: str, kind: str, damage: str, other: Path | None = None) -> None:
    """Damage a file of an experiment; `other` is a project with another configuration."""
    what = {**KINDS, **COMMON_KINDS}[kind]
    path, twin = (place(root, each, experiment) for each in (what.path, what.twin))
    if damage == "other configuration":
        assert other is not None
        twin = place(other, what.path, experiment)
    DAMAGES[damage](path, twin)
    if what.removed is not None:
        place(root, what.removed, experiment).unlink()
