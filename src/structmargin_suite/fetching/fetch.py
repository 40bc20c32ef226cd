"""Where data come from: data/raw, the mirror folder, the public address, in this order.

Every file is checked before use, wherever it was found: by its SHA-256 sum, or where that differs, by what it
holds (fetching/contents.py). A mismatch is an error, never a reason to look further. The network
gets one try within limits (fetching/download.py), and an address that failed is not asked again in the same
run; a download that broke off goes on the next time. What was taken is written down as provenance.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from structmargin_suite.fetching.contents import Contents
from structmargin_suite.fetching.download import LIMITS, Refused, Told, download, silent
from structmargin_suite.storage.errors import DamagedFile, DataError
from structmargin_suite.storage.files import read_json, sha256, write_json, write_with

OwnFiles = str | Mapping[str, str]
"""What `path` in a config may say: a file, a folder, or a file for each name."""


class Remote(NamedTuple):
    """A file of a data set: its name here, its SHA-256 sum, its place in a mirror, its public address.

    `contents` verifies a copy that was packed otherwise. A sum of None is not known beforehand: then what is
    made from the file is verified.
    """

    name: str
    sha256: str | None
    mirror: str
    url: str | None = None
    contents: Contents | None = None


def mirrored(folder: str, sums: Mapping[str, str]) -> tuple[Remote, ...]:
    """Files without an address of their own, all in one folder of a mirror: SHA-256 sums by name."""
    return tuple(Remote(name, total, f"{folder}/{name}") for name, total in sums.items())


class Unavailable(DataError):
    """A file is not available anywhere."""


def obtain(remote: Remote, raw: Path, mirror: Path, tell: Told = silent, by_hand: str = "") -> Path:
    """The verified file in the folder `raw`, fetched from the mirror or the network if need be.

    Raises DataError for a wrong sum and Unavailable, saying where it was looked for, if it is nowhere;
    `by_hand` is what it then says has to be done by hand. `tell` is told how far a download is.
    """
    target = raw / remote.name
    if target.is_file():
        verify(target, remote)
        return target
    copy = mirror / remote.mirror
    if copy.is_file():
        verify(copy, remote)
        _take(copy, target)
        return target
    if remote.url is None:
        reason = "it has no public address"
    else:
        failure = _download(remote.url, target, raw, remote, tell)
        if failure is None:
            return target
        reason = f"{remote.url} did not answer ({failure})"
    raise Unavailable(
        f"{remote.name} is neither in {raw} nor in the mirror at {copy}, and {reason}; put the file in one "
        "of these places (STRUCTMARGIN_DATA names the mirror folder) or use source: synthetic"
        + (f" ({by_hand})" if by_hand else "")
    )


def here(remote: Remote, raw: Path, mirror: Path) -> bool:
    """Whether a file is available without the network."""
    return (raw / remote.name).is_file() or (mirror / remote.mirror).is_file()


def verify(path: Path, remote: Remote, subject: str = "") -> None:
    """Raise unless the file has the sum that it should have, or holds what it should hold.

    `subject` is what the error calls the file, by default its path.
    """
    if remote.sha256 is None:
        return
    total = sha256(path)
    if total == remote.sha256:
        return
    wrong = f"the SHA-256 sum {total}, but {remote.name} must have {remote.sha256}"
    if remote.contents is not None:
        fault = remote.contents.fault(path)
        if fault is None:
            return
        wrong += f", and {fault}"
    raise DataError(
        f"{subject or path} has {wrong}; delete the file and fetch it again, or use source: file if it is "
        "meant to differ"
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


def _download(url: str, target: Path, raw: Path, remote: Remote, tell: Told) -> str | None:
    """Fetch one address into place; None when it worked, else why not.

    A host that did not answer is not asked again in the same run; of one that did, only this address is not.
    """
    host = urllib.parse.urlsplit(url).netloc
    known = _failures(raw)
    if host in known or url in known:
        return known.get(url) or known[host]
    part = target.with_name(f".{target.name}.part")
    try:
        with _own_part(part, target) as out:
            if out is not None:
                _complete(url, out, part, remote, tell)
                os.replace(part, target)
    except Refused as reason:
        if part.is_file() and not 0 < part.stat().st_size <= LIMITS.bytes:
            part.unlink()
        failed = url if str(reason).startswith("status ") else host
        write_json(raw / UNREACHABLE, {"run": _run_id(), "failed": {**known, failed: str(reason)}})
        return str(reason)
    return None


@contextlib.contextmanager
def _own_part(part: Path, target: Path) -> Iterator[IO[bytes] | None]:
    """The part of a file that is already there, open to be gone on with by this process alone.

    None where another process completed the file in the meantime.
    """
    with alone(part) as out:
        if target.is_file():
            part.unlink(missing_ok=True)
            yield None
        else:
            yield out


@contextlib.contextmanager
def alone(path: Path) -> Iterator[IO[bytes]]:
    """A file open for appending by this process alone: others wait here until this one is done with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "ab") as out:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(out, fcntl.LOCK_EX)
            if os.fstat(out.fileno()).st_nlink:  # else another process removed it while this one waited
                yield out
                return


def _complete(url: str, out: IO[bytes], part: Path, remote: Remote, tell: Told) -> None:
    """Fetch the rest of a file and verify the whole; a whole file that is wrong is removed."""
    download(url, out, LIMITS, out.tell(), lambda count, total: tell(remote.name, count, total))
    out.flush()
    os.fsync(out.fileno())
    try:
        verify(part, remote)
    except DataError:
        total = sha256(part)
        part.unlink()
        raise DataError(
            f"{url} sent a file with the SHA-256 sum {total}, but {remote.name} must have {remote.sha256}; "
            "nothing was kept: fetch the file by another way and put it in the mirror folder"
        ) from None


UNREACHABLE = ".unreachable.json"


def _run_id() -> str:
    """The name of this run of the suite, which the workflow sets for all its jobs."""
    return os.environ.get("STRUCTMARGIN_RUN", str(os.getpid()))


def _failures(raw: Path) -> dict[str, str]:
    """Hosts and addresses that already failed in this run, and why."""
    try:
        stored = read_json(raw / UNREACHABLE, ("run", "failed"))
        return dict(stored["failed"]) if stored["run"] == _run_id() else {}
    except (FileNotFoundError, DamagedFile, TypeError, ValueError):
        return {}
