"""Forest cover types (UCI 31): one of 7 types of forest against the rest (cacm09 Table 1).

The file has one line per patch of ground: 10 quantities, 44 indicators and the type from 1 to 7, with commas
between. The paper's sample of 1,000 patches to train on and 2,000 to test on is not known: ours is drawn from
the first 20,000 patches, of which the first 15,120 have the types equally often, so the rare types are more
frequent here than in the whole data set. Quantities are standardised by the training set, and rows scaled to
a mean squared norm of 1. The stand-in has types that follow from a quantity, as they follow from elevation.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, _one_vs_rest
from structmargin_suite.datasets._one_vs_rest import VIEW, score, view
from structmargin_suite.fetching.contents import Unpacked, first_lines
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

N_ROWS = 20_000
"""The first rows of the original, in order."""
FILES = (
    Remote(
        "covtype.20k.data.gz",
        "7bd0f4e969f175180a2d9ed05c779b413db4308d6872c508944d0107020abcff",
        "covertype/covtype.20k.data.gz",
        contents=Unpacked("55ff5c8510624a2fe57838017f96caf86914223f131572edd35a038f3e85e43e"),
    ),
)


def first_rows(original: Path) -> dict[str, bytes]:
    """The file that is read, of the whole data set."""
    return {FILES[0].name: first_lines(original, N_ROWS)}


HOME = Home(
    title="Covertype (UCI 31)",
    page="https://archive.ics.uci.edu/dataset/31/covertype",
    terms="CC BY 4.0",
    folder="covertype",
    version="581,012 rows",
    originals=(
        Original(
            "covtype.data.gz",
            (
                "https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
                "https://ndownloader.figshare.com/files/5976039",
            ),
            (FILES[0].name,),
            first_rows,
            sha256="614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            megabytes=11.2,
        ),
    ),
    megabytes=11.2,
)
PREPARE: Schemas = {
    "n_train": {"type": "integer", "minimum": 100},
    "n_test": {"type": "integer", "minimum": 100},
}
N_TYPES, N_FEATURES, N_QUANTITIES = 7, 54, 10


def parse(
    files: Mapping[str, Path], seed: int, *, n_train: int = 1000, n_test: int = 2000
) -> dict[str, np.ndarray]:
    """Inputs and types of patches drawn by the seed."""
    path = files[FILES[0].name]
    X, y = read(path)
    if len(y) < n_train + n_test:
        raise DataError(
            f"{path} has {len(y)} patches, but n_train and n_test ask for {n_train + n_test}; ask for fewer"
        )
    order = np.random.default_rng(seed).permutation(len(y))
    return _subsets(X, y, order[:n_train], order[n_train : n_train + n_test])


def _subsets(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
    mean, deviation = X[train, :N_QUANTITIES].mean(axis=0), X[train, :N_QUANTITIES].std(axis=0)
    Z = X.astype(float)
    Z[:, :N_QUANTITIES] = (Z[:, :N_QUANTITIES] - mean) / np.where(deviation > 0, deviation, 1.0)
    rows = _one_vs_rest.scaled(Z[train], Z[test])
    return {
        "names": np.arange(1, N_TYPES + 1).astype(str),
        **_one_vs_rest.subset_arrays("train", rows["train"], np.eye(N_TYPES)[y[train] - 1]),
        **_one_vs_rest.subset_arrays("test", rows["test"], np.eye(N_TYPES)[y[test] - 1]),
    }


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, 54) and types (n,), 1 to 7, of the patches in a file."""
    try:
        text = gzip.decompress(path.read_bytes()).decode("latin-1")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is no gzip file, or breaks off ({error}); fetch it again") from None
    lines = text.split()
    try:
        rows = np.array(",".join(lines).split(","), dtype=np.int64).reshape(len(lines), N_FEATURES + 1)
        commas = [line.count(",") for line in lines]
        valid = set(commas) == {N_FEATURES} and rows[:, -1].min() >= 1 and rows[:, -1].max() <= N_TYPES
    except (ValueError, OverflowError):
        valid = False
    if not valid:
        _raise_fault(path, lines)
    return rows[:, :-1], rows[:, -1]


def _raise_fault(path: Path, lines: list[str]) -> None:
    """Raise an error that names the first faulty line."""
    for number, line in enumerate(lines, start=1):
        cells = line.split(",")
        whole = all(cell.removeprefix("-").isdecimal() and len(cell) < 19 for cell in cells)
        if len(cells) != N_FEATURES + 1 or not whole or not 1 <= int(cells[-1]) <= N_TYPES:
            raise DataError(
                f"{path}, line {number}: must have {N_FEATURES} whole numbers and a type from 1 to {N_TYPES} "
                f"with commas between, but is {line[:40]!r}; correct it"
            )
    raise DataError(f"{path} is empty; fetch it again")


def synthesize(seed: int, *, n_train: int = 1000, n_test: int = 2000) -> dict[str, np.ndarray]:
    """The same arrays, from a seed."""
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    y = rng.integers(1, N_TYPES + 1, size=n)
    X = 100.0 * rng.normal(size=(n, N_FEATURES))
    X[:, 0] += 80.0 * y
    ground = (3 * y + rng.integers(0, 20, size=n)) % 40
    X[:, N_QUANTITIES:] = 0
    X[np.arange(n), N_QUANTITIES + y % 4] = X[np.arange(n), N_QUANTITIES + 4 + ground] = 1
    return _subsets(np.rint(X), y, np.arange(n_train), np.arange(n_train, n))
