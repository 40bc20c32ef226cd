"""What a job asks of the machine: memory and time, from what such jobs were measured to take.

workflow/resources.yaml has, for each experiment, scale and rule, the megabytes and seconds of the largest job
that was measured (`structmargin resources` writes it). A job asks for more than that: the next machine may be
slower, and the next data larger. A rule that was not measured at a scale asks for what it took at a larger
one, or for a multiple of what it took at a smaller one; one that was never measured asks for a lot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from structmargin_suite.planning.plan import SCALES
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_yaml

FILE = Path("workflow", "resources.yaml")
MEMORY_FACTOR, TIME_FACTOR = 1.5, 6.0
MIN_MB, MIN_MINUTES = 1000, 10
SMALLER_SCALE_MEMORY, SMALLER_SCALE_TIME = 4.0, 6.0
"""How much more a job may take than the largest one that was measured at a smaller scale. Preparations and
trainings were measured at all scales: paper over standard is at most 5.1 in memory and 6.0 in time."""
MOST = 1e9
"""A petabyte, or thirty years."""
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
        measured = read_yaml(path) or {} if path.is_file() else {}
        fault = _fault(measured)
        if fault is not None:
            raise DamagedFile(path, fault, "correct it, or delete it and call `structmargin resources`")
        return cls(measured)

    def asked(self, experiment: str, scale: str, rule: str) -> Asked:
        """What a job of a rule asks for: half as much memory again as was measured, and six times the time.

        Examples
        --------
        >>> measured = {"ocr": {"standard": {"train": {"mb": 900, "seconds": 100}}}}
        >>> Resources(measured).asked("ocr", "standard", "train")
        Asked(mem_mb=1400, runtime=10)
        >>> Resources(measured).asked("ocr", "paper", "train")
        Asked(mem_mb=5400, runtime=60)
        >>> Resources(measured).asked("ocr", "paper", "evaluate")
        Asked(mem_mb=4000, runtime=240)
        """
        by_scale = self.measured.get(experiment, {})
        place = SCALES.index(scale)
        for each in SCALES[place:]:  # a larger scale takes at least as much
            if rule in by_scale.get(each, {}):
                return _asked(by_scale[each][rule])
        for each in reversed(SCALES[:place]):
            if rule in by_scale.get(each, {}):
                return _asked(by_scale[each][rule], SMALLER_SCALE_MEMORY, SMALLER_SCALE_TIME)
        return Asked(UNKNOWN_MB, UNKNOWN_MINUTES)


def _fault(measured: Any) -> str | None:
    """Why values are not those of jobs by experiment, scale and rule; None where they are."""
    if not isinstance(measured, dict) or not all(isinstance(scales, dict) for scales in measured.values()):
        return "it has no scales by experiment"
    for experiment, scales in measured.items():
        for scale, rules in scales.items():
            if not isinstance(rules, dict):
                return f"{experiment}.{scale} has no rules"
            for rule, values in rules.items():
                numbers = values if isinstance(values, dict) else {}
                if not {"mb", "seconds"} <= set(numbers) or not all(map(_is_amount, numbers.values())):
                    return f"{experiment}.{scale}.{rule} has not mb and seconds as numbers from 0 to {MOST:g}"
    return None


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST


def _asked(largest: Mapping[str, float], memory: float = 1.0, time: float = 1.0) -> Asked:
    """What to ask for where the largest job took so much, at a scale that is smaller by these factors."""
    mb = 100 * math.ceil(MEMORY_FACTOR * memory * largest["mb"] / 100)
    minutes = math.ceil(TIME_FACTOR * time * largest["seconds"] / 60)
    return Asked(max(MIN_MB, mb), max(MIN_MINUTES, minutes))
