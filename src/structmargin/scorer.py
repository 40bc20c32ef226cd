"""f(x, y): a linear function of Psi(x, y), by explicit weights or by a kernel expansion.

Problems ask a scorer for single scores, or for potentials: the arrays their oracle works on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structmargin.problem import AdaptedProblem, Problem, adapt, as_row


class LinearScorer:
    """f(x, y) = <w, Psi(x, y)>."""

    def __init__(self, problem: Problem | AdaptedProblem, w: np.ndarray) -> None:
        self.problem, self.w = adapt(problem), w

    def __call__(self, x: Any, y: Any) -> float:
        return float((as_row(self.problem.psi(x, y)) @ self.w)[0])

    def potentials(self, x: Any) -> Any:
        return self.problem.potentials(self.w, x)

    def times(self, factor: float) -> LinearScorer:
        """factor * f."""
        return LinearScorer(self.problem, factor * self.w)


class KernelScorer:
    """f(x, y) = sum_j coef_j k((x_j, y_j), (x, y))."""

    w = None

    def __init__(
        self,
        problem: Problem | AdaptedProblem,
        kernel: Any,
        X: Sequence[Any],
        Y: Sequence[Any],
        coef: np.ndarray,
    ) -> None:
        self.problem, self.kernel, self.X, self.Y, self.coef = adapt(problem), kernel, X, Y, coef

    def __call__(self, x: Any, y: Any) -> float:
        if not len(self.coef):
            return 0.0
        return float(self.kernel.gram([x], [y], self.X, self.Y)[0] @ self.coef)

    def potentials(self, x: Any) -> Any:
        return self.kernel.potentials(self.problem.given, x, self.X, self.Y, self.coef)

    def times(self, factor: float) -> KernelScorer:
        """factor * f."""
        return KernelScorer(self.problem, self.kernel, self.X, self.Y, factor * self.coef)
