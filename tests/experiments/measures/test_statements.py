"""Statements about performance measures, on made-up results under which each comes out each way."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.made_up_results import Fake, config_of, judged, judgements, row
from structmargin_suite.analysis.experiments.measures import cases, p_value_sign_test
from structmargin_suite.storage.frames import frame_of

CORPORA = {"reuters": "Reuters", "arxiv": "ArXiv", "optdigits": "Optdigits", "covertype": "Covertype"}
MEASURES = ("f1", "prbep", "roc_area")
CROSS, SPLIT = "cross-validation", "one split"
PRINTED = {
    ("reuters", "f1"): 5.9, ("reuters", "prbep"): 2.5, ("reuters", "roc_area"): 0.5,
    ("arxiv", "f1"): 7.2, ("arxiv", "prbep"): 0.5, ("arxiv", "roc_area"): 0.1,
    ("optdigits", "f1"): 1.0, ("optdigits", "prbep"): 1.2, ("optdigits", "roc_area"): 0.0,
    ("covertype", "f1"): -0.1, ("covertype", "prbep"): 1.1, ("covertype", "roc_area"): 0.5,
}  # fmt: skip
ORDERS = [f"measures-table-{s}-{m}" for (s, m), gain in PRINTED.items() if s != "arxiv" and gain > 0]
EVEN = ["measures-table-optdigits-roc_area", "measures-table-covertype-f1"]


def made(gains=PRINTED, noise=0.02, topics=12, split=5.0, swapped=False):
    """Results with these gains on average over topics; by one split they are larger by `split` points."""
    rows = []
    for (study, measure), gain in gains.items():
        for topic in range(topics):
            direct, rival = 60.0 + gain + noise * (-1) ** topic, 60.0
            if swapped:
                direct, rival = rival, direct
            common = {"corpus": CORPORA[study], "data": CORPORA[study], "topic": topic, "measure": measure}
            for method, reading, value in (
                ("structural SVM", CROSS, direct), ("SVM", CROSS, rival),
                ("structural SVM", SPLIT, direct + split - 1.0), ("SVM", SPLIT, rival - 1.0),
            ):  # fmt: skip
                name = f"{study}{measure}{topic}{method}{reading}"
                values = dict.fromkeys((f"test_{other}" for other in MEASURES), 0.0) | {
                    f"test_{measure}": value
                }
                rows.append(row(study, name, method=method, reading=reading, **common, **values))
    fake = Fake("measures", config_of("measures"), rows)
    kinds = {"ArXiv": "synthetic"}
    fake.summary["data"] = [
        {"corpus": c, "label": c, "asked": "auto", "kind": kinds.get(c, "real")} for c in CORPORA.values()
    ]
    return {"measures": fake}


def test_the_papers_own_gains_reproduce_everything_but_what_made_up_data_show():
    verdicts = judged(made(), "measures", CROSS)
    for name in (*ORDERS, *EVEN, "measures-win-most", "measures-win-never-worse"):
        assert verdicts[name] == "reproduced", name
    assert all(verdicts[f"measures-table-arxiv-{measure}"] == "not testable" for measure in MEASURES)


def test_two_methods_swapped_turn_the_orders():
    verdicts = judged(made(swapped=True), "measures", CROSS)
    for name in (*ORDERS, "measures-win-most", "measures-win-never-worse"):
        assert verdicts[name] == "contradicted", name


def test_noise_leaves_everything_open_and_a_large_gain_is_no_tie():
    verdicts = judged(made(noise=40.0), "measures", CROSS)
    for name in (*ORDERS, *EVEN, "measures-win-most", "measures-win-never-worse"):
        assert verdicts[name] == "inconclusive", name
    verdicts = judged(
        made(PRINTED | {("optdigits", "roc_area"): 3.0, ("covertype", "f1"): -3.0}), "measures", CROSS
    )
    assert [verdicts[name] for name in EVEN] == ["contradicted", "contradicted"]
    assert (
        verdicts["measures-win-never-worse"] == "contradicted"
        and verdicts["measures-win-most"] == "reproduced"
    )


def test_made_up_data_do_not_count_among_the_cases():
    lost = {key: -9.0 for key in PRINTED if key[0] == "arxiv"}
    (line,) = (r for r in judgements(made(PRINTED | lost), "measures")
               if r["id"] == "measures-win-never-worse" and r["reading"] == CROSS)  # fmt: skip
    assert line["verdict"] == "reproduced" and line["effect"] == pytest.approx(-0.1)
    assert line["n"] == 36 and "arxiv" not in line["evidence"] and "covertype F1 -0.1" in line["evidence"]


def test_each_reading_compares_both_methods_under_it():
    rows = {(r["id"], r["reading"]): r for r in judgements(made(), "measures")}
    cross, split = (rows["measures-table-reuters-f1", reading] for reading in (CROSS, SPLIT))
    assert (cross["effect"], split["effect"]) == (pytest.approx(5.9), pytest.approx(10.9))
    assert cross["primary"] and not split["primary"]
    assert rows["measures-win-most", SPLIT]["effect"] == pytest.approx(1.0)  # every case is won
    assert rows["measures-win-most", CROSS]["effect"] == pytest.approx(2 * 7 / 9 - 1)


def test_made_up_data_may_be_missing_under_a_reading():
    results = made()
    runs = results["measures"].runs
    results["measures"].runs = runs[(runs["corpus"] != "ArXiv") | (runs["reading"] == CROSS)]
    rows = {(r["id"], r["reading"]): r for r in judgements(results, "measures")}
    assert rows["measures-win-most", SPLIT]["verdict"] == "reproduced"
    assert rows["measures-win-never-worse", SPLIT]["n"] == 36


def test_missing_runs_and_single_topics_are_no_evidence():
    results = made()
    runs = results["measures"].runs
    results["measures"].runs = runs[runs["corpus"] != "Covertype"]
    rows = {(r["id"], r["reading"]): r for r in judgements(results, "measures")}
    assert rows["measures-win-most", CROSS]["verdict"] == "not testable"
    assert "covertype" in rows["measures-win-most", CROSS]["evidence"]
    assert judged(made(topics=1), "measures", CROSS)["measures-table-reuters-f1"] == "not testable"


class Weights(Fake):
    """Made-up models: the structural SVM's w_, the conventional one's w."""

    def record(self, run):
        return {"method": run, "model": {"baseline": "linear_svm"} if run.startswith("plain") else {}}

    def model(self, run):
        return SimpleNamespace(w_=self.weights[run], w=self.weights[run])


@pytest.mark.parametrize(
    ("apart", "verdict"), [(0.0, "reproduced"), (5e-4, "reproduced"), (2e-3, "contradicted")]
)
def test_the_error_rate_is_judged_by_the_weights_themselves(apart, verdict):
    w = np.array([3.0, 4.0])
    weights, rows = {}, []
    for topic in (0, 1):
        weights[f"plain{topic}"] = w
        weights[f"ours{topic}"] = w / 2 + topic * apart * np.array([2.5, 0.0])
        for method, name in (("error rate", "ours"), ("plain SVM", "plain")):
            rows.append(row("error_rate", f"{name}{topic}", method=method, corpus="x", data="x", topic=topic))
    name = "measures-error-rate-same"
    found = judgements({"measures": Weights("measures", {}, rows, weights)}, "measures")
    (line,) = (r for r in found if r["id"] == name)
    assert line["verdict"] == verdict and line["n"] == 2
    alone = {"measures": Weights("measures", {}, rows[::2], weights)}
    assert judged(alone, "measures")[name] == "not testable"


def test_wins_and_losses_are_counted_over_topics():
    results = made(PRINTED | {("reuters", "f1"): -1.0}, noise=0.0, topics=10)["measures"]
    direct = (results.runs["method"] == "structural SVM") & (results.runs["topic"] < 2)
    results.runs.loc[direct, "test_f1"] += 3.0  # two topics are won
    (case, *_) = cases(results, CROSS)
    assert case.record == (2, 0, 8) and case.gain == pytest.approx(-0.4)
    assert p_value_sign_test(case) == pytest.approx(2 * 56 / 1024)  # at most 2 heads of 10, both sides
    even = case._replace(direct=case.rival)
    assert even.record == (0, 10, 0) and p_value_sign_test(even) == 1.0


class Timed(Fake):
    """Results made up in memory, with the seconds of all searches of each run."""

    def __init__(self, rows, clocks):
        super().__init__("measures", config_of("measures"), rows)
        self.clocks = clocks
        self.summary["data"] = [
            {"corpus": f"patches-{500 * 2**k}", "label": "patches", "asked": "auto", "kind": "real"}
            for k in range(4)
        ]

    def timings(self):
        return frame_of(self.clocks, ["run", "fit_seconds_search"], {"run": "text"})


@pytest.mark.parametrize(
    ("power", "verdict"), [(1.2, "reproduced"), (2.0, "reproduced"), (2.6, "contradicted")]
)
def test_a_search_is_timed_by_itself_and_its_growth_decides(power, verdict):
    rows, clocks = [], []
    for topic, measure, k in itertools.product(range(3), ("f1", "prbep"), range(4)):
        n, name = 500 * 2**k, f"{topic}{measure}{k}"
        calls = 100 - 20 * k  # fewer searches of larger samples: their sum would grow less
        common = {"corpus": f"patches-{n}", "data": f"patches-{n}", "n_train": n}
        common |= {"topic": topic, "measure": measure}
        rows.append(row("search", name, method="structural SVM, one C", oracle_calls=calls, **common))
        clock = calls * 1e-6 * n ** (power + 0.01 * topic)
        clocks.append({"run": name, "fit_seconds_search": clock})
    rows.append(row("search", "untimed", method="structural SVM, one C", oracle_calls=1, **common))
    (found,) = judgements({"measures": Timed(rows, clocks)}, "measures", only=["measures-search-quadratic"])
    assert found["verdict"] == verdict and found["n"] == 6 and "500 to 4000 examples" in found["evidence"]
    assert found["effect"] == pytest.approx(power + 0.01, abs=1e-6)
