"""Means and standard errors of runs along one setting, as figures need them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.analysis.statistics import values_along
from structmargin_suite.results import has_value


class MeanCurve(NamedTuple):
    """x in increasing order, mean and standard error of the measure at each."""

    x: list[float]
    mean: list[float]
    se: list[float]


def mean_curve(runs: pd.DataFrame, key: str, measure: str) -> MeanCurve:
    """The curve of a measure along a setting over all runs given."""
    groups = values_along(runs, key, measure)
    return MeanCurve(
        [float(x) for x in groups],
        [float(np.mean(values)) for values in groups.values()],
        [standard_error(values) for values in groups.values()],
    )


def standard_error(values: np.ndarray) -> float:
    """The standard error of a mean; 0 for one value, so that nothing is drawn."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def published(papers: pd.DataFrame, key: str, **wanted: Any) -> tuple[list[float], list[float]]:
    """(x, value) of the paper's numbers with the wanted keys, along one of them."""
    for name, value in wanted.items():
        papers = papers[has_value(papers, name, value)]
    if papers.empty:
        return [], []
    ordered = papers.sort_values([key, "value"])
    return ordered[key].tolist(), ordered["value"].tolist()
