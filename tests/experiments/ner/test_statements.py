"""Statements about named entities: made-up draws under which each is reproduced, contradicted, or open."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.made_up_results import Fake, config_of, judgements, row
from structmargin_suite.analysis import estimates

ERRORS = {"HMM": 9.36, "CRF": 5.17, "Perceptron": 5.94, "SVM": 4.6}
FORMULATIONS = {"SVM2": 1.02, "SVM2 slack": 1.10, "SVM2 margin": 1.17}
"""The average loss of the support."""
COUNTS = {"SVM2": 2824.0, "SVM2 slack": 2626.0, "SVM2 margin": 2628.0}
PRIMARY = "per example"
SENTENCES, LENGTH = 400, 20
KINDS = ("", "-slack", "-margin")
PLACES = ("", "-testa")
DISCRIMINATIVE = {f"ner-discriminative-{name}{p}" for name in ("crf", "perceptron", "svm") for p in PLACES}
BEST = {f"ner-svm-best-{name}{p}" for name in ("crf", "perceptron") for p in PLACES}
EQUAL = {f"ner-formulations-{name}{p}" for name in ("slack", "margin", "both") for p in PLACES}
SUPPORT = {f"ner-support-{what}{kind}" for what in ("most", "loss") for kind in KINDS}
ALL = frozenset({*DISCRIMINATIVE, *BEST, *EQUAL, *SUPPORT})
COUNTED = {f"ner-constraints-{kind}" for kind in ("zero-one", "slack", "margin")}
CLAIMS = ("ner-discriminative", "ner-svm-best", "ner-formulations", "ner-support", "ner-constraints")


class Sentences(Fake):
    """Made-up results whose runs also have errors on other sentences, which are the same for all."""

    def kept_predictions(self, run):
        error, draw = self.weights[run]
        tokens = np.full(SENTENCES, LENGTH)
        wrong = np.random.default_rng(draw).binomial(LENGTH, error / 100.0, SENTENCES)
        return {"testa_wrong": wrong, "testa_tokens": tokens}


def made(
    errors=ERRORS, tests=5.1, losses=FORMULATIONS, most=0.95, counts=COUNTS, noise=0.05,
    readings=(PRIMARY,), table2=("degree 2",), solver="n_slack_b", draws=6,
):  # fmt: skip
    """Results as the paper has them, with a clear lead of the SVM, but for what is given."""
    rng, rows, found = np.random.default_rng(3), [], {}
    tests = tests if isinstance(tests, dict) else dict.fromkeys(FORMULATIONS, tests)

    def add(study, method, reading, **values):
        given = {"method": method, "reading": reading, "corpus": "random-300", "fold": 0}
        for draw in range(draws):
            noisy = {
                key: value + noise * rng.normal() for key, value in values.items() if key == "test_error"
            }
            name = f"{study} {method} {reading} {draw}"
            found[name] = (min(max(noisy["test_error"], 0.0), 100.0), draw)
            rows.append(row(study, name, **given, solver=solver, repetition=draw, **{**values, **noisy}))

    for method, error in errors.items():
        for reading in {"HMM": ["equal"], "CRF": [""]}.get(method, table2):
            add("methods", method, reading, test_error=error)
    for method in FORMULATIONS:
        for reading in readings:
            add("formulations", method, reading, test_error=tests[method], average_loss=losses[method],
                support_at_one=most, constraints=counts[method])  # fmt: skip
    return {"ner": Sentences("ner", config_of("ner"), rows, found)}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(estimates, "RESAMPLES", 500)


def _both(*ids):
    return {f"{name}{place}" for name in ids for place in PLACES}


def _verdicts(results):
    """Of all statements, under the primary readings."""
    return {one["id"]: one["verdict"] for one in judgements(results, "ner", *CLAIMS) if one["primary"]}


def test_all_is_reproduced_where_all_is_as_the_paper_says():
    assert _verdicts(made()) == dict.fromkeys([*ALL, *COUNTED], "reproduced")


@pytest.mark.parametrize(
    ("changed", "contradicted"),
    [
        ({"errors": {**ERRORS, "HMM": 4.6, "SVM": 9.36}}, {*DISCRIMINATIVE, *BEST}),  # two methods swapped
        ({"errors": {**ERRORS, "CRF": 4.6, "SVM": 5.17}}, _both("ner-svm-best-crf")),  # two methods swapped
        ({"errors": {**ERRORS, "HMM": 6.2}}, DISCRIMINATIVE),  # better, but not substantially
        ({"tests": {"SVM2": 5.1, "SVM2 slack": 6.4, "SVM2 margin": 5.1}},
         _both("ner-formulations-slack", "ner-formulations-both")),
        ({"most": 0.7}, {f"ner-support-most{kind}" for kind in KINDS}),
        ({"losses": {**FORMULATIONS, "SVM2 margin": 1.3}}, {"ner-support-loss-margin"}),
        ({"counts": {**COUNTS, "SVM2": 2626.0 * 2}}, {"ner-constraints-zero-one"}),
    ],
)  # fmt: skip
def test_what_is_otherwise_is_contradicted_and_nothing_else(changed, contradicted):
    verdicts = _verdicts(made(**changed))
    assert {name for name, verdict in verdicts.items() if verdict == "contradicted"} == contradicted
    assert {
        name for name, verdict in verdicts.items() if verdict == "reproduced"
    } >= ALL - contradicted - BEST


def test_what_chance_covers_is_inconclusive():
    verdicts = _verdicts(made(noise=20.0))
    own = [name for name in (*DISCRIMINATIVE, *BEST, *EQUAL) if not name.endswith("testa")]
    assert {verdicts[name] for name in own} == {"inconclusive"}


def test_one_draw_is_no_evidence_and_the_overlap_of_draws_widens_the_interval():
    assert set(_verdicts(made(draws=1)).values()) == {"not testable"}
    found = next(one for one in judgements(made(), "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf")
    runs = made()["ner"].runs
    errors = {m: runs.loc[runs["method"] == m, "test_error"].to_numpy() for m in ("CRF", "SVM")}
    plain = (errors["CRF"] - errors["SVM"]).std(ddof=1) / np.sqrt(6)
    assert found["interval"].startswith("corrected t")
    # four statements share the claim: t of 5 degrees of freedom at 1 - .05 / 4 on both sides together; two
    # draws of 300 have 300 / 8323 of their sentences in common
    half, share = (found["high"] - found["low"]) / 2, 300 / 8323
    assert half == pytest.approx(3.8100 * plain * np.sqrt(1 + 6 * share / (1 - share)), rel=1e-3)


def test_folds_of_the_first_sentences_are_corrected_for_a_quarter():
    results = made()
    results["ner"].runs["fold"] = results["ner"].runs["repetition"]
    results["ner"].runs["corpus"] = "first-300"
    found = next(one for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf")
    errors = {m: g["test_error"].to_numpy() for m, g in results["ner"].runs.groupby("method")}
    plain = (errors["CRF"] - errors["SVM"]).std(ddof=1) / np.sqrt(6)
    half = (found["high"] - found["low"]) / 2
    assert half == pytest.approx(3.8100 * plain * np.sqrt(1 + 6 / 4), rel=1e-3)


def test_sentences_of_testa_are_resampled_crossed_with_draws():
    """The effect is a ratio of sums over all sentences and draws."""
    results = made()
    found = next(one for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf-testa")
    assert found["interval"] == f"bootstrap over {SENTENCES} units and 6 repetitions"
    mine, wrong = results["ner"], {}
    for method, runs in mine.runs[mine.runs["method"].isin(["CRF", "SVM"])].groupby("method"):
        wrong[method] = sum(mine.kept_predictions(run)["testa_wrong"].sum() for run in runs["run"])
    tokens = 6 * SENTENCES * LENGTH
    assert found["effect"] == pytest.approx(100 * (wrong["CRF"] - wrong["SVM"]) / tokens)
    assert found["low"] < found["effect"] < found["high"]


def test_counts_of_other_algorithms_are_not_compared():
    verdicts = _verdicts(made(solver="n_slack"))
    assert {verdicts[name] for name in COUNTED} == {"not testable"}


def test_every_reading_has_rows_of_its_own():
    results = made(table2=("degree 2", "linear"))
    runs = results["ner"].runs
    runs.loc[(runs["reading"] == "linear") & (runs["method"] == "SVM"), "test_error"] = 8.0
    rows = [one for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf"]
    verdicts = {one["reading"]: (one["verdict"], one["primary"]) for one in rows}
    assert verdicts == {"linear": ("contradicted", False), "degree 2": ("reproduced", True)}
    # the HMM's primary reading goes with each of the SVM's, and no row comes twice
    both = [
        one["reading"] for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-discriminative-svm"
    ]
    assert both == ["degree 2", "linear"]
