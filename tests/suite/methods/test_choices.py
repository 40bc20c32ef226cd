"""Options chosen on rows held out, in folds, along a path, and shared between ways of choosing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from helpers.toy_project import HERE, TOY, bundle_of, project, run_all
from structmargin_suite.baselines import linear_svm
from structmargin_suite.datasets import Examples, Split, optdigits
from structmargin_suite.methods import held_out, training
from structmargin_suite.methods.choice import Choice
from structmargin_suite.methods.kinds import Trained
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.stages._choosing import mark_chosen
from structmargin_suite.storage.csv_files import read_csv


def sample(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 4 == 0, 1, -1)
    return rng.normal(size=(n, 3)) + 0.8 * (y > 0)[:, None], y


def test_remembered_trainings_are_those_of_the_same_rows_only():
    X, y = sample()
    before = linear_svm._from_scratch.cache_info().hits
    first = linear_svm.train(X, y, seed=0, C=0.3)
    assert linear_svm.train(X.copy(), y.copy(), seed=1, C=0.3) is first
    assert linear_svm._from_scratch.cache_info().hits == before + 1
    other = linear_svm.train(X, -y, seed=0, C=0.3)
    assert not np.allclose(other.w, first.w)


def split(held=None):
    X, y = sample()
    held = None if held is None else (held,)
    return Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=held)


@pytest.fixture(autouse=True)
def nothing_remembered():
    held_out._REMEMBERED.clear()


def test_a_choice_tries_every_combination_on_the_rows_held_out(monkeypatch):
    seen = []

    def fit(method, data, seed, former=None):
        values = method.option("C"), method.option("cost")
        seen.append((*values, data.train.Y.tolist(), former))
        return Trained(SimpleNamespace(predict=lambda X: (*values, len(X))))

    monkeypatch.setattr(training, "_fit", fit)
    held = np.arange(0, 90, 3)

    def score(Y, yhat):
        assert yhat[2] == 30 and Y.tolist() == sample()[1][held].tolist()
        return {"f1": 1.0 if yhat[:2] in ((1.0, 4.0), (2.0, 1.0), (2.0, 4.0)) else 0.0}

    choose = {"option": "C", "among": [1.0, 2.0], "with": {"cost": [1.0, 4.0]}, "by": "inner_{measure}"}
    spec = {"formulation": "SVM1 margin", "problem": {"name": "Measure"}}
    for more, best in (
        ({"largest": True}, (1.0, 4.0)),
        ({"largest": True, "ties": "middle"}, (2.0, 4.0)),
        ({}, (1.0, 1.0)),
    ):
        seen.clear()
        held_out._REMEMBERED.clear()
        method = Method.parse("m", {**spec, "choose": {**choose, **more}})
        trained = training.train(method, split(held), 0, score)
        assert [fit[:2] for fit in seen] == [(1.0, 1.0), (1.0, 4.0), (2.0, 1.0), (2.0, 4.0), best]
        assert all(len(fit[2]) == 60 for fit in seen[:-1]) and len(seen[-1][2]) == 90
        assert (trained.chosen["value"], trained.chosen["with"]["cost"]) == best
        assert trained.chosen["inner_f1"][1] == [1.0, 4.0, 1.0]


def test_a_path_along_C_starts_from_the_cuts_before_and_ends_from_nothing():
    X, y = sample(200)
    data = Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=(np.arange(0, 200, 3),))
    spec = {
        "formulation": "SVM1 margin", "solver": "one_slack", "problem": {"name": "Measure", "intercept": 1.0},
        "C_per_example": 1.0, "eps": 1e-5, "gap_tol": 1e-5,
        "choose": {"option": "C_per_example", "among": [0.01, 0.1, 1.0], "by": "inner_f1", "largest": True},
    }  # fmt: skip
    walked = {**spec, "choose": {**spec["choose"], "path": True}}
    cold, warm = (
        training.train(Method.parse("m", given), data, 0, optdigits.score) for given in (spec, walked)
    )
    assert warm.chosen["value"] == cold.chosen["value"]
    np.testing.assert_array_equal(warm.model.w_, cold.model.w_)
    assert warm.numbers["n_constraints"] == cold.numbers["n_constraints"]
    method = Method.parse("m", walked)
    (part,) = held_out.parts(data, method.choice, 0)
    inner = part.split
    first = training._fit(method.with_option("C_per_example", 0.1), inner, 0)
    later = training._fit(method.with_option("C_per_example", 1.0), inner, 0, first.model)
    alone = training._fit(method.with_option("C_per_example", 1.0), inner, 0)
    assert later.numbers["n_constraints"] < alone.numbers["n_constraints"]
    assert later.numbers["primal"] == pytest.approx(alone.numbers["primal"], rel=1e-4)


@pytest.mark.parametrize(
    ("method", "choose", "message"),
    [
        ("SVM", {"option": "max_iter", "among": [5]}, "methods.SVM.choose.path: is for the C or"),
        ("SVM", {"by": "test_f1"}, "methods.SVM.choose.with: goes with a choice by validation_..."),
        ("structural SVM", {"ties": "last"}, "unknown value 'last'"),
        ("structural SVM", {"by": "test_f1"}, "choose.path: goes with a choice by validation_... without"),
        (
            "SVM",
            {"over": ["topic"], "by": "validation_f1"},
            "choose.with: goes with a choice by validation_... without",
        ),
        ("SVM", {"by": "validation_f1", "folds": 3}, "choose.folds: is for a choice by inner_... only"),
        ("SVM", {"folds": 0}, "choose.folds: is 0, but must be at least 1"),
        ("SVM", {"by": "inner_loss"}, "methods.SVM.choose.by: is the loss of a problem"),
        ("structural SVM", {"over": ["rond"], "path": False}, "choose.over.0: unknown value 'rond'"),
    ],
)
def test_a_choice_that_cannot_be_is_a_fault(tmp_path, method, choose, message):
    config = yaml.safe_load((HERE / "configs" / "measures.yaml").read_text(encoding="utf-8"))
    config["methods"][method]["choose"] |= choose
    with pytest.raises(ConfigError) as error:
        load(project(tmp_path, config, "measures"))
    assert message in str(error.value)


def test_a_row_has_the_value_that_its_training_chose_and_the_page_tells_it(tmp_path):
    """C is given as 1 and chosen among others: what is shown is what was chosen, never what was given."""
    choose = {"option": "C", "among": [0.01, 30.0], "by": "inner_error"}
    methods = {name: {**TOY["methods"]["margin"], "label": name.upper()} for name in ("chosen", "given")}
    methods["chosen"]["choose"] = choose
    config = {
        **TOY, "methods": methods, "tables": {},
        "studies": {"s": {"methods": ["chosen"]}, "t": {"methods": ["given"], "vary": {"C": [1.0, 2.0]}}},
    }  # fmt: skip
    root = project(tmp_path, config)
    suite = run_all(root)
    rows = {row["run"]: row for row in read_csv(root / "results" / "toy" / "runs.csv")}
    values = []
    for run in suite.experiments["toy"].runs:
        record = bundle_of(suite, run.name, "trained").json(run.name, "run.json")
        want = record["chosen"]["value"] if run.method == "chosen" else run.configured.option("C")
        assert float(rows[run.name]["C"]) == want == record["numbers"]["C"]
        values += [f"{want:g}"] if run.method == "chosen" else []
    chosen = ", ".join(f"{v} ({values.count(v)})" for v in dict.fromkeys(values))
    page = (root / "results" / "toy" / "index.html").read_text()
    assert f"CHOSEN: C in 2 runs: {chosen}, among " in page


def test_one_value_for_several_runs_is_the_best_on_average_apart_for_every_size(tmp_path):
    """Over repetitions, for each n_train by itself; every value is measured on the same examples."""
    choose = {"option": "C", "among": [0.001, 0.1, 30.0], "by": "inner_loss", "over": ["repetition"]}
    margin = {key: value for key, value in TOY["methods"]["margin"].items() if key != "C"}
    config = {
        **TOY, "repetitions": 3, "methods": {"margin": {**margin, "choose": choose}}, "tables": {},
        "studies": {"s": {"methods": ["margin"], "vary": {"n_train": [12, 24]}}},
    }  # fmt: skip
    root = project(tmp_path, config)
    suite = run_all(root)
    rows = read_csv(root / "results" / "toy" / "runs.csv")
    assert len(rows) == 2 * 3 * 3 and all(row["inner_loss"] for row in rows)
    for n_train in ("12", "24"):
        own = [row for row in rows if row["n_train"] == n_train]
        means = {
            C: np.mean([float(row["inner_loss"]) for row in own if row["C"] == C])
            for C in ("0.001", "0.1", "30")
        }
        chosen = [row["C"] for row in own if row["chosen"] == "true"]
        assert chosen == [min(means, key=lambda C: means[C])] * 3
    record = {
        run.name: bundle_of(suite, run.name, "trained").json(run.name, "run.json")
        for run in suite.experiments["toy"].runs
    }
    assert all(not each["chosen"] and set(each["held_out"]) == {"inner_loss"} for each in record.values())
    page = (root / "results" / "toy" / "index.html").read_text()
    edges = sum(row["C"] in ("0.001", "30") for row in rows if row["chosen"] == "true")
    assert f"{edges} at an end of the grid" in page if edges else "at an end of the grid" not in page


def test_values_of_several_runs_are_measured_on_the_same_examples(monkeypatch):
    seen = []

    def fit(method, data, seed, former=None):
        seen.append((method.option("C"), seed, data.train.X[:, 0].tolist()))
        return Trained(SimpleNamespace(score=lambda X, Y: -float(len(Y))))

    monkeypatch.setattr(training, "_fit", fit)
    choose = {"option": "C", "among": [1.0, 2.0], "by": "inner_loss", "over": ["round"]}
    for C, seed in ((1.0, 3), (2.0, 4)):
        method = Method.parse("m", {"C": C, "choose": choose})
        trained = training.train(method, split(), seed, lambda Y, P: {}, holding_out=11)
        assert trained.held_out == {"inner_loss": 22.0} and not trained.chosen
    assert [each[:2] for each in seen] == [(1.0, 3), (1.0, 3), (2.0, 4), (2.0, 4)]
    assert [len(each[2]) for each in seen] == [68, 90, 68, 90] and seen[0][2] == seen[2][2]


def test_nothing_is_held_out_where_there_is_nothing_to_choose(monkeypatch):
    seen = []

    def fit(method, data, seed, former=None):
        seen.append((method.option("C"), len(data.train.Y)))
        return Trained(SimpleNamespace())

    monkeypatch.setattr(training, "_fit", fit)
    choose = {"option": "C", "among": [5.0], "by": "inner_error"}
    training.train(Method.parse("m", {"C": 1.0, "choose": choose}), split(), 0, lambda Y, P: {})
    assert seen == [(5.0, 90)]


def test_the_edge_of_a_grid_is_its_least_and_greatest_number():
    choice = Choice.parse({"option": "C", "among": [1.0, 0.1, 10.0], "by": "inner_error"})
    assert [choice.at_edge("C", C) for C in (0.1, 1.0, 10.0)] == [True, False, True]
    two = Choice.parse({"option": "C", "among": [1.0, 0.1], "by": "inner_error"})
    assert not two.at_edge("C", 1.0)  # a grid of two has no inside


def folded(labels, monkeypatch, choose, kind="baseline", seed=0):
    """(training, trainings seen) of a method whose score is the number of rows that it was trained on."""
    seen = []

    def fit(method, data, seed, former=None):
        values = method.option("C"), method.option("cost")
        seen.append((values, len(data.train.Y), None if former is None else former.values))
        return Trained(SimpleNamespace(values=values, predict=lambda X: (values, len(X))))

    monkeypatch.setattr(training, "_fit", fit)
    y = np.array(labels)
    held = tuple(np.arange(k, len(y), 3) for k in range(3))
    X = np.random.default_rng(seed).normal(size=(len(y), 2))
    data = Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=held)
    given = {"baseline": "linear_svm"} if kind == "baseline" else {"formulation": "SVM1 margin"}
    method = Method.parse("m", {**given, **choose.pop("given", {}), "choose": choose})
    trained = training.train(method, data, 0, lambda Y, yhat: {"f1": -abs(yhat[0][0] - yhat[1])})
    return trained, seen


GRID = {"option": "C", "among": [29.0, 30.0, 35.0], "by": "inner_f1", "largest": True}


def test_folds_are_held_out_in_turn_and_their_mean_decides(monkeypatch):
    labels = [1] * 10 + [-1] * 81  # folds of 31, 30 and 30 rows
    trained, seen = folded(labels, monkeypatch, {**GRID, "folds": 3})
    assert [size for _, size, _ in seen] == [60] * 3 + [61] * 6 + [91]
    assert trained.chosen["inner_f1"] == [[29.0, -4 / 3], [30.0, -1 / 3], [35.0, -14 / 3]]
    assert trained.chosen["value"] == 30.0 == seen[-1][0][0]


@pytest.mark.parametrize(("enough", "folds"), [(10, 1), (11, 3)])
def test_with_many_rows_of_the_rarer_label_one_fold_is_enough(monkeypatch, enough, folds):
    labels = [1] * 10 + [-1] * 80
    _, seen = folded(labels, monkeypatch, {**GRID, "folds": 3, "one_fold_from": enough})
    assert len(seen) == 3 * folds + 1


def test_where_nothing_can_be_held_out_the_middle_is_taken(monkeypatch):
    monkeypatch.setattr(training, "_fit", lambda method, *rest: Trained(method))
    X, y = sample()
    data = Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=())
    choose = {**GRID, "with": {"cost": [1.0, 4.0, 9.0]}, "folds": 3}
    trained = training.train(Method.parse("m", {"baseline": "linear_svm", "choose": choose}), data, 0, None)
    assert (trained.model.option("C"), trained.model.option("cost")) == (30.0, 4.0)
    assert trained.chosen["value"] == 30.0 and trained.chosen["with"] == {"cost": 4.0}


def test_a_path_runs_along_C_for_each_of_the_other_values(monkeypatch):
    choose = {**GRID, "with": {"cost": [1.0, 4.0]}, "path": True}
    trained, seen = folded([1] * 30 + [-1] * 60, monkeypatch, choose)
    steps = [(values, former) for values, _, former in seen[:-1]]
    assert steps == [
        ((C, cost), None if before is None else (before, cost))
        for cost in (1.0, 4.0)
        for C, before in ((29.0, None), (30.0, 29.0), (35.0, 30.0))
    ]
    order = [row[:2] for row in trained.chosen["inner_f1"]]
    assert order == [[C, cost] for C in GRID["among"] for cost in (1.0, 4.0)]


def test_ways_of_choosing_share_what_they_try_on_the_same_rows(monkeypatch):
    """Cross-validation, one split and one C for all: each trains only what none before it has tried."""
    labels, path = [1] * 30 + [-1] * 60, {"with": {"cost": [1.0, 4.0]}, "path": True}
    counts = []
    for more in (
        {"folds": 3},
        {},
        {"folds": 3, "over": ["topic"], "given": {"C": 35.0}},
    ):
        trained, seen = folded(labels, monkeypatch, {**GRID, **path, **more})
        counts.append(len(seen))
    assert counts == [3 * 6 + 1, 1, 1]
    assert trained.held_out == {"inner_f1": -5.0} and seen[-1][0][0] == 35.0
    assert trained.chosen["with"] == {"cost": 1.0}  # of equals the first
    _, seen = folded(labels, monkeypatch, {**GRID, **path}, seed=1)  # other rows
    assert len(seen) == 7
    _, seen = folded(labels, monkeypatch, {**GRID, **path, "among": [29.0, 30.0]})  # another path
    assert len(seen) == 5


def test_one_value_over_topics_leaves_out_those_of_which_nothing_can_be_held_out():
    runs = pd.DataFrame(
        {
            "method": "m", "reading": "", "corpus": "x", "status": "done", "chosen": True, "measure": "f1",
            "topic": [0, 0, 1, 1], "C": [1.0, 2.0, 1.0, 2.0], "inner_f1": [50.0, 60.0, np.nan, np.nan],
        }
    )  # fmt: skip
    choose = {"option": "C", "among": [1.0, 2.0], "by": "inner_{measure}", "largest": True, "over": ["topic"]}
    method = Method.parse("m", {"baseline": "linear_svm", "choose": choose})
    varied = {"topic": 0, "measure": "f1", "C_per_example": None}
    run = SimpleNamespace(method="m", reading="", configured=method, varied=varied)
    runs["C_per_example"] = [4.0, 3.0, 2.0, 1.0]  # a setting of another method, here a measure
    mark_chosen(SimpleNamespace(runs=[run]), runs)
    assert runs["chosen"].tolist() == [False, True, False, True]
