"""Where Psi lives: explicit features (`Linear`) or a joint kernel on pairs (`Joint`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structmargin.adapted import AdaptedProblem, as_row
from structmargin.dual.stores.gram_store import GramStore
from structmargin.dual.stores.part_store import PartStore
from structmargin.dual.stores.product_store import ProductStore
from structmargin.dual.stores.row_store import RowStore
from structmargin.dual.stores.tensor_store import TensorStore
from structmargin.parts import Parts
from structmargin.scorer import ClassScorer, KernelScorer, LinearScorer


class RowSums:
    """Updates w += Psi(x, y) - Psi(x, yhat), and the average of w over time, by explicit rows."""

    def __init__(self, problem: AdaptedProblem, n_weights: int) -> None:
        self.problem = problem
        self.w = np.zeros(n_weights)
        self._timed = np.zeros_like(self.w)
        self._scorer = LinearScorer(problem, self.w)

    def scorer(self) -> LinearScorer:
        return self._scorer

    def add(self, i: int, x: Any, y: Any, yhat: Any, step: int, weight: float) -> None:
        for sign, output in ((weight, y), (-weight, yhat)):
            row = as_row(self.problem.psi(x, output))
            np.add.at(self.w, row.indices, sign * row.data)
            np.add.at(self._timed, row.indices, sign * (step - 1) * row.data)

    def final(self) -> LinearScorer:
        return LinearScorer(self.problem, self.w.copy())

    def average(self, steps: int) -> LinearScorer:
        """Mean of w after each of the steps: an update at step t counts in steps t, t+1, ..."""
        return LinearScorer(self.problem, self.w - self._timed / max(steps, 1))


class PairSums:
    """The same updates as coefficients of a kernel expansion."""

    def __init__(self, problem: AdaptedProblem, kernel: Any) -> None:
        self.problem, self.kernel = problem, kernel
        self._X: list[Any] = []
        self._Y: list[Any] = []
        self._coef: list[float] = []
        self._step: list[int] = []

    def scorer(self) -> KernelScorer:
        return KernelScorer(self.problem, self.kernel, self._X, self._Y, np.asarray(self._coef))

    def add(self, i: int, x: Any, y: Any, yhat: Any, step: int, weight: float) -> None:
        self._X += [x, x]
        self._Y += [y, yhat]
        self._coef += [weight, -weight]
        self._step += [step, step]

    def final(self) -> KernelScorer:
        return self._fixed(np.asarray(self._coef))

    def _fixed(self, coef: np.ndarray) -> KernelScorer:
        """A scorer that later updates do not change."""
        return KernelScorer(self.problem, self.kernel, list(self._X), list(self._Y), coef)

    def average(self, steps: int) -> KernelScorer:
        share = 1.0 - (np.asarray(self._step) - 1.0) / max(steps, 1)
        return self._fixed(np.asarray(self._coef) * share)


class ClassSums:
    """The same updates for a kernel with product structure: each input once, with coefficients of classes."""

    def __init__(self, problem: AdaptedProblem, kernel: Any, n_classes: int) -> None:
        self.problem, self.kernel = problem, kernel
        self._place: dict[int, int] = {}
        self._X: list[Any] = []
        self._coef, self._timed = np.zeros((0, n_classes)), np.zeros((0, n_classes))

    def scorer(self) -> ClassScorer:
        return ClassScorer(self.problem, self.kernel, self._X, self._coef[: len(self._X)])

    def add(self, i: int, x: Any, y: Any, yhat: Any, step: int, weight: float) -> None:
        if i not in self._place:
            self._place[i] = len(self._X)
            self._X.append(x)
            if len(self._X) > len(self._coef):
                more = np.zeros((max(64, len(self._coef)), self._coef.shape[1]))
                self._coef, self._timed = (np.vstack([part, more]) for part in (self._coef, self._timed))
        for sign, output in ((weight, y), (-weight, yhat)):
            self._coef[self._place[i], int(output)] += sign
            self._timed[self._place[i], int(output)] += sign * (step - 1)

    def final(self) -> ClassScorer:
        return ClassScorer(self.problem, self.kernel, list(self._X), self._coef[: len(self._X)].copy())

    def average(self, steps: int) -> ClassScorer:
        mean = (self._coef - self._timed / max(steps, 1))[: len(self._X)]
        return ClassScorer(self.problem, self.kernel, list(self._X), mean)


class Linear:
    """Explicit features: Psi as the problem gives it."""

    explicit = True
    kernel: Any = None

    def bound(self, X: Any, Y: Any) -> Linear:
        """Itself: features learn from training pairs where the problem does."""
        return self

    def store(
        self,
        problem: AdaptedProblem,
        X: Sequence[Any],
        Y: Sequence[Any],
        per_example: bool = True,
        parts: Parts | None = None,
    ) -> RowStore | TensorStore:
        """Where to keep cuts: by factors or parts, if known and a cut is of one example; or as rows."""
        if per_example and problem.factors is not None:
            return TensorStore(problem, X, Y)
        if per_example and parts is not None:
            return PartStore(problem, problem.n_weights(X, Y), parts)
        return RowStore(problem, problem.n_weights(X, Y))

    def accumulator(self, problem: AdaptedProblem, X: Sequence[Any], Y: Sequence[Any]) -> RowSums:
        return RowSums(problem, problem.n_weights(X, Y))


class Joint:
    """A joint kernel on pairs: an object of `kernels.py`, or one with the same methods."""

    explicit = False

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self._factors = getattr(kernel, "factors", None)

    def bound(self, X: Any, Y: Any) -> Joint:
        """The space with what its kernel learns from training pairs; itself where that has no `bind`."""
        bind = getattr(self.kernel, "bind", None)
        return self if bind is None else Joint(bind(X, Y))

    def store(
        self,
        problem: AdaptedProblem,
        X: Sequence[Any],
        Y: Sequence[Any],
        per_example: bool = True,
        parts: Parts | None = None,
    ) -> GramStore | ProductStore:
        """Where to keep cuts: as classes if problem and kernel have factors; or by their inner products."""
        if per_example and self._factors is not None and problem.factors is not None:
            return ProductStore(problem, self.kernel, X, Y)
        return GramStore(problem, self.kernel, X, Y)

    def accumulator(
        self, problem: AdaptedProblem, X: Sequence[Any], Y: Sequence[Any]
    ) -> PairSums | ClassSums:
        if self._factors is not None and problem.factors is not None:
            return ClassSums(problem, self.kernel, problem.factors(X)[1].shape[0])
        return PairSums(problem, self.kernel)
