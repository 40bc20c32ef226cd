"""What an estimator says while it trains, if it is asked to: one line per pass on standard output."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from structmargin import compiled
from structmargin.fit import Progress, relative


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


def say(line: str) -> None:
    """Write a line to standard output, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def reporting(verbose: int | bool, progress: Progress | None) -> Iterator[Progress | None]:
    """The callback for a training's passes: the user's own, and a line each where `verbose` is above 0.

    With `verbose` a line also says when code is compiled, which takes seconds and happens once.
    """
    if not verbose:
        yield progress
        return

    def note(row: dict[str, float]) -> None:
        say(line_of(row))
        if progress is not None:
            progress(row)

    with compiled.on_compiling(lambda: say("compiling, once: the code is kept for later runs")):
        yield note
