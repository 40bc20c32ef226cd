"""Tables: means and spreads over repetitions, beside the paper's numbers.

A table is kept tidy as CSV (the key columns, measure, data, value, spread, spread_kind, runs, published,
asked, distance, distance_unit) and shown wide as Markdown and LaTeX: a row for each combination of keys, for
each measure ours and the paper's and, where the data are the paper's own, how far they are apart: in standard
errors of both where both are known, else in points. A mean over fewer runs than were asked for says so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import Reading
from structmargin_suite.publish import escapes
from structmargin_suite.results import column
from structmargin_suite.storage.frames import is_missing, records

TAIL = (
    "data", "value", "spread", "spread_kind", "runs", "published", "asked", "distance", "distance_unit",
)  # fmt: skip
ERRORS, POINTS = "standard errors", "points"
"""Units of a distance."""


class MeasuredColumn(NamedTuple):
    """A measure of a table: its split (train, test, ...) or None, its name, and its column in runs.csv."""

    split: str | None
    measure: str
    metric: str


def columns(spec: Mapping[str, Any]) -> list[str]:
    """The columns of a table's CSV."""
    split = ["split"] if "splits" in spec else []
    return [*spec["keys"], *split, "measure", *TAIL]


def _measured(spec: Mapping[str, Any], runs: pd.DataFrame) -> list[MeasuredColumn]:
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
) -> pd.DataFrame:
    """One row for each combination of keys, data and measure, values in the order in which runs have them.

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
    heads = pd.DataFrame({key: column(shown, spec.get("found_as", {}).get(key, key)) for key in keys})
    heads["data"] = shown["data"]
    # Numbered as they appear, so that groups sorted by these numbers stand in the order of the runs.
    ranks = pd.DataFrame(
        {f"rank of {key}": pd.factorize(heads[key], use_na_sentinel=False)[0] for key in heads},
        index=heads.index,
    )
    trained_for = column(shown, "measure")
    done = shown["status"] == "done"
    asked = shown["status"] != "skipped"
    pieces = []
    for place, (split, measure, metric) in enumerate(_measured(spec, runs)):
        values = column(shown, metric).astype("float64").where(done)
        piece = heads.assign(
            split=split, measure=measure, value=values, unfinished=~done, asked=asked, place=place
        )
        pieces.append(piece.join(ranks)[trained_for.isna() | (trained_for == measure).fillna(False)])
    table = pd.concat(pieces)
    groups = table.groupby([*ranks, "place"], sort=True)
    firsts = groups.head(1).set_index([*ranks, "place"]).sort_index()
    kind = spec.get("spread", "se")
    table = firsts.assign(
        value=groups["value"].agg(_mean),
        spread=groups["value"].agg(_standard_error if kind == "se" else _deviation),
        runs=groups["value"].count().astype("Int64"),
        unfinished=groups["unfinished"].any(),
        asked=groups["asked"].sum().astype("Int64"),
    )
    table = table[(table["runs"] > 0) | table["unfinished"]].reset_index(drop=True)
    table["spread_kind"] = pd.Series(kind, index=table.index, dtype="string").where(table["runs"] > 1)
    printed = _published(table, columns(spec)[: -len(TAIL)], published, methods)
    table = table.assign(published=printed["value"]).join(_distances(table, printed, own))
    text = dict.fromkeys(("split", "measure", "data", "distance_unit"), "string")
    return table.astype(text)[columns(spec)]


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
    """The paper's number for each row and its standard error, or NaN: of the first published row equal in all
    keys it has."""
    shared = [key for key in keys if key in published]
    numbers: dict[tuple[Any, ...], tuple[float, float]] = {}
    for row in records(published) if shared else []:
        known = row.get("spread_kind") == "se" and row.get("spread") is not None
        se = row["spread"] if known else math.nan
        numbers.setdefault(tuple(row[key] for key in shared), (row["value"], se))
    found = []
    for row in records(table[shared]) if shared else [{}] * len(table):
        if row.get("method") in methods:
            row["method"] = methods[row["method"]].published_as
        found.append(numbers.get(tuple(row.values()), (math.nan, math.nan)))
    return pd.DataFrame(found, index=table.index, columns=["value", "se"], dtype="float64")


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


def wide(
    spec: Mapping[str, Any],
    table: pd.DataFrame,
    methods: Mapping[str, Method],
    readings: Mapping[str, Reading] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """(header, cells as text) to be read: keys and data, then ours, the paper's and their distance.

    The paper's columns are there only for measures that the paper gives, the distance only where the data
    are the paper's own; `data` only where it differs.
    """
    heads = [*spec["keys"], *(["data"] if table["data"].nunique() > 1 else [])]
    order = [(split, measure) for split in spec.get("splits", [None]) for measure in spec["measures"]]
    measured = [None if is_missing(split) else split for split in column(table, "split")]
    place = pd.Series(
        [order.index(pair) for pair in zip(measured, table["measure"], strict=True)],
        index=table.index,
        dtype=int,
    )
    lines = table.groupby(heads, sort=False, dropna=False)
    places = [digits(spec, measure) for measure in table["measure"]]
    cells = pd.DataFrame(
        [_cells(row, n) for row, n in zip(records(table), places, strict=True)],
        index=table.index, columns=["ours", "paper", "distance"], dtype="object",
    )  # fmt: skip
    pivot = cells.assign(line=lines.ngroup(), place=place).pivot(index="line", columns="place").fillna("")
    header, shown = list(heads), []
    for position in sorted(set(place)):
        split, measure = order[position]
        name = measure if split is None else f"{measure} ({split})"
        here = table[place == position]
        heading = {"ours": name}
        if here["published"].notna().any():
            heading["paper"] = f"{name}, paper"
        if column(here, "distance").notna().any():
            heading["distance"] = "distance"
        header += heading.values()
        shown += [(kind, position) for kind in heading]
    names = records(lines.head(1)[heads])
    return header, [
        [*(named(key, value, methods, readings or {}) for key, value in keys.items()), *texts]
        for keys, texts in zip(names, pivot[shown].to_numpy().tolist(), strict=True)
    ]


def _cells(row: Mapping[str, Any], places: int) -> tuple[str, str, str]:
    """(ours, the paper's, their distance) of a row of a table as text."""
    value, spread, published = row["value"], row["spread"], row["published"]
    if value is None:
        ours = "no run"
    else:
        ours = f"{value:.{places}f}" + ("" if spread is None else f" ± {spread:.{places}f}") + _lacking(row)
    if published is None:
        return ours, "", ""
    return ours, f"{published:.{places}f}", _distance(row, places)


def _distance(row: Mapping[str, Any], places: int) -> str:
    """How far ours is from the paper's: as it is, or in standard errors; nothing for other data."""
    distance = row.get("distance")
    if distance is None:
        return ""
    return f"{distance:+.1f} se" if row["distance_unit"] == ERRORS else f"{distance:+.{places}f}"


def _lacking(row: Mapping[str, Any]) -> str:
    """How many runs a mean covers, where it covers fewer than were asked for."""
    asked = row.get("asked")
    return f" ({row['runs']} of {asked} runs)" if asked is not None and row["runs"] < asked else ""


def digits(spec: Mapping[str, Any], measure: str) -> int:
    """Decimal places of a measure in the wide table."""
    return int(spec.get("digits", {}).get(measure, 1))


def named(key: str, value: Any, methods: Mapping[str, Method], readings: Mapping[str, Reading]) -> str:
    """A key's value as text; methods and readings by their labels."""
    labelled: dict[str, Mapping[str, Method | Reading]] = {"method": methods, "reading": readings}
    if str(value) in labelled.get(key, {}):
        return labelled[key][str(value)].label
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def markdown(caption: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its caption above."""
    lines = [escapes.markdown(caption), "", _row(header), "|" + "---|" * len(header)]
    return "\n".join([*lines, *(_row(line) for line in cells)]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escapes.markdown_cell(text) for text in cells) + " |"


def latex(caption: str, label: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in LaTeX (needs the booktabs package)."""
    lines = [
        "\\begin{table}",
        f"\\caption{{{escapes.latex(caption)}}}",
        f"\\label{{tab:{label}}}",
        "\\begin{tabular}{" + "l" + "r" * (len(header) - 1) + "}",
        "\\toprule",
        " & ".join(escapes.latex(text) for text in header) + " \\\\",
        "\\midrule",
    ]
    lines += [" & ".join(escapes.latex(text) for text in line) + " \\\\" for line in cells]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}"]) + "\n"
