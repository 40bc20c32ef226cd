"""What the benchmarks measured: one file of JSON lines per benchmark, from which README.md is written.

A line is one table: benchmark, title, text, columns, rows, with the machine and the run: when it began, how
many minutes it took, the load of the machine before and after, the commit. A row of a peer has "times", the
peer's seconds over ours; below 1 we are slower. The file is replaced once a benchmark has ended.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from fresh import table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
BEGAN, LOAD = datetime.datetime.now(datetime.UTC), os.getloadavg()[0]
"""When this process began, and how many others wanted a core in the minute before."""
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "python-crfsuite", "nltk", "biopython", "parasail")


def machine() -> dict[str, str]:
    """Processor, cores, Python and versions: no names of hosts or folders."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": processor,
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
        **versions,
    }


def commit() -> str:
    """The commit of the code, with a plus sign if files differ from it; empty where git does not say."""

    def git(*words: str) -> str:
        try:
            done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src", "*.py", "peers")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def run() -> dict[str, str | float]:
    """When this process began, its minutes, the load before it and now, the commit."""
    minutes = (datetime.datetime.now(datetime.UTC) - BEGAN).total_seconds() / 60
    return {
        "began": BEGAN.strftime("%Y-%m-%d %H:%M"),
        "minutes": minutes,
        "load before": LOAD,
        "load after": os.getloadavg()[0],
        "commit": commit(),
    }


class Ledger:
    """The tables of one benchmark: printed as they come, kept once all are there."""

    def __init__(self, benchmark: str, results: Path = RESULTS) -> None:
        self.benchmark, self.path = benchmark, results / f"{benchmark}.jsonl"
        self.tables: list[dict[str, Any]] = []

    def __enter__(self) -> Ledger:
        return self

    def add(
        self,
        title: str,
        rows: list[dict[str, Any]],
        columns: list[str],
        text: str = "",
        case: Sequence[str] = (),
    ) -> None:
        """One more table; columns that no row has are left out, and `case` tells comparisons apart."""
        present = [name for name in columns if any(row.get(name) not in (None, "") for row in rows)]
        print(f"\n{title}\n{text}".rstrip() + "\n" + table(rows, present), flush=True)
        self.tables.append(
            {
                "benchmark": self.benchmark, "title": title, "text": text, "columns": present, "rows": rows,
                "case": list(case), "machine": machine(),
            }
        )  # fmt: skip

    def figure(self, file: str, caption: str) -> None:
        """A figure of folder figures/, to stand below the last table."""
        self.tables[-1]["figure"] = {"file": file, "caption": caption}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.path.parent.mkdir(exist_ok=True)
            part, ended = self.path.with_suffix(".part"), run()
            lines = [json.dumps({**one, "run": ended}) + "\n" for one in self.tables]
            part.write_text("".join(lines), encoding="utf-8")
            part.replace(self.path)


def read(results: Path = RESULTS) -> dict[str, list[dict[str, Any]]]:
    """The tables of every benchmark that was measured, by its name."""
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(results.glob("*.jsonl"))
    }
