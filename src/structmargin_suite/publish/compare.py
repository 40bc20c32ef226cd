"""Two folders of results side by side: the same to the byte outside what is volatile, or number by number.

Volatile is what a clock, a memory meter or a machine decides: timings.csv, the bundles of clocks and traces,
logs, benchmarks, figures whose names end in _time, the sums of these, the marked blocks of pages, the
statements marked volatile, and a snapshot's record. A snapshot holds fewer files, a page of its own
and notices in place of some pictures: only what it truly holds is compared.

Two numbers are the same within a relative 1e-6. They differ within the tolerance where both are means
over runs and three standard errors of their difference cover it; a number without spread has one percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from structmargin_suite.publish.page.marks import volatile_blocks
from structmargin_suite.publish.snapshot import RECORD
from structmargin_suite.storage.csv_files import csv_bytes, read_csv, read_csv_lines
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.layout import BENCHMARKS, CLOCKS, LOGS
from structmargin_suite.storage.seal import SEAL

STATEMENTS, PAGES = "statements.csv", (".html", ".md")
_VOLATILE_FILES = ("timings.csv", SEAL, RECORD)
SAME = 1e-6
ERRORS = 3.0
WITHOUT_SPREAD = 0.01
AROUND = 30
TOLERANCES = (
    f"the same: to a relative {SAME:g}; within: {ERRORS:g} standard errors of the difference, "
    f"or {WITHOUT_SPREAD:.0%} where there is no spread"
)


class Difference(NamedTuple):
    """One number, or one file, that is not the same in both folders."""

    where: str
    first: Any
    second: Any
    within: bool

    def __str__(self) -> str:
        judgement = "within" if self.within else "differs"
        return f"{self.where}: {_short(self.first)} and {_short(self.second)}, {judgement}"


class Comparison(NamedTuple):
    """What was compared, number by number: how many, what differs, and what else a reader should know."""

    total: int
    differences: list[Difference]
    notes: list[str]


def stable(folder: Path) -> dict[str, bytes]:
    """The files of a results folder by relative name, without anything volatile in them."""
    contents = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or _is_left_out(path, name.split("/")):
            continue
        data = path.read_bytes()
        if path.suffix in PAGES:
            data = volatile_blocks().sub("", data.decode("utf-8")).encode("utf-8")
        elif name == STATEMENTS:
            columns, rows = read_csv_lines(path)
            verdicts = [dict(zip(columns, row, strict=True)) for row in rows]
            data = csv_bytes([row for row in verdicts if row.get("volatile") != "true"], columns)
        contents[name] = data
    return contents


def _is_left_out(path: Path, steps: list[str]) -> bool:
    """Whether a file is not compared: `steps` are the folders and the name below the results folder."""
    beside = any(step.startswith(".") or step in (LOGS, BENCHMARKS, "snapshot") for step in steps)
    named = path.name in _VOLATILE_FILES or path.name.endswith(CLOCKS)
    return beside or named or path.stem.endswith("_time")


def exact(first: Path, second: Path) -> list[Difference]:
    """Files that are not the same to the byte outside what is volatile."""
    files, other_files = stable(first), stable(second)
    names = {*files, *other_files}
    for folder, held in ((first, files), (second, other_files)):
        if (folder / RECORD).is_file():
            replaced = {*read_json(folder / RECORD, ("replaced",))["replaced"]}
            names &= {name for name in held if not name.endswith(PAGES[0])} - replaced
    result = []
    for name in sorted(names):
        a, b = files.get(name), other_files.get(name)
        if a != b:
            result.append(Difference(name, *_where_apart(a, b), False))
    return result


def _where_apart(a: bytes | None, b: bytes | None) -> tuple[str, str]:
    """The first place where two files differ, with the line; for pictures and arrays, their sizes."""
    if a is None or b is None or b"\0" in a + b:
        texts = [f"{len(x)} bytes" if x is not None else "missing" for x in (a, b)]
    else:
        first = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        line = a.count(b"\n", 0, first) + 1
        around = slice(max(0, first - AROUND), first + AROUND)
        texts = [f"line {line} {x[around].decode('utf-8', errors='replace')!r}" for x in (a, b)]
    return texts[0], texts[1]


def numbers(first: Path, second: Path, tolerance: float | None = None) -> Comparison:
    """Every value of every tidy table, and every verdict, that is in one folder or the other.

    With a `tolerance`, two numbers are within it where they differ by no more than this share of the larger
    one, or of 1, whatever their spread; without, as the module says.

    Where an experiment ran at different scales, what only one scale has is left out, with a note.
    """
    differences: list[Difference] = []
    notes: list[str] = []
    count = 0
    for name in sorted(_experiments(first) | _experiments(second)):
        scales = [_scale(folder / name) for folder in (first, second)]
        if None in scales:
            lacking = (first, second)[scales.index(None)]
            notes.append(f"{name}: no results in {lacking}")
            continue
        if scales[0] != scales[1]:
            notes.append(f"{name}: scale {scales[0]} in {first}, {scales[1]} in {second}; common rows only")
        values, other_values = values_of(first / name), values_of(second / name)
        for key in dict.fromkeys([*values, *other_values]):
            if (key not in values or key not in other_values) and scales[0] != scales[1]:
                continue
            count += 1
            pair = values.get(key), other_values.get(key)
            differences += _difference(f"{name}/{', '.join(key)}", *pair, tolerance)
    verdicts = [_verdicts(folder) for folder in (first, second)]
    for key in dict.fromkeys([*verdicts[0], *verdicts[1]]):
        count += 1
        texts = [known.get(key, "missing") for known in verdicts]
        if texts[0] != texts[1]:
            where = ", ".join(word for word in key if word)
            differences.append(Difference(f"statement {where}", texts[0], texts[1], False))
    return Comparison(count, differences, notes)


def _difference(
    where: str, row: dict[str, Any] | None, twin: dict[str, Any] | None, tolerance: float | None
) -> Iterator[Difference]:
    a, b = (None if each is None else each["value"] for each in (row, twin))
    if row is None or twin is None:
        yield Difference(where, "missing" if row is None else a, "missing" if twin is None else b, False)
    elif a is None or b is None:
        if a != b:
            yield Difference(where, a, b, False)
    elif abs(a - b) > SAME * max(1.0, abs(a)):
        errors = math.hypot(standard_error(row), standard_error(twin))
        allowed = ERRORS * errors if errors > 0.0 else WITHOUT_SPREAD * max(abs(a), abs(b))
        if tolerance is not None:
            allowed = tolerance * max(1.0, abs(a), abs(b))
        yield Difference(where, a, b, abs(a - b) <= allowed)


def _experiments(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("*/summary.json")} - {"snapshot"}


def _scale(folder: Path) -> str | None:
    path = folder / "summary.json"
    return str(read_json(path, ("scale",))["scale"]) if path.is_file() else None


def values_of(folder: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of all tidy tables of an experiment, by table and keys."""
    rows = {}
    for path in sorted(folder.glob("*.csv")):
        for key, row in (_tidy(path) or {}).items():
            rows[(path.stem, *key)] = row
    return rows


def _verdicts(folder: Path) -> dict[tuple[str, ...], str]:
    """Verdicts by statement, reading and data."""
    path = folder / STATEMENTS
    if not path.is_file():
        return {}
    rows = read_csv(path)
    keys = ("id", "reading", "data")
    if rows and not {*keys, "verdict"} <= set(rows[0]):
        raise DamagedFile(path, f"the file has no columns {', '.join(keys)} and verdict")
    return {tuple(row[key] for key in keys): row["verdict"] for row in rows}


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _tidy(path: Path) -> dict[tuple[str, ...], dict[str, Any]] | None:
    """The rows of a tidy table by their keys, or None for another kind of file."""
    rows = read_csv(path)
    numbers = ("value", "spread", "runs")
    if not rows or not {"measure", "spread_kind", *numbers} <= set(rows[0]):
        return None
    keys = list(rows[0])[: list(rows[0]).index("value")]
    try:
        return {
            tuple(row[key] for key in keys): {
                "spread_kind": row["spread_kind"],
                **{name: float(row[name]) if row[name] else None for name in numbers},
            }
            for row in rows
        }
    except ValueError as error:
        raise DamagedFile(path, f"value, spread and runs must be numbers ({error})") from None


def standard_error(row: dict[str, Any]) -> float:
    """The standard error of a tidy table's value; 0 where it has no spread."""
    if row["spread"] is None:
        return 0.0
    return float(row["spread"]) / (math.sqrt(row["runs"]) if row["spread_kind"] == "sd" else 1.0)
