"""Measure a function in a fresh process: CPU seconds and peak memory, with compiled code warmed up."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """The peak memory of this process so far, in megabytes; of its children with resource.RUSAGE_CHILDREN."""
    peak = resource.getrusage(who).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def cpu_seconds(run: Callable[[], Any]) -> float:
    """The CPU seconds of one call."""
    began = time.process_time()
    run()
    return time.process_time() - began


def measured(warm: Callable[[], Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run `warm`, then `run`.

    Returns what `run` returns, with its CPU seconds (cpu), the peak memory (mb) and how much `run` raised it
    (grew_mb).
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm()
        before = peak_mb()
        began = time.process_time()
        figures = run()
    return {**figures, "cpu": time.process_time() - began, "mb": peak_mb(), "grew_mb": peak_mb() - before}


def in_fresh_process(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script with one thread and return the JSON object that it prints as its last line."""
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, env={**os.environ, **ONE_THREAD}
    )
    if done.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """A text table: one line per row, one aligned column per name in `columns`."""

    def text(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    cells = [columns] + [[text(row.get(name, "")) for name in columns] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in cells)
