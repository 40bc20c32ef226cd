"""A few small examples of every problem of the library: small enough to train in an instant and to list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from helpers.protein_pairs import random_pair
from structmargin.kernels import RBF, Product
from structmargin.problems import (
    Alignment,
    Diversity,
    Grammar,
    Localization,
    Measure,
    Multiclass,
    ProteinAlignment,
    Sequence,
    Taxonomy,
)
from structmargin.problems.diversity.problem import Candidates, best_selection
from structmargin.problems.localization.kernel import BoxChi2
from structmargin.problems.sequence.kernel import SequenceKernel

LAMBDA = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
LOSS = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
"""Three classes of which the first two are near each other: their features, and the loss."""


class Example(NamedTuple):
    """A problem, its examples, and a joint kernel that goes with it, if there is one."""

    problem: Any
    X: Any
    Y: Any
    kernel: Any = None


def points(n: int = 24, n_classes: int = 3, n_features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre per class, some of them on the wrong side."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    return 1.5 * rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(n, n_features)), y


def rows(n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers as features, which every type of number can hold, and three classes."""
    rng = np.random.default_rng(100 * seed)
    X = rng.integers(0, 4, size=(n, 4)).astype(float)
    return X, np.argmax(X[:, :3] + rng.random((n, 3)), axis=1)


def signs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes, -1 and +1."""
    X, y = rows(seed=seed)
    y[:2] = 0, 1  # there are always both
    return X, np.where(y == 0, 1, -1)


def sequences(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Six sequences of one to four tokens, with three labels."""
    rng = np.random.default_rng(100 * seed + 1)
    X = [rng.integers(0, 3, size=(T, 4)).astype(float) for T in (3, 1, 4, 2, 3, 2)]
    return X, [np.argmax(x[:, :3], axis=1) for x in X]


def strings(seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Native strings of four letters with three candidates, the second of which is the homolog."""
    rng = np.random.default_rng(100 * seed + 2)
    X = [(rng.integers(0, 4, 4), [rng.integers(0, 4, k) for k in (2, 3, 3)]) for _ in range(3)]
    return X, [(1, (0, 0, "MMDM"))] * 3


def images(seed: int = 0) -> tuple[list[Any], list[np.ndarray]]:
    """Maps of 5 x 6 words with an object of 2 x 2."""
    rng = np.random.default_rng(100 * seed + 3)
    X, Y = [], []
    for top in range(3):
        words = rng.integers(-1, 2, size=(5, 6))
        words[top : top + 2, 2:4] = 2
        X.append((words, np.array([[2, 2, 1]])))
        Y.append(np.array([[top, 2, top + 2, 4]]))
    return X, Y


def queries(seed: int = 0) -> tuple[list[Candidates], list[Any]]:
    """Two queries of four documents."""
    indptr, items = np.array([0, 2, 4, 5, 7]), np.array([0, 1, 0, 1, 2, 2, 3])
    subtopics = np.array([[True, False], [True, False], [False, True], [False, True]])
    phi = [[[1.0, k], [2.0, 0.0], [0.0, 1.0], [k, 1.0 + seed]] for k in (0.0, 1.0)]
    X = [Candidates(indptr, items, np.array(features)) for features in phi]
    return X, [best_selection(x, subtopics, K=2) for x in X]


def proteins(seed: int = 0) -> tuple[list[Any], list[np.ndarray]]:
    """Three pairs of proteins, with the second residue of the template left out."""
    rng = np.random.default_rng(100 * seed + 4)
    return [random_pair(rng, 4, 3, 5) for _ in range(3)], [np.array([[0, 0], [2, 1]])] * 3


def sentences(seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Three parsed sentences; what the last one's end belongs to is open, and the seed says it."""
    end = ("PP", "IN", ("NP", "NN"))
    to_verb, to_noun = ("VP", "VBZ", ("NP", "NN"), end), ("VP", "VBZ", ("NP", ("NP", "NN"), end))
    Y: list[Any] = [
        ("S", ("NP", "DT", "NN"), ("VP", "VBZ")),
        ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", "DT", "NN"))),
        ("S", ("NP", "NN"), to_noun if seed % 2 else to_verb),
        ("S", ("NP", "DT", "NN"), to_noun),
    ]
    X = [("DT", "NN", "VBZ"), ("NN", "VBZ", "DT", "NN"), ("NN", "VBZ", "NN", "IN", "NN")]
    return [*X, ("DT", *X[2])], Y


EVERY: dict[str, Callable[[int], Example]] = {
    "Multiclass": lambda seed: Example(Multiclass(3, 4), *rows(seed=seed), Product(RBF(0.2))),
    "Taxonomy": lambda seed: Example(
        Taxonomy(3, 4, LOSS, Lambda=LAMBDA), *rows(seed=seed), Product(RBF(0.2), L=LAMBDA @ LAMBDA.T)
    ),
    "Sequence": lambda seed: Example(Sequence(3, 4), *sequences(seed), SequenceKernel(RBF(0.5))),
    "Alignment": lambda seed: Example(Alignment(4), *strings(seed)),
    "Grammar": lambda seed: Example(Grammar(), *sentences(seed)),
    "Localization": lambda seed: Example(
        Localization(3, levels=2, normalise="cell"), *images(seed), BoxChi2(n_words=3, levels=2)
    ),
    "Measure": lambda seed: Example(Measure("f1", intercept=1.0), *signs(seed)),
    "Diversity": lambda seed: Example(Diversity(2, K=2, exact=True), *queries(seed)),
    "ProteinAlignment": lambda seed: Example(
        ProteinAlignment("simple", "linear", tolerance=0), *proteins(seed)
    ),
}
"""By the problem's name in the registry."""


def example(name: str, seed: int = 0) -> Example:
    """The examples of a problem, by its name: the same for the same seed."""
    return EVERY[name](seed)
