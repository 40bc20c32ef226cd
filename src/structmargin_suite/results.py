"""Results as claims, figures, the page and the notebooks read them: rows of numbers from files.

    results = Results(Path("."))
    results["alignment"].rows(study="sizes", method="SVM2")    # the runs, as dicts
    results["alignment"].table("alignment")                    # a table's tidy rows
Nothing here computes a result; nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from structmargin_suite.methods.method import Method
from structmargin_suite.storage.files import read_arrays, read_csv, read_json
from structmargin_suite.storage.layout import Layout

Row = dict[str, Any]


def number(text: str) -> Any:
    """A cell of a CSV file as None, bool, int, float or text."""
    if text == "":
        return None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class NotReadyError(FileNotFoundError):
    """Results are there, but not the prepared data that they came from."""


class ExperimentResults:
    """One experiment's files."""

    def __init__(self, root: Path, name: str, folder: Path | None = None) -> None:
        self.layout = Layout(root)
        self.name = name
        self.folder = self.layout.experiment(name) if folder is None else folder
        self.summary: dict[str, Any] = read_json(self.folder / "summary.json")
        self.runs: list[Row] = self._rows("runs.csv")

    @property
    def config(self) -> dict[str, Any]:
        """The experiment's configuration at the scale that was run."""
        config: dict[str, Any] = self.summary["config"]
        return config

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The experiment's methods."""
        given, problem = self.config["methods"], self.config.get("problem")
        return {name: Method.parse(name, entry, problem) for name, entry in given.items()}

    def _rows(self, file: str) -> list[Row]:
        return [{key: number(text) for key, text in row.items()} for row in read_csv(self.folder / file)]

    def rows(self, study: str | Sequence[str] | None = None, done: bool = True, **wanted: Any) -> list[Row]:
        """Runs of a study, or of several, with the wanted settings; finished and chosen ones unless told."""
        studies = {study} if isinstance(study, str) else set(study or ())
        return [
            row
            for row in self.runs
            if (study is None or studies & set(row["studies"].split("; ")))
            and (not done or (row["status"] == "done" and row["chosen"]))
            and all(row.get(key) == value for key, value in wanted.items())
        ]

    def table(self, name: str) -> list[Row]:
        """The tidy rows of a table."""
        return self._rows(f"{name}.csv")

    def timings(self) -> list[Row]:
        """What clocks and memory meters said, a row a run."""
        return self._rows("timings.csv")

    def label(self, method: str) -> str:
        """How a method is called in figures and tables."""
        return self.methods[method].label if method in self.methods else method

    def record(self, run: str) -> dict[str, Any]:
        """The record of one run."""
        record: dict[str, Any] = read_json(self.folder / "runs" / run / "run.json")
        return record

    def arrays(self, run: str) -> dict[str, Any]:
        """The stored model of one run, as arrays."""
        return read_arrays(self.folder / "runs" / run / "model.npz")

    def model(self, run: str) -> Any:
        """The trained model of one run."""
        return self.method_of(run).from_arrays(self.arrays(run))

    def method_of(self, run: str) -> Method:
        """The method of one run, with the run's options set."""
        record = self.record(run)
        return Method.from_record(record["method"], record["model"])

    def kept(self, run: str) -> dict[str, Any]:
        """What evaluation kept of one run's test part."""
        return read_arrays(self.folder / "runs" / run / "kept.npz")

    def ready(self, run: str) -> dict[str, Any]:
        """The prepared arrays that one run read."""
        path = self.layout.part(self.name, self.record(run)["part"])
        if not path.is_file():
            raise NotReadyError(
                f"the data that {self.name} was run on are gone ({path.name} in {path.parent}): "
                f"make reproduce ONLY={self.name} prepares them again"
            )
        return read_arrays(path)

    def split(self, run: str) -> Any:
        """The data that one run saw."""
        from structmargin_suite.datasets import dataset

        record = self.record(run)
        module = dataset(self.config["data"][record["corpus"]]["from"])
        return module.view(self.ready(run), record["view_seed"], **record["view"])

    def figure(self, name: str, kind: str = "svg") -> Path:
        """The file of a figure."""
        return self.folder / "figures" / f"{name}.{kind}"

    def published(self, table: str) -> list[Row]:
        """The paper's numbers that a table stands beside; empty if there are none."""
        file = self.config["tables"][table].get("published")
        if file is None:
            return []
        return [
            {key: number(text) for key, text in row.items()} for row in read_csv(self.layout.published / file)
        ]


class Results(Mapping[str, ExperimentResults]):
    """Every experiment that has results under a root folder, in results/ or in the folder given."""

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        self.root = root
        self.folder = Layout(root).results if folder is None else folder
        found = sorted(path.parent for path in self.folder.glob("*/summary.json"))
        self._experiments = {path.name: ExperimentResults(root, path.name, path) for path in found}

    @classmethod
    def latest(cls, root: Path, experiment: str | None = None) -> Results:
        """What was run here, or else the snapshot that came with the project.

        With an experiment's name: the first of the two that has results of it.
        """
        for folder in (Layout(root).results, Layout(root).results / "snapshot"):
            found = cls(root, folder)
            if found and (experiment is None or experiment in found):
                return found
        if experiment is None:
            return cls(root)
        raise FileNotFoundError(
            f"there are no results of {experiment!r} in results/ or results/snapshot/: "
            f"run make reproduce ONLY={experiment} first"
        )

    def claims(self) -> list[Row]:
        """The verdicts: id, verdict, evidence."""
        return list(read_csv(self.folder / "claims.csv"))

    def __getitem__(self, name: str) -> ExperimentResults:
        return self._experiments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._experiments)

    def __len__(self) -> int:
        return len(self._experiments)
