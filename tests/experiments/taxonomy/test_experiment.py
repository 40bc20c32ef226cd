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
    config["studies"]["patents"] |= {
        "data": ["synthetic"],
        "vary": {"instances_per_class": [4, 2], "round": 2},
    }
    config["studies"]["margin"] |= {"data": ["synthetic"], "vary": {"instances_per_class": [4], "round": 1}}
    config["studies"]["newsgroups"]["vary"] = {"instances_per_class": [2, 4], "round": 1}
    config["jobs"] = {"by": []}
    for method in config["methods"].values():
        method["choose"] = {**method["choose"], "among": [1.0]}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    root = project(tmp_path_factory.mktemp("taxonomy"), config, "taxonomy")
    run_all(root)
    return Results(root)


def test_every_run_is_certified_and_the_table_stands_beside_the_paper(small):
    mine = small["taxonomy"]
    assert mine.summary["runs"] == {"done": 30, "skipped": 0, "failed": 0}
    assert all(one["relative_gap"] <= 0.01 for one in records(mine.runs))
    keys = ("instances_per_class", "method", "reading", "measure")
    table = {tuple(r[key] for key in keys): r for r in records(mine.table("taxonomy"))}
    assert table[2, "flt 0/1", None, "accuracy"]["published"] == 20.2
    for study, reading in (("patents", "slack re-scaling"), ("margin", "margin re-scaling")):
        cell = table[4, "tax delta", reading, "tree_loss"]
        rows = records(mine.select(study, method="tax delta", reading=reading, instances_per_class=4))
        assert cell["published"] == 1.21
        assert cell["value"] == pytest.approx(np.mean([r["test_loss"] for r in rows]))


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
