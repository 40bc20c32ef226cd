"""Data that several benchmarks measure on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
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


def documents() -> tuple[Any, np.ndarray, int]:
    """160 classes of 4 documents over 10,000 words: common words by rank, and 100 words of its own for each
    class."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    K, D = 160, 10_000
    common = 1.0 / np.arange(1, D + 1) ** 0.9
    y = np.repeat(np.arange(K), 4)
    own = [rng.permutation(D)[:100] for _ in range(K)]
    rows = []
    for label in y:
        words = np.concatenate([rng.choice(D, 120, p=common / common.sum()), rng.choice(own[label], 40)])
        word, times = np.unique(words, return_counts=True)
        weight = 1.0 + np.log(times)
        rows.append(
            sp.csr_matrix((weight / np.linalg.norm(weight), (np.zeros(len(word), int), word)), (1, D))
        )
    return sp.vstack(rows, format="csr"), y, K


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


def tagged_file() -> Path:
    """The trees of GUM, which need not be there."""
    from structmargin_suite.datasets import gum

    return data_folder() / gum.FILES[0].mirror


N_SENTENCES, N_TEST_SENTENCES = 3_900, 1_500


def tagged_sentences(n: int | None) -> tuple[list[Any], list[np.ndarray], list[str], tuple[Any, Any]]:
    """n training sentences of GUM, drawn once: (tokens as sparse rows, tags as numbers, tags, test part).

    A feature is a column where a training sentence has it; the test part has those columns.
    """
    from structmargin_suite.datasets import gum

    files = {remote.name: data_folder() / remote.mirror for remote in gum.FILES}
    subset = gum.subsets(files["splits.md"])
    parts: dict[str, list[Any]] = {"train": [], "test": []}
    for name, trees in gum.documents(files["gum_const.tar.xz"], ".ptb", None):
        parts.get(subset.get(name, ""), []).extend(list(leaves(tree)) for tree in trees)
    order = np.random.default_rng(0).permutation(len(parts["train"]))[: n or N_SENTENCES]
    train, test = [parts["train"][i] for i in order], parts["test"][:N_TEST_SENTENCES]
    tags = sorted({tag for part in parts.values() for sentence in part for tag, _ in sentence})
    column: dict[str, int] = {}
    X = [rows_of(sentence, column, learn=True) for sentence in train]
    shaped = [sparse_rows(rows, len(column)) for rows in X]
    X_test = [sparse_rows(rows_of(sentence, column), len(column)) for sentence in test]
    number = {tag: k for k, tag in enumerate(tags)}
    Y, Y_test = ([np.array([number[tag] for tag, _ in s]) for s in part] for part in (train, test))
    return shaped, Y, tags, (X_test, Y_test)


def leaves(node: Any) -> Iterator[tuple[str, str]]:
    """(tag, word) of every leaf of a raw tree that is no trace."""
    if len(node) == 2 and isinstance(node[1], str):
        if node[0] != "-NONE-":
            yield node[0], node[1]
        return
    for child in node[1:]:
        yield from leaves(child)


def rows_of(sentence: list[Any], column: dict[str, int], learn: bool = False) -> list[list[int]]:
    """The columns of each token's features; with `learn`, new features get columns."""
    words = ["<s>", *(word for _, word in sentence), "</s>"]
    rows = []
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        shape = re.sub(
            r"(.)\1+", r"\1", re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "0", word)))
        )
        names = [
            f"word {word.lower()}",
            f"shape {shape}",
            f"before {before.lower()}",
            f"after {after.lower()}",
        ]
        names += ["bias", *(f"suffix {word[-k:].lower()}" for k in (1, 2, 3) if len(word) > k)]
        if learn:
            for name in names:
                column.setdefault(name, len(column))
        rows.append(sorted(column[name] for name in names if name in column))
    return rows


def sparse_rows(rows: list[list[int]], n_columns: int) -> Any:
    """Rows of ones as a CSR matrix."""
    import scipy.sparse as sp

    ends = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.array([j for row in rows for j in row], dtype=np.int32)
    return sp.csr_matrix((np.ones(len(indices)), indices, ends), shape=(len(rows), n_columns))
