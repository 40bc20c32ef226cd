"""Random small problems whose features and losses are tables: every output can be listed.

x holds Psi(x, y) of every output y as a matrix and Delta(y, ybar) of every two as another. `Drawn` is such a
problem in ordinary units, and the same in units in which features are `sigma` and losses `lam` times as
large: C is changed with them, so that both have the same solution but for a factor of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import references
from structmargin.problem import best_of, top_of


class Table:
    """Psi and Delta looked up; both searches by enumeration."""

    def psi(self, x: Any, y: int) -> Any:
        return x["psi"][y]

    def delta(self, x: Any, y: int, ybar: int) -> float:
        return float(x["loss"][y, ybar])

    def argmax(self, f: Any, x: Any) -> int:
        return top_of(f, x, range(len(x["psi"])))

    def augmented_argmax(self, f: Any, x: Any, y: int, H: Any) -> int:
        return best_of(self, f, x, y, H, range(len(x["psi"])))


@dataclass(frozen=True)
class Drawn:
    """One problem in both units: its data, C and weights, and the optimum's factor."""

    X: list[dict[str, np.ndarray]]
    Y: list[int]
    C: float
    scaled_X: list[dict[str, np.ndarray]]
    scaled_C: float
    weights: np.ndarray | None
    factor: float  # the objective in scaled units over that in ordinary ones

    def constraints(self) -> list[references.Constraint]:
        """Every constraint, in ordinary units."""
        return [
            references.Constraint(i, float(x["loss"][y, ybar]), x["psi"][y] - x["psi"][ybar])
            for i, (x, y) in enumerate(zip(self.X, self.Y, strict=True))
            for ybar in range(len(x["psi"]))
            if ybar != y
        ]


def drawn(rng: np.random.Generator, formulation: str, scale: float = 150.0) -> Drawn:
    """A random problem; features and losses are larger or smaller by up to 10^scale in the other units."""
    n, d = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    X, Y = [], []
    losses = [np.array([1.0]), np.array([0.0, 0.5, 1.0]), np.array([0.05, 0.3, 1.0, 4.0])][rng.integers(3)]
    for _ in range(n):
        K = int(rng.integers(2, 6))
        loss = rng.choice(losses, size=(K, K))
        np.fill_diagonal(loss, 0.0)
        X.append({"psi": np.round(rng.normal(size=(K, d)), 2), "loss": loss})
        Y.append(int(rng.integers(K)))
    C = float(10.0 ** rng.uniform(-2, 3))
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=n) if rng.random() < 0.5 else None
    if weights is not None and not weights.any():
        weights = None
    p = {"SVM0": 0, "SVM1": 1, "SVM2": 2}[formulation[:4]]
    while True:
        sigma, lam = 10.0 ** rng.uniform(-scale, scale), 10.0 ** rng.uniform(-scale, scale)
        beta = lam ** (1 / p) if formulation[5:] else 1.0  # the factor of Delta^(1/p)
        log_sigma, log_beta, log_C = np.log10(sigma), np.log10(beta), np.log10(C)
        if formulation.endswith("margin"):
            log_factor = 2 * log_beta - 2 * log_sigma
            log_C = log_C - 2 * log_sigma + (log_beta if p == 1 else 0.0)
        else:
            log_factor = -2 * log_sigma
            log_C = log_C - 2 * log_sigma - p * log_beta
        length = log_sigma + (log_beta if formulation.endswith("slack") else 0.0)  # of a cut
        if max(abs(log_factor), abs(log_C) if p else 0.0, abs(2 * length)) <= 300.0 - 5.0:
            break  # C, the objective and squared lengths are in the range of floats
    scaled = [{"psi": sigma * x["psi"], "loss": lam * x["loss"]} for x in X]
    scaled_C = float(10.0**log_C) if p else C
    return Drawn(X, Y, C, scaled, scaled_C, weights, float(10.0**log_factor))
