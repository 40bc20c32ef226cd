"""Files below a user's own folder, listed within limits and without leaving the folder.

The folder itself may be a link. Below it a link is followed only to a file of the folder: one that leads out
of it, or to a folder (whose files would be listed twice), is an error, and so is a name with other characters
than letters, digits, '_', '-' and '.'. Every error is one sentence with the name of the file.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from structmargin_suite.storage.errors import DataError

MAX_FILES = 20_000
MAX_FILE_BYTES = 64 * 2**20
MAX_FOLDER_BYTES = 4 * 2**30
"""Of all files together."""
SAFE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
"""A part of a file's path below the folder."""


def files_below(folder: Path, suffix: str, passed_over: re.Pattern[str] | None = None) -> dict[str, Path]:
    """The files of a folder and its sub-folders whose names end in `suffix`, in upper or lower case.

    Parameters
    ----------
    folder : Path
        The user's folder.
    suffix : str
        The end of the names, in lower case.
    passed_over : pattern or None
        Sub-folders whose names from the folder on match it are not looked into.

    Returns
    -------
    dict of str to Path
        The path of each file by its name from the folder on, with slashes, in alphabetical order.
    """
    files: dict[str, Path] = {}
    total = 0
    for path in _entries(folder, passed_over):
        if not path.name.lower().endswith(suffix):
            continue
        total += _checked_size(path, folder)
        files[path.relative_to(folder).as_posix()] = path
        if len(files) > MAX_FILES or total > MAX_FOLDER_BYTES:
            raise DataError(
                f"{folder} has more than {MAX_FILES} files or {MAX_FOLDER_BYTES} bytes that end in {suffix}; "
                "name a smaller folder as `path` in the config"
            )
    return dict(sorted(files.items()))


def _entries(folder: Path, passed_over: re.Pattern[str] | None) -> Iterator[Path]:
    """All that is below a folder except folders; a link to a folder is an error."""

    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename}: {error.strerror}; make the folder readable") from None

    for place, folders, names in os.walk(folder, onerror=refuse):
        here = Path(place)
        if passed_over is not None and passed_over.fullmatch(here.relative_to(folder).as_posix()):
            folders.clear()  # os.walk goes on with what is left in this list
            continue
        for name in folders:
            if (here / name).is_symlink():
                raise DataError(f"{here / name} is a link to a folder; put the folder itself there")
        yield from (here / name for name in names)


def _checked_size(path: Path, folder: Path) -> int:
    """The size of a file of the folder in bytes; anything else is an error."""
    parts = path.relative_to(folder).parts
    if not all(SAFE_NAME.fullmatch(part) for part in parts):
        raise DataError(
            f"{str(path)!r}: below {folder} names may have only letters, digits, '_', '-' and '.'; rename it"
        )
    try:
        target = path.resolve(strict=True)
        about = target.stat()
    except (OSError, RuntimeError):  # RuntimeError: links in a circle, up to Python 3.12
        raise DataError(f"{path} is a link that leads nowhere, or may not be read; replace it") from None
    if not target.is_relative_to(folder.resolve()):
        raise DataError(f"{path} is a link out of {folder}; put the file itself there")
    if not stat.S_ISREG(about.st_mode):
        raise DataError(f"{path} is no regular file; remove it")
    if about.st_size > MAX_FILE_BYTES:
        raise DataError(f"{path} has {about.st_size} bytes, more than {MAX_FILE_BYTES}; split or remove it")
    return about.st_size
