"""The toy experiment with figures: of few points, of many, of thousands, and one that shows a clock."""

from __future__ import annotations

import copy
import sys
import types
from pathlib import Path

import pytest

from helpers.toy_project import TOY, project, run_all
from structmargin_suite import figures
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.rerun import job_keys

POINTS = {"small": 3, "middle": 900, "large": 6000, "small_time": 3, "private": 4, "public": 5}
SECRET = "its terms <forbid> it"


def _draw(points: int):
    def draw(results, fig):
        fig.add_subplot().plot(range(points), [value * 37 % 101 for value in range(points)], "o")

    return draw


def illustrated(root: Path) -> Path:
    """A project with the toy experiment, run to the end with its figures."""
    config = copy.deepcopy(TOY)
    config["figures"] = {name: {"caption": f"A {name} figure."} for name in POINTS}
    config["figures"]["small"]["withhold"] = SECRET
    config["figures"]["private"] |= {"withhold": SECRET, "instead": "public"}
    config["notes"] = ['The paper leaves <this> & "that" open.']
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        run_all(project(root, config))
    return root


def known(patch: pytest.MonkeyPatch) -> None:
    """Let the suite know the toy's figures."""
    patch.setattr(Catalogue, "figures", lambda self, experiment: list(POINTS))
    patch.setitem(sys.modules, "structmargin_suite.figures.toy", types.ModuleType("toy"))
    stage_code = job_keys.stage_code
    patch.setattr(job_keys, "stage_code", lambda stage, *more: stage_code(stage))  # its module has no file
    for name, points in POINTS.items():
        patch.setitem(figures._FIGURES, f"toy/{name}", _draw(points))
