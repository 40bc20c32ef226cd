"""Grey images in the binary PGM format (P5), 8 bits per pixel."""

from __future__ import annotations

import re

import numpy as np

from structmargin_suite.storage.errors import DataError

HEADER = re.compile(rb"P5(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)\s")


def read_pgm(data: bytes, where: str) -> np.ndarray:
    """The image (height, width) of uint8 in `data`; `where` names the file in errors."""
    head = HEADER.match(data)
    if head is None:
        raise DataError(f"{where}: no binary PGM header (P5, width, height, largest value); fetch it again")
    width, height, largest = (int(number) for number in head.groups())
    if not 0 < largest < 256:
        raise DataError(f"{where}: the largest value is {largest}, but 8 bits per pixel are read; convert it")
    if width < 1 or height < 1:
        raise DataError(f"{where}: the image is {width} x {height} pixels; remove it")
    pixels = data[head.end() :]
    if len(pixels) < width * height:
        raise DataError(
            f"{where}: {len(pixels)} pixels, but {width} x {height} need {width * height}; fetch it again"
        )
    return np.frombuffer(pixels[: width * height], dtype=np.uint8).reshape(height, width).copy()
