"""How long jobs will take, in CPU seconds, from what was recorded of earlier ones.

A training takes as long as its runs took last time, here or in the snapshot at the same scale; a run that was
never done, as long as the others of its method. Other jobs take what Snakemake's benchmarks say of them, or
of the same rule's other jobs; where nothing was run here, what workflow/resources.yaml says.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean

from structmargin_suite.planning.plan import Experiment, Suite
from structmargin_suite.planning.resources import Resources
from structmargin_suite.planning.runs import Run
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_json, read_utf8
from structmargin_suite.storage.layout import BENCHMARKS, ScaleLayout

START = 2.0
"""CPU seconds in which a job imports its modules and plans."""
UNKNOWN = 10.0
"""Of a job of which nothing was ever recorded."""
SHARE_OF_LARGEST = 0.5
"""Where only the largest job of a rule is known: what the others take on average."""


class Times:
    """What is known of the times of a plan's jobs."""

    def __init__(self, suite: Suite) -> None:
        self.suite, self.layout = suite, ScaleLayout(suite.root, suite.scale)
        self.resources = Resources.read(suite.root)
        self.guesses = 0
        """How many times nothing was recorded."""

    def training(self, name: str, runs: Iterable[Run]) -> float:
        """CPU seconds of training these runs of an experiment, without the start of their jobs."""
        runs, known = list(runs), self._of_runs(name)
        if not known:
            experiment = self.suite.experiments[name]
            each = self._of_rule(name, "train") * len(experiment.jobs) / max(len(experiment.runs), 1)
            return each * len(runs)
        by_method = self._by_method(name)
        typical = fmean(known.values())
        return sum(known.get(run.name, by_method.get(run.method, typical)) for run in runs)

    def job(self, name: str, rule: str, job: str = "", runs: Iterable[Run] = ()) -> float:
        """CPU seconds of one job of a rule; `runs` are those that a training job will train."""
        if rule == "train":
            return START + self.training(name, runs)
        recorded = self._benchmarks(name)
        return recorded.get(f"{rule}_{job}" if job else rule) or self._of_rule(name, rule)

    def _of_rule(self, name: str, rule: str) -> float:
        """What jobs of a rule take on average."""
        recorded = [seconds for stem, seconds in self._benchmarks(name).items() if stem.split("_")[0] == rule]
        if recorded:
            return fmean(recorded)
        for experiment in self._names(name):
            largest = self.resources.measured.get(experiment, {}).get(self.suite.scale, {}).get(rule)
            if largest:
                return float(largest.get("cpu", SHARE_OF_LARGEST * largest["seconds"]))
        self.guesses += 1
        return UNKNOWN

    def _names(self, name: str) -> list[str]:
        """The experiment, and the one that it is a variant of."""
        base = self._experiment(name).config.get("extends")
        return [name, base] if base else [name]

    def _experiment(self, name: str) -> Experiment:
        return self.suite.experiments[name]

    @functools.cache  # noqa: B019 (as many as there are experiments)
    def _of_runs(self, name: str) -> Mapping[str, float]:
        """CPU seconds of training by run, of this scale's last results or of the snapshot at this scale."""
        for experiment in self._names(name):
            for folder in (self.layout.experiment(experiment), self.layout.snapshot / experiment):
                if found := _clocks(folder, self.suite.scale):
                    return found
        return {}

    @functools.cache  # noqa: B019
    def _by_method(self, name: str) -> Mapping[str, float]:
        """The mean over the runs of each method."""
        known = self._of_runs(name)
        times: dict[str, list[float]] = {}
        for run in self._experiment(name).runs:
            if run.name in known:
                times.setdefault(run.method, []).append(known[run.name])
        return {method: fmean(values) for method, values in times.items()}

    @functools.cache  # noqa: B019
    def _benchmarks(self, name: str) -> Mapping[str, float]:
        """CPU seconds by rule and job, as Snakemake noted them."""
        found: dict[str, float] = {}
        for experiment in reversed(self._names(name)):
            for path in sorted((self.layout.experiment(experiment) / BENCHMARKS).glob("*.tsv")):
                seconds = cpu_seconds(path)
                if seconds is not None:
                    found[path.stem] = seconds
        return found


def _clocks(folder: Path, scale: str) -> dict[str, float]:
    """CPU seconds by run in a folder of results of this scale; none where there is nothing to read."""
    try:
        if read_json(folder / "summary.json", ("scale",))["scale"] != scale:
            return {}
        return {row["run"]: float(row["cpu_seconds"]) for row in read_csv(folder / "timings.csv")}
    except (OSError, DamagedFile, KeyError, ValueError):
        return {}


def cpu_seconds(path: Path) -> float | None:
    """The CPU time in a benchmark file of Snakemake's; None where there is nothing to read.

    Of a job that was too short to be measured, its wall time.
    """
    try:
        row = benchmark(path)
        cpu = row.get("cpu_time", "NA")
        return max(float(row["s"]) if cpu in ("NA", "-") else float(cpu), 0.0)
    except (OSError, DamagedFile, KeyError, ValueError):
        return None


def benchmark(path: Path) -> dict[str, str]:
    """A benchmark file of Snakemake's: what was measured, by name."""
    lines = [line.split("\t") for line in read_utf8(path).splitlines()]
    if len(lines) < 2 or len(lines[0]) != len(lines[1]) or "s" not in lines[0]:
        raise DamagedFile(path, "this is no benchmark file of Snakemake", "delete it")
    return dict(zip(lines[0], lines[1], strict=True))
