"""Measure a function in a fresh process: CPU seconds and peak memory, with compiled code warmed up."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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


def measured(
    warm: Callable[[], Any], run: Callable[[], dict[str, Any]], repeats: int = 1, enough: float = 3.0
) -> dict[str, Any]:
    """Run `warm`, then `run`.

    Returns what the first `run` returns, with its CPU seconds (cpu), the peak memory (mb) and how much `run`
    raised it (grew_mb). With repeats, cpu is the smallest of several runs, or of fewer that take `enough`
    seconds together.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm()
        before = peak_mb()
        began = time.process_time()
        figures = run()
        seconds = [time.process_time() - began]
        peak = peak_mb()
        while len(seconds) < repeats and sum(seconds) < enough:
            seconds.append(cpu_seconds(run))
    return {**figures, "cpu": min(seconds), "mb": peak, "grew_mb": peak - before}


class Ended(NamedTuple):
    """A command that ended: its exit status, CPU seconds and peak megabytes, and what it printed."""

    status: int
    cpu: float
    mb: float
    stdout: str
    stderr: str


def launched(command: list[str], limit: float | None = None) -> Ended | None:
    """Run a command in a process whose memory is its own, with one thread; None if it took more wall time."""
    launcher = str(Path(__file__).resolve().parent / "launch.py")
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report"
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", launcher, str(report), *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            env={**os.environ, **ONE_THREAD}, start_new_session=True,
        )  # fmt: skip
        try:
            stdout, stderr = process.communicate(timeout=limit)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise
        return Ended(**json.loads(report.read_text()), stdout=stdout, stderr=stderr)


def in_fresh_process(script: str, *arguments: str, limit: float | None = None) -> Any:
    """Run a script with one thread and return what it prints as its last line, in JSON.

    Raises TimeoutError after `limit` seconds on the wall.
    """
    done = launched([sys.executable, script, *arguments], limit)
    if done is None:
        raise TimeoutError(f"not within {limit:g} s")
    if done.status:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """A text table: one line per row, one aligned column per name in `columns`."""

    def text(value: Any) -> str:
        if value is None:
            return ""
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    cells = [columns] + [[text(row.get(name, "")) for name in columns] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in cells)
