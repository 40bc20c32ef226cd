"""The UIUC cars: reading them, what cannot be read, label noise, and the pictures drawn by rule."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.pgm import write_pgm
from structmargin_suite.datasets import uiuc_cars
from structmargin_suite.datasets.uiuc_cars.detection import overlap
from structmargin_suite.datasets.uiuc_cars.images import read_archive
from structmargin_suite.storage.errors import DataError

SMALL = {"stride": 8, "surf_scale": 1, "n_words": 20, "train_images": 8, "test_images": 5, "crops": 10}


def archive(path: Path, **changes: Any) -> Path:
    """A small archive in the database's own form; changes replace files by name, None removes one."""
    rng = np.random.default_rng(0)
    files: dict[str, Any] = {}
    for k in range(3):
        files[f"TestImages/test-{k}.pgm"] = write_pgm(rng.integers(0, 256, size=(80, 130)))
    for k in range(2):
        files[f"TestImages_Scale/test-{k}.pgm"] = write_pgm(rng.integers(0, 256, size=(120, 200)))
        files[f"TrainImages/pos-{k}.pgm"] = write_pgm(rng.integers(0, 256, size=(40, 100)))
        files[f"TrainImages/neg-{k}.pgm"] = write_pgm(rng.integers(0, 256, size=(40, 100)))
    files["trueLocations.txt"] = b"0: (10,20)\n1: (5,-3) (35,12)\n2: (1,2)\n"
    files["trueLocations_Scale.txt"] = b"0: (20,30,120)\n1: (10,10,90) (60,80,110)\n\n"
    files |= changes
    with tarfile.open(path, "w:xz") as out:
        for name, data in files.items():
            if data is not None:
                member = tarfile.TarInfo(f"CarData/{name}")
                member.size = len(data)
                out.addfile(member, io.BytesIO(data))
    return path


def test_an_archive_is_read(tmp_path: Path) -> None:
    parts, crops = read_archive(archive(tmp_path / "cars.tar.xz"))
    assert [len(cars) for cars in parts["test"].cars] == [1, 2, 1]
    assert parts["test"].cars[1].tolist() == [[5, -3, 45, 97], [35, 12, 75, 112]]
    assert parts["train"].cars[1].tolist() == [[10, 10, 46, 100], [60, 80, 104, 190]]
    assert [len(cars) for cars in crops.cars] == [1, 1, 0, 0]
    arrays = uiuc_cars.parse({"CarData.tar.xz": tmp_path / "cars.tar.xz"}, 0, stride=8, n_words=9)
    split = uiuc_cars.view(arrays, 0)
    assert [y.tolist() for y in split.test.Y] == [(cars / 8).tolist() for cars in parts["test"].cars]
    assert len(split.train.Y) == 3
    images = uiuc_cars.pictures_of(arrays, "test")
    assert all(np.array_equal(a, b) for a, b in zip(images, parts["test"].images, strict=True))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "corrupt image": ({"TestImages/test-1.pgm": b"P5\n9 9\n255\n12"}, r"TestImages/test-1.pgm: 2 pixels"),
    "missing image": ({"TestImages/test-1.pgm": None}, "TestImages must hold test-0.pgm, test-1.pgm"),
    "no locations": ({"trueLocations.txt": None}, "holds no CarData/trueLocations.txt"),
    "too few locations": (
        {"trueLocations.txt": b"0: (10,20)\n1: (5,-3)\n"},
        "trueLocations.txt: locations of 2 images, but there are 3 images",
    ),
    "too many locations": (
        {"trueLocations_Scale.txt": b"0: (20,30,120)\n1: (10,10,90)\n2: (1,1,90)\n"},
        "trueLocations_Scale.txt, line 3: a location, but there are only 2 images",
    ),
    "outside": (
        {"trueLocations.txt": b"0: (10,20)\n1: (5,90)\n2: (1,2)\n"},
        "trueLocations.txt, line 2: the car at row 5, column 90 lies outside its image of 130 x 80",
    ),
    "larger than its image": (
        {"trueLocations_Scale.txt": b"0: (20,30,120)\n1: (0,0,210)\n"},
        "trueLocations_Scale.txt, line 2: a car of 210 x 84 pixels in an image of 200 x 120",
    ),
    "small image": (
        {"TestImages/test-2.pgm": write_pgm(np.zeros((30, 90)))},
        "trueLocations.txt, line 3: a car of 100 x 40 pixels in an image of 90 x 30",
    ),
    "no width": (
        {"trueLocations_Scale.txt": b"0: (20,30)\n1: (10,10,90)\n"},
        r"trueLocations_Scale.txt, line 1: '\(20,30\)' is no list of cars",
    ),
    "no number": (
        {"trueLocations.txt": b"0: (10,20)\n1: (5,x)\n2: (1,2)\n"},
        r"trueLocations.txt, line 2: '\(5,x\)' is no list of cars",
    ),
    "out of order": (
        {"trueLocations.txt": b"0: (10,20)\n2: (5,3)\n"},
        r"trueLocations.txt, line 2: '2: \(5,3\)' is not line 1",
    ),
    "wrong crop": (
        {"TrainImages/neg-1.pgm": write_pgm(np.zeros((40, 99)))},
        "TrainImages/neg-1.pgm: 99 x 40 pixels, but a crop has 100 x 40",
    ),
    "no crops without a car": (
        {"TrainImages/neg-0.pgm": None, "TrainImages/neg-1.pgm": None},
        "must hold crops with and without a car",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    changes, message = BAD[case]
    with pytest.raises(DataError, match=message):
        read_archive(archive(tmp_path / "cars.tar.xz", **changes))


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    whole = archive(tmp_path / "cars.tar.xz").read_bytes()
    (tmp_path / "cars.tar.xz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cars.tar.xz is no tar archive, or is damaged"):
        read_archive(tmp_path / "cars.tar.xz")


def test_counts_of_the_real_data() -> None:
    folder = os.environ.get("STRUCTMARGIN_DATA")
    if not folder:
        print("STRUCTMARGIN_DATA is not set: the real UIUC cars were not counted")
        return
    parts, crops = read_archive(Path(folder) / uiuc_cars.FILES[0].mirror)
    counts = {
        name: (len(pictures.images), sum(len(cars) for cars in pictures.cars))
        for name, pictures in {**parts, "crops": crops}.items()
    }
    assert counts == {"train": (108, 139), "test": (170, 200), "crops": (1050, 550)}
    widths = np.concatenate(parts["train"].cars)
    assert (widths[:, 3] - widths[:, 1]).min() == 88
    assert (widths[:, 3] - widths[:, 1]).max() == 212


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    return uiuc_cars.synthesize(3, **SMALL)


def test_pictures_by_rule(drawn: dict[str, np.ndarray]) -> None:
    """The same seed draws the same; cars lie in their images; boxes fit their maps."""
    again = uiuc_cars.synthesize(3, **SMALL)
    assert all(np.array_equal(drawn[name], again[name]) for name in drawn)
    assert not np.array_equal(drawn["train_pixels"], uiuc_cars.synthesize(4, **SMALL)["train_pixels"])
    for part in ("train", "test"):
        cars = np.split(drawn[f"{part}_cars"], np.cumsum(drawn[f"{part}_n"])[:-1])
        for boxes, sides in zip(cars, drawn[f"{part}_sides"], strict=True):
            assert np.all(boxes[:, :2] >= 0.0)
            assert np.all(boxes[:, 2:] <= sides + 1.0)
    split = uiuc_cars.view(drawn, 0)
    assert [len(cars) for cars in split.validation.Y] == [1] * 5 + [0] * 5
    for x, y in zip(*split.train, strict=True):
        assert [y[0, 2] - y[0, 0], y[0, 3] - y[0, 1]] in x[1][:, :2].tolist()
        assert np.all(y[:, :2] >= 0)
        assert np.all(y[:, 2:] <= x[0].shape)


def boxes_by_image(split: Any) -> dict[int, list[list[int]]]:
    """The boxes of each training image, in the order of its examples."""
    boxes_of: dict[int, list[list[int]]] = {}
    for x, y in zip(*split.train, strict=True):
        boxes_of.setdefault(id(x[0]), []).append(y[0].tolist())
    return boxes_of


def test_noise_changes_as_many_images_as_it_says(drawn: dict[str, np.ndarray]) -> None:
    clean = list(boxes_by_image(uiuc_cars.view(drawn, 5)).values())
    changed: dict[float, list[int]] = {}
    for level in (0.25, 0.5, 1.0):
        noisy = list(boxes_by_image(uiuc_cars.view(drawn, 5, label_noise=level)).values())
        changed[level] = [i for i in range(8) if noisy[i] != clean[i]]
        assert len(changed[level]) == 8 * level
        assert sum(map(len, noisy)) == sum(map(len, clean)), "boxes are handed round, none is lost"
    assert set(changed[0.25]) < set(changed[0.5])
    assert boxes_by_image(uiuc_cars.view(drawn, 6, label_noise=0.5)) != changed


def test_far_noise_is_far_from_every_car() -> None:
    """Where the others' boxes leave a choice, none overlaps a car by a fifth."""
    rng, shapes = np.random.default_rng(0), [(60, 200)] * 6
    cars = [np.array([[10.0 * i, 30.0 * i, 10.0 * i + 8, 30.0 * i + 20]]) for i in range(6)]
    cars[5] = cars[0].copy()
    sizes = np.array([[8, 20]])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        boxes = uiuc_cars.noisy_boxes(rng, cars, shapes, sizes, 1.0, "far")
        for i in range(6):
            assert overlap(cars[i][0], boxes[i][0].astype(float)) + 0.5 < 0.2
    plain = [
        uiuc_cars.noisy_boxes(np.random.default_rng(s), cars, shapes, sizes, 1.0, "swap") for s in range(20)
    ]
    assert any(np.array_equal(boxes[0][0], cars[0][0]) for boxes in plain), (
        "a plain swap can be right by chance"
    )


def test_boxes_at_random_places_keep_their_size_and_their_image() -> None:
    shapes = [(40, 90), (30, 70), (50, 60), (33, 77)]
    cars = [np.array([[3.0, 5.0, 11.0, 25.0]]), np.array([[1.0, 2.0, 9.0, 22.0], [15.0, 40.0, 27.0, 70.0]])]
    cars = [*cars, np.array([[20.0, 30.0, 28.0, 50.0]]), np.array([[7.0, 9.0, 19.0, 39.0]])]
    sizes = np.array([[8, 20], [12, 30]])
    seen, changed = [], []
    for seed in range(60):
        half, whole, none = (
            uiuc_cars.noisy_boxes(np.random.default_rng(seed), cars, shapes, sizes, noise, "place")
            for noise in (0.5, 1.0, 0.0)
        )
        for i, shape in enumerate(shapes):
            assert np.array_equal(whole[i][:, 2:] - whole[i][:, :2], none[i][:, 2:] - none[i][:, :2])
            assert np.all(whole[i][:, :2] >= 0) and np.all(whole[i][:, 2:] <= shape)
            assert any(np.array_equal(half[i], other[i]) for other in (whole, none))
        changed.append(sum(not np.array_equal(a, b) for a, b in zip(half, none, strict=True)))
        seen.append(whole[0][0, :2])
    assert max(changed) == 2 and np.mean(changed) > 1.9  # a random place may be the right one
    reached = np.array(seen)
    assert reached.min(axis=0).tolist() <= [3, 8] and np.all(reached.max(axis=0) >= [29, 62])  # of 32 and 70


def test_scores_of_detections() -> None:
    cars = [np.array([[0.0, 0.0, 10.0, 25.0]]), np.zeros((0, 4))]
    detections = [np.array([[0.0, 1.0, 10.0, 26.0, 0.9]]), np.array([[0.0, 0.0, 10.0, 25.0, 0.2]])]
    measures = uiuc_cars.score(cars, detections)
    assert measures == {
        "equal_error_ellipse": 0.0,
        "equal_error_overlap": 0.0,
        "recall": 100.0,
        "roc_area": 100.0,
    }
    swapped = [np.array([[9.0, 1.0, 19.0, 26.0, 0.1]]), detections[1]]
    measures = uiuc_cars.score(cars, swapped)
    assert measures["equal_error_ellipse"] == 100.0
    assert measures["roc_area"] == 0.0
    arrays = uiuc_cars.keep(cars, detections)
    assert arrays["found"].shape == (2, 5)
    assert arrays["cars_n"].tolist() == [1, 0]
