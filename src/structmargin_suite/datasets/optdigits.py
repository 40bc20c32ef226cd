"""Optical digits (UCI 80): 64 counts of black pixels, one digit against the rest (cacm09 Table 1).

Each of the two files has one line per image: the counts and the digit, with commas between. Inputs are the
counts, scaled to a mean squared norm of 1. The stand-in draws noisy copies of one pattern per digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, _one_vs_rest
from structmargin_suite.datasets._one_vs_rest import VIEW, score, view
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/optdigits"
FILES = (
    Remote(
        "optdigits.tra",
        "f87ffe5149ece6d73cc08c296f180e695885849036c0b22a7973e74e3f35d3ee",
        "optdigits/optdigits.tra",
        f"{ADDRESS}/optdigits.tra",
    ),
    Remote(
        "optdigits.tes",
        "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
        "optdigits/optdigits.tes",
        f"{ADDRESS}/optdigits.tes",
    ),
)
HOME = Home(
    title="Optical digits (UCI 80)",
    page="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    terms="CC BY 4.0",
    folder="optdigits",
    version="1998",
    megabytes=0.8,
)
PREPARE: Schemas = {"images": {"type": "integer", "minimum": 200}}
N_DIGITS, N_COUNTS, MAX_COUNT = 10, 64, 16


def parse(files: Mapping[str, Path], seed: int, *, images: int | None = None) -> dict[str, np.ndarray]:
    """Inputs and digits of both subsets; at most `images` images of each, drawn by the seed."""
    rng = np.random.default_rng(seed)
    subsets: list[np.ndarray] = []
    for remote in FILES:
        both = read(files[remote.name])
        drawn = np.sort(rng.permutation(len(both[1]))[:images])
        subsets += [subset[drawn] for subset in both]
    return _subsets(*subsets)


def _subsets(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict[str, np.ndarray]:
    rows = _one_vs_rest.scaled(X, X_test)
    return {
        "names": np.arange(N_DIGITS).astype(str),
        **_one_vs_rest.subset_arrays("train", rows["train"], np.eye(N_DIGITS)[y]),
        **_one_vs_rest.subset_arrays("test", rows["test"], np.eye(N_DIGITS)[y_test]),
    }


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, 64) and digits (n,) of a file."""
    rows = []
    with open(path, encoding="latin-1") as lines:
        for number, line in enumerate(lines, start=1):
            cells = line.strip().split(",")
            if len(cells) != N_COUNTS + 1 or not all(cell.isdecimal() for cell in cells):
                raise DataError(
                    f"{path}, line {number}: must have {N_COUNTS} counts and a digit, with commas between, "
                    f"but is {line.strip()[:40]!r}; correct it"
                )
            row = [int(cell) for cell in cells]
            if max(row[:-1]) > MAX_COUNT or row[-1] >= N_DIGITS:
                raise DataError(
                    f"{path}, line {number}: counts run to {MAX_COUNT} and digits to {N_DIGITS - 1}, but "
                    "there is a larger one; correct it"
                )
            rows.append(row)
    if not rows:
        raise DataError(f"{path} is empty; fetch it again")
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def synthesize(seed: int, *, images: int | None = None) -> dict[str, np.ndarray]:
    """The same arrays: by default 3,823 and 1,797 images; one in ten has strong noise."""
    rng = np.random.default_rng(seed)
    patterns = rng.integers(0, MAX_COUNT + 1, size=(N_DIGITS, N_COUNTS)).astype(float)
    subsets: list[np.ndarray] = []
    for n in (3823, 1797):
        digits = rng.integers(0, N_DIGITS, size=n if images is None else min(n, images))
        noise = np.where(rng.random(len(digits)) < 0.1, 12.0, 5.0)[:, None]
        counts = patterns[digits] + noise * rng.normal(size=(len(digits), N_COUNTS))
        subsets += [np.clip(np.rint(counts), 0, MAX_COUNT), digits]
    return _subsets(*subsets)
