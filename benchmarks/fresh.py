"""Measure a function in a process of its own: CPU seconds and peak memory, compiled code warmed up first."""

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


def peak_mb() -> float:
    """The most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(warm: Callable[[], Any], run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run `warm`, then `run`: its own figures, its CPU seconds, and how far it raised the peak memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm()
        before = peak_mb()
        began = time.process_time()
        figures = run()
    return {**figures, "cpu": time.process_time() - began, "mb": peak_mb(), "grew_mb": peak_mb() - before}


def in_fresh_process(script: str, *arguments: str) -> dict[str, Any]:
    """Call `script arguments...` anew; it prints one JSON object as its last line."""
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, env={**os.environ, **ONE_THREAD}
    )
    if done.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """Rows as aligned text."""

    def text(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    cells = [columns] + [[text(row.get(name, "")) for name in columns] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in cells)
