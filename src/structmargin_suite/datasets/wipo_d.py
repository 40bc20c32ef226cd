"""Section D of WIPO-alpha as derived features: 1,710 patents, 100 latent dimensions, 57 IPC labels.

Not the texts, and one level coarser than the paper's 160 groups: codes are cut to 6 characters (section,
class, subclass, the first two digits of the group). Two files of features and two of labels, one line per
document, are put together as one collection; the folds are those of `patents`. Labels with fewer than 3
documents are left out (7 of 57). A constant feature serves as intercept.

The stand-in is `patents` with 57 groups, its tf-idf vectors reduced to 100 dimensions.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, Split, patents
from structmargin_suite.datasets._sparse import csr_of
from structmargin_suite.datasets.patents import score, tfidf
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.object_arrays import strings_of
from structmargin_suite.fetching.originals import Home, Original
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

COMMIT = "21c14920c555c079c9b80e8b5b140ea597ec0afd"
ADDRESS = f"https://raw.githubusercontent.com/ermlickw/AIT690/{COMMIT}/PatentPredictionProject"
FILES = tuple(
    Remote(name, total, f"wipo-d/{name}", f"{ADDRESS}/{name}" if name.endswith(".npy") else None)
    for name, total in (
        ("train-D.npy", "eee105cfe6b91e04e3d964061a4cc2f04df2f53c1fadec063f9d902e467ab0b9"),
        ("train_label-D.txt", "8d1dc8a848f7ccef934aaabec538d832a012d06e86306ef053cac136c946b0ee"),
        ("test-D.npy", "57e4a0a7a293cd13402b80a9d7dd2ad21cbec7f1e580d5fb3a495479b72d692d"),
        ("test_label-D.txt", "d6efdbc1c4c4350d33745938d9f681a68d21137f822012b00e64a31c082c8753"),
    )
)


def labels(original: Path) -> dict[str, bytes]:
    """The file of labels, one per line, of an array of them; nothing is unpickled."""
    return {f"{original.stem}.txt": "".join(f"{label}\n" for label in strings_of(original)).encode("utf-8")}


HOME = Home(
    title="WIPO-alpha, section D, as derived features",
    page="https://github.com/ermlickw/AIT690",
    terms="research",
    folder="wipo-d",
    version=f"commit {COMMIT[:12]}",
    originals=tuple(
        Original(
            f"{subset}_label-D.npy", (f"{ADDRESS}/{subset}_label-D.npy",), (f"{subset}_label-D.txt",), labels,
            sha256=total, megabytes=size,
        )
        for subset, total, size in (
            ("train", "748f31aaa70c723d36b18e9638229b23acd512497abfb57bef4af2d3659c08e6", 0.02),
            ("test", "b28aeac4a028cf0dfd097791654c5520dd3e2c39ba8267bebfd4b44ff166bba0", 0.01),
        )
    ),
    megabytes=1.4,
)  # fmt: skip
PREPARE: Schemas = {}
VIEW: Schemas = patents.VIEW
N_DIMENSIONS, N_GROUPS = 100, 57
CODE = re.compile(r"[A-H]\d\d[A-Z]\d\d")


def parse(files: Mapping[str, Path], seed: int) -> dict[str, np.ndarray]:
    """Arrays X (n, 100), y (n,) and codes, the labels in alphabetical order."""
    X, labels = [], []
    for subset in ("train", "test"):
        features, names = files[f"{subset}-D.npy"], files[f"{subset}_label-D.txt"]
        X.append(_features(features))
        labels.append(_labels(names))
        if len(X[-1]) != len(labels[-1]):
            raise DataError(
                f"{names} has {len(labels[-1])} labels but {features} has {len(X[-1])} documents; "
                "give every document one line"
            )
    if X[0].shape[1] != X[1].shape[1]:
        raise DataError(
            f"{files['test-D.npy']} has {X[1].shape[1]} features but {files['train-D.npy']} has "
            f"{X[0].shape[1]}; they must be made alike"
        )
    codes, y = np.unique(np.concatenate(labels), return_inverse=True)
    return {"X": np.concatenate(X), "y": y.astype(np.int64), "codes": codes}


def _features(path: Path) -> np.ndarray:
    try:
        X = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is no file of numbers in numpy's format ({error}); fetch it again") from None
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        raise DataError(f"{path} must hold one matrix of numbers, with one row per document")
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise DataError(f"{path}: row {int(bad[0])} has a NaN or infinite feature; correct it")
    return X.astype(float)


def _labels(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for line, text in enumerate(lines, start=1):
        if not CODE.fullmatch(text.strip()):
            raise DataError(
                f"{path}, line {line}: {text[:20]!r} is no IPC code of 6 characters such as D01D00; "
                "correct the line"
            )
    return [text.strip() for text in lines]


def synthesize(seed: int) -> dict[str, np.ndarray]:
    """The same arrays from patents written by rule."""
    from sklearn.decomposition import TruncatedSVD

    made = patents.synthesize(seed, n_groups=N_GROUPS)
    counts = csr_of(made)
    X = TruncatedSVD(N_DIMENSIONS, random_state=seed % 2**32).fit_transform(tfidf(counts, counts)[0])
    return {"X": X, "y": made["y"], "codes": made["codes"]}


def view(
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    instances_per_class: int = 4,
    round: int = 0,
    features: str = "flat",
    train_on: str = "drawn",
) -> Split:
    """One fold to test on, and a few documents per class from the others to train on; or the reverse."""
    X = np.column_stack([arrays["X"], np.ones(len(arrays["X"]))])
    drawn = seed, instances_per_class, round, train_on
    return patents.round_split(arrays, lambda train, test: (X[train], X[test]), drawn, features)
