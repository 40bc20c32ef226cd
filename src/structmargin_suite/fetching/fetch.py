"""Where data come from: data/raw, the mirror folder, the public address, in this order.

Every file is checked against its SHA-256 sum before use, wherever it was found; a mismatch is an error,
never a reason to look further. The network gets one try within limits (fetching/download.py), and an address
that failed is not asked again in the same run. What was taken is written down as provenance.
"""

from __future__ import annotations

import os
import shutil
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from structmargin_suite.fetching.download import LIMITS, Refused, download
from structmargin_suite.storage.errors import DamagedFile, DataError
from structmargin_suite.storage.files import read_json, sha256, write_json, write_with

OwnFiles = str | Mapping[str, str]
"""What `path` in a config may say: a file, a folder, or a file for each name."""


class Remote(NamedTuple):
    """A file of a data set: its name here, its SHA-256 sum, its place in a mirror, its public address.

    `packed` is the sum of the file at the public address where that is the same content packed otherwise.
    """

    name: str
    sha256: str
    mirror: str
    url: str | None = None
    packed: str | None = None


def mirrored(folder: str, sums: Mapping[str, str]) -> tuple[Remote, ...]:
    """Files that only a mirror has, all in one folder of it: SHA-256 sums by name."""
    return tuple(Remote(name, total, f"{folder}/{name}") for name, total in sums.items())


class Unavailable(DataError):
    """A file is not available anywhere."""


def obtain(remote: Remote, raw: Path, mirror: Path) -> Path:
    """The verified file in the folder `raw`, fetched from the mirror or the network if need be.

    Raises DataError for a wrong sum and Unavailable, saying where it was looked for, if it is nowhere.
    """
    here = raw / remote.name
    if here.is_file():
        verify(here, remote)
        return here
    copy = mirror / remote.mirror
    if copy.is_file():
        verify(copy, remote)
        _take(copy, here)
        return here
    if remote.url is None:
        reason = "it has no public address"
    else:
        failure = _download(remote.url, here, raw, remote)
        if failure is None:
            return here
        reason = f"{remote.url} did not answer ({failure})"
    raise Unavailable(
        f"{remote.name} is neither in {raw} nor in the mirror at {copy}, and {reason}; put the file in one "
        "of these places (STRUCTMARGIN_DATA names the mirror folder) or use source: synthetic"
    )


def at_hand(files: Sequence[Remote], raw: Path, mirror: Path) -> bool:
    """Whether all files are available without the network."""
    return all((raw / file.name).is_file() or (mirror / file.mirror).is_file() for file in files)


def verify(path: Path, remote: Remote) -> None:
    """Raise unless the file has the sum that it should have."""
    total = sha256(path)
    if total not in (remote.sha256, remote.packed):
        raise DataError(
            f"{path} has the SHA-256 sum {total}, but {remote.name} must have {remote.sha256}; "
            "delete the file and fetch it again, or use source: file if it is meant to differ"
        )


def own_files(
    path: OwnFiles | None,
    files: Sequence[Remote],
    root: Path,
    own_folder: Callable[[Path], dict[str, Path]] | None = None,
) -> dict[str, Path]:
    """A user's own files by the names of FILES: one file, a folder of them, or a mapping name to path.

    With `own_folder`, a folder without these files is one in a layout of its own: own_folder(folder) returns
    its files by name.
    """
    names = [remote.name for remote in files]
    try:
        if own_folder is not None and not isinstance(path, Mapping):
            folder = root / str(path)
            if folder.is_dir() and not (names and all((folder / name).is_file() for name in names)):
                return own_folder(folder)
        if not names:
            raise DataError(f"there is no folder {path}; name yours as `path` in the config")
        if isinstance(path, Mapping):
            places = {name: root / str(place) for name, place in path.items()}
        elif (root / str(path)).is_dir():
            places = {name: root / str(path) / name for name in names}
        else:
            places = {names[0]: root / str(path)}
        absent = [place for place in places.values() if not place.is_file()]
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise DataError(f"{error.filename}: {error.strerror}; correct `path` in the config") from None
    wrong = sorted({*names} ^ {*places})
    if wrong:
        what = "names no file for" if wrong[0] in names else "names a file that is not needed:"
        raise DataError(f"path {what} {', '.join(wrong)}; give a folder or a mapping with all of {names}")
    if absent:
        raise DataError(f"there is no file {absent[0]}; correct `path` in the config")
    return places


def _take(source: Path, target: Path) -> None:
    def write(temporary: Path) -> None:
        shutil.copyfile(source, temporary)

    write_with(target, write)


def _download(url: str, target: Path, raw: Path, remote: Remote) -> str | None:
    """Fetch one address into place; None when it worked, else why not."""
    host = urllib.parse.urlsplit(url).netloc
    known = _failures(raw)
    if host in known:
        return known[host]

    def write(temporary: Path) -> None:
        with open(temporary, "wb") as out:
            download(url, out, LIMITS)
        total = sha256(temporary)
        if total not in (remote.sha256, remote.packed):
            raise DataError(
                f"{url} sent a file with the SHA-256 sum {total}, but {remote.name} must have "
                f"{remote.packed or remote.sha256}; nothing was kept: fetch the file by another way and put "
                "it in the mirror folder"
            )

    try:
        write_with(target, write)
    except Refused as reason:
        write_json(raw / UNREACHABLE, {"run": _run_id(), "hosts": {**known, host: str(reason)}})
        return str(reason)
    return None


UNREACHABLE = ".unreachable.json"


def _run_id() -> str:
    """The name of this run of the suite, which the workflow sets for all its jobs."""
    return os.environ.get("STRUCTMARGIN_RUN", str(os.getpid()))


def _failures(raw: Path) -> dict[str, str]:
    """Hosts that already failed in this run."""
    try:
        stored = read_json(raw / UNREACHABLE, ("run", "hosts"))
        return dict(stored["hosts"]) if stored["run"] == _run_id() else {}
    except (FileNotFoundError, DamagedFile, TypeError, ValueError):
        return {}
