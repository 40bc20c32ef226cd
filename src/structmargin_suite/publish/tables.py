"""Tables: means and spreads over repetitions, beside the paper's numbers.

A table is kept tidy as CSV (the key columns, measure, data, value, spread, spread_kind, runs, published)
and shown wide as Markdown and LaTeX: a row for each combination of keys, for each measure ours, the
paper's and the difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from structmargin_suite.methods.method import Method

Row = dict[str, Any]
TAIL = ("data", "value", "spread", "spread_kind", "runs", "published")


def columns(spec: Mapping[str, Any]) -> list[str]:
    """The columns of a table's CSV."""
    return [*spec["keys"], *_split_column(spec), "measure", *TAIL]


def _split_column(spec: Mapping[str, Any]) -> list[str]:
    return ["split"] if "splits" in spec else []


def _measured(spec: Mapping[str, Any], runs: Sequence[Row]) -> list[tuple[Row, str, str]]:
    """(the split as a key or nothing, measure, name among the metrics) in the order of a table.

    With `splits`, f1 is train_f1, then test_f1; what is not of a split (constraints) stands with the first.
    """
    found_as = spec.get("found_as", {})
    if "splits" not in spec:
        return [({}, measure, found_as.get(measure, measure)) for measure in spec["measures"]]
    found: list[tuple[Row, str, str]] = []
    for split in spec["splits"]:
        for measure in spec["measures"]:
            metric = f"{split}_{found_as.get(measure, measure)}"
            if any(metric in run for run in runs):
                found.append(({"split": split}, measure, metric))
            elif split == spec["splits"][0]:
                found.append(({"split": split}, measure, found_as.get(measure, measure)))
    return found


def tidy(
    spec: Mapping[str, Any],
    runs: Sequence[Row],
    published: Sequence[Row],
    methods: Mapping[str, Method],
) -> list[Row]:
    """One row for each combination of keys, data and measure, values in the order in which runs have them.

    `runs` are all runs of the table's study, failed and skipped ones included: they count for nothing,
    but a combination of which no run is left still has its row, with no value. Runs that have a `measure`
    among their settings, the one they are trained for, count for that one alone.
    """
    keys, found_as = list(spec["keys"]), spec.get("found_as", {})
    kind = spec.get("spread", "se")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for run in runs:
        if "methods" in spec and run["method"] not in spec["methods"]:
            continue
        if not run["chosen"]:
            continue
        groups.setdefault((*(run.get(found_as.get(key, key)) for key in keys), run["data"]), []).append(run)
    seen = [list(dict.fromkeys(values)) for values in zip(*groups, strict=True)]
    ordered = sorted(
        groups, key=lambda group: [column.index(value) for column, value in zip(seen, group, strict=True)]
    )
    result = []
    for group in ordered:
        for split, measure, metric in _measured(spec, runs):
            members = [run for run in groups[group] if run.get("measure") in (None, measure)]
            values = [
                run[metric] for run in members if run["status"] == "done" and run.get(metric) is not None
            ]
            if not values and not any(run["status"] != "done" for run in members):
                continue
            row: Row = {
                **dict(zip(keys, group, strict=False)),
                **split,
                "measure": measure,
                "data": group[-1],
            }
            row.update(value=None, spread=None, spread_kind=None, runs=len(values))
            if values:
                row["value"] = float(np.mean(values))
            if len(values) > 1:
                deviation = float(np.std(values, ddof=1))
                row["spread"] = deviation / math.sqrt(len(values)) if kind == "se" else deviation
                row["spread_kind"] = kind
            row["published"] = _published(row, [*keys, *split], published, methods)
            result.append(row)
    return result


def _published(row: Row, keys: Sequence[str], published: Sequence[Row], methods: Mapping[str, Method]) -> Any:
    """The paper's number for a row, or None."""
    wanted = {key: row.get(key) for key in [*keys, "measure"]}
    if "method" in wanted:
        method = str(wanted["method"])
        wanted["method"] = methods[method].published_as if method in methods else method
    for candidate in published:
        shared = [key for key in wanted if key in candidate]
        if shared and all(candidate[key] == wanted[key] for key in shared):
            return candidate["value"]
    return None


def wide(
    spec: Mapping[str, Any], rows: Sequence[Row], methods: Mapping[str, Method]
) -> tuple[list[str], list[list[str]]]:
    """(header, cells as text) for reading: keys and data, then ours, the paper's and the difference.

    The paper's columns are there only for measures that the paper gives; `data` only where it differs.
    """
    keys = list(spec["keys"])
    several = len({row["data"] for row in rows}) > 1
    heads = [*keys, *(["data"] if several else [])]
    measured = list(
        dict.fromkeys(
            (split, measure)
            for split in spec.get("splits", [None])
            for measure in spec["measures"]
            if any((row.get("split"), row["measure"]) == (split, measure) for row in rows)
        )
    )
    compared = {
        (split, m): any(
            (r.get("split"), r["measure"]) == (split, m) and r["published"] is not None for r in rows
        )
        for split, m in measured
    }
    header = [*heads]
    for column in measured:
        name = column[1] if column[0] is None else f"{column[1]} ({column[0]})"
        header += [name, f"{name}, paper", "difference"] if compared[column] else [name]
    lines: dict[tuple[Any, ...], dict[tuple[Any, str], Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row.get(key) for key in heads), {})[row.get("split"), row["measure"]] = row
    cells = []
    for line, by_measure in lines.items():
        texts = [named(key, value, methods) for key, value in zip(heads, line, strict=True)]
        for column in measured:
            texts += _cells(by_measure.get(column), digits(spec, column[1]), compared[column])
        cells.append(texts)
    return header, cells


def _cells(row: Row | None, places: int, compared: bool) -> list[str]:
    ours = "" if row is None else _ours(row, places)
    if not compared:
        return [ours]
    if row is None or row["published"] is None:
        return [ours, "", ""]
    difference = "" if row["value"] is None else f"{row['value'] - row['published']:+.{places}f}"
    return [ours, f"{row['published']:.{places}f}", difference]


def _ours(row: Row, places: int) -> str:
    if row["value"] is None:
        return "no run"
    spread = "" if row["spread"] is None else f" ± {row['spread']:.{places}f}"
    return f"{row['value']:.{places}f}{spread}"


def digits(spec: Mapping[str, Any], measure: str) -> int:
    """Decimal places of a measure in the wide table."""
    return int(spec.get("digits", {}).get(measure, 1))


def named(key: str, value: Any, methods: Mapping[str, Method]) -> str:
    """A key's value as text; methods by their labels."""
    if key == "method":
        return methods[str(value)].label if str(value) in methods else str(value)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def markdown(caption: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its caption above."""
    lines = [caption, "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in cells]
    return "\n".join(lines) + "\n"


def latex(caption: str, label: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in LaTeX (needs the booktabs package)."""
    lines = [
        "\\begin{table}",
        f"\\caption{{{escaped(caption)}}}",
        f"\\label{{tab:{label}}}",
        "\\begin{tabular}{" + "l" + "r" * (len(header) - 1) + "}",
        "\\toprule",
        " & ".join(escaped(text) for text in header) + " \\\\",
        "\\midrule",
    ]
    lines += [" & ".join(escaped(text) for text in line) + " \\\\" for line in cells]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}"]) + "\n"


def escaped(text: str) -> str:
    """Text with LaTeX's own characters made plain."""
    for plain, tex in (
        ("\\", "\\textbackslash "),
        ("&", "\\&"),
        ("%", "\\%"),
        ("#", "\\#"),
        ("_", "\\_"),
        ("±", "$\\pm$"),
    ):
        text = text.replace(plain, tex)
    return text
