"""`n_jobs`: slices of the examples searched side by side, their answers joined in order.

    a problem with a batch   threads of this process: compiled searches hold no interpreter lock
    a problem in Python      processes, or whatever backend joblib was told to use (`workers.py`)

Nothing depends on n_jobs but the time: no sum runs across slices, and a batch says how finely it may be
divided without a change in any bit (`AdaptedBatch.grain`). How long the last search took decides whether the
next one is worth dividing, never what it returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self

import joblib
import numpy as np

PER_JOB = 8
"""So many slices for each job: examples differ in what they cost, and who is done takes the next slice."""
MIN_SECONDS = 4e-3
"""A slice that takes less is not worth a thread's while: handing it out and joining costs half of 1e-3."""


def require_n_jobs(n_jobs: Any) -> None:
    """Raise unless n_jobs is None or a whole number other than 0."""
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, (bool, np.bool_))
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(
            "n_jobs must be None or a whole number other than 0, such as 2, or -1 for all cores, "
            f"but it is {n_jobs!r}"
        )


def n_threads(n_jobs: int | None) -> int:
    """How many threads n_jobs stands for; those of a cluster that joblib uses are not of this machine."""
    n = int(joblib.effective_n_jobs(n_jobs))
    return n if n_jobs is not None and n_jobs > 0 else min(n, int(joblib.cpu_count()))


def slices(indices: np.ndarray, most: int, grain: int = 1) -> list[np.ndarray]:
    """At most `most` slices in order, nearly equal, of lengths that are multiples of `grain` but the last."""
    n_grains = -(-len(indices) // grain)
    ends = grain * (np.arange(1, max(min(most, n_grains), 1)) * n_grains // max(min(most, n_grains), 1))
    return np.split(indices, ends)


class Pace:
    """How long an example took the last time; not known at first."""

    def __init__(self) -> None:
        self.seconds: float | None = None

    def worth(self, n: int, least: float) -> int:
        """How many parts of at least so many seconds n examples will make; unknown examples take long."""
        return n if self.seconds is None else min(int(self.seconds * n / least), n)

    def note(self, seconds: float, n: int) -> None:
        self.seconds = seconds / max(n, 1)


class Jobs:
    """The threads of one training or prediction, and the CPU time of its other processes. To be closed."""

    def __init__(self, n_jobs: Any = None) -> None:
        require_n_jobs(n_jobs)
        self.n_jobs: int | None = None if n_jobs is None else int(n_jobs)
        self.n_threads = n_threads(self.n_jobs)
        self.seconds = 0.0  # CPU time of searches in other processes
        self._threads: ThreadPoolExecutor | None = None
        self._closing: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: TracebackType | None) -> None:
        for close in self._closing:
            close()
        self._closing = []
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def at_end(self, close: Callable[[], None]) -> None:
        """Call `close` when these jobs are closed."""
        self._closing.append(close)

    def divided(
        self, search: Callable[[np.ndarray], Any], indices: np.ndarray, grain: int, pace: Pace
    ) -> list[Any]:
        """What `search` returns for slices of the indices, in order; for all of them at once if grain is 0.

        If a slice raises, all are searched as one, so that the error is the one that a single job meets.
        """
        parts = [indices]
        if self.n_threads > 1 and grain > 0:
            most = min(PER_JOB * self.n_threads, pace.worth(len(indices), MIN_SECONDS))
            parts = slices(indices, most, grain)
        seconds = [0.0] * len(parts)

        def timed(k: int) -> Any:
            began = time.perf_counter()
            answer = search(parts[k])
            seconds[k] = time.perf_counter() - began
            return answer

        if len(parts) == 1:
            answers = [timed(0)]
        else:
            try:
                answers = self._side_by_side(timed, len(parts))
            except Exception:
                return [search(indices)]
        pace.note(sum(seconds), len(indices))
        return answers

    def _side_by_side(self, task: Callable[[int], Any], n: int) -> list[Any]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.n_threads, thread_name_prefix="structmargin")
        futures = [self._threads.submit(copy_context().run, task, k) for k in range(n)]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
