"""The UIUC image database for car detection, read from its archive (Agarwal, Awan, Roth 2004).

CarData/TestImages (single scale), TestImages_Scale and TrainImages hold binary PGM files; trueLocations.txt
has a line `n: (row,column) ...` for each single-scale image, of cars 100 x 40 pixels, and
trueLocations_Scale.txt a line `n: (row,column,width) ...` for each of the others, of cars 0.4 times as high
as wide. A car may stick out of its image, as some here do, by at most a quarter of its width.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structmargin_suite.datasets._archives import tar_files
from structmargin_suite.datasets.uiuc_cars.pgm import read_pgm
from structmargin_suite.storage.errors import DataError

WIDTH, ASPECT = 100, 0.4
"""The width of a single-scale car in pixels, and every car's height over its width."""
MAX_OUTSIDE = 0.25
"""How far a car may stick out of its image, as a share of its width."""
LOCATION = re.compile(r"\(\s*(-?\d+)\s*,\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*)?\)")
SUBSETS = {
    "test": ("TestImages", "trueLocations.txt", False),
    "train": ("TestImages_Scale", "trueLocations_Scale.txt", True),
}


class Pictures(NamedTuple):
    """Images and, for each, its cars (k, 4) in pixels: top, left, bottom, right, half open, unrounded."""

    images: list[np.ndarray]
    cars: list[np.ndarray]


def read_archive(path: Path) -> tuple[dict[str, Pictures], Pictures]:
    """({"test": single scale, "train": multi-scale}, crops: with a car, then without)."""
    members = {name.partition("CarData/")[2]: content for name, content in tar_files(path, lambda name: True)}
    subsets = {
        subset: _scenes(path, members, folder, file, scaled)
        for subset, (folder, file, scaled) in SUBSETS.items()
    }
    return subsets, _crops(path, members)


def _scenes(path: Path, members: dict[str, bytes], folder: str, file: str, scaled: bool) -> Pictures:
    """The images test-0.pgm, test-1.pgm, ... of a folder, with the cars that a location file gives them."""
    contents = _numbered(members, f"{folder}/test-")
    if sorted(contents) != list(range(len(contents))) or not contents:
        raise DataError(f"{path}: {folder} must hold test-0.pgm, test-1.pgm and so on; fetch it again")
    images = [read_pgm(contents[n], f"{path}, {folder}/test-{n}.pgm") for n in range(len(contents))]
    text = _text(path, members, file)
    return Pictures(images, locations(text, f"{path}, {file}", images, scaled))


def _crops(path: Path, members: dict[str, bytes]) -> Pictures:
    """The crops of TrainImages: those full of a car, then those without."""
    images, cars = [], []
    for kind in ("pos", "neg"):
        contents = _numbered(members, f"TrainImages/{kind}-")
        for n in sorted(contents):
            image = read_pgm(contents[n], f"{path}, TrainImages/{kind}-{n}.pgm")
            if image.shape != (ASPECT * WIDTH, WIDTH):
                raise DataError(
                    f"{path}, TrainImages/{kind}-{n}.pgm: {image.shape[1]} x {image.shape[0]} pixels, but a "
                    f"crop has {WIDTH} x {ASPECT * WIDTH:g}; cut it, or remove it"
                )
            images.append(image)
            whole = np.array([[0.0, 0.0, *image.shape]])
            cars.append(whole if kind == "pos" else whole[:0])
    if len({len(boxes) for boxes in cars}) < 2:
        raise DataError(f"{path}: TrainImages must hold crops with and without a car; fetch it again")
    return Pictures(images, cars)


def locations(text: str, where: str, images: list[np.ndarray], scaled: bool) -> list[np.ndarray]:
    """The cars of every image, from the lines of a location file."""
    located: list[np.ndarray] = []
    form = "n: (row,column,width) ..." if scaled else "n: (row,column) ..."
    for line, written in enumerate(text.splitlines(), start=1):
        if not written.strip():
            continue
        here = f"{where}, line {line}"
        head, colon, rest = written.partition(":")
        if not colon or head.strip() != str(len(located)):
            raise DataError(
                f"{here}: {written.strip()[:40]!r} is not line {len(located)} of {form}; correct it"
            )
        cars = [[int(number) for number in match if number] for match in LOCATION.findall(rest)]
        if LOCATION.sub("", rest).strip() or not cars or any(len(car) != 2 + scaled for car in cars):
            raise DataError(f"{here}: {rest.strip()[:40]!r} is no list of cars like {form}; correct it")
        if len(located) == len(images):
            raise DataError(f"{here}: a location, but there are only {len(images)} images; remove it")
        located.append(np.array([_car(car, images[len(located)], here) for car in cars]))
    if len(located) != len(images):
        raise DataError(
            f"{where}: locations of {len(located)} images, but there are {len(images)} images; add the others"
        )
    return located


def _car(car: list[int], image: np.ndarray, here: str) -> list[float]:
    """A car's box in pixels, checked against its image."""
    height, width = image.shape
    across = float(car[2]) if len(car) == 3 else float(WIDTH)
    down = ASPECT * across
    if across < 1.0:
        raise DataError(f"{here}: a car {across:g} pixels wide; correct it")
    if across > width or down > height:
        raise DataError(
            f"{here}: a car of {across:g} x {down:g} pixels in an image of {width} x {height}; correct the "
            "location, or leave the image out"
        )
    out = max(-car[0], -car[1], car[0] + down - height, car[1] + across - width)
    if out > MAX_OUTSIDE * across:
        raise DataError(
            f"{here}: the car at row {car[0]}, column {car[1]} lies outside its image of {width} x {height} "
            "pixels; correct the location"
        )
    return [float(car[0]), float(car[1]), car[0] + down, car[1] + across]


def _numbered(members: dict[str, bytes], head: str) -> dict[int, bytes]:
    """The files named head + n + .pgm, by n."""
    pattern = re.compile(re.escape(head) + r"([0-9]+)\.pgm")
    matches = ((pattern.fullmatch(name), content) for name, content in members.items())
    return {int(match[1]): content for match, content in matches if match}


def _text(path: Path, members: dict[str, bytes], file: str) -> str:
    if file not in members:
        raise DataError(f"{path} holds no CarData/{file}; fetch it again")
    return members[file].decode("ascii", "replace")
