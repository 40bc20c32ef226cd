"""A chain small enough to list: emissions and transitions, every labelling enumerated.

x is a (T, n_features) array, y a tuple of T labels; Psi(x, y) is the sum of x_t (x) e_{y_t} and the
counts of neighbouring label pairs; the loss is the number of wrong labels or 0/1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.problem import best_of, top_of


@dataclass(frozen=True)
class ToyChain:
    n_labels: int = 2
    n_features: int = 2
    loss: str = "hamming"
    sparse: bool = False
    exact: bool = True

    def outputs(self, x: Any) -> list[tuple[int, ...]]:
        return list(product(range(self.n_labels), repeat=len(x)))

    def psi(self, x: Any, y: tuple[int, ...]) -> Any:
        emissions = np.zeros((self.n_features, self.n_labels))
        transitions = np.zeros((self.n_labels, self.n_labels))
        for t, label in enumerate(y):
            emissions[:, label] += x[t]
            if t:
                transitions[y[t - 1], label] += 1.0
        row = np.concatenate([emissions.ravel(), transitions.ravel()])
        return sp.csr_matrix(row) if self.sparse else row

    def delta(self, y: tuple[int, ...], ybar: tuple[int, ...]) -> float:
        wrong = sum(a != b for a, b in zip(y, ybar, strict=True))
        return float(wrong if self.loss == "hamming" else wrong > 0)

    def argmax(self, f: Any, x: Any) -> tuple[int, ...]:
        return top_of(f, x, self.outputs(x))

    def augmented_argmax(self, f: Any, x: Any, y: tuple[int, ...], H: Any) -> tuple[int, ...]:
        return best_of(self, f, x, y, H, self.outputs(x))

    def radius(self, x: Any) -> float:
        """|Psi(x, y) - Psi(x, y')| by the norms of its parts: every emission moves, every transition too."""
        moved = 2.0 * np.linalg.norm(x, axis=1).sum() / np.sqrt(2.0)
        return float(np.hypot(moved, np.sqrt(2.0) * (len(x) - 1)))

    def max_delta(self, y: tuple[int, ...]) -> float:
        return float(len(y)) if self.loss == "hamming" else 1.0


def chains(
    n: int, n_labels: int = 2, n_features: int = 2, *, noise: float = 0.0, seed: int = 0
) -> tuple[list[Any], list[Any]]:
    """n chains of length 2 or 3 labelled by one model with a margin; a share `noise` of labels redrawn."""
    rng = np.random.default_rng(seed)
    problem = ToyChain(n_labels, n_features)
    w = rng.normal(size=n_features * n_labels + n_labels**2)
    X: list[Any] = []
    Y: list[Any] = []
    while len(X) < n:
        x = np.round(rng.normal(size=(2 + len(X) % 2, n_features)), 2)
        scores = {y: float(problem.psi(x, y) @ w) for y in problem.outputs(x)}
        first, second = sorted(scores.values(), reverse=True)[:2]
        if first - second > 0.4:
            y = max(scores, key=scores.__getitem__)
            redrawn = rng.integers(n_labels, size=len(y))
            flip = rng.random(len(y)) < noise
            X.append(x)
            Y.append(tuple(int(r) if f else label for label, r, f in zip(y, redrawn, flip)))
    return X, Y
