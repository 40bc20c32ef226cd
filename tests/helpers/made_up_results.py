"""Results made up in memory, for checks that must pass and checks that must fail."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import yaml

from helpers.toy_project import HERE
from structmargin_suite.results import RUN_TYPES, ExperimentResults, with_readings
from structmargin_suite.statements.judging import judge
from structmargin_suite.storage.frames import frame_of
from structmargin_suite.storage.statements_file import read_statements

LIST = HERE / "data" / "published" / "statements.yaml"


def frame(rows):
    """Made-up runs as the frame that they would be read as."""
    columns = dict.fromkeys([*RUN_TYPES, *(name for row in rows for name in row)])
    return with_readings(frame_of(rows, list(columns), RUN_TYPES))


def config_of(experiment):
    """The data, readings and methods of an experiment's own config."""
    config = yaml.safe_load((HERE / "configs" / f"{experiment}.yaml").read_text(encoding="utf-8"))
    return {key: config[key] for key in ("data", "readings", "methods") if key in config}


class Fake(ExperimentResults):
    """Results made up in memory."""

    def __init__(self, name, config, runs, weights=None):
        self.name, self.runs, self.weights = name, frame(runs), weights or {}
        self.summary = {"config": {"methods": {}, "data": {}, **config}}

    def model(self, run):
        return SimpleNamespace(w_=np.asarray(self.weights[run]))


def row(study, run, **values):
    return {"run": run, "studies": study, "status": "done", "chosen": True, **values}


def judged(results, experiment, reading="", only=None):
    """Verdicts of the statements about an experiment, or of some, under one reading or without any."""
    rows = judgements(results, experiment, only=only)
    return {row["id"]: row["verdict"] for row in rows if row["reading"] in ("", reading)}


def judgements(results, experiment, *claims, only=None):
    """The rows of the statements about an experiment: of these claims or all, of `only` some of them or all.

    Statements left out count for the width of the intervals, which those of a claim have together.
    """
    listed = [one for one in _claims() if one.experiment == experiment and (not claims or one.id in claims)]
    return judge(results, listed, only or None)


@functools.cache
def _claims():
    return read_statements(LIST)
