"""Dense upright SURF descriptors from integral images (Bay, Tuytelaars, Van Gool 2006).

At scale s around a point, Haar responses dx and dy of side 2s are taken at the 20 x 20 sample points (i +
1/2) s, (j + 1/2) s for i, j = -10 .. 9, and weighted by a Gaussian of deviation 3.3 s. Each of the 4 x 4
subregions of 5 x 5 samples gives sum dx, sum dy, sum |dx|, sum |dy|: 64 numbers, of unit length in all. A
point without any response keeps zeros: sums of whole numbers are exact, so flat ground has none. The image is
continued beyond its border by its nearest pixel.

Descriptors of several scales share one grid: with k x k scales, point (i, j) of it has the scale number
k (i mod k) + j mod k, so that every k x k points have all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from structmargin.compiled import compiled

LENGTH = 64
GRID, SUBREGIONS = 20, 4
DEVIATION = 3.3


def grid(shape: tuple[int, int], stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the points: the middles of the stride x stride squares that fit into the image."""
    rows, columns = (stride * np.arange(length // stride) + stride // 2 for length in shape)
    return rows, columns


def surf_of_scales(image: np.ndarray, stride: int, scales: Sequence[int]) -> np.ndarray:
    """Descriptors (rows, columns, 64) at the points of `grid`, of 1, 4 or 9 scales that take turns."""
    k = math.isqrt(len(scales))
    if k * k != len(scales):
        raise ValueError(f"{len(scales)} scales do not fill a square of points: give 1, 4 or 9")
    rows, columns = grid(image.shape, stride)
    descriptors = np.zeros((len(rows), len(columns), LENGTH))
    for number, scale in enumerate(scales):
        i, j = divmod(number, k)
        descriptors[i::k, j::k] = _surf_at(image, rows[i::k], columns[j::k], scale)
    return descriptors


def dense_surf(image: np.ndarray, stride: int, scale: int) -> np.ndarray:
    """Descriptors (rows, columns, 64) at the points of `grid`, of one scale."""
    return surf_of_scales(image, stride, [scale])


def _surf_at(image: np.ndarray, rows: np.ndarray, columns: np.ndarray, scale: int) -> np.ndarray:
    """Descriptors at the points of some rows and columns."""
    pad = (GRID // 2 + 2) * scale
    padded = np.pad(np.asarray(image, dtype=float), pad, mode="edge")
    S = np.zeros((padded.shape[0] + 1, padded.shape[1] + 1))
    S[1:, 1:] = padded.cumsum(axis=0).cumsum(axis=1)
    offset = (np.arange(GRID) - GRID / 2 + 0.5) / DEVIATION
    weight = np.exp(-0.5 * (offset[:, None] ** 2 + offset[None, :] ** 2))
    descriptors: np.ndarray = _descriptors(S, rows + pad, columns + pad, int(scale), weight)
    return descriptors


@compiled
def _sum(S, t, b, left, r):  # type: ignore[no-untyped-def]
    return S[b, r] - S[t, r] - S[b, left] + S[t, left]


@compiled
def _descriptors(S, rows, columns, s, weight):  # type: ignore[no-untyped-def]
    descriptors = np.zeros((len(rows), len(columns), LENGTH))
    per = GRID // SUBREGIONS
    for a in range(len(rows)):
        for b in range(len(columns)):
            d = descriptors[a, b]
            for i in range(GRID):
                y = rows[a] + (2 * i - GRID + 1) * s // 2
                for j in range(GRID):
                    x = columns[b] + (2 * j - GRID + 1) * s // 2
                    right = _sum(S, y - s, y + s, x, x + s)
                    lower = _sum(S, y, y + s, x - s, x + s)
                    whole = _sum(S, y - s, y + s, x - s, x + s)
                    dx = weight[i, j] * (2.0 * right - whole)
                    dy = weight[i, j] * (2.0 * lower - whole)
                    k = 4 * (SUBREGIONS * (i // per) + j // per)
                    d[k] += dx
                    d[k + 1] += dy
                    d[k + 2] += abs(dx)
                    d[k + 3] += abs(dy)
            length = np.sqrt(np.sum(d * d))
            if length > 1e-12:
                d /= length
    return descriptors
