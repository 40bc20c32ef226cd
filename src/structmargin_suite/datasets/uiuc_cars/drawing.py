"""Grey pictures by rule: cars from the side at several scales, in front of clutter.

A car is a body, a cabin with windows and two wheels, lighter or darker than the street; its details,
shades and proportions vary. Clutter is a shaded ground with boxes, bars and discs of any shade, among
them wheels without a car. Everything is drawn by a generator, so that a seed decides every pixel except
for the machine's rounding.
"""

from __future__ import annotations

import numpy as np

CAR, CROP = (0.4, 1.0), (40, 100)
"""Height and width of a car's box, as shares of the width; the size of a crop in pixels."""


def street(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A picture (height, width) of clutter, in floats around 0 to 1."""
    ramp = np.linspace(rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7), height)
    picture = np.repeat(ramp[:, None], width, axis=1)
    for _ in range(height * width // 900):
        shade, h, w = rng.uniform(0.1, 0.9), rng.uniform(4, 30), rng.uniform(4, 45)
        top, left = rng.uniform(-h, height), rng.uniform(-w, width)
        if rng.random() < 0.3:
            _disc(picture, top, left, rng.uniform(3, 9), shade)
        else:
            _bar(picture, top, left, top + h, left + w, shade)
    return picture


def park(rng: np.random.Generator, picture: np.ndarray, top: float, left: float, width: float) -> None:
    """Draw a car whose box has its corner at (top, left)."""
    height = CAR[0] * width
    body = rng.choice([rng.uniform(0.05, 0.3), rng.uniform(0.65, 0.95)])
    glass = 0.9 - body + rng.uniform(-0.05, 0.05)

    def bar(t: float, a: float, b: float, r: float, shade: float) -> None:
        _bar(picture, top + t * height, left + a * width, top + b * height, left + r * width, shade)

    roof, tail = rng.uniform(0.02, 0.1), rng.uniform(0.18, 0.26)
    front = rng.uniform(0.72, 0.8)
    bar(0.45 + roof / 2, 0.01, 0.82, 0.99, body)
    for step in range(6):  # the cabin: bars that grow downward
        share = step / 6
        bar(
            roof + share * (0.5 - roof),
            tail + 0.1 * (1 - share),
            roof + (share + 1 / 6) * (0.5 - roof) + 0.02,
            front - 0.12 * (1 - share),
            body,
        )
    middle = rng.uniform(0.46, 0.54)
    bar(roof + 0.1, tail + 0.1, 0.44, middle - 0.015, glass)
    bar(roof + 0.1, middle + 0.015, 0.44, front - 0.1, glass)
    for place in (rng.uniform(0.18, 0.23), rng.uniform(0.76, 0.82)):
        wheel = top + 0.8 * height, left + place * width
        _disc(picture, wheel[0], wheel[1], 0.19 * height, 0.05)
        _disc(picture, wheel[0], wheel[1], 0.08 * height, 0.6)


def finish(rng: np.random.Generator, picture: np.ndarray) -> np.ndarray:
    """The picture with the grain of a film, as uint8."""
    grain = rng.normal(scale=0.03, size=picture.shape)
    return np.clip(255.0 * (picture + grain), 0.0, 255.0).astype(np.uint8)


def crop(rng: np.random.Generator, car: bool) -> np.ndarray:
    """A picture of 40 x 100 pixels, full of a car or of clutter."""
    picture = street(rng, *CROP)
    if car:
        park(rng, picture, rng.uniform(-1, 1), rng.uniform(-2, 2), CROP[1] * rng.uniform(0.97, 1.03))
    return finish(rng, picture)


def scene(rng: np.random.Generator, widths: tuple[float, float]) -> tuple[np.ndarray, list[list[int]]]:
    """A picture with one car or two, and their boxes (row, column, width); widths lie in the range given."""
    n = 1 + int(rng.random() < 0.25)
    cars = [int(rng.uniform(*widths)) for _ in range(n)]
    height = int(max(cars) * CAR[0] * rng.uniform(1.8, 3.0))
    width = int(sum(cars) * rng.uniform(1.15, 1.8)) + 20
    picture = street(rng, height, width)
    boxes, begin = [], 0
    for k, car in enumerate(cars):
        room = width - begin - sum(cars[k:])
        left = begin + int(rng.uniform(0, room / (n - k)))
        top = int(rng.uniform(0, height - CAR[0] * car))
        park(rng, picture, top, left, car)
        boxes.append([top, left, car])
        begin = left + car
    return finish(rng, picture), boxes


def _bar(picture: np.ndarray, top: float, left: float, bottom: float, right: float, shade: float) -> None:
    t, b = (int(np.clip(round(edge), 0, picture.shape[0])) for edge in (top, bottom))
    a, r = (int(np.clip(round(edge), 0, picture.shape[1])) for edge in (left, right))
    picture[t:b, a:r] = shade


def _disc(picture: np.ndarray, row: float, column: float, radius: float, shade: float) -> None:
    y, x = np.ogrid[: picture.shape[0], : picture.shape[1]]
    picture[(y - row) ** 2 + (x - column) ** 2 <= radius**2] = shade
