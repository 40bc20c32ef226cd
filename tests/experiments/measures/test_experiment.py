"""The experiment on performance measures: claims that must pass and must fail, the pipeline, figures."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from helpers.made_up_results import Fake, config_of, row
from helpers.toy_project import HERE, project, run_all
from structmargin_suite.analysis.measures import cases, p_value_sign_test
from structmargin_suite.analysis.statistics import p_value_lower
from structmargin_suite.figures import measures as figures
from structmargin_suite.figures._style import house
from structmargin_suite.results import Results
from structmargin_suite.statements import checks
from structmargin_suite.storage.frames import records

CHECKS = checks()
DATA = ("reuters", "arxiv", "optdigits", "covertype")
WIDE, NARROW = "costs to 256", "costs to 8"


def made(gains=None, topics=8, narrow=5.0, lucky=0):
    """Results in which direct optimisation gains 2 points on every topic, but for the cases given; on the
    first `lucky` topics of each case it gains one point less what it gains on the others."""
    rows = []
    for study in DATA:
        for measure in ("f1", "prbep", "roc_area"):
            for topic in range(topics):
                gain = (gains or {}).get((study, measure), 2.0)
                gain = 1.0 - gain if topic < lucky else gain
                for method, reading, value in (
                    ("structural SVM", "", 60.0 + gain),
                    ("SVM", NARROW, 60.0 - narrow),
                    ("SVM", WIDE, 60.0),
                ):
                    found = {f"test_{m}": 0.0 for m in ("f1", "prbep", "roc_area")} | {
                        f"test_{measure}": value
                    }
                    rows.append(
                        row(study, f"{study}{measure}{topic}{method}{reading}", method=method,
                            reading=reading, data=study, topic=topic, measure=measure, **found)
                    )  # fmt: skip
    return {"measures": Fake("measures", config_of("measures"), rows)}


def test_winning_holds_where_it_wins_most_and_never_loses_much():
    for results in (made(), made({("covertype", "f1"): -0.05}, lucky=3)):
        verdict = CHECKS["measures-win"](results)
        assert verdict.verdict == "holds", verdict
    assert "higher in 12 of 12 cases, substantially worse in none" in CHECKS["measures-win"](made()).evidence
    assert "optdigits F1 +2.0 (8-0-0, sign test p 0.0078)" in CHECKS["measures-win"](made()).evidence


@pytest.mark.parametrize(
    "gains",
    [
        {("covertype", "f1"): -1.1},  # more than a point
        {("covertype", "f1"): -0.4},  # less, but on every topic
        {(study, m): -0.01 for study in DATA[:2] for m in ("f1", "prbep", "roc_area")},  # not most
    ],
)
def test_winning_fails_where_a_case_is_substantially_worse_or_most_are_lost(gains):
    verdict = CHECKS["measures-win"](made(gains))
    assert verdict.verdict == "fails", verdict
    assert (
        "conventional SVM, cost ratio up to 8: higher in 12 of 12" in verdict.evidence
    )  # and the weaker rival is told of, not judged


def test_few_topics_or_missing_runs_are_no_evidence():
    assert CHECKS["measures-win"](made(topics=3)).verdict == "not tested"
    results = made()
    runs = results["measures"].runs
    results["measures"].runs = runs[runs["data"] != "arxiv"]
    assert CHECKS["measures-win"](results).verdict == "not tested"


def test_wins_and_losses_are_counted_over_topics():
    (case, *_) = cases(made({("reuters", "f1"): -1.0}, topics=10, lucky=2)["measures"], WIDE)
    assert case.record == (2, 0, 8) and case.gain == pytest.approx(-0.4)
    assert p_value_sign_test(case) == pytest.approx(2 * 56 / 1024)  # at most 2 heads of 10, both sides
    lost = case._replace(direct=case.rival - 1.0)
    assert p_value_lower(lost.direct, lost.rival) == pytest.approx(
        0.000783, abs=1e-6
    )  # z = -27.5 / sqrt(96.25 - 990 / 48), all ranks tied
    assert p_value_lower(case.rival + 1.0, case.rival) > 0.999
    even = case._replace(direct=case.rival)
    assert (
        even.record == (0, 10, 0) and p_value_sign_test(even) == p_value_lower(even.direct, even.rival) == 1.0
    )


class Weights(Fake):
    """Made-up models: the structural SVM's w_, the conventional one's w."""

    def record(self, run):
        return {"method": run, "model": {"baseline": "linear_svm"} if run.startswith("plain") else {}}

    def model(self, run):
        return SimpleNamespace(w_=self.weights[run], w=self.weights[run])


@pytest.mark.parametrize(("apart", "verdict"), [(0.0, "holds"), (5e-4, "holds"), (2e-3, "fails")])
def test_error_rate_is_judged_by_the_weights_themselves(apart, verdict):
    w = np.array([3.0, 4.0])
    weights, rows = {}, []
    for topic in (0, 1):
        weights[f"plain{topic}"] = w
        weights[f"ours{topic}"] = w / 2 + topic * apart * np.array([2.5, 0.0])
        for method, name in (("error rate", "ours"), ("plain SVM", "plain")):
            rows.append(row("error_rate", f"{name}{topic}", method=method, data="x", topic=topic))
    found = CHECKS["measures-error-rate"]({"measures": Weights("measures", {}, rows, weights)})
    assert found.verdict == verdict and "on 2 topics" in found.evidence
    none = CHECKS["measures-error-rate"]({"measures": Weights("measures", {}, rows[::2], weights)})
    assert none.verdict == "not tested"


# ---- the whole experiment ----


def small_config():
    config = yaml.safe_load((HERE / "configs" / "measures.yaml").read_text(encoding="utf-8"))
    sizes = {
        "Reuters": {"stories": 300},
        "ArXiv": {"n_train": 150, "n_test": 100, "n_topics": 2, "n_words": 200},
        "Optdigits": {"images": 200},
        "Covertype": {"n_train": 150, "n_test": 100},
    }
    for corpus, given in sizes.items():
        config["data"][corpus] |= {"source": "synthetic", **given}
    for study in DATA:
        config["studies"][study]["vary"] |= {"topic": 2 if study == "reuters" else 1}
    config["studies"]["error_rate"] |= {"data": ["Optdigits"], "vary": {"topic": 1}}
    for method in config["methods"].values():
        if "choose" in method:
            method["choose"] = {**method["choose"], "among": [1.0, 10.0]}
    for reading, cost in ((WIDE, 64.0), (NARROW, 8.0)):
        config["readings"][reading]["sets"] = {"choose.with": {"cost": [1.0, cost]}}
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
    assert mine.summary["runs"] == {"done": 5 * 3 * 3 + 2, "skipped": 0, "failed": 0}
    keys = ("dataset", "method", "reading", "measure")
    table = {tuple(r[key] for key in keys): r for r in records(mine.table("measures"))}
    assert len(table) == 4 * 3 * 3
    for measure in ("f1", "prbep", "roc_area"):
        for reading, costs in ((WIDE, {1.0, 64.0}), (NARROW, {1.0, 8.0})):
            rows = records(mine.select("reuters", method="SVM", reading=reading, measure=measure))
            assert table["Reuters", "SVM", reading, measure]["value"] == pytest.approx(
                np.mean([r[f"test_{measure}"] for r in rows])
            )
            tried = [mine.record(r["run"])["chosen"][f"inner_{measure}"] for r in rows]
            assert all({cost for _, cost, _ in one} == costs for one in tried)
    methods = (("structural SVM", None), ("SVM", WIDE), ("SVM", NARROW))
    assert [table["ArXiv", *method, "f1"]["published"] for method in methods] == [56.8, 49.6, 49.6]
    assert table["Covertype", "SVM", WIDE, "roc_area"]["published"] == 94.1


def test_evaluation_finds_the_primal_of_the_one_example_again(small):
    mine = small["measures"]
    for one in records(mine.select("optdigits", method="structural SVM")):
        record = mine.record(one["run"])
        assert one["primal"] == pytest.approx(record["numbers"]["primal"])
        assert 0.0 <= one["train_risk"] <= one["mean_slack"] + 1e-9
        assert one["test_loss"] == pytest.approx(1.0 - one[f"test_{one['measure']}"] / 100.0)
        assert mine.model(one["run"]).fit_.support is None
        assert record["chosen"]["option"] == "C_per_example"
    (kept,) = records(mine.select("error_rate", method="error rate"))
    support = mine.model(kept["run"]).fit_.support
    np.testing.assert_allclose(support.rows.tocsr().T @ support.alpha, mine.model(kept["run"]).w_, atol=1e-6)


def test_the_claim_on_the_error_rate_holds_on_trained_models(small):
    verdict = CHECKS["measures-error-rate"](small)
    assert verdict.verdict == "holds", verdict
    assert CHECKS["measures-win"](small).verdict == "not tested"


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
