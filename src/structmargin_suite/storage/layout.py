"""Where files stand under the root folder, in one place."""

from __future__ import annotations

from pathlib import Path

KEPT_FILE = "kept.npz"
"""Arrays of the test subset that evaluation writes to a run's folder, and that figures read."""


class Layout:
    """Paths of everything that a stage reads or writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.results = root / "results"
        self.published = root / "data" / "published"
        self.claims = self.results / "claims.csv"
        self.page = self.results / "index.html"

    def raw(self, module: str) -> Path:
        """Fetched files of a data set."""
        return self.root / "data" / "raw" / module

    def part(self, experiment: str, name: str) -> Path:
        """A prepared part of a corpus."""
        return self.root / "data" / "ready" / experiment / f"{name}.npz"

    def corpus(self, experiment: str, corpus: str) -> Path:
        """The receipt of `prepare`: a corpus's parts, their sums and where the data came from."""
        return self.root / "data" / "ready" / experiment / f"{corpus}.json"

    def experiment(self, name: str) -> Path:
        """Everything an experiment produces."""
        return self.results / name

    def run(self, experiment: str, name: str) -> Path:
        """The folder of one run."""
        return self.experiment(experiment) / "runs" / name

    def trained(self, experiment: str, job: str) -> Path:
        """The receipt of a training job."""
        return self.experiment(experiment) / "jobs" / f"{job}.trained.json"

    def evaluated(self, experiment: str, job: str) -> Path:
        """The receipt of an evaluation job."""
        return self.experiment(experiment) / "jobs" / f"{job}.evaluated.json"

    def figure(self, experiment: str, name: str, kind: str) -> Path:
        """A figure as svg, pdf or png."""
        return self.experiment(experiment) / "figures" / f"{name}.{kind}"
