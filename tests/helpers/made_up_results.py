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


def judged(results, experiment, reading=""):
    """Verdicts of the statements about an experiment, under one reading or where they have none."""
    rows = judgements(results, experiment)
    return {row["id"]: row["verdict"] for row in rows if row["reading"] in ("", reading)}


def judgements(results, experiment):
    """The rows of the statements about an experiment, as the project's list has them."""
    claims = [claim for claim in read_statements(LIST) if claim.experiment == experiment]
    return judge(results, claims)
