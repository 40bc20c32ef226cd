"""Means, slopes and 95% intervals over repetitions, as figures and effects use them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from structmargin_suite.analysis.estimates import NotTestable
from structmargin_suite.results import column

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean over repetitions and its two-sided 95% confidence interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3g} (95% CI {self.low:.3g} to {self.high:.3g})"


def interval(values: Sequence[float]) -> Interval:
    """Mean and confidence interval; without a second value the interval is everything."""
    x = np.asarray(values, dtype=float)
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, -math.inf, math.inf, len(x))
    half = float(stdtrit(len(x) - 1, 0.5 + CONFIDENCE / 2)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(mean, mean - half, mean + half, len(x))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def logarithms(values: pd.Series) -> pd.Series:
    """The logarithms of counts or times; a time of 0 is one that a clock was too coarse for."""
    if (values <= 0.0).any():
        raise NotTestable("some of these trainings are too short for the clock")
    return pd.Series(np.log(values.astype(float)))


def values_along(runs: pd.DataFrame, key: str, measure: str) -> dict[Any, np.ndarray]:
    """The values of a measure at each value of a setting, in increasing order of the setting.

    Runs that lack either are left out.
    """
    measured = runs[column(runs, key).notna() & column(runs, measure).notna()]
    if measured.empty:
        return {}
    return {value: group.to_numpy(float) for value, group in measured.groupby(key)[measure]}


def means_along(runs: pd.DataFrame, key: str, measure: str) -> dict[Any, float]:
    """The mean of a measure at each value of a setting, in increasing order of the setting."""
    return {value: float(np.mean(values)) for value, values in values_along(runs, key, measure).items()}


def slopes(runs: pd.DataFrame, key: str, measure: str) -> list[float]:
    """The log-log slope of a measure along a setting, one for each repetition."""
    measured = runs[column(runs, measure).notna()]
    return [
        slope(group[key].tolist(), group[measure].tolist())
        for _, group in measured.groupby(column(measured, "repetition", 0), sort=False)
        if group[key].nunique() > 1
    ]
