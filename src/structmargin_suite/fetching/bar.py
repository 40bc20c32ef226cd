"""How far a download is: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30


class Bar:
    """How far a file is: a bar on a terminal, elsewhere a line every `every` seconds; `close` ends it."""

    def __init__(self, out: TextIO | None = None, every: float = 5.0) -> None:
        self.out, self.every = sys.stderr if out is None else out, every
        self.last = -every
        self.open = False

    def __call__(self, name: str, count: int, total: int | None) -> None:
        now, terminal = time.monotonic(), self.out.isatty()
        if count != total and now - self.last < (0.1 if terminal else self.every):
            return
        self.last = now
        full = WIDTH * count // max(total or count, 1)
        bar = f"[{'#' * full}{'.' * (WIDTH - full)}] " if total else ""
        line = f"  {name} {bar}{megabytes(count)}" + (f" of {megabytes(total)}" if total else "")
        print("\r" + line.ljust(100) if terminal else line, end="" if terminal else "\n", file=self.out)
        self.out.flush()
        self.open = terminal

    def close(self) -> None:
        """End the bar's line."""
        if self.open:
            print(file=self.out, flush=True)


def megabytes(count: float) -> str:
    """Bytes as megabytes, in words."""
    return f"{count / 1e6:.1f} MB"
