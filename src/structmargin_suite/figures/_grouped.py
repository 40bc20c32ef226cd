"""Means and standard errors of runs along one setting, as figures want them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Curve(NamedTuple):
    """x in increasing order, mean and standard error of the measure at each."""

    x: list[float]
    mean: list[float]
    se: list[float]


def curve(rows: Sequence[dict[str, Any]], key: str, measure: str) -> Curve:
    """The curve of a measure along a setting over all rows given."""
    groups: dict[float, list[float]] = {}
    for row in rows:
        if row.get(key) is not None and row.get(measure) is not None:
            groups.setdefault(row[key], []).append(float(row[measure]))
    x = sorted(groups)
    spread = [
        float(np.std(groups[at], ddof=1)) / math.sqrt(len(groups[at])) if len(groups[at]) > 1 else 0.0
        for at in x
    ]
    return Curve([float(at) for at in x], [float(np.mean(groups[at])) for at in x], spread)


def published(rows: Sequence[dict[str, Any]], key: str, **wanted: Any) -> tuple[list[float], list[float]]:
    """(x, value) of the paper's numbers with the wanted keys, along one of them."""
    found = sorted(
        (row[key], row["value"]) for row in rows if all(row.get(k) == v for k, v in wanted.items())
    )
    return [x for x, _ in found], [value for _, value in found]
