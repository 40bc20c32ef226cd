"""What every data set and baseline has, and the defaults of what a data-set module may leave out."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from structmargin_suite import baselines
from structmargin_suite.datasets import DataSet, clusters, completed, dataset, uiuc_cars
from structmargin_suite.planning.catalogue import Catalogue

CATALOGUE = Catalogue(Path(__file__).parents[3])


class Doubler:
    def predict(self, X):
        return [2 * x for x in X]


def test_optional_members_have_defaults():
    made = completed(clusters)
    assert made.predict(Doubler(), [1, 2]) == [2, 4] and made.predicts_outputs
    assert made.keep([1], [1]) == {}
    with pytest.raises(ValueError, match="no files; use source: synthetic"):
        made.parse({}, 0, pool=3)
    bare = SimpleNamespace(
        **{
            name: getattr(clusters, name)
            for name in ("FILES", "PREPARE", "VIEW", "synthesize", "view", "score")
        }
    )
    assert completed(bare).refuse({"pool": 1}, {"n_train": 2}) is None


def test_a_module_s_own_members_are_taken():
    cars = completed(uiuc_cars)
    assert (cars.predict, cars.keep, cars.parse) == (uiuc_cars.predict, uiuc_cars.keep, uiuc_cars.parse)
    assert not cars.predicts_outputs
    assert "n_train is 2" in completed(clusters).refuse({"pool": 1}, {"n_train": 2})


@pytest.mark.parametrize("name", CATALOGUE.datasets)
def test_a_data_set_with_files_can_parse_them(name):
    made = dataset(name)
    assert isinstance(made, DataSet)
    own = list(inspect.signature(made.parse).parameters)[2:] == list(made.PREPARE)
    assert own is bool(made.FILES or made.own_folder)
    assert bool(made.HOME.title and made.HOME.terms and made.HOME.page) is own
    assert bool(made.HOME.version and made.HOME.size) is bool(made.FILES)
    assert all(file.url or made.HOME.makers(file) for file in made.FILES), "each has a public home"
    assert all(file.mirror == f"{made.HOME.folder}/{file.name}" for file in made.FILES)


@pytest.mark.parametrize("name", CATALOGUE.datasets)
def test_a_folder_of_its_own_is_looked_at_with_the_parameters_of_parse(name):
    made = dataset(name)
    if made.own_folder is not None:
        first, *others = inspect.signature(made.own_folder).parameters.values()
        assert first.name == "folder"
        named = {other.name for other in others if other.kind is other.KEYWORD_ONLY}
        takes_all = any(other.kind is other.VAR_KEYWORD for other in others)
        assert named <= {*made.PREPARE} and (takes_all or named == {*made.PREPARE})


@pytest.mark.parametrize("name", CATALOGUE.baselines)
def test_a_baseline_returns_a_model_that_can_be_stored(name):
    module = baselines.baseline(name)
    model = inspect.signature(module.train).return_annotation
    assert model == inspect.signature(module.from_arrays).return_annotation
    for member in ("predict", "to_arrays"):
        assert callable(getattr(getattr(module, model), member))
    assert not np.shape(module.OPTIONS) and all("type" in s or "enum" in s for s in module.OPTIONS.values())
