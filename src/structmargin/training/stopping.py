"""When a training may stop, and how exactly the relaxed problem has to be solved until then.

    gap_tol given             once the duality gap is certified to be at most gap_tol of the primal
    eps given                 the papers' criterion: no constraint is violated by more than eps, absolutely,
                              and w solves the problem over the cuts held
    neither, exact search     a relative gap of DEFAULT_GAP_TOL
    neither, approximate one  the papers' criterion with eps a share EPS_SHARE of the largest loss met

An approximate search certifies no gap, so that gap_tol cannot be asked for with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

DEFAULT_GAP_TOL = 1e-2
"""The relative gap of a training that is asked for nothing: the objective is then known to 1%."""
EPS_SHARE = 1e-2
"""Where no gap can be certified, eps is this share of the largest loss."""
MIN_VIOLATION_SHARE = 1e-6
"""With a relative gap to reach, a violation below this share of the largest loss is not worth a cut."""
GOAL_SHARE = 0.1
"""All violations that are passed over together may cost this share of the gap to reach."""
AT_ROUNDING = "has come as near as rounding allows: ask for less with a larger gap_tol"
"""Why a training ends whose relaxed problem is solved and whose search finds nothing more, above gap_tol."""


class Criterion(NamedTuple):
    """What decides: a relative gap (`gap_tol`), an absolute `eps`, or a share of the loss."""

    gap_tol: float | None
    eps: float | None

    @classmethod
    def of(cls, eps: float | None, gap_tol: float | None, exact: bool) -> Criterion:
        """The criterion that these settings ask for."""
        if gap_tol is not None and not exact:
            raise ValueError(
                "gap_tol asks for a certified gap, but the problem's search is approximate (exact = False): "
                "give eps instead"
            )
        if gap_tol is not None:
            return cls(gap_tol, None)
        if eps is not None:
            return cls(None, eps)
        return cls(DEFAULT_GAP_TOL if exact else None, None)

    def absolute(self, largest_loss: float) -> float:
        """The papers' eps, in units of a slack; `largest_loss` is the largest Delta^(1/p) met so far."""
        return EPS_SHARE * largest_loss if self.eps is None else self.eps


class InnerTolerance(NamedTuple):
    """How exactly a solver solves the relaxed problem, that over the cuts it holds, between two searches.

    The next search changes the relaxed problem, so solving it far more exactly than the outer gap is waste:
    a share `of_gap` of that gap will do. But where a search adds nothing the stopping criterion must be
    within reach: so there is a floor below which solving more exactly cannot matter, a share `of_eps` of
    the gap that eps allows, or `of_gap_tol` of the one that gap_tol allows.
    """

    of_gap: float
    of_eps: float
    of_gap_tol: float

    def after(self, gap: float, floor: float) -> float:
        """The relaxed gap to reach after a search that measured `gap`, which is infinite at w = 0."""
        return max(self.of_gap * gap, floor) if math.isfinite(gap) else floor
