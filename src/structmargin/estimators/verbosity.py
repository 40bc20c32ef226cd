"""What an estimator says while it trains: a line per pass if it is asked to, and when code is compiled."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from structmargin import compiled
from structmargin.fit import Progress, relative

COMPILING = "compiling, once: the code is kept for later runs"


def line_of(row: dict[str, float]) -> str:
    """A row of the trace as one line: pass, objective, relative gap, cuts and CPU time, as far as known."""
    parts = []
    primal, dual, gap = (row.get(name, math.nan) for name in ("primal", "dual", "gap"))
    if not math.isnan(primal):
        parts.append(f"primal {primal:.6g}")
    elif not math.isnan(dual):
        parts.append(f"dual {dual:.6g}")
    if not math.isnan(gap) and not math.isnan(primal):
        parts.append(f"relative gap {relative(gap, primal):.2g}")
    if "constraints" in row:
        parts.append(f"{row['constraints']:.0f} cuts")
    if "mistakes" in row:
        parts.append(f"{row['mistakes']:.0f} mistakes")
    return f"pass {row['iteration']:.0f}: {', '.join(parts)}, {row['seconds']:.2f} s"


def say(line: str, stream: TextIO | None = None) -> None:
    """Write a line to standard output, or to another stream, at once."""
    stream = sys.stdout if stream is None else stream
    stream.write(f"{line}\n")
    stream.flush()


@contextmanager
def reporting(verbose: int | bool, progress: Progress | None) -> Iterator[Progress | None]:
    """The callback for a training's passes: the user's own, and a line each where `verbose` is above 0.

    A line also says when code is compiled, which takes seconds and happens once; without `verbose` it goes to
    standard error.
    """
    if not verbose:
        with telling_of_compiling():
            yield progress
        return

    def note(row: dict[str, float]) -> None:
        say(line_of(row))
        if progress is not None:
            progress(row)

    with compiled.on_compiling(lambda: say(COMPILING)):
        yield note


@contextmanager
def telling_of_compiling() -> Iterator[None]:
    """Write a line to standard error if code has to be compiled, which takes seconds and happens once."""
    with compiled.on_compiling(lambda: say(COMPILING, sys.stderr)):
        yield
