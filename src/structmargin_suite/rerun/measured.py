"""What jobs took, gathered from Snakemake's benchmark files into workflow/resources.yaml."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import yaml

from structmargin_suite.planning.resources import FILE, Resources
from structmargin_suite.rerun.times import benchmark, cpu_seconds
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import write_text
from structmargin_suite.storage.layout import BENCHMARKS, Layout

HEADER = """\
# Peak memory and wall time of the largest job of each rule, by experiment and scale, as measured by
# `structmargin resources` after a run, and `cpu`, the CPU seconds of its jobs on average. What jobs ask a
# cluster for (src/structmargin_suite/planning/resources.py), and how long a first run is said to take, follow
# from these numbers.
"""


def measured(root: Path) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """The largest job of each rule, by experiment and scale: its megabytes and seconds, rounded up; and the
    CPU seconds of the rule's jobs on average."""
    largest: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    cpu: dict[tuple[str, str, str], list[float]] = {}
    for path in sorted((Layout(root).results / "scales").glob(f"*/*/{BENCHMARKS}/*.tsv")):
        scale, experiment, rule = path.parts[-4], path.parts[-3], path.stem.partition("_")[0]
        mb, seconds = _row(path)
        known = largest.setdefault(experiment, {}).setdefault(scale, {})
        before = known.get(rule, {"mb": 0, "seconds": 0})
        times = cpu.setdefault((experiment, scale, rule), [])
        times.append(cpu_seconds(path) or 0.0)
        known[rule] = {
            "cpu": math.ceil(fmean(times)),
            "mb": max(before["mb"], math.ceil(mb)),
            "seconds": max(before["seconds"], math.ceil(seconds)),
        }
    return largest


def _row(path: Path) -> tuple[float, float]:
    """(megabytes, seconds) in a benchmark file; a job too short to be measured has no memory."""
    row = benchmark(path)
    try:
        memory = row["max_rss"]
        return (0.0 if memory in ("NA", "-") else float(memory)), float(row["s"])
    except (KeyError, ValueError):
        raise DamagedFile(path, "this is no benchmark file of Snakemake", "delete it") from None


def resources(root: Path) -> str:
    """The text of workflow/resources.yaml: what was measured here, else what it had before."""
    known = {name: dict(scales) for name, scales in Resources.read(root).measured.items()}
    for experiment, scales in measured(root).items():
        before = known.setdefault(experiment, {})
        before.update({scale: {**before.get(scale, {}), **rules} for scale, rules in scales.items()})
    lines = [HEADER]
    for experiment in sorted(known):
        lines.append(f"{experiment}:\n")
        for scale, rules in sorted(known[experiment].items()):
            lines.append(f"  {scale}:\n")
            for rule, values in sorted(rules.items()):
                inline = yaml.safe_dump(values, default_flow_style=True, sort_keys=True).strip()
                lines.append(f"    {rule}: {inline}\n")
    return "".join(lines)


def write_resources(root: Path) -> Path:
    """Write the file; returns where it is."""
    path = root / FILE
    write_text(path, resources(root))
    return path
