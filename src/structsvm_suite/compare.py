"""Two folders of results side by side: the same to the byte outside the volatile parts, or number by number.

Volatile is what a clock, a memory meter or a machine decides: timings.csv, trace.csv, clock.json, logs,
figures whose names end in _time, the marked blocks of the page, the evidence of claims marked volatile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from structsvm_suite.files import read_csv
from structsvm_suite.page import volatile_blocks
from structsvm_suite.results import number

_VOLATILE_FILES = ("timings.csv", "trace.csv", "clock.json")
SAME = 1e-6


class Difference(NamedTuple):
    """One number, or one file, that is not the same in both folders."""

    where: str
    first: Any
    second: Any
    within: bool

    def __str__(self) -> str:
        judgement = "within the spread" if self.within else "differs"
        return f"{self.where}: {self.first} and {self.second}, {judgement}"


def stable(folder: Path, volatile_claims: frozenset[str] = frozenset()) -> dict[str, bytes]:
    """The files of a results folder by relative name, without anything volatile in them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        parts = name.split("/")
        hidden = any(part.startswith(".") for part in parts)
        if (
            not path.is_file()
            or hidden
            or "logs" in parts
            or "snapshot" in parts
            or path.name in _VOLATILE_FILES
        ):
            continue
        if path.stem.endswith("_time"):
            continue
        data = path.read_bytes()
        if path.suffix == ".html":
            data = volatile_blocks().sub("", data.decode("utf-8")).encode("utf-8")
        elif name == "claims.csv":
            lines = data.decode("utf-8").splitlines(keepends=True)
            data = "".join(line for line in lines if line.split(",")[0] not in volatile_claims).encode(
                "utf-8"
            )
        found[name] = data
    return found


def exact(first: Path, second: Path, volatile_claims: frozenset[str] = frozenset()) -> list[Difference]:
    """Files that are not the same to the byte outside volatile parts."""
    one, two = stable(first, volatile_claims), stable(second, volatile_claims)
    result = []
    for name in sorted({*one, *two}):
        a, b = one.get(name), two.get(name)
        if a != b:
            told = [f"{len(x)} bytes" if x is not None else "missing" for x in (a, b)]
            result.append(Difference(name, told[0], told[1], False))
    return result


def numbers(first: Path, second: Path) -> list[Difference]:
    """Values of tidy tables that differ; `within` where three standard errors of both cover it."""
    return list(_numbers(first, second))


def _numbers(first: Path, second: Path) -> Iterator[Difference]:
    for path in sorted(first.glob("*/*.csv")):
        other = second / path.relative_to(first)
        rows = _tidy(path)
        if rows is None:
            continue
        others = _tidy(other) if other.is_file() else {}
        for key, row in rows.items():
            name = f"{path.relative_to(first).as_posix()} {', '.join(key)}"
            twin = (others or {}).get(key)
            if twin is None:
                yield Difference(name, row["value"], "missing", False)
            elif row["value"] is None or twin["value"] is None:
                if row["value"] != twin["value"]:
                    yield Difference(name, row["value"], twin["value"], False)
            elif abs(row["value"] - twin["value"]) > SAME * max(1.0, abs(row["value"])):
                allowed = 3.0 * math.hypot(_standard_error(row), _standard_error(twin))
                yield Difference(
                    name, row["value"], twin["value"], abs(row["value"] - twin["value"]) <= allowed
                )


def _tidy(path: Path) -> dict[tuple[str, ...], dict[str, Any]] | None:
    """The rows of a tidy table by their keys, or None for another kind of file."""
    rows = read_csv(path)
    if not rows or "spread_kind" not in rows[0] or "measure" not in rows[0]:
        return None
    keys = list(rows[0])[: list(rows[0]).index("value")]
    return {
        tuple(row[key] for key in keys): {name: number(text) for name, text in row.items()} for row in rows
    }


def _standard_error(row: dict[str, Any]) -> float:
    if row["spread"] is None:
        return 0.0
    return float(row["spread"]) / (math.sqrt(row["runs"]) if row["spread_kind"] == "sd" else 1.0)
