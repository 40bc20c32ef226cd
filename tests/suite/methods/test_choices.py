"""Options chosen on rows held out, a path along C, and the conventional SVM whose costs are chosen."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from sklearn.svm import LinearSVC

from helpers.toy_project import HERE, TOY, bundle_of, project, run_all
from structmargin_suite.baselines import linear_svm
from structmargin_suite.datasets import Examples, Split, optdigits
from structmargin_suite.methods import training
from structmargin_suite.methods.choice import Choice
from structmargin_suite.methods.kinds import Trained
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.storage.csv_files import read_csv


def sample(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 4 == 0, 1, -1)
    return rng.normal(size=(n, 3)) + 0.8 * (y > 0)[:, None], y


def test_the_conventional_svm_minimises_its_weighted_objective():
    X, y = sample()
    options = {"C": 0.5, "cost": 3.0, "intercept": 2.0, "tol": 1e-8, "max_iter": 10**6}
    model = linear_svm.train(X, y, seed=0, **options)
    Z = np.column_stack([X, np.full(len(y), 2.0)])

    def objective(w):
        return 0.5 * w @ w + 0.5 * np.where(y > 0, 3.0, 1.0) @ np.maximum(0.0, 1.0 - y * (Z @ w))

    w = np.append(model.w, model.b / 2.0)
    rng = np.random.default_rng(1)
    assert all(objective(w) <= objective(w + 1e-3 * rng.normal(size=4)) for _ in range(200))
    np.testing.assert_allclose(model.predict(X), Z @ w)
    again = linear_svm.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_remembered_trainings_are_those_of_the_same_rows_only():
    X, y = sample()
    before = linear_svm._trained.cache_info().hits
    first = linear_svm.train(X, y, seed=0, C=0.3)
    assert linear_svm.train(X.copy(), y.copy(), seed=1, C=0.3) is first
    assert linear_svm._trained.cache_info().hits == before + 1
    other = linear_svm.train(X, -y, seed=0, C=0.3)
    assert not np.allclose(other.w, first.w)
    want = LinearSVC(loss="hinge", C=0.3, fit_intercept=False, tol=1e-3, random_state=0).fit(X, -y)
    np.testing.assert_array_equal(other.w, want.coef_[0])


def split(held=None):
    X, y = sample()
    return Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=held)


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
    for more, best in (
        ({"largest": True}, (1.0, 4.0)),
        ({"largest": True, "ties": "middle"}, (2.0, 1.0)),
        ({}, (1.0, 1.0)),
    ):
        seen.clear()
        trained = training.train(Method.parse("m", {"choose": {**choose, **more}}), split(held), 0, score)
        assert [fit[:2] for fit in seen] == [(1.0, 1.0), (1.0, 4.0), (2.0, 1.0), (2.0, 4.0), best]
        assert all(len(fit[2]) == 60 for fit in seen[:-1]) and len(seen[-1][2]) == 90
        assert (trained.chosen["value"], trained.chosen["with"]["cost"]) == best
        assert trained.chosen["inner_f1"][1] == [1.0, 4.0, 1.0]


def test_a_path_along_C_starts_from_the_cuts_before_and_ends_from_nothing():
    X, y = sample(200)
    data = Split(Examples(X, y), Examples(X, y), problem={"measure": "f1"}, held=np.arange(0, 200, 3))
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
    inner, method = training._inner(data, 0), Method.parse("m", walked)
    first = training._fit(method.with_option("C_per_example", 0.1), inner, 0)
    later = training._fit(method.with_option("C_per_example", 1.0), inner, 0, first.model)
    alone = training._fit(method.with_option("C_per_example", 1.0), inner, 0)
    assert later.numbers["n_constraints"] < alone.numbers["n_constraints"]
    assert later.numbers["primal"] == pytest.approx(alone.numbers["primal"], rel=1e-4)


@pytest.mark.parametrize(
    ("method", "choose", "message"),
    [
        ("SVM", {"path": True}, "methods.SVM.choose.path: is for a formulation's C or C_per_example only"),
        (
            "SVM",
            {"by": "test_f1", "with": {"cost": [1.0, 4.0]}},
            "methods.SVM.choose.with: goes with a choice by validation_... or inner_...",
        ),
        ("structural SVM", {"ties": "last"}, "unknown value 'last'"),
        (
            "structural SVM",
            {"over": ["repetition"]},
            "choose.path: goes with a choice within each training only",
        ),
        (
            "SVM",
            {"over": ["round"], "with": {"cost": [1.0]}},
            "choose.with: goes with a choice by validation_",
        ),
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
    assert [len(each[2]) for each in seen] == [90, 68, 90, 68] and seen[1][2] == seen[3][2]


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
