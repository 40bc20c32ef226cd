"""Statements about cars, on made-up results under which each is reproduced, contradicted or left open."""

from __future__ import annotations

import copy
import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from helpers.made_up_results import Fake, judged, judgements, row
from structmargin_suite.analysis import estimates
from structmargin_suite.analysis.experiments.localization import CHI2, LINEAR, SSVM, SSVM_CHI2, Detections
from structmargin_suite.datasets.uiuc_cars.detection import precision_recall
from structmargin_suite.statements.effects import localization as effects
from structmargin_suite.statements.effects import localization_training as training
from structmargin_suite.storage.frames import frame_of

LEVELS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
PAPER = {
    SSVM: (18, 16, 27, 76, 55, 92, 91),
    LINEAR: (36, 35, 43, 60, 68, 79, 91),
    CHI2: (8, 11, 12, 24, 37, 62, 91),
}
N_CARS, DRAWS = 200, 3
GRID = (0.05, 0.5, 1.0)
READINGS = {
    "swap": {"evidence": "e", "chosen": "before", "primary": True, "sets": {"noise_kind": "swap"}},
    "far": {"evidence": "e", "chosen": "after first look", "sets": {"noise_kind": "far"}},
}


class Street(Fake):
    """Made-up results on images with one car and one detection each, of which a rate misses."""

    def __init__(self, world):
        self.world, self.missed, self.chosen, self.clocks = world, {}, {}, []
        rows = [made for reading in world["rates"] for made in self.table_1(reading)]
        rows += [made for kernel in ("linear", "chi2") for made in self.along_nu(kernel)]
        rows += [
            self.run("without learning", effects.RANDOM, world["chance"], repetition=k) for k in range(DRAWS)
        ]
        rows += list(self.machine())
        rows += [
            self.run("C", f"{SSVM}, C", 30.0 + world["slope_in_C"] * k, label_noise=level, C_per_example=C)
            for level in (0.0, 0.5, 0.9) for k, C in enumerate((0.01, 1.0, 100.0))
        ]  # fmt: skip
        named = {name: {"readings": list(world["rates"])} for name in (SSVM, LINEAR, CHI2)}
        others = (effects.RANDOM, SSVM_CHI2, f"{SSVM}, C", "JKSE (linear), nu", "JKSE (chi2), nu")
        methods = {name: {"baseline": "box_prior", **named.get(name, {})} for name in (*named, *others)}
        config = {"methods": methods, "data": {"cars": {"papers_own": True}},
                  "readings": {name: READINGS[name] for name in world["rates"]}}  # fmt: skip
        super().__init__("localization", config, rows)
        self.summary["data"] = [{"corpus": "cars", "label": "cars", "asked": "auto", "kind": "real"}]

    def run(self, study, method, rate, **values):
        name = ",".join(
            [study, method, *(f"{key}={value}" for key, value in values.items() if key != "nu_chosen")]
        )
        self.missed[name] = round(rate / 100 * N_CARS)
        return row(study, name, method=method, corpus="cars", data="cars", **{"reading": "", **values})

    def table_1(self, reading):
        for method, rates in self.world["rates"][reading].items():
            for level, rate in zip(LEVELS, rates, strict=True):
                for k in range(0 if rate is None else DRAWS if level else 1):
                    nu = self.world["nu_of_noise"](level) + 0.01 * k
                    made = self.run(
                        "noise", method, rate, label_noise=level, repetition=k, reading=reading, nu=nu,
                        oracle_calls=self.world["calls"],
                    )  # fmt: skip
                    seconds = self.world["seconds"][method != SSVM]
                    self.clocks.append({"run": made["run"], "fit_seconds": seconds * (1 + 0.01 * k),
                                        "fit_seconds_search": self.world["share"] * seconds})  # fmt: skip
                    area = self.world["areas"][method != SSVM] + 0.1 * k
                    self.chosen[made["run"]] = {"validation_roc_area": [[1, 90.0], [2, 90.0 - area]]}
                    yield made

    def machine(self):
        """The S-SVM with the chi-squared kernel, and what it is compared with, under the first reading."""
        reading = next(iter(self.world["rates"]))
        for level in (0.0, 0.3, 0.9):
            yield self.run("machine", SSVM_CHI2, self.world["ssvm_chi2"], label_noise=level, oracle_calls=900)
            name = f"machine,{SSVM_CHI2},label_noise={level},oracle_calls=900"
            seconds = self.world["ssvm_chi2_seconds"] * (1 + level / 10)
            self.clocks.append({"run": name, "fit_seconds": seconds})
            for method in (SSVM, CHI2):
                rate = self.world["rates"][reading][method][LEVELS.index(level)]
                made = self.run("machine", method, rate, label_noise=level, reading=reading)
                self.clocks.append({"run": made["run"], "fit_seconds": self.world["seconds"][method != SSVM]})
                yield made

    def along_nu(self, kernel):
        for level in (0.0, 0.5, 0.9):
            for nu in GRID:
                rate = 30.0 + self.world["slope_in_nu"] * nu
                yield self.run("nu", f"JKSE ({kernel}), nu", rate, label_noise=level, nu=nu, repetition=0)

    def kept_predictions(self, run):
        """The first images are missed: of two runs the one with the lower rate misses only what both do."""
        found = np.tile([0.0, 0.0, 10.0, 25.0, 1.0], (N_CARS, 1))
        found[: self.missed[run], 1] = 100.0
        found[:, 4] -= np.arange(N_CARS) / (2.0 * N_CARS)
        cars = np.tile([0.0, 0.0, 10.0, 25.0], (N_CARS, 1))
        ones = np.ones(N_CARS, dtype=int)
        return {"found": found, "found_n": ones, "cars": cars, "cars_n": ones}

    def timings(self):
        return frame_of(self.clocks, ["run", "fit_seconds", "fit_seconds_search"], {"run": "text"})

    def record(self, run):
        return {"chosen": self.chosen[run]}

    def model(self, run):
        alpha = np.where(np.arange(100) < self.world["support"], 0.1, 0.0)
        xi = np.where(np.arange(100) < 40, 0.2, 0.0)
        return SimpleNamespace(fit_=SimpleNamespace(alpha=alpha, xi=xi, rho=1.0))


WORLD = {
    "rates": {"swap": PAPER},
    "chance": 91.0,
    "ssvm_chi2": 5.0,
    "ssvm_chi2_seconds": 40000.0,
    "seconds": (500.0, 0.5),
    "calls": 3500,
    "share": 0.97,
    "areas": (8.0, 2.0),
    "slope_in_nu": 1.0,
    "slope_in_C": 20.0,
    "nu_of_noise": lambda level: 0.1 + 0.9 * level,
    "support": 30,
    "wrong_first": True,  # the boxes with slack are the wrong ones
    "kernels": ((0.8, 0.8), (1.0, 0.1)),  # linear, chi-squared: images told apart, range of the values
}


@pytest.fixture
def verdicts(monkeypatch):
    """Verdicts by statement and reading, of a world with some changes."""

    monkeypatch.setattr(estimates, "RESAMPLES", 600)

    def of(*only, reading="swap", **changes):
        world = {**copy.deepcopy(WORLD), **changes}
        wrong = (np.arange(100) < 50) == world["wrong_first"]
        monkeypatch.setattr(training, "wrong_boxes", lambda *_: (np.arange(100) // 2, wrong))
        monkeypatch.setattr(effects, "kernel_values", lambda *_: kernels(*world["kernels"]))
        return judged({"localization": Street(world)}, "localization", reading, only or None)

    return of


def kernels(linear, chi2, n=100):
    """Values at right and at random boxes; each kernel tells a share apart, and its values have a range."""
    values = {}
    for name, (share, spread) in (("linear", linear), ("chi2", chi2)):
        right = np.where(np.arange(n) < share * n, 2.0, 1.0) + spread * np.arange(n) / n
        values[name] = np.tile(right, (3, 1)), np.full((3, n), 1.9)
    return values


REPRODUCED_BY_THE_PAPERS_NUMBERS = [
    "jkse-fast-linear", "jkse-fast-chi2", "jkse-fast-ratio", "jkse-fast-ratio-chi2", "jkse-fast-calls",
    "jkse-fast-share", "jkse-choice-error",
    "jkse-noise-linear-0", "jkse-noise-linear-10", "jkse-noise-linear-30", "jkse-noise-linear-90",
    "jkse-noise-linear-moderate", "jkse-noise-linear-dive", "jkse-noise-linear-gradual",
    "jkse-noise-chance-ssvm", "jkse-noise-chance-linear", "jkse-noise-chance-chi2",
    "jkse-noise-chance-linear-90",
    "jkse-chi2-0", "jkse-chi2-10", "jkse-chi2-30", "jkse-chi2-50", "jkse-chi2-70", "jkse-chi2-90",
    "jkse-ssvm-chi2-profits", "jkse-ssvm-chi2-infeasible",
    "jkse-nu-linear-0", "jkse-nu-linear-50", "jkse-nu-linear-90",
    "jkse-nu-chi2-0", "jkse-nu-chi2-50", "jkse-nu-chi2-90",
    "jkse-choice-C", "jkse-outliers-sparse", "jkse-outliers-wrong", "jkse-outliers-grows", "jkse-outliers-90",
    "jkse-localization-kernel-linear", "jkse-localization-kernel-chi2", "jkse-localization-kernel-clearer",
    "jkse-localization-kernel-constant",
]  # fmt: skip


def test_the_papers_own_numbers(verdicts):
    found = verdicts()
    assert [name for name in REPRODUCED_BY_THE_PAPERS_NUMBERS if found[name] != "reproduced"] == []
    rest = {name: verdict for name, verdict in found.items() if name not in REPRODUCED_BY_THE_PAPERS_NUMBERS}
    assert rest == {
        "jkse-fast-evaluation": "not testable",
        "jkse-fast-few-hundred": "not testable",
        "jkse-noise-linear-artifact": "contradicted",  # the paper says so of its own number
        "jkse-noise-chance-ssvm-90": "reproduced",
        "jkse-chi2-robust": "inconclusive",  # 4 points over 200 cars, where 5 would be too many
        "jkse-chi2-recall-90": "contradicted",  # with one detection per image 38% are found
        "jkse-chi2-precision-90": "contradicted",
        "jkse-ssvm-chi2-better": "reproduced",
        "jkse-choice-cross-validation": "not testable",
    }


def test_the_effects_of_the_papers_numbers_are_those_the_list_prints(monkeypatch):
    """Which cells of Table 1 a statement compares, and which way round."""
    monkeypatch.setattr(estimates, "RESAMPLES", 20)
    claims = ("jkse-noise-linear", "jkse-noise-chance", "jkse-chi2")
    rows = judgements({"localization": Street(WORLD)}, "localization", *claims)
    printed = {row["id"]: row["published"] for row in rows if row["published"] is not None}
    assert len(printed) == 17
    assert {row["id"]: pytest.approx(row["effect"]) for row in rows if row["id"] in printed} == printed


def flat(value):
    return dict.fromkeys((SSVM, LINEAR, CHI2), (value,) * len(LEVELS))


OTHERWISE = {
    "slow": (
        {"seconds": (0.5, 500.0)}, "contradicted", ["jkse-fast-linear", "jkse-fast-chi2", "jkse-fast-ratio"],
    ),
    "few calls": ({"calls": 300, "share": 0.5}, "contradicted", ["jkse-fast-calls", "jkse-fast-share"]),
    "quick with chi2": (
        {"ssvm_chi2_seconds": 6.0, "ssvm_chi2": 30.0}, "contradicted",
        ["jkse-ssvm-chi2-infeasible", "jkse-ssvm-chi2-profits", "jkse-ssvm-chi2-better",
         "jkse-fast-ratio-chi2"],
    ),
    "nu matters": ({"slope_in_nu": 40.0}, "contradicted", ["jkse-nu-linear-0", "jkse-nu-chi2-90"]),
    "nu matters a little": ({"slope_in_nu": 5.0}, "inconclusive", ["jkse-nu-linear-0", "jkse-nu-chi2-90"]),
    "C does not matter": (
        {"areas": (1.0, 7.0), "slope_in_C": 0.0, "slope_in_nu": 40.0}, "contradicted",
        ["jkse-choice-C", "jkse-choice-error"],
    ),
    "C and nu matter alike": (
        {"slope_in_C": 10.0, "slope_in_nu": 20.0}, "inconclusive", ["jkse-choice-error"],
    ),
    "dense": ({"support": 80}, "contradicted", ["jkse-outliers-sparse"]),
    "half dense": ({"support": 50}, "inconclusive", ["jkse-outliers-sparse"]),
    "right boxes are outliers": ({"wrong_first": False}, "contradicted", ["jkse-outliers-wrong"]),
    "nu falls": (
        {"nu_of_noise": lambda level: 0.4 - 0.3 * level}, "contradicted",
        ["jkse-outliers-grows", "jkse-outliers-90"],
    ),
    "kernels tell little": (
        {"kernels": ((0.2, 0.0), (0.05, 0.0))}, "contradicted",
        ["jkse-localization-kernel-linear", "jkse-localization-kernel-chi2",
         "jkse-localization-kernel-clearer"],
    ),
    "chi2 varies": (
        {"kernels": ((1.0, 0.0), (1.0, 0.8))}, "contradicted", ["jkse-localization-kernel-constant"],
    ),
    "all alike": (
        {"rates": {"swap": flat(30.0)}}, "inconclusive",
        ["jkse-noise-linear-0", "jkse-noise-linear-90", "jkse-chi2-0", "jkse-chi2-90",
         "jkse-noise-linear-moderate"],
    ),
    "never at chance": (
        {"rates": {"swap": flat(30.0)}}, "contradicted",
        ["jkse-noise-chance-ssvm", "jkse-noise-chance-linear", "jkse-noise-chance-chi2",
         "jkse-noise-chance-ssvm-90", "jkse-noise-linear-dive"],
    ),
    "robust": (
        {"rates": {"swap": flat(30.0)}}, "reproduced",
        ["jkse-chi2-robust", "jkse-chi2-recall-90", "jkse-chi2-precision-90"],
    ),
    "always at chance": ({"rates": {"swap": flat(97.0)}}, "contradicted", ["jkse-noise-chance-linear-90"]),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_other_results_turn_them(verdicts, name):
    changes, verdict, statements = OTHERWISE[name]
    found = verdicts(*statements, **changes)
    assert {statement: found[statement] for statement in statements} == dict.fromkeys(statements, verdict)


@pytest.mark.parametrize(
    ("statement", "method", "rates", "verdict"),
    [
        ("jkse-noise-linear-artifact", SSVM, (18, 20, 27, 55, 76, 92, 91), "reproduced"),
        ("jkse-chi2-robust", CHI2, (8, 30, 31, 32, 37, 62, 91), "contradicted"),
        ("jkse-noise-linear-gradual", LINEAR, (10, 12, 13, 85, 86, 87, 91), "contradicted"),
    ],
)
def test_other_rates_of_one_method_turn_them(verdicts, statement, method, rates, verdict):
    assert verdicts(statement, rates={"swap": {**PAPER, method: rates}}) == {statement: verdict}


SWAPS = {
    LINEAR: ["jkse-noise-linear-0", "jkse-noise-linear-10", "jkse-noise-linear-30", "jkse-noise-linear-90",
             "jkse-noise-linear-gradual"],
    CHI2: [f"jkse-chi2-{level}" for level in (0, 10, 30, 50, 70, 90)],
}  # fmt: skip


@pytest.mark.parametrize("other", SWAPS)
def test_two_methods_swapped_in_the_results_turn_the_statements_about_them(verdicts, other):
    swapped = {**PAPER, SSVM: PAPER[other], other: PAPER[SSVM]}
    found = verdicts(*SWAPS[other], rates={"swap": swapped})
    assert found == dict.fromkeys(SWAPS[other], "contradicted")


def test_another_reading_has_rows_of_its_own_and_shares_the_runs_without_noise(verdicts):
    statements = ("jkse-noise-linear-30", "jkse-noise-linear-moderate")
    swapped = {**PAPER, SSVM: PAPER[LINEAR], LINEAR: PAPER[SSVM]}
    rates = {"swap": PAPER, "far": {method: (None, *swapped[method][1:]) for method in swapped}}
    both = dict.fromkeys(statements, "reproduced")
    assert verdicts(*statements, rates=rates) == both
    assert verdicts(*statements, reading="far", rates=rates) == {
        **both,
        "jkse-noise-linear-30": "contradicted",
    }


def test_weights_of_one_give_the_equal_error_rate_and_of_two_that_of_images_twice():
    rng = np.random.default_rng(3)
    for _ in range(30):
        cars, found = [], []
        for _ in range(8):
            place = rng.integers(0, 4, size=(int(rng.integers(0, 3)), 1)) * 30.0
            cars.append(np.concatenate([0 * place, place, 0 * place + 10, place + 25], axis=1))
            place = rng.permutation(5)[: rng.integers(0, 4), None] * 30.0
            scores = np.sort(rng.random(len(place)))[::-1, None]
            found.append(np.concatenate([0 * place, place, 0 * place + 10, place + 25, scores], axis=1))
        if not sum(map(len, cars)) or not sum(map(len, found)):
            continue
        listed = Street.__new__(Street)
        listed.kept_predictions = lambda _, c=cars, f=found: {
            "cars": np.concatenate(c), "cars_n": np.array([len(x) for x in c]),
            "found": np.concatenate(f), "found_n": np.array([len(x) for x in f]),
        }  # fmt: skip
        made: Detections = effects.detections(listed, "run")
        whole = precision_recall(cars, found, "ellipse")
        ones = np.ones((1, 8))
        assert made.equal_error(ones)[0] == pytest.approx(100.0 * whole.equal_error)
        assert made.recall(ones)[0] == pytest.approx(100.0 * whole.recall[-1])
        assert made.equal_error(2 * ones)[0] == pytest.approx(100.0 * whole.equal_error)
        right = np.diff(np.concatenate([[0.0], whole.recall])) > 0
        if right.any():
            share = 100.0 * np.mean(whole.precision[right] > 0.4)
            assert made.precise_share(ones, 0.4)[0] == pytest.approx(share)


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [(500.0, "engineering: a search takes 71 ms here and 5 s in the paper"), (5e4, "open")],
)
def test_a_low_share_of_searches_is_engineering_unless_the_rest_is_slow(monkeypatch, seconds, cause):
    """Half of the time is in 3,500 searches. The other half is 250 s, or more than 3,500 searches of 5 s."""
    monkeypatch.setattr(estimates, "RESAMPLES", 20)
    world = {**copy.deepcopy(WORLD), "share": 0.5, "seconds": (seconds, 0.5)}
    made = judgements({"localization": Street(world)}, "localization", only=["jkse-fast-share"])
    (found,) = [record for record in made if record["primary"]]
    assert found["verdict"] == "contradicted" and found["cause"].startswith(cause), found


def test_readings_of_the_histograms_have_rows_of_their_own(monkeypatch):
    """JKSE depends on nu with counts only; ranges over C and nu are compared under each reading."""
    monkeypatch.setattr(estimates, "RESAMPLES", 200)
    monkeypatch.setitem(READINGS, "box", {"evidence": "e", "chosen": "after first look"})
    made = Street({**copy.deepcopy(WORLD), "rates": {"swap": PAPER, "box": PAPER}, "slope_in_nu": 40.0})
    method = "JKSE (linear), nu"
    made.methods[method] = dataclasses.replace(made.methods[method], readings=("swap", "box"))
    flat = [
        made.run("nu", method, 30.0 + nu, label_noise=0.0, nu=nu, repetition=0, reading="box") for nu in GRID
    ]
    counts = (made.runs["method"] == method) & (made.runs["reading"] == "")
    runs = made.runs.assign(reading=made.runs["reading"].mask(counts, "swap"))
    made.runs = pd.concat([runs, pd.DataFrame(flat)], ignore_index=True)
    rows = judgements({"localization": made}, "localization", only=["jkse-nu-linear-0", "jkse-choice-error"])
    found = {(r["id"], r["reading"]): (r["verdict"], r["cause"]) for r in rows}
    assert found["jkse-nu-linear-0", "swap"][0] == "contradicted"
    assert found["jkse-nu-linear-0", "swap"][1].endswith("reproduced under box, and no other seed was run")
    assert found["jkse-nu-linear-0", "box"] == ("reproduced", "")
    assert found["jkse-choice-error", "box"][0] == "reproduced"
