"""Public originals: where a stranger gets a data set, and how our files are made from what is there.

Our files may be a part of an original, or packed otherwise. An original with a known sum is checked against
it first. An archive that is packed on demand has none: it is read as safely as one is unpacked, and what is
made from it is checked, by sum or over the contents of members. Nothing that was downloaded is unpickled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from structmargin_suite.fetching.contents import Members
from structmargin_suite.fetching.download import Told, silent
from structmargin_suite.fetching.fetch import Remote, Unavailable, alone, here, obtain, verify
from structmargin_suite.fetching.unpack import read_members
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import write_with

Build = Callable[[Path], Mapping[str, bytes]]
"""From an original: files of a data set by name."""


@dataclass(frozen=True)
class Original:
    """A public file that files of a data set are made from.

    Attributes
    ----------
    name : str
        Its name in data/raw/<data set> and in the data set's folder of a mirror.
    urls : tuple of str
        Where it is; the next is tried where one does not answer.
    makes : tuple of str
        The files of the data set that `build` makes.
    build : callable
        build(path) returns these files by name.
    sha256 : str or None
        Its sum, if that is known and does not change.
    megabytes : float or None
        Its size, if that is known.
    """

    name: str
    urls: tuple[str, ...]
    makes: tuple[str, ...]
    build: Build
    sha256: str | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Home:
    """Where a corpus comes from: the one record of it that commands and documents are made from.

    Attributes
    ----------
    title : str
        What the corpus is called.
    page : str
        Where people read about it.
    terms : str
        Under which it may be used.
    folder : str
        Its folder in a mirror.
    version : str
        Of the files that are fetched.
    originals : tuple of Original
        What files without a public address of their own are made from.
    megabytes : float or None
        What is downloaded in all, if that is known.
    sure : str
        How sure that is: "about", "more than", or nothing where it is exact.
    by_hand : str
        What has to be asked for or accepted by hand, where, and which folder to put it in; else empty.
    """

    title: str
    page: str
    terms: str
    folder: str = ""
    version: str = ""
    originals: tuple[Original, ...] = ()
    megabytes: float | None = None
    sure: str = ""
    by_hand: str = ""

    @property
    def size(self) -> str:
        """How large the download is, in words, or nothing where that is not known."""
        return "" if self.megabytes is None else f"{self.sure} {self.megabytes:.3g} MB".lstrip()

    def addresses(self, files: Iterable[Remote]) -> list[str]:
        """The addresses from which these files come, without those that only stand in for another."""
        makers = [self.makers(file)[0] for file in files if file.url is None and self.makers(file)]
        return [
            *(file.url for file in files if file.url is not None),
            *dict.fromkeys(maker.urls[0] for maker in makers),
        ]

    def makers(self, file: Remote) -> list[Original]:
        """The originals that a file can be made from; the first is fetched, the others may be at hand."""
        return [original for original in self.originals if file.name in original.makes]

    def without_address(self, files: Iterable[Remote]) -> list[str]:
        """The names of files that no public address has, as they are or to be made."""
        return [file.name for file in files if file.url is None and not self.makers(file)]


NOWHERE = Home("", "", "")


def members_of(archives: Mapping[str, Members], files: Mapping[str, str] | None = None) -> Build:
    """How files are made from an archive.

    Parameters
    ----------
    archives : mapping of str to Members
        Files to make that are archives themselves, of these members.
    files : mapping of str to str
        Files to make that are members; the pattern of the member's whole path for each.
    """

    def build(path: Path) -> dict[str, bytes]:
        def name_of(member: str) -> str | None:
            for archive, members in archives.items():
                name = members.name_of(member)
                if name is not None:
                    return f"{archive}/{name}"
            return next((n for n, pattern in (files or {}).items() if re.fullmatch(pattern, member)), None)

        read = read_members(path, name_of)
        made = {name: content for name, content in read.items() if name in (files or {})}
        for archive, members in archives.items():
            head = f"{archive}/"
            inside = {name[len(head) :]: content for name, content in read.items() if name.startswith(head)}
            if inside:
                made[archive] = members.packed(inside)
        return made

    return build


def obtain_files(
    files: Sequence[Remote], home: Home, raw: Path, mirror: Path, tell: Told = silent
) -> dict[str, Path]:
    """The verified files of a data set in the folder `raw`: found, fetched, or made from their originals.

    Raises DataError for what is not as it should be, and Unavailable, which says what to do, for a file that
    is nowhere.
    """
    nowhere = home.without_address(files)
    for file in sorted(files, key=lambda file: file.name not in nowhere):  # before anything is downloaded
        makers = home.makers(file)
        if not makers or here(file, raw, mirror):
            obtain(file, raw, mirror, tell, home.by_hand)
        else:
            nearest = next((maker for maker in makers if _known(maker, home, raw, mirror)), makers[0])
            _make(nearest, {file.name: file for file in files}, home, raw, mirror, tell)
    return {file.name: raw / file.name for file in files}


def at_hand(files: Iterable[Remote], home: Home, raw: Path, mirror: Path) -> bool:
    """Whether all files are available without the network, as they are or from originals."""
    for file in files:
        made = any(_known(maker, home, raw, mirror) for maker in home.makers(file))
        if not (made or here(file, raw, mirror)):
            return False
    return True


def _known(original: Original, home: Home, raw: Path, mirror: Path) -> list[Path]:
    """Where an original is at hand, in the order in which these places are looked into."""
    places = (raw / original.name, mirror / home.folder / original.name)
    return [path for path in places if path.is_file()]


def _make(
    original: Original, files: Mapping[str, Remote], home: Home, raw: Path, mirror: Path, tell: Told
) -> None:
    """Write the files that an original makes into `raw`, each verified; a fetched original is removed.

    Several jobs may need the same original at once: one fetches it and makes the files, the others wait.
    """
    lock = raw / f".{original.name}.lock"
    with alone(lock):
        try:
            if all(here(files[name], raw, mirror) for name in original.makes):
                return
            known = _known(original, home, raw, mirror)
            if known:
                _write_made(original, known[0], files, home, raw, mirror)
            else:
                _fetch_and_make(original, files, home, raw, mirror, tell)
        finally:
            lock.unlink(missing_ok=True)


def _fetch_and_make(
    original: Original, files: Mapping[str, Remote], home: Home, raw: Path, mirror: Path, tell: Told
) -> None:
    """Make the files from the first address that sends the right original.

    An address may send another file, such as a page that says that it has moved: then the next one is tried,
    and if none is right, the first that was wrong is the error.
    """
    wrong: list[DataError] = []
    silent_ones: list[Unavailable] = []
    for url in original.urls:
        remote = Remote(original.name, original.sha256, f"{home.folder}/{original.name}", url)
        try:
            path = obtain(remote, raw, mirror, tell, home.by_hand)
        except Unavailable as error:
            silent_ones.append(error)
            continue
        except DataError as error:
            wrong.append(error)
            continue
        try:
            return _write_made(original, path, files, home, raw, mirror)
        except DataError as error:
            wrong.append(DataError(f"{url} sent another file than expected: {error}"))
        finally:
            path.unlink()
    raise wrong[0] if wrong else silent_ones[-1]


def _write_made(
    original: Original, path: Path, files: Mapping[str, Remote], home: Home, raw: Path, mirror: Path
) -> None:
    """Write the files that the original at `path` makes, each verified.

    Files that are already here stay as they are: they may be of another original.
    """
    verify(path, Remote(original.name, original.sha256, ""))
    made = original.build(path)
    for name in original.makes:
        if here(files[name], raw, mirror):
            continue
        if name not in made:
            raise DataError(
                f"{path} has not what {name} is made from, and so is not {home.title} {home.version}; "
                "delete the file and fetch it again"
            )
        _write_verified(raw / name, made[name], files[name], path)


def _write_verified(target: Path, content: bytes, file: Remote, original: Path) -> None:
    """Write a file that was made, unless it is not what it should be."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)
        verify(temporary, file, f"{original} gives {file.name}, which")

    write_with(target, write)
