"""Statements about named entities: made-up draws under which each is reproduced, contradicted, or open."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.made_up_results import Fake, config_of, judgements, row

ERRORS = {"HMM": 9.36, "CRF": 5.17, "Perceptron": 5.94, "SVM": 4.6}
FORMULATIONS = {"SVM2": 1.02, "SVM2 slack": 1.10, "SVM2 margin": 1.17}
"""The average loss of the support."""
COUNTS = {"SVM2": 2824.0, "SVM2 slack": 2626.0, "SVM2 margin": 2628.0}
PRIMARY = "per example"
KINDS = ("", "-slack", "-margin")
DISCRIMINATIVE = {f"ner-discriminative-{name}" for name in ("crf", "perceptron", "svm")}
BEST = {f"ner-svm-best-{name}" for name in ("crf", "perceptron")}
EQUAL = {f"ner-formulations-{name}" for name in ("slack", "margin", "both")}
SUPPORT = {f"ner-support-{what}{kind}" for what in ("most", "loss") for kind in KINDS}
ALL = frozenset({*DISCRIMINATIVE, *BEST, *EQUAL, *SUPPORT})
COUNTED = {f"ner-constraints-{kind}" for kind in ("zero-one", "slack", "margin")}
CLAIMS = ("ner-discriminative", "ner-svm-best", "ner-formulations", "ner-support", "ner-constraints")


def made(
    errors=ERRORS, tests=5.1, losses=FORMULATIONS, most=0.95, counts=COUNTS, noise=0.05,
    readings=(PRIMARY,), solver="n_slack_b", draws=6,
):  # fmt: skip
    """Results as the paper has them, with a clear lead of the SVM, but for what is given."""
    rng, rows = np.random.default_rng(3), []
    tests = tests if isinstance(tests, dict) else dict.fromkeys(FORMULATIONS, tests)

    def add(study, method, reading, **values):
        given = {"method": method, "reading": reading, "corpus": "random-300", "fold": 0}
        for draw in range(draws):
            noisy = {
                key: value + noise * rng.normal() for key, value in values.items() if key == "test_error"
            }
            name = f"{study} {method} {reading} {draw}"
            rows.append(row(study, name, **given, solver=solver, repetition=draw, **{**values, **noisy}))

    for method, error in errors.items():
        for reading in {"HMM": ["equal"], "SVM": readings}.get(method, [""]):
            add("methods", method, reading, test_error=error)
    for method in FORMULATIONS:
        for reading in readings:
            add("formulations", method, reading, test_error=tests[method], average_loss=losses[method],
                support_at_one=most, constraints=counts[method])  # fmt: skip
    return {"ner": Fake("ner", config_of("ner"), rows)}


def _verdicts(results):
    """Of all statements, under the primary readings."""
    return {one["id"]: one["verdict"] for one in judgements(results, "ner", *CLAIMS) if one["primary"]}


def test_all_is_reproduced_where_all_is_as_the_paper_says():
    assert _verdicts(made()) == dict.fromkeys([*ALL, *COUNTED], "reproduced")


@pytest.mark.parametrize(
    ("changed", "contradicted"),
    [
        ({"errors": {**ERRORS, "HMM": 4.6, "SVM": 9.36}}, {*DISCRIMINATIVE, *BEST}),  # two methods swapped
        ({"errors": {**ERRORS, "CRF": 4.6, "SVM": 5.17}}, {"ner-svm-best-crf"}),  # two methods swapped
        ({"errors": {**ERRORS, "HMM": 6.2}}, DISCRIMINATIVE),  # better, but not substantially
        ({"tests": {"SVM2": 5.1, "SVM2 slack": 6.4, "SVM2 margin": 5.1}},
         {"ner-formulations-slack", "ner-formulations-both"}),
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
    assert {verdicts[name] for name in (*DISCRIMINATIVE, *BEST, *EQUAL)} == {"inconclusive"}


def test_one_draw_is_no_evidence_and_the_overlap_of_draws_widens_the_interval():
    assert set(_verdicts(made(draws=1)).values()) == {"not testable"}
    found = next(one for one in judgements(made(), "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf")
    runs = made()["ner"].runs
    errors = {m: runs.loc[runs["method"] == m, "test_error"].to_numpy() for m in ("CRF", "SVM")}
    plain = (errors["CRF"] - errors["SVM"]).std(ddof=1) / np.sqrt(6)
    assert found["interval"].startswith("corrected t")
    # two statements share the claim: t of 5 degrees of freedom at 1 - .05 / 2 on either side together
    half = (found["high"] - found["low"]) / 2
    assert half == pytest.approx(3.1634 * plain * np.sqrt(1 + 6 / 4), rel=1e-3)


def test_counts_of_other_algorithms_are_not_compared():
    verdicts = _verdicts(made(solver="n_slack"))
    assert {verdicts[name] for name in COUNTED} == {"not testable"}


def test_every_reading_has_rows_of_its_own():
    results = made(readings=("printed", PRIMARY))
    runs = results["ner"].runs
    runs.loc[(runs["reading"] == "printed") & (runs["method"] == "SVM"), "test_error"] = 8.0
    rows = [one for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-svm-best-crf"]
    verdicts = {one["reading"]: (one["verdict"], one["primary"]) for one in rows}
    assert verdicts == {"printed": ("contradicted", False), PRIMARY: ("reproduced", True)}
    # the HMM's primary reading goes with each of the SVM's, and no row comes twice
    both = [
        one["reading"] for one in judgements(results, "ner", *CLAIMS) if one["id"] == "ner-discriminative-svm"
    ]
    assert both == ["printed", PRIMARY]
