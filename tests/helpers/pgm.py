"""Grey images written as binary PGM files."""

from __future__ import annotations

import numpy as np


def write_pgm(image: np.ndarray) -> bytes:
    """An image (height, width) of uint8 as the bytes of a PGM file."""
    height, width = image.shape
    return b"P5\n%d %d\n255\n" % (width, height) + image.astype(np.uint8).tobytes()
