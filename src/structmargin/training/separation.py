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

from structmargin.cuts import Cuts, SearchError
from structmargin.formulation import Cost
from structmargin.problem import AdaptedProblem, Scorer, as_row

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
        batch = problem.batch(X, Y)
        self._batch = batch if batch is not None and (explicit or batch.takes_kernels) else None
        self._truths: dict[int, sp.csr_matrix] = {}
        at_truth = problem.losses(X, Y, Y)
        for i in np.flatnonzero(at_truth != 0.0)[:1]:
            raise SearchError(f"Delta(y, y) of example {i} is {at_truth[i]:g}; a loss must be 0 at the truth")

    def __call__(self, f: Scorer, indices: np.ndarray, most: int = 1) -> Cuts:
        """The best output for each example under the scorer f, and up to `most` where that is cheap."""
        began = time.process_time()
        if self._batch is None:
            cuts = self._one_by_one(f, indices)
        elif most > 1:
            cuts = self._batch.search_many(f, indices, self.H, most)
        else:
            cuts = self._batch.search(f, indices, self.H)
        self.calls += len(indices)
        self.seconds += time.process_time() - began
        return cuts

    def shares(self, f: Scorer, most: int = 1) -> Iterator[Cuts]:
        """The same for all examples, at most SHARE of them at a time where the search makes rows."""
        size = SHARE if self.explicit and self.problem.factors is None else self.n
        for first in range(0, self.n, size):
            yield self(f, self.all[first : first + size], most)

    def with_rows(self, cuts: Cuts) -> Cuts:
        """The same cuts with their rows of deltaPsi, made now if the search left them out."""
        if cuts.rows is not None:
            return cuts
        assert self._batch is not None
        return cuts._replace(rows=self._batch.rows(cuts.example, cuts.outputs))

    def _one_by_one(self, f: Scorer, indices: np.ndarray) -> Cuts:
        outputs, losses, rows = [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            if self.explicit and i not in self._truths:
                self._truths[i] = as_row(self.problem.psi(x, y))
                if not np.all(np.isfinite(self._truths[i].data)):
                    raise SearchError(f"Psi of example {i} at its truth is not finite: look for NaN in its x")
            ybar = self.problem.augmented_argmax(f, x, y, self.H)
            outputs.append(ybar)
            losses[j] = self.problem.loss(x, y, ybar)
            if self.explicit:
                rows.append(self._truths[i] - as_row(self.problem.psi(x, ybar)))
        if rows:
            matrix = sp.vstack(rows, format="csr")
            return Cuts.of_search(self.H, indices, outputs, losses, matrix @ f.w, matrix)
        pairs = zip(indices, outputs, strict=True)
        margins = np.array([f(self.X[i], self.Y[i]) - f(self.X[i], ybar) for i, ybar in pairs])
        return Cuts.of_search(self.H, indices, outputs, losses, margins)


def require_no_better_cut(violators: Cuts, relaxed: np.ndarray) -> None:
    """An exact search must return at least the H of every cut already held for its example."""
    asked, place = np.unique(violators.example, return_inverse=True)
    best = np.zeros(len(asked))
    np.maximum.at(best, place, violators.H)
    short = relaxed[asked] - best
    worst = int(np.argmax(short))
    if short[worst] > 1e-6 * (1.0 + float(np.abs(relaxed).max())):
        i = int(asked[worst])
        raise SearchError(
            f"the search for example {i} returned H = {best[worst]:.6g}, but an output found earlier has "
            f"H = {relaxed[i]:.6g}: augmented_argmax does not maximise H (or delta and psi disagree with "
            "it); if the search is approximate, set `exact = False` on the problem"
        )
