"""Localization as an experiment: curves of detections, what finds boxes without looking, and the claims."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.made_up_results import config_of, frame
from helpers.toy_project import HERE
from structmargin_suite.baselines import box_prior
from structmargin_suite.datasets import clusters, completed, uiuc_cars
from structmargin_suite.datasets.uiuc_cars.detection import correct, precision_recall
from structmargin_suite.figures.localization import _noise, _precision_at
from structmargin_suite.methods.method import Method
from structmargin_suite.methods.training import train
from structmargin_suite.results import ExperimentResults
from structmargin_suite.statements import localization as claims
from structmargin_suite.storage.bundle import Entry, write_bundle
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import json_bytes, sha256, write_json
from structmargin_suite.storage.layout import RECORD_FILE, ScaleLayout


def test_a_car_is_found_once_and_by_the_better_criterion() -> None:
    """Boxes 10 x 25: the ellipse's axes are 2.5 and 6.25; half the area overlaps up to 8 columns aside."""
    cars = [np.array([[0.0, 0.0, 10.0, 25.0]])]
    places = {"there": (0, 0), "aside": (0, 6.2), "too far": (0, 6.3), "down": (2.4, 0), "both": (2, 5)}
    expected = {
        "ellipse": {"there": True, "aside": True, "too far": False, "down": True, "both": False},
        "overlap": {"there": True, "aside": True, "too far": True, "down": True, "both": False},
    }
    for criterion, told in expected.items():
        for name, (row, column) in places.items():
            box = np.array([[row, column, row + 10.0, column + 25.0, 1.0]])
            assert correct(cars, [box], criterion)[0].tolist() == [told[name]], (criterion, name)
    twice = np.array([[0, 1, 10, 26, 2.0], [0, 0, 10, 25, 1.0]])
    assert correct(cars, [twice], "ellipse")[0].tolist() == [True, False]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_at_the_equal_error_point_as_many_are_wrong_as_are_missed(seed: int) -> None:
    """Found here by walking down the ranking; with fewer detections than cars the last one is taken."""
    rng = np.random.default_rng(seed)
    cars, found = [], []
    for _ in range(6):
        place = rng.integers(0, 4, size=(int(rng.integers(0, 3)), 1)) * 30.0
        cars.append(np.concatenate([0 * place, place, 0 * place + 10, place + 25], axis=1))
        place = rng.permutation(5)[: rng.integers(0, 4), None] * 30.0
        scores = np.sort(rng.permutation(20)[: len(place)])[::-1, None] / 20.0
        found.append(np.concatenate([0 * place, place, 0 * place + 10, place + 25, scores], axis=1))
    n = sum(len(one) for one in cars)
    if n == 0:
        return
    hits = correct(cars, found, "ellipse")
    ranked = sorted(
        ((found[i][k, 4], -i, bool(hits[i][k])) for i in range(6) for k in range(len(found[i]))), reverse=True
    )
    good = wrong = 0
    for _, _, hit in ranked:
        if wrong >= n - good:
            break
        good, wrong = good + hit, wrong + (not hit)
    one = precision_recall(cars, found, "ellipse")
    assert one.equal_error == pytest.approx(1.0 - good / n)
    assert wrong <= n - good
    if len(ranked):
        assert one.recall[-1] == pytest.approx(sum(hit for *_, hit in ranked) / n)
        assert one.precision[0] == float(ranked[0][2])


def test_precision_where_a_recall_is_first_reached() -> None:
    precision, recall = np.array([1.0, 0.5, 0.67, 0.5]), np.array([0.5, 0.5, 1.0, 1.0])
    found = _precision_at(precision, recall, np.array([0.0, 0.5, 0.6, 1.0]))
    assert found.tolist() == [1.0, 1.0, 0.67, 0.67]
    assert np.isnan(_precision_at(precision[:2], recall[:2], np.array([0.6]))).all()


def test_boxes_found_without_looking() -> None:
    x = np.zeros((20, 31), dtype=np.int64), np.array([[10, 25, 1]])
    centre = box_prior.train([], [], seed=1, prior="centre")
    assert uiuc_cars.predict(centre, [x])[0][0, :4].tolist() == [5, 3, 15, 28]
    other = np.ones((20, 31), dtype=np.int64), x[1]
    chance = box_prior.train([], [], seed=1, prior="random")
    again = box_prior.from_arrays(chance.to_arrays())
    scores = [uiuc_cars.predict(model, [x, other])[0][:, 4].tolist() for model in (chance, again)]
    assert scores[0] == scores[1]
    assert not np.array_equal(chance.potentials(x), chance.potentials(other))


def test_a_path_over_c_chooses_as_trainings_from_nothing_do() -> None:
    options = {"stride": 8, "surf_scale": 1, "n_words": 20, "train_images": 6, "test_images": 3, "crops": 20}
    split = uiuc_cars.view(uiuc_cars.synthesize(1, **options), 0, train_step=2)
    spec: dict[str, Any] = {
        "formulation": "SVM1 margin", "solver": "n_slack", "eps": 1e-5, "gap_tol": 1e-4,
        "problem": {"name": "Localization", "levels": 2},
        "choose": {
            "option": "C_per_example", "among": [0.1, 1.0], "by": "validation_roc_area", "largest": True
        },
    }  # fmt: skip
    fits = []
    for path in (False, True):
        one = {**spec, "choose": {**spec["choose"], "path": path}}
        fits.append(train(Method.parse("m", one), split, 0, uiuc_cars.score, uiuc_cars.predict))
    assert fits[0].chosen["value"] == fits[1].chosen["value"]
    for (_, a), (_, b) in zip(*(f.chosen["validation_roc_area"] for f in fits), strict=True):
        assert a == pytest.approx(b, abs=2.0)
    assert fits[0].numbers == fits[1].numbers, "the final training starts from nothing either way"


LEVELS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
PAPER = {
    "S-SVM (linear)": (18, 16, 27, 76, 55, 92, 91),
    "JKSE (linear)": (36, 35, 43, 60, 68, 79, 91),
    "JKSE (chi2)": (8, 11, 12, 24, 37, 62, 91),
}


def results(
    tmp_path: Path,
    rates: Any = None,
    seconds: tuple[float, float] = (500.0, 0.5),
    share: float = 0.98,
    slope: float = 0.0,
    n_train: int = 139,
) -> dict[str, ExperimentResults]:
    """Result files with these equal error rates, seconds of S-SVM and JKSE, and a slope of rates in nu."""
    folder = tmp_path / "results" / "localization"
    rows: list[dict[str, Any]] = []
    clocks = []
    records = []
    for method, values in (PAPER if rates is None else rates).items():
        for level, value in zip(LEVELS, values, strict=False):
            for kind in ("swap", "far"):
                run = f"{method},{kind},{level}"
                rate = value + (kind == "far")
                rows.append({"run": run, "method": method, "studies": "noise", "label_noise": level,
                             "reading": kind, "nu": None, claims.ERROR: rate})  # fmt: skip
                spent = seconds[not method.startswith("S-SVM")]
                clocks.append({"run": run, "fit_seconds": spent, "fit_seconds_search": share * spent})
                records.append(Entry(run, "k", "done", {RECORD_FILE: json_bytes({"n_train": n_train})}))
    for method in ("JKSE (linear), nu", "JKSE (chi2), nu"):
        for level in (0.0, 0.5):
            for value in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0):
                rows.append({"run": f"{method},{level},{value}", "method": method, "studies": "nu",
                             "label_noise": level, "reading": None, "nu": value,
                             claims.ERROR: 30.0 + slope * level * value})  # fmt: skip
    for row in rows:
        row.update(status="done", chosen=True, data="uiuc-cars", corpus="uiuc-cars", reason=None)
    write_csv(folder / "runs.csv", rows, list(rows[0]))
    write_csv(folder / "timings.csv", clocks, list(clocks[0]))
    bundle = ScaleLayout(tmp_path, "paper").trained("localization", "all")
    write_bundle(bundle, {}, records)
    jobs = {"all": {"runs": [entry.name for entry in records], "trained": sha256(bundle)}}
    write_json(folder / "summary.json", {"config": config_of("localization"), "scale": "paper", "jobs": jobs})
    return {"localization": ExperimentResults(tmp_path, "localization")}


def test_a_curve_begins_at_the_runs_without_noise_whichever_reading_they_stand_under(tmp_path: Path) -> None:
    found = results(tmp_path)["localization"]
    levels = {kind: _noise(found, "JKSE (linear)", kind)["run"].tolist() for kind in ("swap", "far")}
    assert levels["far"] == [f"JKSE (linear),far,{level}" for level in LEVELS]  # it has its own
    found.runs = found.runs[(found.runs["reading"] == "swap") | (found.runs["label_noise"] > 0)]
    shared = _noise(found, "JKSE (linear)", "far")["run"].tolist()
    assert shared == [f"JKSE (linear),swap,{LEVELS[0]}", *levels["far"][1:]]
    assert _noise(found, "JKSE (linear)")["run"].tolist() == levels["swap"]


def changed(method: str, level: float, value: float) -> dict[str, Any]:
    rates = {name: list(values) for name, values in PAPER.items()}
    rates[method][LEVELS.index(level)] = value
    return rates


def test_the_papers_own_numbers_bear_out_its_claims(tmp_path: Path) -> None:
    found = results(tmp_path)
    for check in (claims.fast, claims.noise_linear, claims.chi2, claims.insensitive):
        verdict = check(found)
        assert verdict.verdict == "holds", verdict
    assert "8.0/11.0/12.0/24.0/37.0/62.0/91.0" in claims.chi2(found).evidence
    assert "S-SVM (linear) far 19.0/17.0" in claims.noise_linear(found).evidence


@pytest.mark.parametrize(
    ("check", "options", "evidence"),
    [
        (claims.fast, {"seconds": (40.0, 0.5)}, "80 times as long"),
        (claims.fast, {"share": 0.6}, "60% in its search"),
        (claims.fast, {"seconds": (9000.0, 80.0)}, "JKSE \\(linear\\) 80.00 s"),
        (claims.noise_linear, {"rates": changed("S-SVM (linear)", 0.1, 40)}, "up to 30%: no"),
        (claims.noise_linear, {"rates": changed("S-SVM (linear)", 0.5, 50)}, r"\(by 23.0 points\): no"),
        (claims.noise_linear, {"rates": changed("JKSE (linear)", 0.5, 75)}, r"at most 32.0 points\): no"),
        (claims.noise_linear, {"rates": changed("S-SVM (linear)", 0.9, 70)}, "better at 90%: no"),
        (claims.chi2, {"rates": changed("S-SVM (linear)", 0.3, 12)}, "not lowest at 0.3"),
        (claims.chi2, {"rates": changed("JKSE (linear)", 0.0, 5)}, "not lowest at 0;"),
        (claims.insensitive, {"slope": 12.0}, "at most 5 is asked"),
    ],
)
def test_other_numbers_do_not(tmp_path: Path, check: Any, options: dict[str, Any], evidence: str) -> None:
    verdict = check(results(tmp_path, **options))
    assert verdict.verdict == "fails"
    assert re.search(evidence, verdict.evidence), verdict.evidence


def test_too_little_is_not_tested(tmp_path: Path) -> None:
    assert claims.fast(results(tmp_path, n_train=12)).verdict == "not tested"
    few = {method: values[:2] for method, values in PAPER.items()}
    found = results(tmp_path / "few", rates=few)
    assert claims.noise_linear(found).verdict == "not tested"
    assert claims.chi2(found).verdict == "not tested"


class Kept:
    """Results whose split and model are at hand: test images full of one word but for their cars."""

    def __init__(self, telling: bool) -> None:
        from structmargin.problems import Localization

        rng = np.random.default_rng(0)
        window = np.array([[4, 6, 1]])
        X, Y = [], []
        for _ in range(60):
            words = rng.integers(8, 16, size=(8, 20))
            box = np.array([[2, 5, 6, 11]])
            if telling:
                words[2:6, 5:11] = rng.integers(0, 4, size=(4, 6))
            X.append((words, window))
            Y.append(box)
        self.problem = Localization(16, levels=2)
        self.X, self.Y = X, Y

    def select(self, study: str, **settings: Any) -> Any:
        return frame([{"run": "one", "label_noise": 0.0}])

    def split(self, run: str) -> Any:
        from structmargin_suite.datasets import Examples, Split

        part = Examples(self.X, self.Y)
        return Split(part, Examples(self.X, [y.astype(float) for y in self.Y]))

    def model(self, run: str) -> Any:
        class Model:
            problem_ = self.problem

        return Model()


def test_the_kernel_claim_follows_the_kernel() -> None:
    """It holds where cars have words of their own, and fails where they have the background's."""
    held: Any = {"localization": Kept(telling=True)}
    verdict = claims.localization_kernel(held)
    assert verdict.verdict == "holds"
    assert "right above random in 100% of 60 images" in verdict.evidence
    lost: Any = {"localization": Kept(telling=False)}
    assert claims.localization_kernel(lost).verdict == "fails"
    pairs = claims.kernel_values(held["localization"], "one")
    for right_boxes, random in pairs.values():
        assert right_boxes.shape == random.shape == (60, 60)
        assert right_boxes.mean() > 2.0 * random.mean()


def test_every_table_of_the_config_names_what_evaluation_gives() -> None:
    import yaml

    root = HERE
    config = yaml.safe_load((root / "configs" / "localization.yaml").read_text(encoding="utf-8"))
    given_names = {"test_equal_error_ellipse", "test_equal_error_overlap", "validation_roc_area"}
    for table in config["tables"].values():
        assert set(table.get("found_as", {}).values()) <= given_names
    assert set(config["claims"]) == {
        "jkse-fast", "jkse-noise-linear", "jkse-chi2", "jkse-nu", "jkse-localization-kernel"
    }  # fmt: skip
    assert json.dumps(config["methods"]["JKSE (chi2)"]["choose"]["among"]).count(",") == 19


def test_a_data_set_predicts_in_its_own_way_or_as_the_model_does() -> None:
    centre = box_prior.train([], [], seed=1, prior="centre")
    x = np.zeros((20, 31), dtype=np.int64), np.array([[10, 25, 1]])
    assert completed(uiuc_cars).predict(centre, [x])[0].shape[1] == 5
    assert completed(clusters).predict(centre, [x])[0].tolist() == [[5, 3, 15, 28]]
