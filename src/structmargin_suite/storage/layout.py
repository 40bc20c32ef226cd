"""Where files stand, in one place.

    data/raw/<data set>/                        fetched files, a cache: checked against their sums when read
    data/ready/<scale>/<experiment>/            one bundle per corpus
    results/scales/<scale>/<experiment>/jobs/   three bundles per job: trained, clocks, evaluated
    results/scales/<scale>/<experiment>/        tables, figures and their seal
    results/<experiment>/                       a copy of those of the scale that was run last
    results/                                    the overview and the verdicts
    results/<experiment>/index.html             the page of an experiment
    results/<experiment>/statements.md          its verdicts, for readers on the web
    results/seeds/<scale>/<seed>/               verdicts of the same configuration under another seed
    .cache/runs/<scale>/<experiment>/           finished runs, so that a job that runs again does less
    .cache/before/<scale>/<experiment>/         the tables of the run before the last change

No two scales share a file below their own folders. Deleting the caches costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PART_FILE = "part.npz"
RECORD_FILE, MODEL_FILE, GAINS_FILE = "run.json", "model.npz", "gains.csv"
CLOCK_FILE, TRACE_FILE = "clock.json", "trace.csv"
METRICS_FILE, KEPT_FILE = "metrics.json", "kept.npz"
"""The files of the entries of a corpus (parts) and of a job's three bundles (runs)."""
TRAINED, CLOCKS, EVALUATED = ".trained.zip", ".clocks.zip", ".evaluated.zip"
"""How the names of a job's bundles end."""
BENCHMARKS, LOGS = "benchmarks", "logs"
"""Folders in which Snakemake notes what jobs took, and what they said."""
PAGE_FILE, SENTENCES_FILE = "index.html", "statements.md"
"""The page of an experiment, and its verdicts for readers on the web; the overview is a PAGE_FILE too."""
FIGURE_KINDS = ("svg", "pdf", "png", "json")


class Layout:
    """What does not depend on the scale."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.results = root / "results"
        self.published = root / "data" / "published"
        self.statements = self.results / "statements.csv"
        self.distances = self.results / "distances.svg"
        self.snapshot = self.results / "snapshot"
        self.page = self.results / PAGE_FILE
        self.complete = self.results / "complete.json"

    def raw(self, module: str) -> Path:
        """Fetched files of a data set."""
        return self.root / "data" / "raw" / module

    def shown(self, experiment: str) -> Path:
        """The tables and figures of an experiment, of the scale that was run last."""
        return self.results / experiment

    def page_of(self, experiment: str) -> Path:
        """The page of an experiment."""
        return self.shown(experiment) / self.page.name

    def sentences_of(self, experiment: str) -> Path:
        """The verdicts on an experiment's statements as Markdown."""
        return self.shown(experiment) / self.statements.with_suffix(".md").name

    def scale(self, scale: str) -> ScaleLayout:
        """The folders of one scale."""
        return ScaleLayout(self.root, scale)


class ScaleLayout(Layout):
    """What one scale has for itself."""

    def __init__(self, root: Path, scale: str) -> None:
        super().__init__(root)
        self.name = scale

    def corpus(self, experiment: str, corpus: str) -> Path:
        """A prepared corpus: a bundle with one entry for each of its parts."""
        return self.root / "data" / "ready" / self.name / experiment / f"{corpus}.zip"

    def experiment(self, name: str) -> Path:
        """Everything an experiment produces."""
        return self.results / "scales" / self.name / name

    def trained(self, experiment: str, job: str) -> Path:
        """Records and models of a job's runs."""
        return self.experiment(experiment) / "jobs" / f"{job}{TRAINED}"

    def clocks(self, experiment: str, job: str) -> Path:
        """What clocks and memory meters said of a job's trainings, and their traces."""
        return self.experiment(experiment) / "jobs" / f"{job}{CLOCKS}"

    def evaluated(self, experiment: str, job: str) -> Path:
        """Metrics of a job's runs."""
        return self.experiment(experiment) / "jobs" / f"{job}{EVALUATED}"

    def cached(self, experiment: str, run: str, stage: str) -> Path:
        """What a stage made of one run, for when its job runs again."""
        return self.root / ".cache" / "runs" / self.name / experiment / f"{run}.{stage}.zip"

    def before(self, experiment: str) -> Path:
        """The tables of an experiment's run before the last one that changed something."""
        return self.root / ".cache" / "before" / self.name / experiment

    def seed(self, seed: int | str) -> Path:
        """The verdicts of a run under another seed; `seed("*")` is the pattern of all of them."""
        return self.results / "seeds" / self.name / str(seed)

    def log(self, experiment: str, name: str) -> Path:
        """The log of a job."""
        return self.experiment(experiment) / LOGS / f"{name}.log"

    def folders(self, experiment: str) -> list[Path]:
        """Folders that files of an experiment are written to, each after the one that it is in."""
        ready = self.root / "data" / "ready" / self.name
        own, shown = self.experiment(experiment), self.shown(experiment)
        inside = [own / name for name in ("jobs", "figures", LOGS, BENCHMARKS)]
        outside = [ready, ready / experiment, shown, shown / "figures", self.results / LOGS]
        return [*outside, own.parent, own, *inside]


def tabulated(config: dict[str, object]) -> list[str]:
    """The files that `tabulate` makes for an experiment with this configuration, but its seal."""
    tables: object = config["tables"]
    figures: object = config.get("figures", {})
    assert isinstance(tables, dict) and isinstance(figures, dict)
    return [
        "summary.json",
        "runs.csv",
        "timings.csv",
        *(f"{table}.{kind}" for table in tables for kind in ("csv", "md", "tex")),
        *(f"figures/{figure}.{kind}" for figure in figures for kind in FIGURE_KINDS),
    ]


def figure_kind(config: Mapping[str, Any], experiment: str, figure: str) -> tuple[str, str]:
    """(module, name) of the function that draws a figure: its `kind`, or the one of its name.

    An experiment's own figures are in the module of its name; those of a variant, in that of the experiment
    that it extends.

    Examples
    --------
    >>> figures = {"curve": {}, "other": {"kind": "ner/bars"}}
    >>> figure_kind({"figures": figures, "extends": "ocr"}, "mine", "curve")
    ('ocr', 'curve')
    >>> figure_kind({"figures": figures}, "mine", "other")
    ('ner', 'bars')
    """
    own = f"{config.get('extends', experiment)}/{figure}"
    module, _, name = str(config["figures"][figure].get("kind", own)).partition("/")
    return module, name
