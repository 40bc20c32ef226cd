"""Data that several benchmarks measure on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

CHAIN = {"n": 100, "n_labels": 6, "n_features": 20}
NOISE = 0.1  # of copied images, where a pixel is between 0 and 1


def digits() -> tuple[Any, np.ndarray, int]:
    """Images (1797, 64) of ten digits, their labels, and the number of classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y, 10


def data_folder() -> Path:
    """Where real data are looked for."""
    return Path(os.environ.get("STRUCTMARGIN_DATA") or "data/mirror")


def forest_file() -> Path:
    """Covertype, which need not be there."""
    from structmargin_suite.datasets import covertype

    return data_folder() / covertype.FILES[0].mirror


def forest(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n patches of forest (n, 54), each feature with mean 0 and variance 1, and their types from 0 on."""
    from structmargin_suite.datasets import covertype

    X, y = covertype.read(forest_file())
    chosen = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[chosen].astype(float), y[chosen] - 1
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y


def many_digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n images (n, 64) with values from 0 to 1, and their digits.

    They are of Optdigits where STRUCTMARGIN_DATA has it, else of scikit-learn's small digits; what is missing
    are copies with noise.
    """
    from sklearn.datasets import load_digits

    from structmargin_suite.datasets import optdigits

    folder = data_folder()
    files = [folder / remote.mirror for remote in optdigits.FILES]
    parts = [optdigits.read(path) for path in files if path.exists()] or [load_digits(return_X_y=True)]
    X, y = np.vstack([part[0] for part in parts]) / 16.0, np.concatenate([part[1] for part in parts])
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    copied = rng.integers(len(y), size=max(n - len(y), 0))
    copies = np.clip(X[copied] + NOISE * rng.normal(size=(len(copied), X.shape[1])), 0.0, 1.0)
    return np.vstack([X, copies])[:n], np.concatenate([y, y[copied]])[:n].astype(int)


def chain() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Label chains with sticky transitions; a token's features are its label's mean and noise."""
    rng = np.random.default_rng(1)
    L, D = CHAIN["n_labels"], CHAIN["n_features"]
    means, T = rng.normal(size=(L, D)), rng.dirichlet(np.full(L, 0.3), size=L)
    X, Y = [], []
    for _ in range(CHAIN["n"]):
        y = [int(rng.integers(L))]
        while len(y) < 8:
            y.append(int(rng.choice(L, p=T[y[-1]])))
        X.append(means[y] + 2.5 * rng.normal(size=(8, D)))
        Y.append(np.array(y))
    return X, Y
