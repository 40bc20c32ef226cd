"""Localization as an experiment: curves of detections, what finds boxes without looking, kernels at boxes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.made_up_results import Fake, config_of, row
from helpers.toy_project import HERE
from structmargin.problems import Localization
from structmargin.problems.localization.kernel import BoxChi2
from structmargin_suite.analysis.experiments.localization import CHI2, LINEAR, kernel_values, wrong_boxes
from structmargin_suite.baselines import box_prior
from structmargin_suite.datasets import Examples, Split, clusters, completed, uiuc_cars
from structmargin_suite.datasets.uiuc_cars.detection import correct, precision_recall
from structmargin_suite.figures import _FIGURES
from structmargin_suite.figures._style import house
from structmargin_suite.figures.localization import DRAWN, _noise, _precision_at
from structmargin_suite.methods.method import Method
from structmargin_suite.methods.training import train


def test_a_car_is_found_once_and_by_the_better_criterion() -> None:
    """Boxes 10 x 25: the ellipse's axes are 2.5 and 6.25; half the area overlaps up to 8 columns aside."""
    cars = [np.array([[0.0, 0.0, 10.0, 25.0]])]
    places = {"there": (0, 0), "aside": (0, 6.2), "too far": (0, 6.3), "down": (2.4, 0), "both": (2, 5)}
    expected = {
        "ellipse": {"there": True, "aside": True, "too far": False, "down": True, "both": False},
        "overlap": {"there": True, "aside": True, "too far": True, "down": True, "both": False},
    }
    for criterion, told in expected.items():
        for name, (down, across) in places.items():
            box = np.array([[down, across, down + 10.0, across + 25.0, 1.0]])
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


LEVELS = (0.0, 0.1, 0.5)


def test_a_curve_begins_at_the_runs_without_noise_whichever_reading_they_stand_under() -> None:
    rows = [
        row("noise", f"{reading},{level}", method=LINEAR, label_noise=level, reading=reading)
        for reading in ("swap", "far") for level in LEVELS
    ]  # fmt: skip
    found = Fake("localization", config_of("localization"), rows)
    assert _noise(found, LINEAR, "far")["run"].tolist() == [f"far,{level}" for level in LEVELS]  # its own
    found = Fake("localization", config_of("localization"), [r for r in rows if r["run"] != "far,0.0"])
    assert _noise(found, LINEAR, "far")["run"].tolist() == ["swap,0.0", "far,0.1", "far,0.5"]
    assert _noise(found, LINEAR)["run"].tolist() == [f"swap,{level}" for level in LEVELS]


class Pictures(Fake):
    """Results whose split and model are at hand: test images full of one word but for their cars."""

    def __init__(self, telling: bool) -> None:
        rng = np.random.default_rng(0)
        window = np.array([[4, 6, 1]])
        X, Y = [], []
        for _ in range(60):
            words = rng.integers(8, 16, size=(8, 20))
            if telling:
                words[2:6, 5:11] = rng.integers(0, 4, size=(4, 6))
            X.append((words, window))
            Y.append(np.array([[2, 5, 6, 11]]))
        self.parts = Split(Examples(X, Y), Examples(X, [y.astype(float) for y in Y]))

    def split(self, run: str) -> Any:
        return self.parts

    def model(self, run: str) -> Any:
        return SimpleNamespace(problem_=Localization(16, levels=2), kernel=BoxChi2(16, 2))


def test_kernels_are_higher_at_boxes_with_words_of_their_own() -> None:
    for right, random in kernel_values(Pictures(telling=True), "linear", "chi2").values():
        assert right.shape == random.shape == (60, 60)
        assert right.mean() > 2.0 * random.mean()
    for right, random in kernel_values(Pictures(telling=False), "linear", "chi2").values():
        assert right.mean() == pytest.approx(random.mean(), rel=0.1)


def test_the_size_of_a_training_box_does_not_show_in_kernel_values() -> None:
    """Every second training box is four times as large and full of the same words: its row is the same."""
    found = Pictures(telling=True)
    X, Y = [], []
    for k in range(20):
        size = (4, 8) if k % 2 else (8, 16)
        X.append((np.tile([[0, 1], [2, 3]], (size[0] // 2, size[1] // 2)), np.array([[*size, 1]])))
        Y.append(np.array([[0, 0, *size]]))
    found.parts = Split(Examples(X, Y), found.parts.test)
    linear, _ = kernel_values(found, "linear", "chi2")["linear"]
    np.testing.assert_allclose(linear[0], linear[1], rtol=1e-12)
    raw = Localization(16, levels=2, scale=1.0)
    assert raw.psi(X[0], Y[0]).sum() == 4 * raw.psi(X[1], Y[1]).sum()


def test_figures_that_may_be_copied_show_drawn_cars_alone() -> None:
    """Every figure that is withheld has one in its place, which looks at runs on drawn cars only."""
    config = whole_config()
    withheld = {name: given for name, given in config["figures"].items() if "withhold" in given}
    assert sorted(withheld) == ["detections", "examples", "pyramid"]
    study = config["studies"][DRAWN]
    assert [config["data"][corpus]["source"] for corpus in study["data"]] == ["synthetic"]
    others = [other["data"] for name, other in config["studies"].items() if name != DRAWN]
    assert all(data == ["uiuc-cars"] for data in others)
    rows = [
        row(name, f"{name},{corpus}", method=CHI2, corpus=corpus, label_noise=0.0, reading="swap")
        for name, corpus in (("clean", "uiuc-cars"), (DRAWN, "drawn-cars"))
    ]
    arrays = uiuc_cars.synthesize(
        2, stride=8, surf_scale=1, n_words=9, train_images=9, test_images=9, crops=4
    )

    class Gallery(Fake):
        asked: ClassVar[list[str]] = []

        def ready(self, run: str) -> Any:
            self.asked.append(run)
            return arrays

        def kept_predictions(self, run: str) -> Any:
            cars = [boxes[:, :4] for boxes in np.split(arrays["test_cars"], np.cumsum(arrays["test_n"])[:-1])]
            found = [np.column_stack([boxes / 8, np.ones(len(boxes))]) for boxes in cars]
            return uiuc_cars.keep([boxes / 8 for boxes in cars], found)

    found = Gallery("localization", config, rows)
    for spec in withheld.values():
        with house() as plt:
            fig = plt.figure()
            _FIGURES[f"localization/{spec['instead']}"](found, fig)
            assert fig.get_suptitle() == "cars drawn by rule, in place of photographs"
            assert sum(len(ax.images) for ax in fig.axes) >= 4
            plt.close(fig)
    assert set(found.asked) == {"drawn,drawn-cars"}


def test_wrong_boxes_are_those_that_lie_on_no_car() -> None:
    options = {"stride": 8, "surf_scale": 1, "n_words": 20, "train_images": 14, "test_images": 2, "crops": 4}
    arrays = uiuc_cars.synthesize(2, **options)

    class Noisy(Fake):
        def record(self, run: str) -> Any:
            return {"view_seed": 5, "view": {"label_noise": float(run), "noise_kind": "far"}}

        def ready(self, run: str) -> Any:
            return arrays

    found = Noisy("localization", {}, [])
    n_cars = [int(n) for n in arrays["train_n"]]
    image, wrong = wrong_boxes(found, "0.0")
    assert image.tolist() == [i for i, n in enumerate(n_cars) for _ in range(n)] and not wrong.any()
    order = np.random.default_rng(5).permutation(14)
    image, wrong = wrong_boxes(found, "0.5")
    assert set(image[wrong]) <= set(order[:7]) and len(set(image[wrong])) >= 5


def whole_config() -> Any:
    """configs/localization.yaml as it is written."""
    return yaml.safe_load((HERE / "configs" / "localization.yaml").read_text(encoding="utf-8"))


def test_every_table_of_the_config_names_what_evaluation_gives() -> None:
    config = whole_config()
    given_names = {"test_equal_error_ellipse", "test_equal_error_overlap", "validation_roc_area"}
    for table in config["tables"].values():
        assert set(table.get("found_as", {}).values()) <= given_names
    assert json.dumps(config["methods"]["JKSE (chi2)"]["choose"]["among"]).count(",") == 19


def test_a_data_set_predicts_in_its_own_way_or_as_the_model_does() -> None:
    centre = box_prior.train([], [], seed=1, prior="centre")
    x = np.zeros((20, 31), dtype=np.int64), np.array([[10, 25, 1]])
    assert completed(uiuc_cars).predict(centre, [x])[0].shape[1] == 5
    assert completed(clusters).predict(centre, [x])[0].tolist() == [[5, 3, 15, 28]]
