"""Lines and a bar on one stream: lines stay, the bar is redrawn below them; in a pipe there is no bar.

Nothing here raises: where the stream cannot be written, nothing is shown.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable
from typing import TextIO

REDRAW = 0.5
"""Seconds between two drawings of the bar."""
CLEAR = "\r\x1b[K"


class Screen:
    """A stream for people: `bar` says what the last line of a terminal shows, given its width.

    `beside` is another stream that is read at the same time: a bar needs two terminals.
    """

    def __init__(self, stream: TextIO, beside: TextIO | None = None) -> None:
        self.stream, self.beside = stream, stream if beside is None else beside
        self.lock = threading.RLock()
        self.bar: Callable[[int], str] | None = None
        self.drawn = False
        self.over = threading.Event()
        self.thread: threading.Thread | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether a bar can be redrawn."""
        try:
            both = self.stream.isatty() and self.beside.isatty()
            return both and os.environ.get("TERM", "dumb") != "dumb"
        except ValueError:  # closed
            return False

    def start(self, bar: Callable[[int], str]) -> None:
        """Begin to show a bar, where there is a terminal."""
        if not self.is_terminal:
            return
        self.bar = bar
        self.draw()
        self.thread = threading.Thread(target=self._redraw, name="bar", daemon=True)
        with contextlib.suppress(RuntimeError, MemoryError):  # no more threads: the bar moves with the jobs
            self.thread.start()

    def _redraw(self) -> None:
        while not self.over.wait(REDRAW):
            self.draw()

    def draw(self) -> None:
        """Draw the bar again."""
        with self.lock, contextlib.suppress(OSError, ValueError):
            if self.bar is not None:
                text = self.bar(shutil.get_terminal_size().columns - 1)
                self.stream.write(CLEAR + printable(text))
                self.stream.flush()
                self.drawn = True

    def clear(self) -> None:
        """Take the bar away; the next `draw` brings it back."""
        with self.lock, contextlib.suppress(OSError, ValueError):
            if self.drawn:
                self.stream.write(CLEAR)
                self.stream.flush()
                self.drawn = False

    def say(self, *lines: str) -> None:
        """Write lines that stay."""
        with self.lock, contextlib.suppress(OSError, ValueError):
            self.clear()
            self.stream.write("".join(f"{printable(line)}\n" for line in lines))
            self.stream.flush()
            self.draw()

    def stop(self) -> None:
        """Take the bar away for good."""
        self.over.set()
        with self.lock:
            self.clear()
            self.bar = None


def say(*lines: str) -> None:
    """Write lines to standard output; where nobody reads them, or the disk is full, they are lost."""
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:  # nor is anything said when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


def printable(line: str) -> str:
    """A line without control characters, which could move the cursor or colour what follows.

    Examples
    --------
    >>> printable("a\\tb \\x1b[31mred")
    'a b [31mred'
    """
    return "".join(
        character if character.isprintable() else " " if character == "\t" else "" for character in line
    )
