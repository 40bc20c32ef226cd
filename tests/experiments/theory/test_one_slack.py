"""Statements about the 1-slack algorithm, on made-up runs under which each comes out each way."""

from __future__ import annotations

import pytest

from helpers.made_up_results import Fake, judgements, row


def made(power=0.0, level=40.0, repetitions=5, gap=0.09, wobble=0.02, formulation="SVM1 margin"):
    """Constraints that grow as n to a power, which varies between repetitions; gaps at C eps = 0.1."""
    rows = []
    for repetition in range(repetitions):
        for n in (50, 200, 800):
            count = level * (n / 50) ** (power + wobble * (repetition - (repetitions - 1) / 2))
            rows.append(
                row("growth", f"{repetition} {n}", method="1-slack", corpus="clusters", data="clusters",
                    solver="one_slack", formulation=formulation, repetition=repetition, n_train=n, C=10.0,
                    eps=0.01, gap=gap, constraints=count)
            )  # fmt: skip
    fake = Fake("theory", {"methods": {"1-slack": {"formulation": "SVM1 margin"}}}, rows)
    fake.summary["data"] = [{"corpus": "clusters", "label": "c", "asked": "synthetic", "kind": "synthetic"}]
    return {"theory": fake}


def lines(**given):
    rows = judgements(made(**given), "theory", "one-slack-n", "cutting-plane-precision")
    return {line["id"]: line for line in rows}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({}, "reproduced"),
        ({"power": -0.2}, "reproduced"),
        ({"power": 0.3}, "contradicted"),
        ({"power": 0.1}, "inconclusive"),
        ({"wobble": 0.2}, "inconclusive"),
        ({"repetitions": 1}, "not testable"),
    ],
)
def test_growth_with_n_is_judged_by_its_power(given, verdict):
    line = lines(**given)["one-slack-n-growth"]
    assert line["verdict"] == verdict
    if verdict != "not testable":
        assert line["effect"] == pytest.approx(given.get("power", 0.0)) and line["n"] == 5


def test_a_thousand_constraints_are_counted_by_training_set():
    name = "one-slack-n-thousand"
    few, many = lines(repetitions=20)[name], lines(repetitions=20, level=1000.0)[name]
    assert (few["verdict"], few["effect"], few["n"]) == ("reproduced", 1.0, 20)
    assert (many["verdict"], many["effect"]) == ("contradicted", -1.0)
    assert lines(repetitions=3)[name]["verdict"] == "inconclusive"  # three of three are no majority


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.1, "reproduced"), (0.1009, "reproduced"), (0.102, "contradicted")]
)
def test_a_gap_above_what_eps_allows_is_a_counterexample(gap, verdict):
    line = lines(gap=gap)["cutting-plane-precision-gap"]
    assert (line["verdict"], line["n"]) == (verdict, 15)
    assert f"the largest gap is {gap / 0.1:.3f} C eps" in line["evidence"]


def test_other_formulations_are_not_bounded_so():
    assert lines(formulation="SVM2", gap=9.0)["cutting-plane-precision-gap"]["verdict"] == "not testable"


ALONG = {
    "one-slack-n-C": ("growth with C", "1-slack", "C", (1.0, 10.0, 100.0), 1.0),
    "one-slack-n-eps": ("growth with precision", "1-slack", "eps", (0.1, 0.01, 0.001), -1.0),
    "one-slack-n-outputs": ("outputs", "1-slack", "outputs", (6, 24, 96), 1.0),
    "bound-constraints-outputs": ("outputs", "n-slack", "outputs", (6, 24, 96), 1.0),
}
"""Of a statement: the study, the method, the setting, its values, and the sign of the power in it."""


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("other", [0.0, 2.0])
def test_growth_along_each_setting_is_judged_by_its_own_runs(name, other):
    """The statement's own study grows with a power; the same study's other method grows otherwise."""
    study, method, key, values, sign = ALONG[name]
    slow, fast = (0.02, 0.3) if key == "outputs" else (0.5, 1.5)
    verdicts = []
    for power in (slow, fast):
        rows = [
            row(study, f"{one} {value} {r}", method=one, corpus="clusters", data="clusters", repetition=r,
                solver="one_slack", formulation="SVM1 margin",
                constraints=50.0 * value ** (sign * (p + 0.01 * (r - 2))), **{key: value})
            for one, p in ((method, power), ({"1-slack": "n-slack", "n-slack": "1-slack"}[method], other))
            for value in values
            for r in range(5)
        ]  # fmt: skip
        methods = {one: {"formulation": "SVM1 margin"} for one in ("1-slack", "n-slack")}
        if key != "outputs":  # a study of one method
            rows = [one for one in rows if one["method"] == method]
        results = {"theory": Fake("theory", {"methods": methods}, rows)}
        found = {one["id"]: one for one in judgements(results, "theory", "one-slack-n", "bound-constraints")}
        assert found[name]["effect"] == pytest.approx(power) and found[name]["n"] == 5
        verdicts.append(found[name]["verdict"])
    assert verdicts == ["reproduced", "contradicted"]
