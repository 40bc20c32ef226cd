"""The experiment on performance measures: the pipeline and its figures."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from helpers.made_up_results import judged
from helpers.toy_project import HERE, project, run_all
from structmargin_suite.figures import measures as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.storage.frames import records

DATA = ("reuters", "arxiv", "optdigits", "covertype")
CROSS, SPLIT, ONE_C = ("cross-validation", "one split", "one C")


def small_config():
    config = yaml.safe_load((HERE / "configs" / "measures.yaml").read_text(encoding="utf-8"))
    sizes = {
        "Reuters": {"stories": 300},
        "ArXiv": {"n_train": 150, "n_test": 100, "n_topics": 2, "n_words": 200},
        "Optdigits": {"images": 200},
        "Covertype": {"n_train": 150, "n_test": 100},
    }
    for corpus, given in sizes.items():
        config["data"][corpus] |= {"source": "synthetic", "papers_own": False, **given}
    for study in DATA:
        config["studies"][study]["vary"] |= {"topic": 2 if study == "reuters" else 1}
    config["studies"]["one_C"]["vary"] |= {"topic": 2}
    config["studies"]["error_rate"] |= {"data": ["Optdigits"], "vary": {"topic": 1}}
    for method in config["methods"].values():
        if "choose" in method:
            method["choose"] = {**method["choose"], "among": [1.0, 10.0]}
    config["methods"]["SVM"]["choose"]["with"] = {"cost": [1.0, 64.0]}
    config["scales"] = {"smoke": {}, "standard": {}, "paper": {}}
    config["jobs"] = {"by": []}
    return config


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The experiment itself on synthetic data at its smallest."""
    root = project(tmp_path_factory.mktemp("measures"), small_config(), "measures")
    run_all(root)
    return Results(root)


def test_the_table_averages_each_measure_over_the_models_trained_for_it(small):
    mine = small["measures"]
    # of every topic and measure two methods in two readings, and with two values of C in the third
    table_1, timed = (
        4 * 3 * 2 * (1 + 1 + 2),
        5 * 3 * 3,
    )  # a search is timed on five sizes, three topics and measures
    assert mine.summary["runs"] == {"done": table_1 + timed + 3 * 2 + 2, "skipped": 0, "failed": 0}
    keys = ("dataset", "method", "reading", "measure")
    table = {tuple(r[key] for key in keys): r for r in records(mine.table("measures"))}
    assert len(table) == (2 * 3 + 2 + 1) * 3 * 2  # ArXiv is shown under the primary reading only
    for measure in ("f1", "prbep", "roc_area"):
        for reading in (CROSS, SPLIT):
            rows = records(mine.select("reuters", method="SVM", reading=reading, measure=measure))
            assert len(rows) == 2 and table["Reuters", "SVM", reading, measure]["value"] == pytest.approx(
                np.mean([r[f"test_{measure}"] for r in rows])
            )
            tried = [mine.record(r["run"])["chosen"][f"inner_{measure}"] for r in rows]
            assert all({cost for _, cost, _ in one} == {1.0, 64.0} for one in tried)
    methods = (("structural SVM", CROSS), ("SVM", CROSS))
    assert [table["ArXiv", *method, "f1"]["published"] for method in methods] == [56.8, 49.6]
    assert table["Covertype", "SVM", ONE_C, "roc_area"]["published"] == 94.1


def test_one_C_is_that_of_the_best_mean_over_topics_and_the_cost_is_each_topics_own(small):
    mine = small["measures"]
    for measure in ("f1", "roc_area"):
        for method, option in (("structural SVM", "C_per_example"), ("SVM", "C")):
            runs = mine.runs[(mine.runs["method"] == method) & (mine.runs["reading"] == ONE_C)]
            runs = runs[(runs["corpus"] == "Reuters") & (runs["measure"] == measure)]
            assert len(runs) == 4
            means = runs.groupby(option)[f"inner_{measure}"].mean()
            assert set(runs[option][runs["chosen"]]) == {means.idxmax()}
            for run in records(runs):
                record = mine.record(run["run"])
                assert record["held_out"] == pytest.approx({f"inner_{measure}": run[f"inner_{measure}"]})
                if method == "SVM":
                    scores = {cost: s for C, cost, s in record["chosen"][f"inner_{measure}"]}
                    assert run["cost"] in [c for c, s in scores.items() if s == max(scores.values())]


def test_the_first_fold_is_the_one_split(small):
    """No topic here has 50 positive rows: cross-validation averages over folds, one split has the first."""
    mine = small["measures"]
    for method in ("structural SVM", "SVM"):
        tried = {}
        for reading in (CROSS, SPLIT):
            (run,) = records(
                mine.select("reuters", method=method, reading=reading, measure="roc_area", topic=0)
            )
            tried[reading] = mine.record(run["run"])["chosen"]["inner_roc_area"]
        assert [row[:-1] for row in tried[CROSS]] == [row[:-1] for row in tried[SPLIT]]
        assert [row[-1] for row in tried[CROSS]] != [row[-1] for row in tried[SPLIT]]


def test_the_largest_gap_of_a_row_is_shown_and_small(small):
    mine = small["measures"]
    table = records(mine.table("measures_gaps"))
    assert len(table) == (2 * 3 + 2 + 1) * 3 * 2
    for row in table:
        runs = mine.select(
            row["dataset"].lower(), method=row["method"], reading=row["reading"], measure=row["measure"]
        )
        assert row["value"] == runs["relative_gap"].max() and row["spread"] is None
        assert row["value"] <= (0.01 if row["method"] == "SVM" else 0.05)


def test_evaluation_finds_the_primal_of_the_one_example_again(small):
    mine = small["measures"]
    for one in records(mine.select("optdigits", method="structural SVM")):
        record = mine.record(one["run"])
        assert one["primal"] == pytest.approx(record["numbers"]["primal"])
        assert 0.0 <= one["train_risk"] <= one["mean_slack"] + 1e-9
        assert one["test_loss"] == pytest.approx(1.0 - one[f"test_{one['measure']}"] / 100.0)
        assert mine.model(one["run"]).fit_.support is None
        if one["reading"] != ONE_C:
            assert record["chosen"]["option"] == "C_per_example"
    (kept,) = records(mine.select("error_rate", method="error rate"))
    support = mine.model(kept["run"]).fit_.support
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, mine.model(kept["run"]).w_, atol=1e-6)


def test_the_error_rate_gives_the_conventional_svm_on_trained_models(small):
    verdicts = judged(small, "measures", CROSS)
    assert verdicts["measures-error-rate-same"] == "reproduced"
    assert verdicts["measures-table-reuters-f1"] == "not testable"  # made-up stories


def test_figures_show_the_runs(small):
    mine = small["measures"]
    with house() as plt:
        fig = plt.figure()
        figures.topics(mine, fig)
        assert len(fig.axes) == 12
        shown = fig.axes[0].lines[1]
        rows = {
            name: records(mine.select("reuters", method=name, reading=mine.primary(name), measure="f1"))
            for name in ("SVM", "structural SVM")
        }
        assert shown.get_xdata().tolist() == [r["test_f1"] for r in rows["SVM"]]
        assert shown.get_ydata().tolist() == [r["test_f1"] for r in rows["structural SVM"]]
        plt.close(fig)
        fig = plt.figure()
        figures.table_1(mine, fig)
        hollow = [line.get_xdata()[0] for line in fig.axes[1].lines if line.get_markerfacecolor() == "white"]
        assert sorted(hollow) == sorted([68.2, 58.4, 92.7, 72.1, 65.7, 57.9, 91.5, 71.0])
        plt.close(fig)
        fig = plt.figure()
        figures.gain(mine, fig)
        arrays = mine.split(rows["SVM"][0]["run"])
        share = 100 * np.mean(arrays.train.Y > 0)
        assert fig.axes[0].lines[0].get_xdata()[0] == pytest.approx(share)
        plt.close(fig)


def test_a_data_set_without_runs_leaves_the_shares_of_the_others_as_they_are(small):
    mine = Results(small.root)["measures"]
    with house() as plt:
        whole, fewer = plt.figure(), plt.figure()
        figures.gain(mine, whole)
        runs = mine.runs
        first_two = list(dict.fromkeys(runs["data"]))[:2]
        lost = (runs["data"] == first_two[0]) | ((runs["data"] == first_two[1]) & (runs["measure"] == "f1"))
        mine.runs = runs[~lost]
        figures.gain(mine, fewer)
        kept = [line for line in whole.axes[1].lines if line.get_label() == first_two[1]]
        shown = [line for line in fewer.axes[1].lines if line.get_label() == first_two[1]]
        assert len(kept) == len(shown) == 1
        assert shown[0].get_xdata().tolist() == kept[0].get_xdata().tolist()
        assert not [line for line in fewer.axes[0].lines if line.get_label() == first_two[1]]
        plt.close(whole)
        plt.close(fewer)
