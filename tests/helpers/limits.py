"""A bound on what some code may take: CPU time, so that a loop without end ends, and memory."""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path


class TooLongError(BaseException):
    """More CPU time was taken than allowed; not an Exception, so that nothing swallows it."""


def _too_long(*_: object) -> None:
    raise TooLongError


@contextlib.contextmanager
def bounded(cpu_seconds: float = 5.0, more_bytes: int = 2**30) -> Iterator[None]:
    """Raise TooLongError after so much CPU time, MemoryError at so many bytes more than now (on Linux)."""
    former = signal.signal(signal.SIGPROF, _too_long)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more_bytes, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, former)
        resource.setrlimit(resource.RLIMIT_AS, limits)
