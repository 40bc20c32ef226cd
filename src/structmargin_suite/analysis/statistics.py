"""The few statistics that checks use, with Student's t over repetitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from structmargin_suite.results import column

CONFIDENCE = 0.95
SIGNIFICANCE = 0.05  # p-values below it are significant, after Holm's correction where there are several


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


def p_value_above(values: Sequence[float], than: float = 0.0) -> float:
    """One-sided p-value of a t-test that the mean is not above `than`."""
    x = np.asarray(values, dtype=float) - than
    if len(x) < 2:
        return 1.0
    deviation = float(x.std(ddof=1))
    if deviation == 0.0:
        return 0.0 if x.mean() > 0 else 1.0
    return float(stdtr(len(x) - 1, -float(x.mean()) / (deviation / math.sqrt(len(x)))))


def holm(p_values: Mapping[Any, float]) -> dict[Any, float]:
    """Holm's adjusted p-values for several tests at once."""
    order = sorted(p_values, key=lambda name: p_values[name])
    adjusted: dict[Any, float] = {}
    largest = 0.0
    for rank, name in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[name]))
        adjusted[name] = largest
    return adjusted


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


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


def paired(first: pd.DataFrame, second: pd.DataFrame, key: str, measure: str) -> dict[Any, list[float]]:
    """measure(first) - measure(second) at each value of a setting, pair by pair of repetitions."""
    pair = [key, "repetition"]
    left, right = (
        runs.assign(repetition=column(runs, "repetition", 0))[[*pair, measure]] for runs in (first, second)
    )
    both = left.merge(right.drop_duplicates(pair, keep="last"), on=pair, suffixes=("", " of the second"))
    both["difference"] = both[measure].astype(float) - both[f"{measure} of the second"].astype(float)
    return {value: group.tolist() for value, group in both.groupby(key)["difference"]}


def p_value_mcnemar(right: np.ndarray, other: np.ndarray) -> float:
    """One-sided exact p-value of the hypothesis that the first is not right more often.

    It counts the items (sentences, documents) on which the two differ, and is 1 where there are none.
    """
    from scipy.stats import binomtest

    won, lost = int(np.sum(right & ~other)), int(np.sum(other & ~right))
    return float(binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0


def p_value_lower(values: np.ndarray, others: np.ndarray) -> float:
    """One-sided p-value of Wilcoxon's signed rank test, pair by pair, that the first values are not lower.

    It is 1 where all pairs are equal.
    """
    from scipy.stats import wilcoxon

    if np.array_equal(values, others):
        return 1.0
    return float(wilcoxon(values, others, alternative="less", method="approx").pvalue)
