"""A few small examples of every problem of the library, the same in every call."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.protein_pairs import random_pair
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

LAMBDA = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def rows(n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers as features, which every type of number can hold, and three classes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(n, 4)).astype(float)
    return X, np.argmax(X[:, :3] + rng.random((n, 3)), axis=1)


def sequences() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Six sequences of one to four tokens, with three labels."""
    rng = np.random.default_rng(1)
    X = [rng.integers(0, 3, size=(T, 4)).astype(float) for T in (3, 1, 4, 2, 3, 2)]
    return X, [np.argmax(x[:, :3], axis=1) for x in X]


def strings() -> tuple[list[Any], list[Any]]:
    """Native strings of five letters with three candidates, the second of which is the homolog."""
    rng = np.random.default_rng(2)
    X = [(rng.integers(0, 4, 5), [rng.integers(0, 4, k) for k in (3, 4, 5)]) for _ in range(3)]
    return X, [(1, (0, 0, "MMDM"))] * 3


def images() -> tuple[list[Any], list[np.ndarray]]:
    """Maps of 5 x 6 words with an object of 2 x 2."""
    rng = np.random.default_rng(3)
    X, Y = [], []
    for top in range(3):
        words = rng.integers(-1, 2, size=(5, 6))
        words[top : top + 2, 2:4] = 2
        X.append((words, np.array([[2, 2, 1]])))
        Y.append(np.array([[top, 2, top + 2, 4]]))
    return X, Y


def queries() -> tuple[list[Candidates], list[Any]]:
    """Two queries of four documents."""
    indptr, items = np.array([0, 2, 4, 5, 7]), np.array([0, 1, 0, 1, 2, 2, 3])
    subtopics = np.array([[True, False], [True, False], [False, True], [False, True]])
    X = [Candidates(indptr, items, np.array([[1.0, k], [2.0, 0.0], [0.0, 1.0], [k, 1.0]])) for k in (0, 1)]
    return X, [best_selection(x, subtopics, K=2) for x in X]


def proteins() -> tuple[list[Any], list[np.ndarray]]:
    """Three pairs of proteins."""
    rng = np.random.default_rng(4)
    return [random_pair(rng, 4, 3) for _ in range(3)], [np.array([[0, 0], [2, 1]])] * 3


def sentences() -> tuple[list[Any], list[Any]]:
    """Two parsed sentences."""
    X = [("DT", "NN", "VBZ"), ("NN", "VBZ", "DT", "NN")]
    return X, [
        ("S", ("NP", "DT", "NN"), ("VP", "VBZ")),
        ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", "DT", "NN"))),
    ]


def signs() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes, -1 and +1."""
    X, y = rows()
    return X, np.where(y == 0, 1, -1)


def examples(name: str) -> tuple[Any, Any, Any]:
    """(problem, X, Y) for a problem's name."""
    made: dict[str, Any] = {
        "Multiclass": lambda: (Multiclass(3, 4), *rows()),
        "Taxonomy": lambda: (Taxonomy(3, 4, Lambda=LAMBDA), *rows()),
        "Sequence": lambda: (Sequence(3, 4), *sequences()),
        "Alignment": lambda: (Alignment(4), *strings()),
        "Grammar": lambda: (Grammar(), *sentences()),
        "Localization": lambda: (Localization(3, levels=2), *images()),
        "Measure": lambda: (Measure("f1", intercept=1.0), *signs()),
        "Diversity": lambda: (Diversity(2, K=2), *queries()),
        "ProteinAlignment": lambda: (ProteinAlignment("simple", "linear"), *proteins()),
    }
    problem, X, Y = made[name]()
    return problem, X, Y
