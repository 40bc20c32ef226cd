"""Runs of Algorithm 1 (jmlr05 Section 3.2): those that add constraints as the paper or its program does."""

from __future__ import annotations

import pandas as pd

from structmargin_suite.analysis.estimates import NotTestable
from structmargin_suite.results import column

ALGORITHM_1 = ("n_slack_a", "n_slack_b", "staged")
"""Solvers whose counts can be compared with the paper's: its two variants, and its program's schedule."""


def by_algorithm_1(runs: pd.DataFrame) -> pd.DataFrame:
    """Those of some runs that were trained by Algorithm 1."""
    chosen = runs[column(runs, "solver", "").isin(ALGORITHM_1)]
    if len(runs) and chosen.empty:
        raise NotTestable(
            "these runs add all violated constraints of a pass together, which is no algorithm of the paper: "
            "their counts and times cannot be compared"
        )
    return chosen
