"""A few examples for every problem of the library, small enough to train in an instant."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
from structmargin.problems.proteins.features import Pair
from structmargin.problems.sequence.kernel import SequenceKernel


class Small(NamedTuple):
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


def _multiclass() -> Small:
    X, y = points()
    return Small(Multiclass(3, 4), X, y, Product(RBF(0.2)))


def _taxonomy() -> Small:
    X, y = points()
    Lambda = np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]])
    problem = Taxonomy(3, 4, loss=np.array([[0, 1, 2], [1, 0, 2], [2, 2, 0.0]]), Lambda=Lambda)
    return Small(problem, X, y, Product(RBF(0.2), L=Lambda @ Lambda.T))


def _sequence() -> Small:
    rng = np.random.default_rng(1)
    pictures = rng.random((3, 5))
    Y = [rng.integers(3, size=T) for T in rng.integers(1, 5, size=12)]
    X = [pictures[y] + 0.4 * rng.normal(size=(len(y), 5)) for y in Y]
    return Small(Sequence(3, 5), X, Y, SequenceKernel(RBF(0.5)))


def _alignment() -> Small:
    native, candidates = np.array([0, 1, 1, 0]), [np.array([1, 0, 0, 1]), np.array([0, 1, 0])]
    other = np.array([1, 1, 0]), [np.array([1, 1, 0]), np.array([0, 0])]
    X = [(native, candidates), other]
    return Small(Alignment(n_letters=2), X, [(1, (0, 0, "MMDM")), (0, (0, 0, "MMM"))])


def _grammar() -> Small:
    X = [("DT", "NN", "VBZ"), ("NN", "VBZ", "DT", "NN")]
    Y = [
        ("S", ("NP", "DT", "NN"), ("VP", "VBZ")),
        ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", "DT", "NN"))),
    ]
    return Small(Grammar(), X, Y)


def _localization() -> Small:
    X, Y = [], []
    for top, left in ((1, 2), (0, 3), (2, 0)):
        words = np.zeros((4, 6), dtype=int)
        words[top : top + 2, left : left + 2] = 1
        X.append((words, np.array([[2, 2, 1]])))
        Y.append(np.array([[top, left, top + 2, left + 2]]))
    return Small(Localization(n_words=2, levels=1, normalise="cell"), X, Y, BoxChi2(n_words=2, levels=1))


def _measure() -> Small:
    X, y = points(n_classes=2)
    return Small(Measure("f1"), X, np.where(y > 0, 1, -1))


def _diversity() -> Small:
    x = Candidates(indptr=np.array([0, 2, 4, 5]), items=np.array([0, 1, 0, 1, 2]), phi=np.ones((3, 1)))
    subtopics = np.array([[True, False], [True, False], [False, True]])
    return Small(Diversity(n_features=1, K=2), [x], [best_selection(x, subtopics, K=2)])


def _proteins() -> Small:
    x = Pair(
        residue=np.array([0, 7, 3, 9]),
        state=np.array([0, 0, 1, 1]),
        access=np.array([4, 2, 0, 1]),
        target=np.array([0, 3, 9]),
    )
    return Small(ProteinAlignment("simple", "linear", tolerance=0), [x], [np.array([[0, 0], [2, 1], [3, 2]])])


SMALL = {
    "Multiclass": _multiclass,
    "Taxonomy": _taxonomy,
    "Sequence": _sequence,
    "Alignment": _alignment,
    "Grammar": _grammar,
    "Localization": _localization,
    "Measure": _measure,
    "Diversity": _diversity,
    "ProteinAlignment": _proteins,
}
"""By the problem's name in the registry."""
