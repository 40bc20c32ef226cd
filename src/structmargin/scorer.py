"""f(x, y): a linear function of Psi(x, y), by explicit weights or by a kernel expansion.

Problems ask a scorer for single scores, or for potentials: the arrays their oracle works on. `k_best` asks a
problem for the best outputs under a scorer, and `best_and_margin` for how clear the best one is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, adapt, as_row
from structmargin.problem import Problem, Scorer


def picked(X: Any, chosen: np.ndarray) -> Any:
    """Some of the inputs: rows of a matrix, or items of a list."""
    return X[chosen] if sp.issparse(X) or isinstance(X, np.ndarray) else [X[i] for i in chosen]


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
        return self.at(factor * self.w)

    def at(self, w: np.ndarray) -> LinearScorer:
        """The same with other weights."""
        return LinearScorer(self.problem, w)

    def of_training(self, examples: np.ndarray) -> None:
        """None: nothing is known of the examples."""
        return None


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

    def expansion(self) -> dict[str, Any]:
        """What a saved model holds of it, besides the kernel; `expanded` takes it back."""
        return {"X": _saved(self.X), "Y": _saved(self.Y), "coef": self.coef}

    def of_training(self, examples: np.ndarray) -> None:
        """None: nothing is known of the examples."""
        return None


class ClassScorer:
    """f(x, y) = sum_j kx(x_j, x) sum_q coef[j, q] L[q, y]: an expansion over inputs, each one there once.

    `kernel` is one with product structure (`structmargin.kernels.Product`), coef is of shape (len(X), K).
    """

    w = None

    def __init__(self, problem: Problem | AdaptedProblem, kernel: Any, X: Any, coef: np.ndarray) -> None:
        self.problem, self.kernel, self.X, self.coef = adapt(problem), kernel, X, coef

    def __call__(self, x: Any, y: Any) -> float:
        return float(np.ravel(self.potentials(x))[int(y)])

    def potentials(self, x: Any) -> np.ndarray:
        scores: np.ndarray = self.kernel.scores(x, self.X, self.coef)
        return scores

    def expansion(self) -> dict[str, Any]:
        """What a saved model holds of it, besides the kernel; `expanded` takes it back."""
        return {"X": _saved(self.X), "coef": self.coef}

    def times(self, factor: float) -> ClassScorer:
        """factor * f."""
        return ClassScorer(self.problem, self.kernel, self.X, factor * self.coef)

    def of_training(self, examples: np.ndarray) -> None:
        """None: nothing is known of the examples."""
        return None


def expanded(
    problem: Problem | AdaptedProblem, kernel: Any, X: Any, coef: np.ndarray, Y: Any = None
) -> KernelScorer | ClassScorer:
    """The scorer whose `expansion` is given: over inputs, or over pairs where there are outputs."""
    return ClassScorer(problem, kernel, X, coef) if Y is None else KernelScorer(problem, kernel, X, Y, coef)


def _saved(items: Any) -> Any:
    """Arrays and matrices as they are, other sequences as lists."""
    return items if getattr(items, "ndim", 0) else list(items)


def k_best(problem: AdaptedProblem, f: Scorer, X: Iterable[Any], k: int) -> list[list[tuple[float, Any]]]:
    """The k best outputs of each example with their scores, best first; fewer where there are no more."""
    if problem.k_best is None:
        raise TypeError(
            f"{problem.name} has no search for more than the best output: use predict, or give the problem a "
            "function k_best(f, x, k)"
        )
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, but it is {k!r}")
    return [problem.k_best(f, x, int(k)) for x in X]


def best_and_margin(found: Iterable[Sequence[tuple[float, Any]]]) -> np.ndarray:
    """(n, 2): the best score of each example, and by how much it exceeds the second, inf if there is none.

    `found` has the two best outputs of each, with their scores.
    """
    rows = []
    for (score, _), *others in found:
        rows.append((score, score - others[0][0] if others else math.inf))
    return np.array(rows, dtype=float).reshape(-1, 2)
