"""Every parser on files of another kind: an error that names the file, never another exception."""

from __future__ import annotations

import os

import pytest

from helpers.foreign_files import foreign
from helpers.toy_project import HERE
from structmargin_suite.datasets import dataset
from structmargin_suite.planning.plan import load
from structmargin_suite.storage.errors import DataError

EVERY = 1 if "STRUCTMARGIN_CASES" in os.environ else 4
"""Of the files one in so many is tried."""
PARTS = {
    part.module: part
    for experiment in load(HERE, "smoke").experiments.values()
    for part in experiment.parts
    if dataset(part.module).FILES
}


@pytest.mark.parametrize("name", sorted(PARTS))
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_a_file_of_another_kind_is_an_error_that_names_it(tmp_path, name):
    module = dataset(name)
    refused = parsed = 0
    for data in list(foreign())[len(name) % EVERY :: EVERY]:
        files = {}
        for remote in module.FILES:
            files[remote.name] = tmp_path / remote.name
            files[remote.name].write_bytes(data)
        try:
            module.parse(files, 0, **PARTS[name].params)
            parsed += 1
        except (ValueError, DataError) as error:
            refused += 1
            named = any(file in str(error) for file in files) or "raise the one or widen the other" in str(
                error
            )
            assert named, f"{error} names no file"
    assert refused > 20 * parsed
