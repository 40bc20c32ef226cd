"""The separation oracle: for some examples, the most violated constraint each (Algorithm 1, lines 5-6).

It prefers a problem's batched search and otherwise calls `augmented_argmax` example by example;
it turns outputs into cuts (a, b), and checks what came back, so that a wrong Delta or Psi is
named at once instead of becoming a wrong model.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.dual.stores import Cuts
from structmargin.formulation import Cost
from structmargin.problem import AdaptedProblem, Found, as_row


class SearchError(ValueError):
    """A user's Psi, Delta or argmax breaks its contract."""


class Violators(NamedTuple):
    """Candidate cuts: a = scale * deltaPsi, b, and their H at the scorer searched with."""

    example: np.ndarray  # (m,) int
    outputs: Any  # a sequence of m outputs
    losses: np.ndarray  # (m,)
    scale: np.ndarray  # (m,)
    b: np.ndarray  # (m,)
    rows: sp.csr_matrix | None  # (m, d) unscaled
    H: np.ndarray  # (m,)

    def top(self, n: int) -> np.ndarray:
        """The largest H of each of n examples, all of which were searched."""
        if len(self.H) == n:
            return self.H
        best = np.full(n, -np.inf)
        np.maximum.at(best, self.example, self.H)
        return best

    def take(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Cuts]:
        """(blocks, b, losses, cuts) of the chosen rows, as `Dual.add` wants them."""
        outputs = [self.outputs[j] for j in chosen]
        rows = None if self.rows is None else self.rows[chosen]
        cuts = Cuts(self.scale[chosen], self.example[chosen], outputs, rows)
        return self.example[chosen], self.b[chosen], self.losses[chosen], cuts


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
        for i in range(self.n):
            at_truth = float(problem.delta(Y[i], Y[i]))
            if at_truth != 0.0:
                raise SearchError(
                    f"Delta(y, y) of example {i} is {at_truth:g}; a loss must be 0 at the truth"
                )

    def __call__(self, f: Any, indices: np.ndarray, most: int = 1) -> Violators:
        """The best output for each example under the scorer f, and up to `most` where that is cheap."""
        began = time.process_time()
        if self._batch is None:
            found = self._one_by_one(f, indices)
        elif most > 1:
            found = self._batch.search_many(f, indices, self.H, most)
        else:
            found = self._batch.search(f, indices, self.H)
        example = np.asarray(indices if found.example is None else found.example)
        losses = np.asarray(found.losses, dtype=float)
        wrong = np.flatnonzero(~(losses >= 0.0) | ~np.isfinite(losses))
        if len(wrong):
            i = int(example[wrong[0]])
            raise SearchError(f"Delta of example {i} is {losses[wrong[0]]:g}; a loss must be finite and >= 0")
        gaps = self._gaps(f, example, found)
        values = np.asarray(self.H(losses, gaps))
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            i = int(example[wrong[0]])
            raise SearchError(f"the score of example {i} is not finite; look for NaN or infinity in its Psi")
        self.calls += len(indices)
        self.seconds += time.process_time() - began
        return Violators(
            example, found.outputs, losses, self.H.s(losses), self.H.t(losses), found.rows, values
        )

    def _gaps(self, f: Any, example: np.ndarray, found: Found) -> np.ndarray:
        """f(x, y) - f(x, ybar), from the rows if given: what is judged is what the cut will be."""
        if found.rows is not None:
            return found.rows @ f.w
        if found.gaps is not None:
            return found.gaps
        pairs = zip(example, found.outputs, strict=True)
        return np.array([f(self.X[i], self.Y[i]) - f(self.X[i], ybar) for i, ybar in pairs])

    def rows(self, violators: Violators) -> sp.csr_matrix:
        """The unscaled rows of deltaPsi, made now if the search left them out."""
        if violators.rows is not None:
            return violators.rows
        assert self._batch is not None
        return self._batch.rows(violators.example, violators.outputs)

    def _one_by_one(self, f: Any, indices: np.ndarray) -> Found:
        outputs, losses, rows = [], np.empty(len(indices)), []
        for j, i in enumerate(indices):
            x, y = self.X[i], self.Y[i]
            if self.explicit and i not in self._truths:
                self._truths[i] = as_row(self.problem.psi(x, y))
                if not np.all(np.isfinite(self._truths[i].data)):
                    raise SearchError(f"Psi of example {i} at its truth is not finite: look for NaN in its x")
            ybar = self.problem.augmented_argmax(f, x, y, self.H)
            outputs.append(ybar)
            losses[j] = self.problem.delta(y, ybar)
            if self.explicit:
                rows.append(self._truths[i] - as_row(self.problem.psi(x, ybar)))
        return Found(outputs, losses, sp.vstack(rows, format="csr") if rows else None)


def require_no_better_cut(violators: Violators, relaxed: np.ndarray) -> None:
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
