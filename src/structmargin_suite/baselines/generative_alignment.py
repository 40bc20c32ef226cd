"""The generative alignment model of jmlr05 Section 5.3: log-odds for substitutions, a gap score set by hand.

    Pi_ij = log( P(i, j) / (P(i) P(j)) )

P(i, j) is the probability that letter i of a native stands against letter j of its homolog in an
alignment; P(i) and P(j) are the probabilities of the letters alone. All are Laplace estimates: with n_ij
of N pairs counted in the training alignments P(i, j) = (n_ij + 1) / (N + A^2), and a letter seen n_i times
among N has (n_i + 1) / (N + A). The paper does not say where single letters are counted. The choices:

    strings   natives for P(i), homologs for P(j), in full (the default)
    aligned   the letters of the counted pairs only
    joint     not at all: P(i) and P(j) are the marginals of the estimate P(i, j)
    all       natives, homologs and decoys together, for both

Letters that stand against nothing are not modelled: their weight, `gap_score`, is an option (the paper
reports the value that does best on the test set). The model is a weight vector of the Alignment problem and
predicts with the same search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structmargin.problems.alignment.problem import Alignment, ChosenCandidate
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import Schemas

Strings = tuple[np.ndarray, Sequence[np.ndarray]]
"""A native and its candidates, strings of letters."""
Truth = tuple[int, tuple[int, int, str]]
"""Which candidate is the homolog, and its alignment (i, j, operations)."""


def fit(
    X: Sequence[Strings],
    Y: Sequence[Truth],
    *,
    gap_score: float,
    n_letters: int = 20,
    laplace: float = 1.0,
    letters: str = "strings",
) -> np.ndarray:
    """w (n_letters^2 + 1,): the log-odds, row by row, then `gap_score`.

    `laplace` is what is added to each count, `letters` one of the choices above.
    """
    if letters not in LETTERS:
        raise ValueError(f"letters is {letters!r}, but must be one of {', '.join(LETTERS)}")
    problem = Alignment(n_letters)
    problem.check(X, Y)
    counts = np.sum([problem.psi(x, y)[:-1] for x, y in zip(X, Y, strict=True)], axis=0)
    pairs = np.asarray(counts, dtype=float).reshape(n_letters, n_letters)
    joint = _estimate(pairs, laplace)
    first, second = LETTERS[letters](X, Y, pairs, laplace)
    return np.append(np.log(joint / np.outer(first, second)), gap_score)


def predict(w: np.ndarray, X: Sequence[Strings], *, n_letters: int = 20) -> list[ChosenCandidate]:
    """The candidate of each example whose best alignment scores highest, with that alignment."""
    problem = Alignment(n_letters)
    return problem.batch(X, None).argmax(LinearScorer(problem, w))


def _estimate(counts: np.ndarray, laplace: float) -> np.ndarray:
    return (counts + laplace) / (counts.sum() + laplace * counts.size)


def _histogram(strings: Iterable[np.ndarray], laplace: float, n_letters: int) -> np.ndarray:
    return _estimate(np.bincount(np.concatenate(list(strings)), minlength=n_letters), laplace)


def _of_strings(
    X: Sequence[Strings], Y: Sequence[Truth], pairs: np.ndarray, laplace: float
) -> tuple[np.ndarray, np.ndarray]:
    homologs = (x[1][y[0]] for x, y in zip(X, Y, strict=True))
    return _histogram((x[0] for x in X), laplace, len(pairs)), _histogram(homologs, laplace, len(pairs))


def _of_aligned(
    X: Sequence[Strings], Y: Sequence[Truth], pairs: np.ndarray, laplace: float
) -> tuple[np.ndarray, np.ndarray]:
    return _estimate(pairs.sum(axis=1), laplace), _estimate(pairs.sum(axis=0), laplace)


def _of_joint(
    X: Sequence[Strings], Y: Sequence[Truth], pairs: np.ndarray, laplace: float
) -> tuple[np.ndarray, np.ndarray]:
    joint = _estimate(pairs, laplace)
    return joint.sum(axis=1), joint.sum(axis=0)


def _of_all(
    X: Sequence[Strings], Y: Sequence[Truth], pairs: np.ndarray, laplace: float
) -> tuple[np.ndarray, np.ndarray]:
    letters = _histogram((string for x in X for string in (x[0], *x[1])), laplace, len(pairs))
    return letters, letters


LETTERS: dict[
    str, Callable[[Sequence[Strings], Sequence[Truth], np.ndarray, float], tuple[np.ndarray, np.ndarray]]
] = {
    "strings": _of_strings,
    "aligned": _of_aligned,
    "joint": _of_joint,
    "all": _of_all,
}
"""How the probabilities of single letters are estimated, by name."""

OPTIONS: Schemas = {
    "gap_score": {"type": "number"},
    "laplace": {"type": "number", "exclusiveMinimum": 0},
    "letters": {"enum": list(LETTERS)},
}


@dataclass(frozen=True)
class GenerativeAlignment:
    """The weights of a fitted model."""

    w: np.ndarray

    def predict(self, X: Sequence[Strings]) -> list[ChosenCandidate]:
        """The candidate of each example whose best alignment scores highest, with that alignment."""
        return predict(self.w, X)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"w": self.w}


def train(X: Sequence[Strings], Y: Sequence[Truth], *, seed: int, **options: Any) -> GenerativeAlignment:
    """`fit` with the given options; nothing here is random."""
    return GenerativeAlignment(fit(X, Y, **options))


def from_arrays(arrays: Mapping[str, np.ndarray]) -> GenerativeAlignment:
    """The model that `to_arrays` was called on."""
    return GenerativeAlignment(arrays["w"])
