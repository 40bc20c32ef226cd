"""Cars in street pictures: the UIUC image database as maps of visual words (jkse09 Section 5.1).

The training set is the 108 multi-scale images with their 139 cars, one example per car; the test set the
170 single-scale images with 200 cars; options are chosen on 1,050 crops, 550 of them cars.

An image becomes a map of visual words: a dense SURF descriptor at the middle of every stride x stride square,
put into the nearest of n_words clusters, which are those of mini-batch k-means on descriptors of the training
images. With n_scales = 4, descriptors have the scale surf_scale and the three above it in turn. Boxes are in
squares from here on. A training box gets the nearest of ten sizes, evenly spaced in log between the smallest
and the largest car, and is moved inside its image; the boxes to choose from in training are all those of
these sizes, `train_step` squares apart, and in test images those of 100 x 40 pixels, a square apart.

Label noise: of a share `label_noise` of the training images, in an order that the repetition's seed decides,
the boxes are exchanged: each image gets those of the next of them (`swap`), or, so that no box is right by
chance, those of another random image whose boxes overlap no car by a fifth or more (`far`); or each box keeps
its size and is moved to a random place in its own image (`place`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structmargin.problems import Localization
from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets.uiuc_cars.detection import CRITERIA, overlap, precision_recall
from structmargin_suite.datasets.uiuc_cars.drawing import crop, scene
from structmargin_suite.datasets.uiuc_cars.images import ASPECT, WIDTH, Pictures, read_archive
from structmargin_suite.datasets.uiuc_cars.surf import LENGTH, surf_of_scales
from structmargin_suite.fetching.contents import Members
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original, members_of
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import sha256

PICTURES = Members(
    r"(?:.*/)?CarData/((?:Test|Train)Images(?:_Scale)?/[a-z]+-[0-9]+\.pgm|trueLocations(?:_Scale)?\.txt)",
    "CarData",
    "88a279a5d16e5c1e802330e22f7d15373d5e28998cdd00db0c1309eeea9c1085",
)
FILES: tuple[Remote, ...] = (
    Remote(
        "CarData.tar.xz",
        "3ac5785185320d593d309167eb3beca351c54432525afdbde209a98da9eba6ff",
        "uiuc-cars/CarData.tar.xz",
        contents=PICTURES,
    ),
)
HOME = Home(
    title="UIUC image database for car detection",
    page="https://cogcomp.cs.illinois.edu/Data/Car/",
    terms="free for research",
    folder="uiuc-cars",
    version="CarData",
    originals=(
        Original(
            "CarData.tar.gz",
            (
                "https://cogcomp.cs.illinois.edu/Data/Car/CarData.tar.gz",
                "http://l2r.cs.uiuc.edu/~cogcomp/Data/Car/CarData.tar.gz",
                "https://raw.githubusercontent.com/gcr/arc-evaluator/master/CarData.tar.gz",
            ),
            (FILES[0].name,),
            members_of({FILES[0].name: PICTURES}),
        ),
    ),
    megabytes=7,
    sure="about",
)
COUNTS = {"train": (108, 139), "test": (170, 200), "crops": (1050, 550)}
"""Images and cars of the archive with the sum above."""
_COUNT = {"type": "integer", "minimum": 2}
PREPARE: Schemas = {
    "stride": {"type": "integer", "minimum": 1, "description": "pixels between descriptors"},
    "surf_scale": {"type": "integer", "minimum": 1, "description": "pixels a unit of SURF's scale"},
    "n_scales": {"enum": [1, 4], "description": "scales from surf_scale on, which take turns"},
    "n_words": {"type": "integer", "minimum": 2},
    "train_images": _COUNT,
    "test_images": _COUNT,
    "crops": _COUNT,
}
VIEW: Schemas = {
    "label_noise": {"type": "number", "minimum": 0, "maximum": 1},
    "noise_kind": {"enum": ["swap", "far", "place"]},
    "train_step": {"type": "integer", "minimum": 1},
    "repetition": {"type": "integer", "minimum": 0},
}
N_SIZES = 10
"""Sizes of boxes in training."""
MAX_FAR_OVERLAP = 0.2
"""Boxes overlap cars by less than this under the label noise `far`."""
MAX_SAMPLE = 200
"""Descriptors of a training image that k-means sees, at most."""
DOWN, ACROSS = 1.0, 0.9
"""No two detections of an image have centres within this many heights and widths of each other."""
MAX_DETECTIONS = 10
"""Detections of an image, at most."""

WordMap = tuple[np.ndarray, np.ndarray]
"""The visual words (rows, columns) of an image, and the windows (k, 3) that boxes may be."""


class Detector(Protocol):
    """A model that scores boxes, and the problem that searches by these scores."""

    @property
    def problem_(self) -> Localization: ...
    @property
    def scorer_(self) -> Any: ...


def parse(
    files: Mapping[str, Path], seed: int, *, stride: int = 4, surf_scale: int = 2, n_scales: int = 1,
    n_words: int = 1000,
    train_images: int | None = None, test_images: int | None = None, crops: int | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Images, cars, and maps of words; the first `train_images`, `test_images` and `crops` of each subset."""
    path = files[FILES[0].name]
    subsets, pieces = read_archive(path)
    if sha256(path) == FILES[0].sha256:
        for name, pictures in {**subsets, "crops": pieces}.items():
            counts = len(pictures.images), sum(len(cars) for cars in pictures.cars)
            if counts != COUNTS[name]:
                raise DataError(
                    f"{path}: {name} has {counts} images and cars, but should have {COUNTS[name]}"
                )
    half = len(pieces.images) if crops is None else crops // 2
    cars = sum(len(boxes) > 0 for boxes in pieces.cars)
    first = [*range(min(half, cars)), *range(cars, min(cars + half, len(pieces.images)))]
    return _quantised(
        _first(subsets["train"], train_images),
        _first(subsets["test"], test_images),
        Pictures([pieces.images[k] for k in first], [pieces.cars[k] for k in first]),
        seed, stride, range(surf_scale, surf_scale + n_scales), n_words,
    )  # fmt: skip


def synthesize(
    seed: int, *, stride: int = 4, surf_scale: int = 2, n_scales: int = 1, n_words: int = 1000,
    train_images: int = COUNTS["train"][0], test_images: int = COUNTS["test"][0],
    crops: int = COUNTS["crops"][0],
) -> dict[str, np.ndarray]:  # fmt: skip
    """The same arrays, of pictures drawn by rule; by default as many as the real data have."""
    rng = np.random.default_rng(seed)
    drawn = []
    for count, widths in ((train_images, (88.0, 212.0)), (test_images, (97.0, 103.0))):
        scenes = [scene(rng, widths) for _ in range(count)]
        cars = [np.array([[t, a, t + ASPECT * w, a + w] for t, a, w in boxes]) for _, boxes in scenes]
        drawn.append(Pictures([image for image, _ in scenes], cars))
    half = crops // 2
    images = [crop(rng, k < half) for k in range(2 * half)]
    whole = np.array([[0.0, 0.0, ASPECT * WIDTH, WIDTH]])
    pieces = Pictures(images, [whole[: int(k < half)] for k in range(2 * half)])
    scales = range(surf_scale, surf_scale + n_scales)
    return _quantised(drawn[0], drawn[1], pieces, seed, stride, scales, n_words)


def view(
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    label_noise: float = 0.0,
    noise_kind: str = "swap",
    train_step: int = 1,
    repetition: int = 0,
) -> Split:
    """Examples (words, windows) and boxes, in squares of the map; the module says what the parameters do."""
    stride = int(arrays["stride"])
    cars = {
        subset: _split_rows(arrays[f"{subset}_cars"] / stride, arrays[f"{subset}_n"]) for subset in COUNTS
    }
    maps = {subset: _maps(arrays[f"{subset}_words"], arrays[f"{subset}_shapes"]) for subset in COUNTS}
    sizes = _sizes(np.concatenate(cars["train"]))
    rng, shapes = np.random.default_rng(seed), [words.shape for words in maps["train"]]
    boxes = noisy_boxes(rng, cars["train"], shapes, sizes, label_noise, noise_kind)
    X, Y = [], []
    for words, image_boxes in zip(maps["train"], boxes, strict=True):
        fit = sizes[(sizes[:, 0] <= words.shape[0]) & (sizes[:, 1] <= words.shape[1])]
        x = words, np.column_stack([fit, np.full(len(fit), train_step)])
        for k in range(len(image_boxes)):
            X.append(x)
            Y.append(np.roll(image_boxes, -k, axis=0))
    window = np.array([[round(ASPECT * WIDTH / stride), round(WIDTH / stride), 1]])
    rest = [
        Examples([(words, window) for words in maps[subset]], cars[subset]) for subset in ("test", "crops")
    ]
    return Split(Examples(X, Y), rest[0], rest[1], problem={"n_words": int(arrays["n_words"])})


def predict(model: Detector, X: Sequence[WordMap]) -> list[np.ndarray]:
    """Detections of every image, one array (k, 5) each, best first: boxes in squares, and their scores."""
    detections = [
        model.problem_.detect(model.scorer_, x, down=DOWN, across=ACROSS, most=MAX_DETECTIONS) for x in X
    ]
    return [np.column_stack([image.boxes, image.scores]) for image in detections]


@measures(*(f"equal_error_{name}" for name in CRITERIA), "recall", "roc_area")
def score(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> dict[str, float]:
    """Equal error rates in percent by both criteria, and the largest recall; where some images have a car and
    some have none, `roc_area` in percent of the best score of an image as a sign of a car."""
    measures = {}
    if any(len(cars) for cars in Y):
        curves = {name: precision_recall(Y, Yhat, name) for name in CRITERIA}
        measures = {f"equal_error_{name}": 100.0 * curves[name].equal_error for name in curves}
        measures["recall"] = 100.0 * float(curves["ellipse"].recall[-1])
    if len({len(cars) > 0 for cars in Y}) == 2:
        from sklearn.metrics import roc_auc_score

        best = [boxes[0, 4] for boxes in Yhat]
        measures["roc_area"] = 100.0 * float(roc_auc_score([len(cars) > 0 for cars in Y], best))
    return measures


def keep(Y: Sequence[np.ndarray], Yhat: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """What figures need of a test set: detections (N, 5), how many an image has, and the same of cars."""
    return {
        "found": np.concatenate(Yhat),
        "found_n": np.array([len(boxes) for boxes in Yhat]),
        "cars": np.concatenate(Y),
        "cars_n": np.array([len(cars) for cars in Y]),
    }


def noisy_boxes(
    rng: np.random.Generator,
    cars: Sequence[np.ndarray],
    shapes: Sequence[tuple[int, ...]],
    sizes: np.ndarray,
    noise: float,
    kind: str,
) -> list[np.ndarray]:
    """The boxes (k, 4) of every training image, a share `noise` of the images with wrong ones.

    `cars` are the true boxes as measured. The order of images is the same for every share, so that a larger
    share adds images to a smaller one.
    """
    true = [_placed(boxes, shape, sizes) for boxes, shape in zip(cars, shapes, strict=True)]
    order = rng.permutation(len(cars))
    tries = [rng.permutation(len(cars)) for _ in cars]
    places = [rng.random((len(boxes), 2)) for boxes in cars]
    chosen = order[: round(noise * len(cars))]
    if len(chosen) == 1 and len(cars) > 1:
        chosen = order[:2]  # a single image has no other to swap boxes with
    boxes = list(true)
    for k, i in enumerate(chosen):
        if kind == "place":
            boxes[i] = _moved(true[i], shapes[i], places[i])
            continue
        donor = chosen[(k + 1) % len(chosen)]
        if kind == "far":
            donor = _far_donor(i, tries[i], cars, true[i], shapes[i], sizes)
        boxes[i] = _placed(cars[donor], shapes[i], sizes)
    return boxes


def _moved(boxes: np.ndarray, shape: tuple[int, ...], places: np.ndarray) -> np.ndarray:
    """Boxes (k, 4) of the same sizes elsewhere in the map; `places` (k, 2) are shares of the room."""
    size = boxes[:, 2:] - boxes[:, :2]
    corner = np.floor(places * (np.array(shape) - size + 1)).astype(np.int64)
    return np.concatenate([corner, corner + size], axis=1)


def _far_donor(
    i: int, others: np.ndarray, cars: Sequence[np.ndarray], true: np.ndarray, shape: tuple[int, ...],
    sizes: np.ndarray,
) -> int:  # fmt: skip
    """The first of the others whose boxes are far from every car of image i, or the one that is farthest."""
    nearest: dict[int, float] = {}
    for j in others:
        if j == i:
            continue
        boxes = _placed(cars[j], shape, sizes)
        nearest[int(j)] = max(overlap(a.astype(float), b.astype(float)) + 0.5 for a in true for b in boxes)
        if nearest[int(j)] < MAX_FAR_OVERLAP:
            return int(j)
    return min(nearest, key=lambda j: nearest[j])


def _sizes(cars: np.ndarray) -> np.ndarray:
    """N_SIZES windows (height, width), evenly apart in log from the narrowest to the widest car."""
    widths = cars[:, 3] - cars[:, 1]
    steps = np.unique(np.round(np.geomspace(widths.min(), widths.max(), N_SIZES)).astype(np.int64))
    return np.column_stack([np.maximum(np.round(ASPECT * steps).astype(np.int64), 1), steps])


def _placed(boxes: np.ndarray, shape: tuple[int, ...], sizes: np.ndarray) -> np.ndarray:
    """Boxes as whole squares: each of the nearest size that fits the map, moved inside it."""
    fit = sizes[(sizes[:, 0] <= shape[0]) & (sizes[:, 1] <= shape[1])]
    if not len(fit):
        raise DataError(
            f"an image of {shape[0]} x {shape[1]} squares is smaller than every box; leave it out"
        )
    placed = []
    for top, left, bottom, right in boxes:
        size = fit[np.argmin(np.abs(np.log(fit[:, 1] / (right - left))))]
        corner = np.round((np.array([top + bottom, left + right]) - size) / 2.0).astype(np.int64)
        corner = np.clip(corner, 0, np.array(shape) - size)
        placed.append([*corner, *(corner + size)])
    return np.array(placed, dtype=np.int64).reshape(-1, 4)


def _quantised(
    train: Pictures,
    test: Pictures,
    crops: Pictures,
    seed: int,
    stride: int,
    scales: Sequence[int],
    n_words: int,
) -> dict[str, np.ndarray]:
    """Arrays of three subsets: pixels, shapes of maps and of images, words, cars and their numbers."""
    descriptors = [surf_of_scales(image, stride, scales) for image in train.images]
    centres = visual_words(descriptors, seed, n_words)
    arrays: dict[str, np.ndarray] = {"stride": np.array(stride), "n_words": np.array(n_words)}
    for name, pictures in (("train", train), ("test", test), ("crops", crops)):
        if name != "train":
            descriptors = [surf_of_scales(image, stride, scales) for image in pictures.images]
        flat = np.concatenate([grid.reshape(-1, LENGTH) for grid in descriptors]).astype(np.float32)
        arrays |= {
            f"{name}_words": nearest(flat, centres).astype(np.int16),
            f"{name}_shapes": np.array([grid.shape[:2] for grid in descriptors]),
            f"{name}_cars": np.concatenate(pictures.cars),
            f"{name}_n": np.array([len(cars) for cars in pictures.cars]),
        }
        if name != "crops":
            arrays[f"{name}_pixels"] = np.concatenate([image.ravel() for image in pictures.images])
            arrays[f"{name}_sides"] = np.array([image.shape for image in pictures.images])
    return arrays


def visual_words(descriptors: Sequence[np.ndarray], seed: int, n_words: int) -> np.ndarray:
    """Centres (n_words, 64) of clusters of descriptors (rows, columns, 64), MAX_SAMPLE of each image at most.

    Where there are fewer descriptors than words, each is a centre.
    """
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(seed)
    sample = []
    for grid in descriptors:
        flat = grid.reshape(-1, LENGTH)
        sample.append(flat[rng.choice(len(flat), size=min(MAX_SAMPLE, len(flat)), replace=False)])
    points = np.concatenate(sample).astype(np.float32)
    clusters = MiniBatchKMeans(
        min(n_words, len(points)), random_state=int(rng.integers(2**31)), batch_size=4096, n_init=1,
        max_iter=30, init="random",
    ).fit(points)  # fmt: skip
    return np.asarray(clusters.cluster_centers_.astype(np.float32))


def nearest(points: np.ndarray, centres: np.ndarray, chunk: int = 8192) -> np.ndarray:
    """The nearest centre of each point, the first of equals."""
    half = 0.5 * np.sum(centres**2, axis=1)
    return np.concatenate(
        [np.argmax(points[k : k + chunk] @ centres.T - half, axis=1) for k in range(0, len(points), chunk)]
    )


def pictures_of(arrays: Mapping[str, np.ndarray], subset: str) -> list[np.ndarray]:
    """The images of a subset, for figures."""
    sides = arrays[f"{subset}_sides"]
    pieces = np.split(arrays[f"{subset}_pixels"], np.cumsum(sides.prod(axis=1))[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, sides, strict=True)]


def _maps(words: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    pieces = np.split(words.astype(np.int64), np.cumsum(shapes.prod(axis=1))[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _split_rows(rows: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    return np.split(rows, np.cumsum(lengths)[:-1])


def _first(pictures: Pictures, most: int | None) -> Pictures:
    return Pictures(pictures.images[:most], pictures.cars[:most])
