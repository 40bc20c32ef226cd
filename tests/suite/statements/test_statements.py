"""Every check is fed results that must pass it and results that must fail it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from helpers.made_up_results import Fake, frame, row
from helpers.toy_project import HERE
from structmargin_suite.analysis.statistics import holm, interval, p_value_above, slope
from structmargin_suite.statements import checks, judge

CHECKS = checks()
SIZES = [1, 2, 4, 10, 20, 40, 80]
EPSILONS = [0.8, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01]
REPETITIONS = 5
NOISE = [-0.4, 0.1, 0.3, -0.2, 0.2]


def alignment(
    svm=None, generative=None, constraints=None, by_eps=None, error_eps=None, repetitions=REPETITIONS
):
    """Runs of the alignment experiment from functions of n or epsilon."""
    svm = svm or (lambda n: 50 / n**0.6)
    generative = generative or (lambda n: 75 / n**0.7 if n <= 10 else 50 / n**0.6 - 0.5)
    constraints = constraints or (lambda n: 8 * n**0.8)
    by_eps = by_eps or (lambda e: 50 * e**-0.5)
    error_eps = error_eps or (lambda e: 5.0 + (20 * (e - 0.1) if e > 0.1 else 0.0))
    config = {
        "repetitions": repetitions,
        "methods": {"generative": {"baseline": "x"}, "SVM2": {"formulation": "SVM2"}},
        "studies": {"sizes": {"methods": ["generative", "SVM2"]}, "precision": {"methods": ["SVM2"]}},
    }
    runs = []
    for r in range(repetitions):
        noise = NOISE[r % len(NOISE)]
        for n in SIZES:
            common = {"n_train": n, "repetition": r}
            runs.append(
                row("sizes", f"g{n}{r}", method="generative", test_error=generative(n) - noise, **common)
            )
            runs.append(
                row(
                    "sizes",
                    f"s{n}{r}",
                    method="SVM2",
                    test_error=svm(n) + noise,
                    constraints=constraints(n) + noise,
                    **common,
                )
            )
        for e in EPSILONS:
            error = error_eps(e) + (noise if e != 0.1 else 0.0)
            common = {"method": "SVM2", "eps": e, "repetition": r, "test_error": error}
            counted = {"constraints": by_eps(e) + noise, "bound": 100 / e**2}
            runs.append(row("precision", f"e{e}{r}", **common, **counted))
    return {"alignment": Fake("alignment", config, runs)}


def library(**values):
    base = {"mean_slack": 0.5, "train_risk": 0.3, "exact": True, "constraints": 40, "bound": 100.0}
    rows = [row("s", f"r{k}", **{**base, **(values if k == 2 else {})}) for k in range(4)]
    return {"some": Fake("some", {}, rows)}


def pairs(slack_apart=0.0, margin_apart=1.0, zero_one_apart=0.0):
    """Certified solutions with gaps of 0.5e-6, so that equal problems are at most 2e-3 apart."""
    rows, weights = [], {}

    def add(study, formulation, w):
        run = f"{study}/{formulation}"
        rows.append(row(study, run, formulation=formulation, repetition=0, gap=0.5e-6))
        weights[run] = w

    for penalty in ("SVM1", "SVM2"):
        for scaling, apart in (("slack", slack_apart), ("margin", margin_apart)):
            add("loss as it is", f"{penalty} {scaling}", [1.0, 0.0])
            add("loss times four", f"{penalty} {scaling}", [1.0, apart])
            add("zero-one", f"{penalty} {scaling}", [1.0, zero_one_apart])
        add("zero-one", penalty, [1.0, 0.0])
    return {"theory": Fake("theory", {}, rows, weights)}


def growth(power=0.0, level=40.0, repetitions=4):
    rows = [
        row("growth", f"{n}{r}", n_train=n, repetition=r, constraints=level * (n / 50) ** power + NOISE[r])
        for n in (50, 100, 200, 400, 800, 1600)
        for r in range(repetitions)
    ]
    return {"theory": Fake("theory", {}, rows)}


def far_ahead(n):
    return 80 / n**0.7 + 5 if n <= 10 else 50 / n**0.6


CASES = {
    "align-small-n": (
        [alignment()],
        [
            alignment(svm=lambda n: 80 / n**0.6),  # not better with few examples
            alignment(svm=lambda n: 50 / n**0.6 + 5, generative=far_ahead),  # not close later
            alignment(generative=lambda n: 75 / n**0.7 if n <= 10 else 50 / n**0.6 + 2.0),  # not ahead later
            alignment(generative=lambda n: 50 / n**0.6 + 0.05),  # better, but not significantly so
        ],
    ),
    "align-sublinear": (
        [alignment()],
        [alignment(constraints=lambda n: 8 * n), alignment(constraints=lambda n: 8 * n**1.1)],
    ),
    "align-epsilon": (
        [alignment()],
        [alignment(by_eps=lambda e: 90 * e**-2.1), alignment(by_eps=lambda e: 400.0)],
    ),
    "align-epsilon-good": (
        [alignment()],
        [
            alignment(error_eps=lambda e: 5.0),  # larger is no worse
            alignment(error_eps=lambda e: 5.0 + 20 * (e - 0.1)),  # smaller gains
            alignment(error_eps=lambda e: 5.0 - (2 * (e - 0.1) if e > 0.1 else 0.0)),  # larger is better
        ],
    ),
    "bound-constraints": ([library()], [library(constraints=101)]),
    "bound-risk": ([library()], [library(train_risk=0.51)]),
    "slack-invariance": (
        [pairs()], [pairs(slack_apart=0.01), pairs(margin_apart=0.0), pairs(margin_apart=1e-3)]
    ),
    "zero-one-equal": ([pairs()], [pairs(zero_one_apart=0.01)]),
    "one-slack-n": ([growth(), growth(power=-0.2)], [growth(power=0.3), growth(level=1000.0)]),
}  # fmt: skip


def test_every_check_has_its_cases():
    mine = ("structmargin_suite.statements.alignment", "structmargin_suite.statements.theory")
    assert set(CASES) == {name for name, check in CHECKS.items() if check.__module__ in mine}


@pytest.mark.parametrize("name", CASES)
def test_a_check_passes_what_it_must(name):
    for results in CASES[name][0]:
        verdict = CHECKS[name](results)
        assert verdict.verdict == "holds", verdict


@pytest.mark.parametrize("name", CASES)
def test_a_check_fails_what_it_must(name):
    for results in CASES[name][1]:
        verdict = CHECKS[name](results)
        assert verdict.verdict == "fails", verdict


@pytest.mark.parametrize("name", CASES)
def test_without_results_nothing_is_tested(name):
    claim = {"id": name, "paper": "jmlr05", "where": "x", "claim": "y"}
    assert judge({}, [claim])[0]["verdict"] == "not tested"


@pytest.mark.parametrize("name", ["align-small-n", "align-sublinear", "align-epsilon", "align-epsilon-good"])
def test_two_repetitions_are_no_evidence(name):
    verdict = CHECKS[name](alignment(repetitions=2))
    assert verdict.verdict == "not tested" and "2 repetitions" in verdict.evidence
    assert CHECKS["one-slack-n"](growth(repetitions=2)).verdict == "not tested"


def test_failed_runs_and_runs_not_chosen_do_not_count():
    results = alignment()
    for bad in ({"status": "failed", "chosen": True}, {"status": "done", "chosen": False}):
        values = {"n_train": 80, "repetition": 0, "constraints": 1e9, "test_error": 100.0}
        added = frame([{**row("sizes", "bad", method="SVM2", **values), **bad}])
        results["alignment"].runs = pd.concat([results["alignment"].runs, added], ignore_index=True)
    assert CHECKS["align-sublinear"](results).verdict == "holds"


def test_every_claim_of_the_papers_gets_a_row():
    listed = yaml.safe_load((HERE / "data" / "published" / "claims.yaml").read_text())
    rows = judge({}, listed)
    assert [one["id"] for one in rows] == [one["id"] for one in listed] and len(rows) == 36
    assert set(CHECKS) <= {one["id"] for one in listed}


def test_the_statistics_are_scipys():
    x = [1.0, 2.5, 2.0, 4.0]
    low, high = stats.t.interval(0.95, 3, np.mean(x), stats.sem(x))
    assert interval(x)[1:3] == pytest.approx((low, high))
    assert p_value_above(x, 1.0) == pytest.approx(stats.ttest_1samp(x, 1.0, alternative="greater").pvalue)
    assert slope([1, 2, 4], [3.0, 6.0, 12.0]) == pytest.approx(1.0)
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


def test_published_numbers_are_those_of_the_papers():
    papers = Path(HERE / "data" / "published" / "alignment.csv").read_text().splitlines()
    assert len(papers) == 1 + 7 * 5 and "80,SVM2,constraints,252.7,2.1,se" in papers
