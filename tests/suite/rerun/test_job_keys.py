"""Keys of what is shown: tables and pages follow the order of a config, and so do their keys."""

from __future__ import annotations

import copy

import pytest
import yaml

from helpers.toy_project import TOY, project, write_config
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun import job_keys
from structmargin_suite.storage.layout import ScaleLayout


@pytest.fixture
def root(tmp_path):
    write_config(project(tmp_path), TOY, "second")
    return tmp_path


def keys(root, experiments, config=TOY):
    """The keys of the toy's tables, of its trainings and of the pages."""
    suite = {"seed": 7, "scale": "standard", "experiments": experiments}
    (root / "configs" / "suite.yaml").write_text(yaml.safe_dump(suite))
    write_config(root, config)
    planned = load(root, library=False)
    trained = [job_keys.train_key(planned, job) for job in planned.experiments["toy"].jobs]
    page = job_keys.page_key(planned, ScaleLayout(root, planned.scale))
    return job_keys.tabulate_key(planned, "toy"), trained, page


def test_tables_in_another_order_are_shown_in_it_and_nothing_is_trained_for_it(root):
    other = copy.deepcopy(TOY) | {"tables": dict(reversed(TOY["tables"].items()))}
    (tables, trained, page), (new_tables, same, new_page) = (
        keys(root, ["toy", "second"], config) for config in (TOY, other)
    )
    assert tables != new_tables and page != new_page and trained == same
    assert keys(root, ["toy", "second"]) == (tables, trained, page)


def test_experiments_in_another_order_make_another_page_of_the_same_tables(root):
    (tables, trained, page), (same_tables, same, new_page) = (
        keys(root, names) for names in (["toy", "second"], ["second", "toy"])
    )
    assert (tables, trained) == (same_tables, same) and page != new_page
