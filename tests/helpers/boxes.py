"""Boxes listed one by one, pyramids counted word by word, overlaps pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np


def pyramid(words: np.ndarray, box: Any, levels: int, kind: str, n_words: int) -> np.ndarray:
    """The pyramid (cells, n_words) of a box, counted word by word."""
    top, left, bottom, right = (int(edge) for edge in box)
    height, width = bottom - top, right - left
    cells = []
    for L in range(1, levels + 1):
        for i in range(L):
            for j in range(L):
                inside = words[
                    top + i * height // L : top + (i + 1) * height // L,
                    left + j * width // L : left + (j + 1) * width // L,
                ]
                counts = np.array([(inside == word).sum() for word in range(n_words)], dtype=float)
                n = sum(k * k for k in range(1, levels + 1))
                if kind == "cell":
                    counts = counts / (n * inside.size) if inside.size else counts
                elif kind == "box":
                    counts = counts / (levels * height * width)
                cells.append(counts)
    return np.array(cells)


def listed(rows: int, columns: int, windows: np.ndarray) -> list[tuple[int, int, int, int]]:
    return [
        (t, k, t + h, k + w)
        for h, w, step in windows
        for t in range(0, rows - h + 1, step)
        for k in range(0, columns - w + 1, step)
    ]


def shared(a: Any, b: Any) -> float:
    """Overlap, pixel by pixel."""
    cover = np.zeros((2, 40, 40), dtype=bool)
    for one, box in zip(cover, (a, b), strict=True):
        one[box[0] : box[2], box[1] : box[3]] = True
    return float((cover[0] & cover[1]).sum() / (cover[0] | cover[1]).sum())
