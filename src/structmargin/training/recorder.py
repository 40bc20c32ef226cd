"""A training's clock and trace."""

from __future__ import annotations

import time
from typing import Any

from structmargin.fit import Progress, Trace
from structmargin.training.separation import Separation


class Recorder:
    """One training's clock and trace: a row a pass, passed on to `progress` if there is one."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.began = time.process_time()
        self.trace: Trace = []
        self.progress = progress

    def note(self, separation: Separation, cuts: Any = None, /, **values: float) -> None:
        row = {"iteration": float(len(self.trace) + 1), **values}
        row["oracle_calls"] = separation.calls
        if cuts is not None:
            row.update(
                constraints=cuts.added, held=cuts.m, active=len(cuts.support()), seconds_qp=cuts.seconds
            )
        row.update(seconds_search=separation.seconds, seconds=time.process_time() - self.began)
        self.trace.append(row)
        if self.progress is not None:
            self.progress(row)
