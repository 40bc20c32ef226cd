"""Tables: means and spreads over repetitions, or the largest value, beside the paper's numbers.

A table is kept tidy as CSV: the key columns, measure, data, value, spread, spread_kind, runs, published,
asked, distance, distance_unit, printed. Where the data are the paper's own it says how far ours and the
paper's are apart: in standard errors of both where both are known, else in points; `printed` is the paper's
number as the paper prints it. `layout` makes the form that people read of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.methods.method import Method
from structmargin_suite.publish.tables.cells import ERRORS, POINTS
from structmargin_suite.results import column
from structmargin_suite.storage.frames import is_missing, records

TAIL = (
    "data", "value", "spread", "spread_kind", "runs", "published", "asked", "distance", "distance_unit",
    "printed",
)  # fmt: skip


class MeasuredColumn(NamedTuple):
    """A measure of a table: its split (train, test, ...) or None, its name, and its column in runs.csv."""

    split: str | None
    measure: str
    metric: str


def columns(spec: Mapping[str, Any]) -> list[str]:
    """The columns of a table's CSV."""
    split = ["split"] if "splits" in spec else []
    return [*spec["keys"], *split, "measure", *TAIL]


def measured_columns(spec: Mapping[str, Any], runs: pd.DataFrame) -> list[MeasuredColumn]:
    """What a table shows, in its order.

    With `splits`, f1 is train_f1, then test_f1; what is not of a split (constraints) stands with the first.
    """
    metrics = {measure: spec.get("found_as", {}).get(measure, measure) for measure in spec["measures"]}
    if "splits" not in spec:
        return [MeasuredColumn(None, measure, metric) for measure, metric in metrics.items()]
    measured = []
    for split in spec["splits"]:
        for measure, metric in metrics.items():
            if f"{split}_{metric}" in runs:
                measured.append(MeasuredColumn(split, measure, f"{split}_{metric}"))
            elif split == spec["splits"][0]:
                measured.append(MeasuredColumn(split, measure, metric))
    return measured


def tidy(
    spec: Mapping[str, Any],
    runs: pd.DataFrame,
    published: pd.DataFrame,
    methods: Mapping[str, Method],
    own: Collection[str] = (),
    listed: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> pd.DataFrame:
    """One row for each combination of keys, data and measure.

    Values of a key stand as in `listed`, which has them by setting; those that are not there come after, in
    the order in which runs have them.

    The argument `runs` has all runs of the table's study, failed and skipped ones included: they count for
    nothing, but a combination of which no run is left still has its row, with no value. The column `runs`
    counts those in a mean, `asked` those that were planned and not skipped. Runs that have a `measure`
    among their settings, the one they are trained for, count for that one alone. Rows of data that are
    the paper's `own` have a distance from its number.
    """
    shown = runs[runs["chosen"]]
    if "methods" in spec:
        shown = shown[shown["method"].isin(spec["methods"])]
    keys = list(spec["keys"])
    settings = {key: spec.get("found_as", {}).get(key, key) for key in keys}
    heads = pd.DataFrame({key: column(shown, setting) for key, setting in settings.items()})
    heads["data"] = shown["data"]
    ranks = pd.DataFrame(
        {f"rank of {key}": _ranks(heads[key], listed.get(settings.get(key, key), ())) for key in heads},
        index=heads.index,
    )
    trained_for = column(shown, "measure")
    done = shown["status"] == "done"
    asked = shown["status"] != "skipped"
    pieces = []
    for place, (split, measure, metric) in enumerate(measured_columns(spec, runs)):
        values = column(shown, metric).astype("float64").where(done)
        piece = heads.assign(
            split=split, measure=measure, value=values, unfinished=~done, asked=asked, place=place
        )
        pieces.append(piece.join(ranks)[trained_for.isna() | (trained_for == measure).fillna(False)])
    table = pd.concat(pieces)
    groups = table.groupby([*ranks, "place"], sort=True)
    firsts = groups.head(1).set_index([*ranks, "place"]).sort_index()
    kind = spec.get("spread", "se")
    largest = spec.get("shows") == "largest"
    table = firsts.assign(
        value=groups["value"].max() if largest else groups["value"].agg(_mean),
        spread=math.nan if largest else groups["value"].agg(_standard_error if kind == "se" else _deviation),
        runs=groups["value"].count().astype("Int64"),
        unfinished=groups["unfinished"].any(),
        asked=groups["asked"].sum().astype("Int64"),
    )
    table = table[(table["runs"] > 0) | table["unfinished"]].reset_index(drop=True)
    table["spread_kind"] = pd.Series(kind, index=table.index, dtype="string").where(
        (table["runs"] > 1) & (not largest)
    )
    printed = _published(table, columns(spec)[: -len(TAIL)], published, methods)
    table = table.assign(published=printed["value"], printed=printed["text"])
    table = table.join(_distances(table, printed, own))
    text = dict.fromkeys(("split", "measure", "data", "distance_unit", "printed"), "string")
    return table.astype(text)[columns(spec)]


def _ranks(values: pd.Series, listed: Sequence[Any]) -> np.ndarray:
    """The place of each value: as listed, then as they appear."""
    codes, found = pd.factorize(values, use_na_sentinel=False)
    known = {value: place for place, value in enumerate(listed)}
    places = [len(known) if is_missing(value) else known.get(value, len(known)) for value in found]
    return np.argsort(np.argsort(places, kind="stable"), kind="stable")[codes]


def _mean(values: pd.Series) -> float:
    """numpy's mean: that of groupby sums in another order, and can differ in the last digit."""
    known = values.dropna().to_numpy(float)
    return float(np.mean(known)) if len(known) else math.nan


def _deviation(values: pd.Series) -> float:
    known = values.dropna().to_numpy(float)
    return float(np.std(known, ddof=1)) if len(known) > 1 else math.nan


def _standard_error(values: pd.Series) -> float:
    return _deviation(values) / math.sqrt(max(1, values.count()))


def _published(
    table: pd.DataFrame,
    keys: Sequence[str],
    published: pd.DataFrame,
    methods: Mapping[str, Method],
) -> pd.DataFrame:
    """The paper's number for each row, its standard error and how it is printed, or nothing: of the first
    published row equal in all keys it has."""
    shared = [key for key in keys if key in published]
    numbers: dict[tuple[Any, ...], tuple[float, float, str | None]] = {}
    for row in records(published) if shared else []:
        known = row.get("spread_kind") == "se" and row.get("spread") is not None
        se = row["spread"] if known else math.nan
        numbers.setdefault(tuple(row[key] for key in shared), (row["value"], se, row.get("printed")))
    found = []
    for row in records(table[shared]) if shared else [{}] * len(table):
        if row.get("method") in methods:
            row["method"] = methods[row["method"]].published_as
        found.append(numbers.get(tuple(row.values()), (math.nan, math.nan, None)))
    numeric = dict.fromkeys(("value", "se"), "float64")
    return pd.DataFrame(found, index=table.index, columns=["value", "se", "text"]).astype(numeric)


def _distances(table: pd.DataFrame, printed: pd.DataFrame, own: Collection[str]) -> pd.DataFrame:
    """Ours minus the paper's for data that are its own, and the unit: standard errors of both, or points."""
    ours = table["spread"] / np.sqrt(table["runs"].astype("float64").clip(lower=1.0))
    ours = ours.where(table["spread_kind"] == "sd", table["spread"])
    both = np.hypot(ours, printed["se"])
    known = (both > 0.0).fillna(False)
    apart = (table["value"] - printed["value"]).where(table["data"].isin(list(own)))
    unit = pd.Series(np.where(known, ERRORS, POINTS), index=table.index, dtype="string")
    return pd.DataFrame(
        {"distance": (apart / both).where(known, apart), "distance_unit": unit.where(apart.notna())}
    )
