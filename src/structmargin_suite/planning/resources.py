"""What a job asks of the machine: memory and time, from what such jobs were measured to take.

workflow/resources.yaml has, for each experiment, scale and rule, the megabytes and seconds of the largest job
that was measured (`structmargin resources` writes it). A job asks for more than that: the next machine may be
slower, and the next data larger. What was never measured asks for a lot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from structmargin_suite.storage.files import read_yaml

FILE = Path("workflow", "resources.yaml")
MEMORY_FACTOR, TIME_FACTOR = 1.5, 6.0
MIN_MB, MIN_MINUTES = 1000, 10
UNKNOWN_MB, UNKNOWN_MINUTES = 4000, 240
"""For rules that were never measured."""


class Asked(NamedTuple):
    """Megabytes of memory and minutes of time."""

    mem_mb: int
    runtime: int


class Resources:
    """The measured values by experiment, scale and rule."""

    def __init__(self, measured: Mapping[str, Any]) -> None:
        self.measured = measured

    @classmethod
    def read(cls, root: Path) -> Resources:
        """The values of a project; none where it has no such file."""
        path = root / FILE
        return cls(read_yaml(path) or {} if path.is_file() else {})

    def asked(self, experiment: str, scale: str, rule: str) -> Asked:
        """What a job of a rule asks for: half as much memory again as was measured, and six times the time.

        Examples
        --------
        >>> measured = {"ocr": {"paper": {"train": {"mb": 2700, "seconds": 300}}}}
        >>> Resources(measured).asked("ocr", "paper", "train")
        Asked(mem_mb=4100, runtime=30)
        >>> Resources(measured).asked("ocr", "smoke", "train")
        Asked(mem_mb=4000, runtime=240)
        """
        largest = self.measured.get(experiment, {}).get(scale, {}).get(rule)
        if largest is None:
            return Asked(UNKNOWN_MB, UNKNOWN_MINUTES)
        memory = 100 * math.ceil(MEMORY_FACTOR * largest["mb"] / 100)
        minutes = math.ceil(TIME_FACTOR * largest["seconds"] / 60)
        return Asked(max(MIN_MB, memory), max(MIN_MINUTES, minutes))
