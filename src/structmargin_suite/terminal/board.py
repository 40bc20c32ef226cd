"""How far a run is, in CPU seconds and not in jobs, and how much time is left.

A job counts for the CPU seconds that it was expected to take, a running one for as many of them as have
passed. What jobs take here, beside what was expected of them, corrects the time that is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from structmargin_suite.terminal.durations import duration

WIDTH = 24
TRUST = 0.05
"""The share of a run's expected CPU seconds that counts as if it had taken just as long as expected: a few
short jobs at the beginning correct what is expected of the others by little, many jobs by all they say."""
NEARLY = 0.95
"""A running job counts for at most this share of what was expected of it."""
LISTED = 3
"""Running jobs that are named; the others are counted."""


@dataclass(frozen=True)
class Planned:
    """A job of a run: what people call it, the CPU seconds expected of it, its experiment and its stage."""

    title: str
    seconds: float
    experiment: str = ""
    stage: str = ""


@dataclass
class Board:
    """The jobs of one run: which are done, which are running, since when."""

    jobs: dict[int, Planned]
    cores: int = 1
    clock: Callable[[], float] = time.monotonic
    running: dict[int, float] = field(default_factory=dict)
    took: dict[int, float | None] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)

    def start(self, numbers: Iterable[int]) -> None:
        """Note that jobs began."""
        now = self.clock()
        for number in numbers:
            if number in self.jobs and number not in self.took:
                self.running.setdefault(number, now)

    def finish(self, number: int) -> bool:
        """Note that a job is done; False where it is none of the plan's, or was done before."""
        if number not in self.jobs or number in self.took:
            return False
        began = self.running.pop(number, None)
        self.took[number] = None if began is None else self.clock() - began
        return True

    def fail(self, number: int) -> bool:
        """Note that a job failed; False where that is known."""
        known = number in self.failed
        self.running.pop(number, None)
        self.failed.add(number)
        return not known

    @property
    def total(self) -> float:
        """The CPU seconds of all jobs, as expected."""
        return sum(job.seconds for job in self.jobs.values())

    @property
    def slowness(self) -> float:
        """How many seconds an expected CPU second takes here, from the jobs that are done."""
        timed = {number: seconds for number, seconds in self.took.items() if seconds is not None}
        expected = sum(self.jobs[number].seconds for number in timed)
        trusted = TRUST * self.total
        return (trusted + sum(timed.values())) / (trusted + expected) if expected > 0.0 else 1.0

    def passed(self, number: int) -> float:
        """The expected CPU seconds of a job that are done."""
        seconds = self.jobs[number].seconds
        if number in self.took:
            return seconds
        began = self.running.get(number)
        if began is None:
            return 0.0
        return min((self.clock() - began) / max(self.slowness, 1e-6), NEARLY * seconds)

    @property
    def done(self) -> float:
        """The expected CPU seconds that are done."""
        return sum(self.passed(number) for number in self.jobs)

    @property
    def share(self) -> float:
        """The part of the run that is done, from 0 to 1; 1 only once every job is."""
        if len(self.took) == len(self.jobs):
            return 1.0
        return min(self.done / self.total, 0.99) if self.total > 0.0 else 0.0

    @property
    def left(self) -> float:
        """The seconds that are left: of all jobs on all cores, or of one chain through the stages, which
        wait for each other, where that is longer."""
        longest: dict[str, float] = {}
        for number, job in self.jobs.items():
            rest = job.seconds - self.passed(number)
            longest[job.stage] = max(rest, longest.get(job.stage, 0.0))
        on_all_cores = max(self.total - self.done, 0.0) / max(1, self.cores)
        return max(on_all_cores, sum(longest.values())) * self.slowness

    def now(self) -> str:
        """What is running, longest first."""
        titles = [self.jobs[number].title for number in sorted(self.running, key=self.running.__getitem__)]
        more = len(titles) - LISTED
        return ", ".join(titles[:LISTED]) + (f" and {more} more" if more > 0 else "")

    def line(self, width: int) -> str:
        """The bar with what is running and the time left, in at most so many characters."""
        full = int(WIDTH * self.share)
        text = f"[{'#' * full}{'.' * (WIDTH - full)}] {int(100 * self.share):3d} %"
        if self.running or self.left > 0.0:
            text += f", {duration(self.left)} left"
        text += f", now: {self.now()}" if self.running else ""
        return text if len(text) <= width else text[: max(width - 3, 0)] + "..."[:width]

    def done_line(self, number: int) -> str:
        """One line about a job that is done, for output that is no terminal."""
        left = f", about {duration(self.left)} left" if len(self.took) < len(self.jobs) else ""
        head = f"{len(self.took)} of {len(self.jobs)} jobs, {int(100 * self.share)} %"
        seconds = self.took[number]
        took = "is done" if seconds is None else f"took {duration(seconds)}"
        return f"{head}: {self.jobs[number].title} {took}{left}"

    def seconds_of(self, experiment: str) -> float:
        """What the jobs of an experiment took."""
        return sum(self.took.get(n) or 0.0 for n, job in self.jobs.items() if job.experiment == experiment)

    def finished_experiment(self, number: int) -> str | None:
        """The experiment whose last job this was, if so."""
        name = self.jobs[number].experiment
        own = [other for other, job in self.jobs.items() if job.experiment == name]
        return name if name and all(other in self.took for other in own) else None
