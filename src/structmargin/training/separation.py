"""The separation oracle: for some examples, the most violated constraint each (Algorithm 1, lines 5-6).

It prefers a problem's batched search and otherwise calls `augmented_argmax` example by example;
what comes back as `Cuts` has been checked, so that a wrong Delta or Psi is named at once instead of
becoming a wrong model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts, SearchError, require_losses
from structmargin.formulation import Cost
from structmargin.parts import Parts
from structmargin.problem import AdaptedProblem, Scorer, as_row
from structmargin.scorer import LinearScorer

SHARE = 2**14
"""So many examples are searched at a time: the rows of their outputs are in memory together."""


class Separation:
    """Searches over fixed training data, counted and timed."""

    def __init__(
        self, problem: AdaptedProblem, X: Sequence[Any], Y: Sequence[Any], H: Cost, explicit: bool
    ) -> None:
        self.problem, self.X, self.Y, self.H, self.explicit = problem, X, Y, H, explicit
        self.n = len(Y)
        self.all = np.arange(self.n)
        self.exact = problem.exact
        self.calls = 0
        self.seconds = 0.0
        self.largest_b = 0.0  # the largest offset t(Delta) met so far: the unit of slacks
        batch = problem.batch(X, Y)
        self._batch = batch if batch is not None and (explicit or batch.takes_kernels) else None
        self._truths: dict[int, sp.csr_matrix] = {}
        at_truth = problem.losses(X, Y, Y)
        for i in np.flatnonzero(at_truth != 0.0)[:1]:
            raise SearchError(f"Delta(y, y) of example {i} is {at_truth[i]:g}; a loss must be 0 at the truth")

    def __call__(self, f: Scorer, indices: np.ndarray, most: int = 1) -> Cuts:
        """The best output for each example under the scorer f, and up to `most` where that is cheap."""
        began = time.process_time()
        cuts = self.answers(f, indices, most)
        self.calls += len(indices)
        self.largest_b = max(self.largest_b, float(cuts.b.max(initial=0.0)))
        self.seconds += time.process_time() - began
        return cuts

    def answers(self, f: Scorer, indices: np.ndarray, most: int = 1) -> Cuts:
        """The same, neither counted nor timed."""
        if self._batch is None:
            return self._one_by_one(f, indices)
        if most > 1:
            return self._batch.search_many(f, indices, self.H, most)
        return self._batch.search(f, indices, self.H)

    def shares(self, f: Scorer, most: int = 1) -> Iterator[Cuts]:
        """The same for all examples, at most SHARE of them at a time where the search makes rows."""
        size = SHARE if self.explicit and self.problem.factors is None else self.n
        for first in range(0, self.n, size):
            yield self(f, self.all[first : first + size], most)

    @property
    def parts(self) -> Parts | None:
        """The parts of the examples, where explicit features are sums over these and a batch knows them."""
        return None if self._batch is None or not self.explicit else self._batch.parts

    def with_rows(self, cuts: Cuts) -> Cuts:
        """The same cuts with their rows of deltaPsi, made now if the search left them out."""
        if cuts.rows is not None:
            return cuts
        assert self._batch is not None
        return cuts._replace(rows=self._batch.rows(cuts.example, cuts.outputs))

    def loss(self, i: int, ybar: Any) -> float:
        """Delta(y_i, ybar), which must be finite and at least 0."""
        loss = self.problem.loss(self.X[i], self.Y[i], ybar)
        require_losses(np.array([i]), np.array([loss]))
        return loss

    def losses(self, outputs: Sequence[Any]) -> np.ndarray:
        """The loss of one output per example."""
        losses = self.problem.losses(self.X, self.Y, outputs)
        require_losses(self.all, losses)
        return losses

    def predictions(self, f: Scorer) -> Sequence[Any]:
        """The problem's own prediction for every example."""
        if self._batch is not None:
            return self._batch.argmax(f)
        return [self.problem.argmax(f, self.X[i]) for i in range(self.n)]

    def _one_by_one(self, f: Scorer, indices: np.ndarray) -> Cuts:
        f = _read_only(f)
        outputs, losses, rows = [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
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

    def _psi_of_truth(self, i: int) -> sp.csr_matrix:
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
