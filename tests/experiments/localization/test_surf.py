"""Descriptors and grey images: known responses, an independent sum over pixels, files that are not whole."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.pgm import write_pgm
from structmargin_suite.datasets.uiuc_cars.pgm import read_pgm
from structmargin_suite.datasets.uiuc_cars.surf import dense_surf, grid, surf_of_scales
from structmargin_suite.storage.errors import DataError


def described(image: np.ndarray, stride: int, scale: int, a: int, b: int) -> np.ndarray:
    """One descriptor, pixel by pixel: no integral image, every Haar response a sum over two halves."""
    rows, columns = grid(image.shape, stride)
    far = 14 * scale
    pixels = np.pad(image / 255.0, far, mode="edge")
    descriptor = np.zeros(64)
    for i in range(-10, 10):
        for j in range(-10, 10):
            y = far + rows[a] + int(np.floor((i + 0.5) * scale))
            x = far + columns[b] + int(np.floor((j + 0.5) * scale))
            patch = pixels[y - scale : y + scale, x - scale : x + scale]
            dx = patch[:, scale:].sum() - patch[:, :scale].sum()
            dy = patch[scale:].sum() - patch[:scale].sum()
            weight = np.exp(-((i + 0.5) ** 2 + (j + 0.5) ** 2) / (2 * 3.3**2))
            k = 4 * (4 * ((i + 10) // 5) + (j + 10) // 5)
            descriptor[k : k + 4] += weight * np.array([dx, dy, abs(dx), abs(dy)])
    return descriptor / np.linalg.norm(descriptor)


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_descriptors_are_sums_over_pixels(scale: int) -> None:
    image = np.random.default_rng(scale).integers(0, 256, size=(30, 41)).astype(np.uint8)
    descriptors = dense_surf(image, 8, scale)
    assert descriptors.shape == (3, 5, 64)
    for a, b in ((0, 0), (1, 2), (2, 4)):
        np.testing.assert_allclose(descriptors[a, b], described(image, 8, scale, a, b), atol=1e-9)


def test_several_scales_take_turns_on_one_grid() -> None:
    """Each point has the descriptor of its own scale, and odd sides leave no point without one."""
    image = np.random.default_rng(9).integers(0, 256, size=(44, 61)).astype(np.uint8)
    both = surf_of_scales(image, 8, [1, 2, 3, 4])
    assert both.shape == (5, 7, 64)
    for a in range(5):
        for b in range(7):
            scale = 1 + 2 * (a % 2) + b % 2
            np.testing.assert_allclose(both[a, b], described(image, 8, scale, a, b), atol=1e-9)
    with pytest.raises(ValueError, match="2 scales do not fill a square of points"):
        surf_of_scales(image, 8, [1, 2])


def test_known_responses() -> None:
    """Nothing in a flat image; on a ramp to the right, dx = |dx| in every subregion and no dy."""
    assert np.array_equal(dense_surf(np.full((40, 40), 7, np.uint8), 10, 2), np.zeros((4, 4, 64)))
    ramp = np.repeat(np.arange(100, dtype=np.uint8)[None], 100, axis=0)
    middle = dense_surf(ramp, 50, 1)[0, 0].reshape(16, 4)
    assert np.all(middle[:, 0] > 0.0)
    np.testing.assert_allclose(middle[:, 0], middle[:, 2], atol=1e-12)
    np.testing.assert_allclose(middle[:, [1, 3]], 0.0, atol=1e-12)
    down = dense_surf(ramp.T, 50, 1)[0, 0].reshape(4, 4, 4)
    turned = middle.reshape(4, 4, 4).transpose(1, 0, 2)[:, :, [1, 0, 3, 2]]
    np.testing.assert_allclose(down, turned, atol=1e-12)
    bright = dense_surf(2 * ramp + 30, 50, 1)[0, 0]
    np.testing.assert_allclose(bright, middle.ravel(), atol=1e-12)  # neither brightness nor contrast matters


def test_the_grid_is_the_middles_of_squares() -> None:
    rows, columns = grid((9, 12), 4)
    assert rows.tolist() == [2, 6]
    assert columns.tolist() == [2, 6, 10]


def test_grey_images_come_back() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert np.array_equal(read_pgm(write_pgm(image), "x"), image)
    with_comment = b"P5\n# a remark\n4 3\n#another\n255\n" + image.tobytes()
    assert np.array_equal(read_pgm(with_comment, "x"), image)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P2\n4 3\n255\n", "car.pgm: no binary PGM header"),
        (b"", "car.pgm: no binary PGM header"),
        (b"P5\n4 3\n65535\n" + bytes(24), "car.pgm: the largest value is 65535"),
        (b"P5\n0 3\n255\n", "car.pgm: the image is 0 x 3 pixels"),
        (b"P5\n4 3\n255\n" + bytes(11), "car.pgm: 11 pixels, but 4 x 3 need 12"),
    ],
)
def test_a_broken_image_is_named(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_pgm(data, "car.pgm")
