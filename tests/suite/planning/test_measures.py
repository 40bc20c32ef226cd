"""What `check` finds in a config that looks right: measures no run has, methods that nobody can train."""

from __future__ import annotations

import copy

import pytest

from helpers.toy_project import HERE, TOY, project, write_config
from structmargin_suite.cli import main
from structmargin_suite.datasets import dataset
from structmargin_suite.datasets._measures import measures
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.tables.measures import known_measures
from structmargin_suite.results import Results


def told(root, config, capsys):
    write_config(root, config)
    assert main(["--root", str(root), "check"]) == 1
    return capsys.readouterr().err


def test_every_measure_that_a_run_ever_had_is_known():
    results = Results(HERE, HERE / "results" / "snapshot")
    assert len(results) >= 10
    for name, experiment in results.items():
        modules = [given["from"] for given in experiment.summary["config"]["data"].values()]
        known = known_measures(modules, [])
        columns = experiment.summary["columns"]
        found = [column for column, about in columns.items() if about["holds"] == ["metrics"]]
        assert found and known is not None and set(found) <= set(known), name


def test_every_data_set_says_what_it_scores_and_measures_nothing_else():
    for name in Catalogue(HERE, library=False).datasets:
        assert dataset(name).columns, name
    assert dataset("conll2002").columns[-1] == "testa_f1"

    @measures("error")
    def score(Y, Yhat):
        return {Y: 1.0}

    assert score("error", None) == {"error": 1.0}
    with pytest.raises(ValueError, match="'eror', which it is not marked with"):
        score("eror", None)


def test_a_measure_that_no_run_has_is_told(tmp_path, capsys):
    root = project(tmp_path)
    config = copy.deepcopy(TOY)
    config["tables"]["toy"]["measures"] = ["test_eror", "constraints"]
    config["tables"]["solvers"] |= {"measures": ["e", "f"], "found_as": {"e": "test_error", "f": "tst_error"}}
    said = told(root, config, capsys)
    assert "2 problems" in said
    assert "tables.toy.measures.0: unknown measure 'test_eror'; the nearest known is 'test_error'" in said
    assert "tables.solvers.found_as.f: unknown measure 'tst_error'" in said
    config["tables"]["toy"] |= {"measures": ["error", "constraints"], "splits": ["train", "test"]}
    config["tables"]["solvers"]["found_as"]["f"] = "n_train"
    write_config(root, config)
    assert load(root).experiments["toy"].runs


def test_a_method_that_cannot_be_trained_or_that_no_study_names_is_told(tmp_path, capsys):
    root = project(tmp_path)
    config = copy.deepcopy(TOY)
    config["methods"]["any"]["solver"] = "bcfw"
    config["studies"]["solvers"] = {"methods": ["any"]}
    config["tables"]["solvers"]["keys"] = ["method"]
    config["methods"]["spare"] = dict(TOY["methods"]["hard"])
    said = told(root, config, capsys)
    assert "2 problems" in said
    assert "methods.any: solver 'bcfw' takes SVM1" in said
    assert "methods.spare: no study names this method; name it in the `methods` of one, or remove it" in said
    config["readings"] = {
        "as printed": {"evidence": "e", "chosen": "before", "primary": True},
        "another solver": {"sets": {"solver": "n_slack"}, "evidence": "e", "chosen": "before"},
    }
    config["methods"]["any"]["readings"] = ["as printed", "another solver"]
    assert "methods.any: solver 'bcfw' takes SVM1" in told(root, config, capsys)  # under one of its readings
    del config["readings"], config["methods"]["any"]["readings"]
    config["scales"]["smoke"]["studies"] = {"hopeless": {"methods": ["hard", "spare"]}}
    assert "methods.spare" not in told(root, config, capsys)


def test_an_own_file_that_is_not_there_is_told_with_its_line(tmp_path, capsys):
    root = project(tmp_path)
    config = {key: value for key, value in copy.deepcopy(TOY).items() if key != "repetitions"}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    config["data"]["clusters"] = {"from": "ocr", "source": "file", "path": "data/mine.gz"}
    config["studies"] = {"words": {"methods": ["words"]}}
    config["methods"] = {"words": {"model": "JKSE", "nu": 0.1, "problem": {"name": "Sequence"}}}
    config["problem"] = {"name": "Sequence"}
    config["tables"] = {
        "t": {"caption": "x", "study": "words", "keys": ["method"], "measures": ["test_word_error"]}
    }
    said = told(root, config, capsys)
    line = (root / "configs" / "toy.yaml").read_text().splitlines().index("    path: data/mine.gz") + 1
    assert f"toy.yaml, line {line}: data.clusters.path: there is no file data/mine.gz" in said.replace(
        str(root) + "/", ""
    )
