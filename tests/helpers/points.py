"""Points in the plane and beyond."""

from __future__ import annotations

import numpy as np


def points(seed: int, n: int, d: int, shift: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) + shift
