"""Where files stand: every folder of an experiment is known, so that a file in its place can be named."""

from __future__ import annotations

from pathlib import Path

from helpers.toy_project import HERE
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun import job_keys
from structmargin_suite.storage.layout import ScaleLayout, tabulated
from structmargin_suite.workflow.checking import FOLDERS


def test_every_file_of_the_plan_lies_in_a_folder_that_is_known():
    suite = load(HERE, "smoke")
    layout = ScaleLayout(suite.root, suite.scale)
    for name, experiment in suite.experiments.items():
        tables = [
            folder / file
            for folder in (layout.experiment(name), layout.shown(name))
            for file in tabulated(experiment.config)
        ]
        files = [*job_keys.bundles(suite, name, layout), *tables, layout.log(name, "show"), layout.page]
        known: list[Path] = [suite.root, *(suite.root / folder for folder in FOLDERS)]
        for folder in layout.folders(name):
            assert folder.parent in known, "the outer folders come first"
            known.append(folder)
        assert {file.parent for file in files} <= set(known), name
