"""Results made up in memory, for checks that must pass and checks that must fail."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from helpers.toy_project import HERE
from structmargin_suite.results import RUN_TYPES, ExperimentResults
from structmargin_suite.statements.judging import judge
from structmargin_suite.storage.frames import frame_of
from structmargin_suite.storage.statements_file import read_statements

LIST = HERE / "data" / "published" / "statements.yaml"


def frame(rows):
    """Made-up runs as the frame that they would be read as."""
    columns = dict.fromkeys([*RUN_TYPES, *(name for row in rows for name in row)])
    return frame_of(rows, list(columns), RUN_TYPES)


class Fake(ExperimentResults):
    """Results made up in memory."""

    def __init__(self, name, config, runs, weights=None):
        self.name, self.runs, self.weights = name, frame(runs), weights or {}
        self.summary = {"config": config}

    def model(self, run):
        return SimpleNamespace(w_=np.asarray(self.weights[run]))


def row(study, run, **values):
    return {"run": run, "studies": study, "status": "done", "chosen": True, **values}


def judged(results, experiment, reading="", only=None):
    """Verdicts of the statements about an experiment, or of some, under one reading or where they have none."""
    rows = judgements(results, experiment, only)
    return {row["id"]: row["verdict"] for row in rows if row["reading"] in ("", reading)}


def judgements(results, experiment, only=None):
    """The rows of the statements about an experiment, or of some, as the project's list has them.

    Intervals are as wide as they are in a run: those of all statements of a claim together.
    """
    return [
        row
        for claim in LISTED
        if claim.experiment == experiment
        for statement in claim.statements
        if only is None or statement.id in only
        for row in judge(results, [replace(claim, statements=(statement,) * len(claim.statements))])[:1]
    ]
