"""Statements about protein alignment, on made-up results under which each comes out each way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.made_up_results import Fake, judgements, row
from structmargin_suite.analysis.experiments.proteins import family_sums
from structmargin_suite.datasets.homstrad.pairs import Truths

FAMILIES, FOLDS, MATCHES = 40, 2, 100
PAPER = {
    "BLOSUM62": 30, "generative": 60, "Simple": 50, "Anova2": 62, "Tensor": 64, "Window": 70, "Profile": 75,
}  # fmt: skip
COMPARED = {
    "protein-order-window-generative": ("Window", "generative"),
    "protein-order-profile-generative": ("Profile", "generative"),
    "protein-order-profile-window": ("Profile", "Window"),
    "protein-features-interactions": ("Anova2", "Simple"),
    "protein-features-rich": ("Window", "Simple"),
    "protein-features-discriminative": ("Tensor", "generative"),
}


class Families(Fake):
    """Every run puts some of the hundred matches of each pair six places off.

    Families have one pair or two; the first pair has 30% identical residues, the second 10%. `levels` has
    (matches right at 30%, at 10%, what every other family adds and the others lose) for each method.
    """

    def split(self, run):
        fold = int(run.split()[-1])
        numbers = [k for k in range(FAMILIES) if k % FOLDS == fold]
        pairs = [(k, low) for k in numbers for low in (False, True) if not low or k % 8 not in (3, 5)]
        y = np.column_stack([np.arange(MATCHES)] * 2)
        identity = np.array([0.1 if low else 0.3 for _, low in pairs])
        names = np.array([f"family {k}" for k, _ in pairs])
        return SimpleNamespace(test=SimpleNamespace(X=pairs, Y=Truths([y] * len(pairs), identity, names)))

    def model(self, run):
        high, low, noise = self.levels[run.rpartition(" ")[0]]
        y = np.column_stack([np.arange(MATCHES)] * 2)

        def predict(X):
            good = [(low if is_low else high) + noise * (-1) ** (k // FOLDS) for k, is_low in X]
            return [np.vstack([y[:g], y[g:] + np.array([6, 0])]) for g in good]

        return SimpleNamespace(predict=predict)


def judged(levels=PAPER, harder=20, noise=None, low=None, cls=Families, **measures):
    """Rows by statement. `harder` is what pairs of low identity lose, `noise` and `low` are by method."""
    more = {"corpus": "homstrad", "data": "homstrad", **measures}
    rows = [
        row("models", f"{name} {fold}", method=name, fold=fold, **more)
        for name in levels
        for fold in range(FOLDS)
    ]
    fake = cls("proteins", {}, rows)
    fake.levels = {
        name: (level, (low or {}).get(name, level - harder), (noise or {}).get(name, 0))
        for name, level in levels.items()
    }
    fake.summary["data"] = [{"corpus": "homstrad", "label": "homstrad", "asked": "auto", "kind": "real"}]
    return {line["id"]: line for line in judgements({"proteins": fake}, "proteins")}


def test_the_papers_order_is_reproduced():
    lines = judged()
    for name in (*COMPARED, "protein-baselines-blast", "protein-baselines-identity"):
        assert lines[name]["verdict"] == "reproduced", name
    window = lines["protein-order-window-generative"]
    assert (window["effect"], window["n"]) == (pytest.approx(10.0), FAMILIES)
    assert lines["protein-baselines-blast"]["effect"] == pytest.approx(20.0)  # Simple is the lowest other
    assert lines["protein-baselines-identity"]["effect"] == pytest.approx(20.0)
    assert lines["protein-baselines-upper"]["verdict"] == "not testable"


@pytest.mark.parametrize(("name", "pair"), COMPARED.items())
def test_two_methods_swapped_turn_what_is_said_of_them(name, pair):
    better, other = pair
    line = judged(PAPER | {better: PAPER[other], other: PAPER[better]})[name]
    assert line["verdict"] == "contradicted"
    assert line["cause"] == "open: no test of a cause decides; only one reading was run"


def test_no_gain_is_not_substantial_and_noise_leaves_it_open():
    name = "protein-order-window-generative"
    assert judged(PAPER | {"Window": 60}, noise={"Window": 0})[name]["verdict"] == "contradicted"
    noisy = judged(noise={"Window": 30, "Profile": -25})
    assert [noisy[n]["verdict"] for n in (name, "protein-order-profile-window")] == ["inconclusive"] * 2


def test_a_gain_on_distant_pairs_alone_names_the_data_as_the_cause():
    levels = PAPER | {"Window": 60}
    line = judged(levels, low={"Window": 41, "generative": 40}, noise={"Window": 4})[
        "protein-order-window-generative"
    ]
    assert line["verdict"] == "inconclusive" and line["cause"].startswith("power")
    line = judged(levels, low={"Window": 55, "generative": 40}, noise={"Window": 20})[
        "protein-order-window-generative"
    ]
    assert line["verdict"] == "inconclusive" and line["cause"].startswith("data: +15.")
    assert "less than 20% identical residues" in line["cause"]


def test_baselines_that_are_not_the_lowest_and_pairs_that_are_not_harder():
    assert judged(PAPER | {"BLOSUM62": 55})["protein-baselines-blast"]["verdict"] == "contradicted"
    assert judged(harder=-20)["protein-baselines-identity"]["verdict"] == "contradicted"
    without = judged({name: level for name, level in PAPER.items() if name != "Profile"})
    assert "there are none of Profile" in without["protein-order-profile-window"]["evidence"]
    assert without["protein-order-window-generative"]["verdict"] == "reproduced"


def test_the_evidence_says_how_good_the_predicted_structure_is():
    good = judged(test_states_right=74.12, test_all_loop=41.3)["protein-order-window-generative"]["evidence"]
    assert "states are predicted right at 74.1% of places (all loop: 41.3%)" in good
    assert "below 60%" not in good
    poor = judged(test_states_right=55.0, test_all_loop=41.3)["protein-order-window-generative"]["evidence"]
    assert "which is below 60%: they say little" in poor
    assert "predicted right" not in judged()["protein-order-window-generative"]["evidence"]


def test_families_that_share_an_entry_are_one_unit():
    class Shared(Families):
        def split(self, run):
            split = super().split(run)
            split.test.Y.group = np.array([f"group {k // 4}" for k, _ in split.test.X])
            return split

    alone, shared = (judged(cls=cls)["protein-order-window-generative"]["n"] for cls in (Families, Shared))
    assert (alone, shared) == (FAMILIES, FAMILIES // 4)


def test_pairs_are_added_up_by_family():
    sums = family_sums(np.array(["b", "a", "b"]), np.array([[1.0, 1.0], [5.0, 1.0], [2.0, 1.0]]))
    assert sums.tolist() == [[5.0, 1.0], [3.0, 2.0]]
