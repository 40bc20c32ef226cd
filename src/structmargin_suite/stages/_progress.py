"""The progress of a stage: a plain bar on a terminal, a log line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Counts steps of one stage; `tell` prints a line that stays on the screen."""

    def __init__(self, title: str, total: int, out: TextIO | None = None, every: float = 5.0) -> None:
        self.title, self.total, self.every = title, total, every
        self.out = sys.stderr if out is None else out
        self.bar = self.out.isatty()
        self.done = 0
        self.began = self.last = time.monotonic()
        if not self.bar:
            print(f"{title}: {total} to do", file=self.out, flush=True)

    def step(self, what: str = "") -> None:
        """Count one more step as done."""
        self.done += 1
        now = time.monotonic()
        if self.bar:
            full = 30 * self.done // max(self.total, 1)
            line = f"{self.title} [{'#' * full}{'.' * (30 - full)}] {self.done}/{self.total} {what}"
            print("\r" + line[:110].ljust(110), end="", file=self.out, flush=True)
        elif now - self.last >= self.every or self.done == self.total:
            print(
                f"{self.title}: {self.done} of {self.total} after {now - self.began:.1f} s",
                file=self.out,
                flush=True,
            )
            self.last = now

    def tell(self, text: str) -> None:
        """Print a line that stays on the screen."""
        lead = "\r" + " " * 110 + "\r" if self.bar else ""
        print(f"{lead}{self.title}: {text}", file=self.out, flush=True)

    def close(self) -> None:
        """End the bar's line."""
        if self.bar:
            print(file=self.out, flush=True)
