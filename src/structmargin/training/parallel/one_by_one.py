"""The searches of a problem written in Python, example by example: what a worker process is sent once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.adapted import AdaptedProblem, as_row
from structmargin.cuts import Cuts, SearchError
from structmargin.formulation import Cost
from structmargin.problem import Scorer
from structmargin.scorer import LinearScorer, k_best


class OneByOne:
    """A problem with its inputs and, for the augmented search, its outputs and H.

    Nothing is shared between examples, so the answer for one is the same whatever else is searched, and
    wherever.
    """

    def __init__(
        self, problem: AdaptedProblem, X: Any, Y: Sequence[Any] | None, H: Cost | None, explicit: bool
    ) -> None:
        self.problem, self.X, self.Y, self.H, self.explicit = problem, X, Y, H, explicit
        self._truths: dict[int, sp.csr_matrix] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_truths": {}}

    def search(self, f: Scorer, indices: np.ndarray) -> Cuts:
        """The most violated output of each example, as `Cuts` that have been checked."""
        assert self.Y is not None and self.H is not None
        f = _read_only(f)
        outputs, losses, rows = [], np.empty(len(indices)), []
        for j, i in enumerate(map(int, indices)):
            x, y = self.X[i], self.Y[i]
            if self.explicit and i not in self._truths:
                self._truths[i] = self._psi_of_truth(i)
            try:
                outputs.append(self.problem.augmented_argmax(f, x, y, self.H))
                losses[j] = self.problem.loss(x, y, outputs[j])
                if self.explicit:
                    rows.append(self._truths[i] - as_row(self.problem.psi(x, outputs[j])))
            except SearchError as error:
                raise SearchError(f"in the search for example {i}: {error}") from error
            except Exception as error:
                answer = f", which returned {outputs[j]!r}" if len(outputs) > j else ""
                error.add_note(f"raised in the search for example {i}{answer}")
                raise
        if rows:
            matrix = sp.vstack(rows, format="csr")
            return Cuts.of_search(self.H, indices, outputs, losses, matrix @ f.w, matrix)
        pairs = zip(indices, outputs, strict=True)
        margins = np.array([f(self.X[i], self.Y[i]) - f(self.X[i], ybar) for i, ybar in pairs])
        return Cuts.of_search(self.H, indices, outputs, losses, margins)

    def argmax(self, f: Scorer, indices: np.ndarray) -> list[Any]:
        """The best-scoring output of each example."""
        return [self.problem.argmax(f, self.X[i]) for i in indices]

    def k_best(self, f: Scorer, indices: np.ndarray, k: int) -> list[list[tuple[float, Any]]]:
        """The k best-scoring outputs of each example, with their scores."""
        return k_best(self.problem, f, (self.X[i] for i in indices), k)

    def _psi_of_truth(self, i: int) -> sp.csr_matrix:
        assert self.Y is not None
        try:
            psi = as_row(self.problem.psi(self.X[i], self.Y[i]))
        except Exception as error:
            error.add_note(f"raised by psi of example {i} at its truth")
            raise
        if not np.all(np.isfinite(psi.data)):
            raise SearchError(f"Psi of example {i} at its truth is not finite: look for NaN in its x")
        return psi


def _read_only(f: Scorer) -> Scorer:
    """The scorer with weights that somebody else's search cannot change by accident."""
    if not isinstance(f, LinearScorer):
        return f
    w = f.w.view()
    w.flags.writeable = False
    return LinearScorer(f.problem, w)
