"""Maps, windows and boxes as arrays, and the pyramids of boxes as sparse rows (see `localization`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from structmargin.inputs.containers import by_position
from structmargin.oracles.box_search import BOX, CELL, RAW, add_histogram, n_cells

KINDS = {"none": RAW, "cell": CELL, "box": BOX}
Image = tuple[np.ndarray, np.ndarray]
"""An input: visual words (rows, columns), and windows (k, 3) of (height, width, step)."""

NO_BOXES = np.zeros((0, 4), dtype=np.int64)


def as_input(x: Image) -> tuple[np.ndarray, np.ndarray]:
    """(words (rows, columns), windows (k, 3)) of an example, as integers."""
    words, windows = x
    words, windows = np.asarray(by_position(words, "words")), np.asarray(by_position(windows, "windows"))
    if words.ndim != 2 or windows.ndim != 2 or windows.shape[1] != 3:
        raise ValueError(f"words of shape {words.shape} and windows of shape {windows.shape}")
    if words.dtype.kind not in "iu" or windows.dtype.kind not in "iu":
        raise TypeError("words and windows must be integers")
    return np.ascontiguousarray(words, dtype=np.int64), np.ascontiguousarray(windows, dtype=np.int64)


def as_boxes(y: ArrayLike) -> np.ndarray:
    """An output as an integer array (k, 4)."""
    boxes = np.asarray(by_position(y, "an output"))
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"an output is an array (k, 4) of boxes, but this has shape {boxes.shape}")
    if boxes.dtype.kind not in "iu" and not (boxes.dtype.kind == "f" and np.all(boxes == np.floor(boxes))):
        raise ValueError(f"the edges of boxes must be whole numbers, but these are of type {boxes.dtype}")
    return np.ascontiguousarray(boxes, dtype=np.int64)


def require_known_words(words: np.ndarray, n_words: int, where: str) -> None:
    """Raise where a map has an unknown word: compiled code would count it outside of its arrays."""
    if words.size and int(words.max()) >= n_words:
        raise ValueError(
            f"{where} has word {words.max()}, but n_words is {n_words}: words are 0 to "
            f"{n_words - 1}, and below 0 where there is none"
        )


def require_inside(boxes: np.ndarray, words: np.ndarray, where: str) -> None:
    """Raise where a box has no area, or is not inside of its map."""
    empty = (boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])
    outside = (boxes[:, :2] < 0).any(axis=1) | (boxes[:, 2:] > words.shape).any(axis=1)
    if empty.any() or outside.any():
        k = int(np.flatnonzero(empty | outside)[0])
        raise ValueError(
            f"box {k} of {where}, {boxes[k].tolist()}, is empty or outside its map of "
            f"{words.shape[0]} x {words.shape[1]}: clip it, or leave it out"
        )


def pyramids(
    X: Sequence[Image], Y: Sequence[ArrayLike], n_words: int, levels: int, kind: int
) -> sp.csr_matrix:
    """The pyramids of the first boxes of Y in the maps of X, as sorted sparse rows (n, cells * n_words)."""
    boxes = [as_boxes(y)[0] for y in Y]
    maps = [np.ascontiguousarray(x[0], dtype=np.int64) for x in X]
    for i, (words, box) in enumerate(zip(maps, boxes, strict=True)):
        require_known_words(words, n_words, f"example {i}")
        require_inside(box[None], words, f"example {i}")
    max_bins = sum(levels * max(int((b[2] - b[0]) * (b[3] - b[1])), 0) for b in boxes)
    bins, values = np.empty(max_bins, dtype=np.int64), np.empty(max_bins)
    start = np.zeros(len(boxes) + 1, dtype=np.int64)
    scratch = np.zeros(n_cells(levels) * n_words)
    for i, (words, box) in enumerate(zip(maps, boxes, strict=True)):
        first = start[i]
        used = add_histogram(words, box, levels, kind, n_words, scratch, bins[first:], values[first:])
        start[i + 1] = first + used
    shape = (len(boxes), len(scratch))
    return sp.csr_matrix((values[: start[-1]], bins[: start[-1]], start), shape=shape)
