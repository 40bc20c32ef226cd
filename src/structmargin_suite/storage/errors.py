"""Errors of files, each one sentence that a user can act on, and text from elsewhere within a sentence."""

from __future__ import annotations

from pathlib import Path

MAX_QUOTED = 300
"""Characters of a text from elsewhere that a message quotes."""


class DataError(RuntimeError):
    """A file is not what it should be, or is not available."""


class DamagedFile(DataError, ValueError):
    """A file of ours is cut short, of another kind, or larger than any that we write.

    It is a DataError for commands, which show its sentence, and a ValueError for code that reads a file only
    to see whether it can be used again. A file that is not there is a FileNotFoundError, as always.
    """

    def __init__(self, path: Path, what: str, remedy: str = "make the file again, or delete it") -> None:
        self.what = f"{one_line(what)}; {remedy}"
        super().__init__(f"{path}: {self.what}")


def one_line(text: object, limit: int = MAX_QUOTED) -> str:
    """A text as one line of printable characters, cut where it is longer than `limit`."""
    words = " ".join(str(text)[: 4 * limit].split())
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in words)
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."
