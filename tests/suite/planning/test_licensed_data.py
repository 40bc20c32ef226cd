"""The lines that docs/licensed_data.md gives to who has data under licence fit the experiments' configs."""

from __future__ import annotations

import re

import pytest
import yaml

from helpers.toy_project import HERE, project
from structmargin_suite.datasets import dataset
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.sources import own_files_of
from structmargin_suite.storage.errors import DataError

TEXT = (HERE / "docs" / "licensed_data.md").read_text(encoding="utf-8")
LINES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]


@pytest.mark.parametrize(("name", "lines"), [*zip(("parsing", "taxonomy"), LINES, strict=True)])
def test_the_record_and_the_page_name_the_same_folder_and_the_record_the_same_lines(name, lines):
    """`structmargin check` and docs/data.md have the record, the page begins with what stands in."""
    ((corpus, given),) = lines["data"].items()
    home = dataset(given["from"]).HOME
    said = re.findall(r"`([^`]+)`", home.by_hand)
    assert yaml.safe_load(said[0]) == lines["data"]
    assert said[1:] == ["data", corpus, *lines["studies"]]
    config = yaml.safe_load((HERE / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert given["path"] in home.by_hand and given["path"] in config["stands_in"]


@pytest.mark.parametrize(("name", "lines"), [*zip(("parsing", "taxonomy"), LINES, strict=True)])
def test_a_config_with_these_lines_has_no_fault_but_the_missing_folder(tmp_path, name, lines):
    config = yaml.safe_load((HERE / "configs" / f"{name}.yaml").read_text(encoding="utf-8"))
    ((corpus, given),) = lines["data"].items()
    assert corpus not in config["data"]
    config["data"][corpus] = given
    for study, changed in lines["studies"].items():
        assert changed["data"] == [corpus, *config["studies"][study]["data"]]  # the others stay
        config["studies"][study] |= changed
    experiment = load(project(tmp_path, config, name), "paper").experiments[name]
    for study in lines["studies"]:
        methods = {run.method for run in experiment.runs if run.corpus == corpus and study in run.studies}
        assert methods == {*config["studies"][study]["methods"]}
    (part,) = experiment.parts_of(corpus)
    with pytest.raises(DataError, match=r"there is no (file|folder) .*data/own/"):
        own_files_of(part, tmp_path)
