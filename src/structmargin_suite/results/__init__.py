"""Results as statements, figures, the page and the notebooks read them: pandas frames from files.

    results = Results.latest()                      # of the project that the current folder lies in
    alignment = results["alignment"]
    alignment.runs                                  # one row per planned run
    alignment.select("sizes", method="SVM2")        # the finished runs of a study
    alignment.table("alignment")                    # a table, tidy
    alignment.table("alignment", primary=True)      # only the reading by which statements are judged
    results.statements()                            # verdicts on what the papers state

Columns have types (storage/frames.py): those of runs.csv are said by `columns` in summary.json, where
`tabulate` wrote what each column was made from. Results without it, such as older snapshots, are read by
the types declared here and, for settings and metrics, by what all cells of a column can be read as.
Nothing here computes a result; nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from structmargin_suite.results.columns import (
    PUBLISHED_TYPES,
    RUN_TYPES,
    STATEMENT_TYPES,
    STUDY_SEPARATOR,
    TABLE_TYPES,
    TIMING_TYPES,
    column,
    has_value,
    with_readings,
)
from structmargin_suite.results.experiment import ExperimentResults
from structmargin_suite.results.run_files import NotReadyError
from structmargin_suite.storage.frames import read_frame
from structmargin_suite.storage.layout import Layout

__all__ = [
    "PUBLISHED_TYPES",
    "RUN_TYPES",
    "STATEMENT_TYPES",
    "STUDY_SEPARATOR",
    "TABLE_TYPES",
    "TIMING_TYPES",
    "ExperimentResults",
    "NotReadyError",
    "Results",
    "column",
    "has_value",
    "with_readings",
]


class Results(Mapping[str, ExperimentResults]):
    """Every experiment that has results under a root folder, by name.

    Parameters
    ----------
    root : Path
        The project's folder.
    folder : Path, optional
        Where the results lie; by default results/ below the root.
    base : Path, optional
        Where the bundles with runs and data lie; by default the root.

    Examples
    --------
    >>> from pathlib import Path
    >>> root = next(p for p in [Path.cwd(), *Path.cwd().parents] if (p / "results" / "snapshot").is_dir())
    >>> results = Results(root, root / "results" / "snapshot")
    >>> "alignment" in results
    True
    >>> list(results.statements().columns)[:4]
    ['id', 'claim', 'paper', 'where']
    """

    def __init__(self, root: Path, folder: Path | None = None, base: Path | None = None) -> None:
        self.root = root
        self.folder = Layout(root).results if folder is None else folder
        folders = sorted(path.parent for path in self.folder.glob("*/summary.json"))
        self._experiments = {path.name: ExperimentResults(root, path.name, path, base) for path in folders}

    @classmethod
    def latest(cls, root: Path | None = None, experiment: str | None = None) -> Results:
        """What was run here, or else the snapshot that came with the project.

        Parameters
        ----------
        root : Path, optional
            The project's folder; by default the one that the current folder lies in.
        experiment : str, optional
            With an experiment's name, the first of the two that has results of it.

        Returns
        -------
        Results
        """
        root = _project_folder() if root is None else root
        for folder in (Layout(root).results, Layout(root).snapshot):
            results = cls(root, folder)
            if results and (experiment is None or experiment in results):
                return results
        if experiment is None:
            return cls(root)
        raise FileNotFoundError(
            f"there are no results of {experiment!r} in results/ or results/snapshot/: "
            f"run make reproduce ONLY={experiment} first"
        )

    def statements(self) -> pd.DataFrame:
        """What the papers state, and our verdicts.

        Returns
        -------
        DataFrame
            One row for each statement, reading and corpus; `primary` marks the row that headlines count.
        """
        return read_frame(self.folder / "statements.csv", STATEMENT_TYPES, others="text")

    def __getitem__(self, name: str) -> ExperimentResults:
        return self._experiments[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._experiments)

    def __len__(self) -> int:
        return len(self._experiments)


def _project_folder() -> Path:
    """The current folder, or the nearest above it, that holds a suite."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "configs" / "suite.yaml").is_file():
            return folder
    raise FileNotFoundError(
        f"neither {here} nor a folder above it has configs/suite.yaml: go to the project's folder, or name "
        "it: Results.latest(Path(...))"
    )
