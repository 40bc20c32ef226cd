"""The taxonomy experiment: claims on results that must pass and must fail, the pipeline, the figures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from helpers.made_up_results import Fake, row
from helpers.toy_project import HERE, project, run_all
from structmargin_suite.analysis.statistics import p_value_lower, p_value_mcnemar
from structmargin_suite.datasets import Examples
from structmargin_suite.figures import taxonomy as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.statements import checks
from structmargin_suite.storage.frames import records

CHECKS = checks()
N = 600
LOSSES = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])


class Documents(Fake):
    """Made-up results: each run is right on some documents, a sibling away on others, else far away."""

    def split(self, run):
        part = Examples(np.zeros((N, 1)), np.zeros(N, dtype=int))
        return SimpleNamespace(test=part, problem={"loss": LOSSES})

    def model(self, run):
        right, near = self.weights[run]
        yhat = np.full(N, 2)
        yhat[: right + near] = 1
        yhat[:right] = 0
        return SimpleNamespace(predict=lambda X: yhat)


def made(corpus="wipo-d", sizes=(4, 2), **changed):
    """Rows and predictions; by default everything the paper claims, beyond chance."""
    rows, predictions = [], {}
    levels = {"flt 0/1": (100, 100), "tax 0/1": (140, 120), "flt delta": (140, 160), "tax delta": (200, 180)}
    for size in sizes:
        for method, (right, near) in {**levels, **changed}.items():
            for fold in range(3 if size == 4 else 5):
                run = f"{corpus} {size} {method} {fold}"
                predictions[run] = (right, near)
                loss = (near + 2 * (N - right - near)) / N
                rows.append(
                    row("patents", run, method=method, corpus=corpus, data=corpus, instances_per_class=size,
                        round=fold, test_accuracy=100 * right / N, test_loss=loss)
                )  # fmt: skip
    return rows, predictions


def judged(claim, *corpora):
    rows = [one for corpus in corpora for one in corpus[0]]
    predictions = {run: found for corpus in corpora for run, found in corpus[1].items()}
    return CHECKS[claim]({"taxonomy": Documents("taxonomy", {}, rows, predictions)})


CLAIMS = ("taxonomy-best", "taxonomy-features", "taxonomy-loss")


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_hold_where_all_is_as_the_paper_says(claim):
    verdict = judged(claim, made())
    assert verdict.verdict == "holds" and verdict.evidence.startswith("wipo-d holds: 4 per class")


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"tax delta": (139, 300)}, {"taxonomy-best"}),
        ({"tax delta": (170, 40)}, {"taxonomy-best", "taxonomy-features", "taxonomy-loss"}),
        ({"tax 0/1": (90, 90)}, {"taxonomy-features"}),
        ({"flt delta": (90, 90)}, {"taxonomy-loss"}),
    ],
)
def test_claims_fail_where_the_order_is_another(changed, failing):
    for claim in CLAIMS:
        verdict = judged(claim, made(**changed)).verdict
        assert verdict == ("fails" if claim in failing else "holds"), claim


def test_a_small_lead_cannot_tell():
    rows, predictions = made(**{"flt delta": (199, 181)})
    verdict = judged("taxonomy-features", ([one for one in rows if one["round"] == 0], predictions))
    assert verdict.verdict == "not tested" and "not all beyond chance" in verdict.evidence


def test_the_first_corpus_decides_and_the_others_are_told():
    good, bad = made(), made(corpus="synthetic", **{"tax delta": (100, 10)})
    for claim in CLAIMS:
        verdict = judged(claim, good, bad)
        assert verdict.verdict == "holds" and "; synthetic fails: " in verdict.evidence
        assert judged(claim, bad, good).verdict == "fails"


def test_a_missing_method_is_not_judged():
    rows, predictions = made()
    kept = [one for one in rows if (one["method"], one["instances_per_class"]) != ("tax 0/1", 2)]
    verdict = judged("taxonomy-best", (kept, predictions))
    assert verdict.verdict == "not tested" and "tax 0/1 at 2" in verdict.evidence
    assert judged("taxonomy-best", ([], {})).verdict == "not tested"


def test_known_answers_of_the_tests():
    right, other = np.array([1, 1, 1, 1, 1, 0, 1], bool), np.array([0, 0, 0, 0, 0, 1, 1], bool)
    assert p_value_mcnemar(right, other) == pytest.approx(7 / 64)  # at least 5 heads of 6
    assert p_value_mcnemar(right, right) == p_value_lower(right * 1.0, right * 1.0) == 1.0
    low = np.zeros(30)
    assert p_value_lower(low, low + 1) < 1e-6 < 1 - 1e-6 < p_value_lower(low + 1, low)


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
