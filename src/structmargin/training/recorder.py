"""A training's clock and trace."""

from __future__ import annotations

import time

from structmargin.dual.working_set import Dual
from structmargin.fit import Progress, Trace
from structmargin.training.parallel.jobs import Jobs
from structmargin.training.separation import Separation


class Recorder:
    """One training's clock and trace: one row per pass, passed on to `progress` if there is one.

    `gains` has one row per cut, for solvers that note what a single cut brings.
    """

    def __init__(self, progress: Progress | None = None, jobs: Jobs | None = None) -> None:
        self.began = time.process_time()
        self.jobs = jobs
        self.set_up = 0.0  # what was spent before the solver's own algorithm began
        self.trace: Trace = []
        self.gains: Trace = []
        self.progress = progress

    @property
    def seconds(self) -> float:
        """CPU time since the training began: of this process with all its threads, and of its workers."""
        return time.process_time() - self.began + (0.0 if self.jobs is None else self.jobs.seconds)

    @property
    def seconds_loop(self) -> float:
        """The same since the solver's own algorithm began."""
        return self.seconds - self.set_up

    def note(self, separation: Separation, dual: Dual | None = None, /, **values: float) -> None:
        row = {"iteration": float(len(self.trace) + 1), **values}
        row["oracle_calls"] = separation.calls
        if dual is not None:
            row.update(
                constraints=dual.added, held=dual.m, active=len(dual.active()), seconds_qp=dual.seconds
            )
        row.update(seconds_search=separation.seconds, seconds=self.seconds)
        self.trace.append(row)
        if self.progress is not None:
            self.progress(row)
