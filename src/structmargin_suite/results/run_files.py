"""The files of an experiment's runs: records, models, traces and predictions, read from their bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from structmargin_suite.methods.method import Method
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.csv_files import lines_of
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import sha256
from structmargin_suite.storage.frames import frame_from
from structmargin_suite.storage.layout import (
    GAINS_FILE,
    KEPT_FILE,
    MODEL_FILE,
    PART_FILE,
    RECORD_FILE,
    TRACE_FILE,
    ScaleLayout,
)


class NotReadyError(FileNotFoundError):
    """Results are there, but not the prepared data that they came from."""


class RunFiles:
    """What the runs of one experiment left, by the name of a run.

    Parameters
    ----------
    name : str
        The experiment.
    base : Path
        Where the bundles with its runs and data lie.
    summary : dict
        summary.json: scale, seed, data, configuration, and the sums of the bundles.
    """

    def __init__(self, name: str, base: Path, summary: dict[str, Any]) -> None:
        self.name = name
        self.base = base
        self.summary = summary
        self._opened: dict[Path, Bundle] = {}

    @property
    def config(self) -> dict[str, Any]:
        """The experiment's configuration at the scale that was run."""
        config: dict[str, Any] = self.summary["config"]
        return config

    def record(self, run: str) -> dict[str, Any]:
        """The record of one run.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        dict
            Settings, seed, data, code, versions and the numbers of the fit.
        """
        record: dict[str, Any] = self._bundle(run, "trained").json(run, RECORD_FILE)
        return record

    def arrays(self, run: str) -> dict[str, Any]:
        """The stored model of one run, as arrays.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        dict of str to ndarray
            What the model was saved as.
        """
        return self._bundle(run, "trained").arrays(run, MODEL_FILE)

    def files(self, run: str) -> dict[str, bytes]:
        """Every stored file of one run.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        dict of str to bytes
            run.json, metrics.json and, where the run was trained, model.npz, clock.json and more.
        """
        bundles = [self._bundle(run, kind) for kind in ("trained", "clocks", "evaluated")]
        return {name: bundle.read(run, name) for bundle in bundles for name in bundle.sums(run)}

    def model(self, run: str) -> Any:
        """The trained model of one run.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        object
            A fitted estimator of the library, or a model of a baseline: both have `predict`.
        """
        return self.method_of(run).from_arrays(self.arrays(run))

    def method_of(self, run: str) -> Method:
        """The method of one run, with the run's options set.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        Method
            The method as it was trained.
        """
        record = self.record(run)
        return Method.from_record(record["method"], record["model"])

    def kept_predictions(self, run: str) -> dict[str, Any]:
        """The predictions on the test set that evaluation kept of one run.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        dict of str to ndarray
            Arrays by the names that the data set gives them.
        """
        return self._bundle(run, "evaluated").arrays(run, KEPT_FILE)

    def ready(self, run: str) -> dict[str, Any]:
        """The prepared arrays that one run read.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        dict of str to ndarray
            The part of the corpus, as `prepare` stored it.
        """
        record = self.record(run)
        path = self._at_scale.corpus(self.name, record["corpus"])
        if not path.is_file():
            raise NotReadyError(
                f"the data that {self.name} was run on are gone ({path}): "
                f"make reproduce ONLY={self.name} prepares them again"
            )
        corpus = self._open(path)
        if corpus.sums(record["part"])[PART_FILE] != record["data"]["part"]:
            raise NotReadyError(
                f"{path} no longer holds the data that {run!r} was run on: make reproduce ONLY={self.name}"
            )
        return corpus.arrays(record["part"], PART_FILE)

    @property
    def _at_scale(self) -> ScaleLayout:
        """The folders of the scale that was run."""
        return ScaleLayout(self.base, self.summary["scale"])

    def _bundle(self, run: str, kind: str) -> Bundle:
        """The bundle with a run's files; it must be the one that the tables were made from."""
        jobs: dict[str, dict[str, Any]] = self.summary.get("jobs", {})
        job = next((name for name, made in jobs.items() if run in made["runs"]), None)
        if job is None:
            raise KeyError(f"{self.name} has no run {run!r}: the column `run` of `runs` lists them")
        layout = self._at_scale
        places = {"trained": layout.trained, "clocks": layout.clocks, "evaluated": layout.evaluated}
        path = places[kind](self.name, job)
        if not path.is_file():
            raise NotReadyError(
                f"the runs that the tables of {self.name} were made from are not here ({path}): "
                f"make reproduce SCALE={layout.name} ONLY={self.name} makes them"
            )
        known = path in self._opened
        bundle = self._open(path)
        if not known and kind in jobs[job] and sha256(path) != jobs[job][kind]:
            raise DamagedFile(
                path,
                f"this is not what the tables of {self.name} were made from",
                f"make reproduce SCALE={layout.name} ONLY={self.name} makes both again",
            )
        return bundle

    def _open(self, path: Path) -> Bundle:
        if path not in self._opened:
            self._opened[path] = Bundle(path)
        return self._opened[path]

    def split(self, run: str) -> Any:
        """The data that one run saw.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        Split
            Its training, test and perhaps validation examples.
        """
        from structmargin_suite.datasets import dataset

        record = self.record(run)
        module = dataset(self.config["data"][record["corpus"]]["from"])
        return module.view(self.ready(run), record["view_seed"], **record["view"])

    def trace(self, run: str) -> pd.DataFrame:
        """The trace of one training.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        DataFrame
            One row for each time that the solver measured itself.
        """
        return self._numbers(run, "clocks", TRACE_FILE)

    def gains(self, run: str) -> pd.DataFrame:
        """What each cut of one training gained, where its solver has the option `gains: true`.

        Parameters
        ----------
        run : str
            The name of the run, as in the column `run` of `runs`.

        Returns
        -------
        DataFrame
            One row for each cut, with the columns of `structmargin.Fit.gains`.
        """
        return self._numbers(run, "trained", GAINS_FILE)

    def _numbers(self, run: str, kind: str, name: str) -> pd.DataFrame:
        """A file of numbers of one run, from its bundle of this kind."""
        bundle = self._bundle(run, kind)
        if not bundle.has(run, name):
            raise NotReadyError(f"the training of {run!r} of {self.name} left no {name}")
        path = bundle.path / run / name
        lines = lines_of(bundle.read(run, name).decode("utf-8"), path)
        return frame_from(lines, {}, path, others="float")
