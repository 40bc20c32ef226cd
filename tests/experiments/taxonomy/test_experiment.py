"""The taxonomy experiment: the pipeline, the figures."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from helpers.toy_project import HERE, project, run_all
from structmargin_suite.figures import taxonomy as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.storage.frames import records


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself on synthetic data at its smallest."""
    config = yaml.safe_load((HERE / "configs" / "taxonomy.yaml").read_text(encoding="utf-8"))
    config["data"]["synthetic"] |= {"n_documents": 120, "n_groups": 9, "n_words": 200}
    config["data"]["newsgroups"] |= {"source": "synthetic", "postings_per_group": 5}
    config["data"].pop("wipo-d")
    few = {"data": ["synthetic"], "vary": {"instances_per_class": [4], "round": 1}}
    config["studies"]["patents"] |= {
        "data": ["synthetic"],
        "vary": {"instances_per_class": [4, 2], "round": 2},
    }
    for study in ("margin", "one fold", "made up"):
        config["studies"][study] |= few
    config["studies"]["newsgroups"]["vary"] = {"instances_per_class": [2, 4], "round": 1}
    config["jobs"] = {"by": []}
    for method in config["methods"].values():
        method["choose"] = {**method["choose"], "among": [0.01, 1.0]}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("taxonomy"), config, "taxonomy")
    run_all(root)
    return Results(root)


def test_every_run_is_certified_and_the_table_stands_beside_the_paper(small):
    mine = small["taxonomy"]
    assert mine.summary["runs"] == {"done": 68, "skipped": 0, "failed": 0}
    assert all(one["relative_gap"] <= 0.01 for one in records(mine.runs))
    keys = ("instances_per_class", "method", "reading", "measure")
    table = {tuple(r[key] for key in keys): r for r in records(mine.table("taxonomy"))}
    assert table[2, "flt 0/1", "drawn", "accuracy"]["published"] == 20.2
    for study, reading in (("patents", "slack re-scaling"), ("margin", "margin re-scaling")):
        cell = table[4, "tax delta", reading, "tree_loss"]
        rows = records(mine.select(study, method="tax delta", reading=reading, instances_per_class=4))
        assert cell["published"] == 1.21
        assert cell["value"] == pytest.approx(np.mean([r["test_loss"] for r in rows]))


def test_one_C_is_chosen_for_all_rounds_by_the_loss_that_is_trained_on(small):
    """The mean over rounds decides, apart for every method, reading, size and corpus."""
    mine = small["taxonomy"]
    groups = mine.runs.groupby(
        ["method", "reading", "corpus", "instances_per_class", "train_on"], dropna=False
    )
    assert len(groups) == 26
    for (method, *_), runs in groups:
        by = "inner_error" if method.endswith("0/1") else "inner_loss"
        means = {C: float(np.mean(of_C[by])) for C, of_C in runs.groupby("C_per_example")}
        best = min(means, key=lambda C: means[C])
        assert set(runs.loc[runs["chosen"], "C_per_example"]) == {best}
        assert len(runs[runs["chosen"]]) == runs["round"].nunique()


def test_the_measure_of_a_choice_is_that_of_a_model_without_the_documents_held_out(small):
    """Trained again by hand; every C is measured on the same documents."""
    from structmargin import StructuredSVM
    from structmargin.problems import Taxonomy

    mine = small["taxonomy"]
    rows = records(mine.select("patents", done=False, method="tax delta", instances_per_class=4, round=1))
    assert len(rows) == 2
    for one in rows:
        split, record = mine.split(one["run"]), mine.record(one["run"])
        X, y = split.train
        order = np.random.default_rng(record["view_seed"]).permutation(len(y))
        held, rest = np.sort(order[: len(y) // 4]), np.sort(order[len(y) // 4 :])
        model = StructuredSVM(
            Taxonomy(**split.problem), formulation="SVM1 slack", gap_tol=0.01, random_state=record["seed"],
            C=one["C_per_example"] * len(rest),
        ).fit(X[rest], y[rest])  # fmt: skip
        losses = np.asarray(split.problem["loss"])[y[held], np.asarray(model.predict(X[held]))]
        assert one["inner_loss"] == pytest.approx(float(losses.mean()))


def test_curves_over_C_have_every_run_and_mark_what_was_chosen(small):
    mine = small["taxonomy"]
    with house() as plt:
        fig = plt.figure()
        figures.over_c(mine, fig)
        ax = fig.axes[0]  # accuracy with 4 per class
        lines = {line.get_label(): line for line in ax.lines}
        line = lines[mine.label("tax delta", "margin re-scaling")]
        rows = records(mine.select("margin", done=False, method="tax delta"))
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == pytest.approx(
            {r["C_per_example"]: r["test_accuracy"] for r in rows}
        )
        marks = [line for line in ax.lines if line.get_markersize() == 7]
        assert len(marks) == 6 and all(mark.get_markerfacecolor() == "white" for mark in marks)
        plt.close(fig)


def test_a_node_errs_less_than_the_nodes_below_it(small):
    codes, errors, counts, order = figures.node_errors(small["taxonomy"])
    assert errors["D"] == 0.0 and counts["D"] == sum(counts[code] for code in codes)
    for parent in set(order.values()):
        below = [child for child, up in order.items() if up == parent]
        assert counts[parent] == sum(counts[child] for child in below)
        wrong = sum(counts[child] * errors[child] for child in below)
        assert counts[parent] * errors[parent] <= wrong + 1e-9
    rows = records(small["taxonomy"].select("patents", method="tax delta", instances_per_class=4))
    leaves = sum(counts[code] * errors[code] for code in codes) / counts["D"]
    split = [len(small["taxonomy"].split(r["run"]).test.Y) for r in rows]
    assert 100 * leaves == pytest.approx(100 - np.average([r["test_accuracy"] for r in rows], weights=split))


def test_figures_show_the_runs(small):
    mine = small["taxonomy"]
    with house() as plt:
        fig = plt.figure()
        figures.learning_curve(mine, fig)
        for ax, measure in zip(fig.axes, ("test_accuracy", "test_loss"), strict=True):
            assert len(ax.lines) == 6
            rows = {
                r["instances_per_class"]: r[measure]
                for r in records(mine.select("newsgroups", method="tax 0/1"))
            }
            assert ax.lines[1].get_ydata().tolist() == [rows[2], rows[4]]
        plt.close(fig)
        fig = plt.figure()
        figures.tree(mine, fig)
        codes, errors, _, order = figures.node_errors(mine)
        shown = fig.axes[0].collections[0].get_array()
        assert len(shown) == len({*order, *order.values()})
        assert shown[: len(codes)].tolist() == [100 * errors[code] for code in codes]
        plt.close(fig)
        fig = plt.figure()
        figures.table_1(mine, fig)
        papers = [line.get_xdata()[0] for line in fig.axes[0].lines if line.get_markerfacecolor() == "white"]
        assert papers == [28.32, 28.32, 27.47, 29.74]
        plt.close(fig)
