"""The separation oracle: for some examples, the most violated constraint each (Algorithm 1, lines 5-6).

It prefers a problem's batched search and otherwise calls `augmented_argmax` example by example, on as many
jobs as there are (`parallel/`); what comes back as `Cuts` has been checked, so that a wrong Delta or Psi is
named at once instead of becoming a wrong model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from structmargin.adapted import AdaptedProblem
from structmargin.cuts import Cuts, SearchError, require_losses
from structmargin.formulation import Cost
from structmargin.parts import Parts
from structmargin.problem import SEARCH_COST, Scorer
from structmargin.training.parallel.jobs import Jobs
from structmargin.training.parallel.searches import searches_of

SHARE = 2**14
"""So many examples are searched at a time: the rows of their outputs are in memory together."""


class Separation:
    """Searches over fixed training data, counted and timed: `seconds` is CPU time, all jobs together."""

    def __init__(
        self,
        problem: AdaptedProblem,
        X: Sequence[Any],
        Y: Sequence[Any],
        H: Cost,
        explicit: bool,
        jobs: Jobs | None = None,
    ) -> None:
        self.jobs = Jobs(1) if jobs is None else jobs
        self.problem, self.X, self.Y, self.H, self.explicit = problem, X, Y, H, explicit
        self.n = len(Y)
        self.all = np.arange(self.n)
        self.exact = problem.exact
        self.calls = 0
        self.seconds = 0.0
        self.largest_b = 0.0  # the largest offset t(Delta) met so far: the unit of slacks
        batch = problem.batch(X, Y)
        self._batch = batch if batch is not None and (explicit or batch.takes_kernels) else None
        self._searches = searches_of(problem, self._batch, X, Y, H, explicit, self.jobs)
        at_truth = problem.losses(X, Y, Y)
        for i in np.flatnonzero(at_truth != 0.0)[:1]:
            raise SearchError(f"Delta(y, y) of example {i} is {at_truth[i]:g}; a loss must be 0 at the truth")

    def __call__(self, f: Scorer, indices: np.ndarray, most: int = 1) -> Cuts:
        """The best output for each example under the scorer f, and up to `most` where that is cheap."""
        began = time.process_time() + self.jobs.seconds
        cuts = self.answers(f, indices, most)
        self.calls += len(indices)
        self.largest_b = max(self.largest_b, float(cuts.b.max(initial=0.0)))
        self.seconds += time.process_time() + self.jobs.seconds - began
        return cuts

    def answers(self, f: Scorer, indices: np.ndarray, most: int = 1) -> Cuts:
        """The same, neither counted nor timed."""
        return self._searches.search(f, indices, self.H, most)

    def shares(self, f: Scorer, most: int = 1) -> Iterator[Cuts]:
        """The same for all examples, at most SHARE of them at a time where the search makes rows."""
        size = SHARE if self.explicit and self.problem.factors is None else self.n
        for first in range(0, self.n, size):
            yield self(f, self.all[first : first + size], most)

    @property
    def parts(self) -> Parts | None:
        """The parts of the examples, where explicit features are sums over these and a batch knows them."""
        return None if self._batch is None or not self.explicit else self._batch.parts

    @property
    def one_by_one(self) -> bool:
        """Whether examples are searched one by one, in Python."""
        return self._batch is None

    @property
    def cost(self) -> int:
        """What a search costs, in steps over the cuts held for an example (`AdaptedBatch.search_cost`)."""
        return SEARCH_COST if self._batch is None else self._batch.search_cost

    def with_rows(self, cuts: Cuts) -> Cuts:
        """The same cuts with their rows of deltaPsi, made now if the search left them out."""
        if cuts.rows is not None:
            return cuts
        assert self._batch is not None
        return cuts._replace(rows=self._batch.rows(cuts.example, cuts.outputs))

    def margins(self, f: Scorer, indices: np.ndarray, outputs: Sequence[Any]) -> np.ndarray | None:
        """f(x, y) - f(x, ybar) of the examples by the rows of their batch; None where it makes no rows."""
        if self._batch is None or not self._batch.makes_rows or not self.explicit:
            return None
        return np.asarray(self._batch.rows(indices, outputs) @ f.w)

    def loss(self, i: int, ybar: Any) -> float:
        """Delta(y_i, ybar), which must be finite and at least 0."""
        x = self.X[i] if self.problem.delta_takes_x else None
        loss = self.problem.loss(x, self.Y[i], ybar)
        require_losses(np.array([i]), np.array([loss]))
        return loss

    def losses(self, outputs: Sequence[Any]) -> np.ndarray:
        """The loss of one output per example."""
        losses = self.problem.losses(self.X, self.Y, outputs)
        require_losses(self.all, losses)
        return losses

    def predictions(self, f: Scorer) -> Sequence[Any]:
        """The problem's own prediction for every example."""
        return self._searches.argmax(f)
