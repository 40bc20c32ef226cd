"""The results of one experiment, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import Reading, readings_of
from structmargin_suite.results.columns import (
    PUBLISHED_TYPES,
    RUN_TYPES,
    STUDY_SEPARATOR,
    TABLE_TYPES,
    TIMING_TYPES,
    column,
    has_value,
    with_readings,
)
from structmargin_suite.results.run_files import RunFiles
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.frames import ColumnType, read_frame
from structmargin_suite.storage.layout import Layout


class ExperimentResults(RunFiles):
    """The results of one experiment, read from its folder.

    Parameters
    ----------
    root : Path
        The project's folder.
    name : str
        The experiment.
    folder : Path, optional
        Where its files lie; by default results/<name> below the root.
    base : Path, optional
        Where the bundles with its runs and data lie; by default the root.

    Attributes
    ----------
    summary : dict
        summary.json: scale, seed, data, configuration.
    runs : DataFrame
        One row per planned run: identifiers, then settings, metrics and values that a training chose.
        `studies` names the studies that a run belongs to; `status` is done, skipped or failed, with a
        `reason`; `chosen` is False for runs with an option's value that lost against another.

    Examples
    --------
    >>> from pathlib import Path
    >>> root = next(p for p in [Path.cwd(), *Path.cwd().parents] if (p / "results" / "snapshot").is_dir())
    >>> alignment = ExperimentResults(root, "alignment", root / "results" / "snapshot" / "alignment")
    >>> str(alignment.runs["n_train"].dtype), str(alignment.runs["test_error"].dtype)
    ('Int64', 'float64')
    >>> sizes = alignment.select("sizes", method="SVM2")
    >>> sizes["n_train"].unique().tolist()
    [1, 2, 4, 5, 10, 20, 40, 80]
    >>> list(alignment.table("alignment").columns)[:5]
    ['n_train', 'method', 'reading', 'measure', 'data']
    """

    def __init__(self, root: Path, name: str, folder: Path | None = None, base: Path | None = None) -> None:
        self.layout = Layout(root)
        self.folder = self.layout.shown(name) if folder is None else folder
        super().__init__(name, root if base is None else base, read_json(self.folder / "summary.json"))
        types = {key: known["type"] for key, known in self.summary.get("columns", {}).items()}
        self.runs = with_readings(read_frame(self.folder / "runs.csv", {**types, **RUN_TYPES}))

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The experiment's methods by name."""
        given, problem = self.config["methods"], self.config.get("problem")
        return {name: Method.parse(name, entry, problem) for name, entry in given.items()}

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """The experiment's readings of its paper by name."""
        return readings_of(self.config)

    def primary(self, method: str) -> str:
        """The reading by which statements about a method are judged.

        Parameters
        ----------
        method : str
            The name of the method in the config.

        Returns
        -------
        str
            The name of its primary reading; "" for a method without readings.
        """
        names = self.methods[method].readings if method in self.methods else ()
        return next((name for name in names if self.readings[name].primary), "")

    def select(
        self, study: str | Sequence[str] | None = None, done: bool = True, **settings: Any
    ) -> pd.DataFrame:
        """Some of the runs.

        Parameters
        ----------
        study : str or sequence of str, optional
            Runs of this study, or of any of these.
        done : bool
            Finished and chosen runs only; all planned ones otherwise.
        **settings
            Values that columns must have, such as ``method="SVM2"`` or ``reading="printed"``; no run has a
            column that is not there. The reading of a method without readings is "".

        Returns
        -------
        DataFrame
            Rows of `runs` in their order, counted from 0.
        """
        runs = self.runs
        wanted = pd.Series(True, index=runs.index)
        if study is not None:
            studies = {study} if isinstance(study, str) else set(study)
            wanted &= pd.Series(
                [bool(studies & set(text.split(STUDY_SEPARATOR))) for text in runs["studies"]],
                index=runs.index, dtype=bool,
            )  # fmt: skip
        if done:
            wanted &= has_value(runs, "status", "done") & has_value(runs, "chosen", True)
        for key, value in settings.items():
            wanted &= has_value(runs, key, value)
        return runs[wanted].reset_index(drop=True)

    def pairs(self, study: str) -> list[tuple[str, str]]:
        """The methods of a study, each with every reading that it runs under there.

        Parameters
        ----------
        study : str
            The name of the study in the config.

        Returns
        -------
        list of (str, str)
            (method, reading) in the order of the runs; the reading of a method without readings is "".
        """
        runs = self.select(study, done=False)
        return list(dict.fromkeys(zip(runs["method"], runs["reading"], strict=True)))

    def table(self, name: str, primary: bool = False) -> pd.DataFrame:
        """A table, tidy: its keys, then the columns of `TABLE_TYPES`.

        Parameters
        ----------
        name : str
            The name of the table, as its config gives it.
        primary : bool, default=False
            Only rows of each method's primary reading, or of the first that the table has of a method
            whose primary reading it does not have.

        Returns
        -------
        DataFrame
            One row per combination of keys, data and measure.
        """
        spec = self.config.get("tables", {}).get(name, {})
        types: dict[str, ColumnType] = {}
        for key in spec.get("keys", []):
            source = spec.get("found_as", {}).get(key, key)
            known = RUN_TYPES.get(source) or self.summary.get("columns", {}).get(source, {}).get("type")
            types |= {key: known} if known else {}
        table = read_frame(self.folder / f"{name}.csv", {**types, **TABLE_TYPES})
        if "reading" not in table:
            return table
        table = with_readings(table)
        return self._primary_rows(table) if primary and "method" in table else table

    def _primary_rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table under one reading per method."""
        shown = {}
        for method, readings in table.groupby("method", sort=False)["reading"].unique().items():
            wanted = self.primary(str(method))
            shown[method] = wanted if wanted in readings else readings[0]
        return table[table["reading"] == table["method"].map(shown)].reset_index(drop=True)

    def timings(self) -> pd.DataFrame:
        """What clocks and memory meters said.

        Returns
        -------
        DataFrame
            One row per run, with the machine it ran on.
        """
        return read_frame(self.folder / "timings.csv", TIMING_TYPES, others="float")

    def timed(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Those of some runs that have timings, with these as further columns.

        Parameters
        ----------
        runs : DataFrame
            Rows of `runs`, as `select` returns them.

        Returns
        -------
        DataFrame
            The same rows with the columns of `timings`.
        """
        return runs.merge(self.timings(), on="run", how="inner", suffixes=("", "_clock"))

    def papers_own(self, corpus: str) -> bool:
        """Whether the paper used these data, so that its numbers can be compared with ours.

        Parameters
        ----------
        corpus : str
            The name of the corpus in the config.

        Returns
        -------
        bool
            What the config says (`papers_own`); never for a stand-in that was made up for want of the files.
        """
        data = {entry["corpus"]: entry for entry in self.summary.get("data", [])}.get(corpus, {})
        stand_in = data.get("kind") == "synthetic" and data.get("asked") != "synthetic"
        return bool(self.config["data"].get(corpus, {}).get("papers_own", False)) and not stand_in

    def label(self, method: str, reading: str = "") -> str:
        """How a method is called in figures and tables.

        Parameters
        ----------
        method : str
            The name of the method in the config.
        reading : str, default=""
            The name of a reading, if it is to be called too.

        Returns
        -------
        str
            The labels of both, or their names where they have none.
        """
        label = self.methods[method].label if method in self.methods else method
        return f"{label}, {self.reading_label(reading)}" if reading else label

    def reading_label(self, reading: str) -> str:
        """How a reading is called in figures and tables.

        Parameters
        ----------
        reading : str
            The name of the reading in the config.

        Returns
        -------
        str
            Its label, or its name where it has none.
        """
        return self.readings[reading].label if reading in self.readings else reading

    def figure(self, name: str, kind: str = "svg") -> Path:
        """The file of a figure.

        Parameters
        ----------
        name : str
            The name of the figure, as its config gives it.
        kind : {"svg", "pdf", "png", "json"}, default="svg"
            The format; json has the numbers that are plotted.

        Returns
        -------
        Path
            Where the figure is, if it was drawn.
        """
        return self.folder / "figures" / f"{name}.{kind}"

    def published(self, table: str) -> pd.DataFrame:
        """The paper's numbers that a table stands beside.

        Parameters
        ----------
        table : str
            The name of the table.

        Returns
        -------
        DataFrame
            One row per published number, with its value and, as `printed`, the text that the paper prints;
            empty where there are none.
        """
        file = self.config["tables"][table].get("published")
        if file is None:
            return pd.DataFrame(
                {"method": pd.Series(dtype="string"), "measure": pd.Series(dtype="string"),
                 "value": pd.Series(dtype="float64")}
            )  # fmt: skip
        path = self.layout.published / file
        as_text = read_frame(path, {}, others="text")
        spread = (" ± " + column(as_text, "spread", "").astype("string")).where(
            column(as_text, "spread").notna(), ""
        )
        return read_frame(path, PUBLISHED_TYPES).assign(printed=as_text["value"] + spread)
