"""What moved: an experiment's tables beside those of its run before, of a variant, or of the snapshot.

Every number of every tidy table that both have is compared. How far it moved is said in standard errors of
the difference: run by run, where both have the same runs behind it, which then share data and seeds; else
the two are taken as independent.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from structmargin_suite.planning.config import ConfigError, changes, short, unknown
from structmargin_suite.publish import tables
from structmargin_suite.publish.compare import SAME, standard_error, values_of
from structmargin_suite.results import ExperimentResults, Results
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.frames import write_frame
from structmargin_suite.storage.layout import Layout, ScaleLayout

BEFORE, SNAPSHOT = "before", "snapshot"
ERRORS = 2.0
"""Standard errors from which on a number has moved by more than chance may explain."""
MOST = 40
"""Rows that are shown; the others are counted."""


class Move(NamedTuple):
    """A number of a table that is not what it was; `errors` is None where it has no spread."""

    table: str
    keys: tuple[str, ...]
    before: float | None
    now: float | None
    errors: float | None

    @property
    def row(self) -> tuple[str, ...]:
        """As a row of the table that is shown."""
        both = self.before is not None and self.now is not None
        moved = f"{self.now - self.before:+.4g}" if both else "-"  # type: ignore[operator]
        errors = "-" if self.errors is None else f"{self.errors:+.1f}"
        return (
            f"{self.table}: {', '.join(self.keys)}",
            _number(self.before),
            _number(self.now),
            moved,
            errors,
        )


class Moves(NamedTuple):
    """How many numbers both folders have, which moved, and how many only one of them has."""

    total: int
    moves: list[Move]
    only_before: int
    only_now: int


def moves(before: ExperimentResults, now: ExperimentResults) -> Moves:
    """The tables of two runs, number by number; what moved most, in standard errors, first."""
    old, new = values_of(before.folder), values_of(now.folder)
    paired = _by_run(before, now)
    both = [key for key in new if key in old]
    moved = [move for key in both for move in _move(key, old[key], new[key], paired.get(key))]
    moved.sort(key=lambda move: -abs(move.errors) if move.errors is not None else 0.0)
    return Moves(len(both), moved, len(old) - len(both), len(new) - len(both))


Row = dict[str, Any]
"""The value, spread, spread_kind and runs of a tidy table's row."""


def _move(key: tuple[str, ...], old: Row, new: Row, difference: Row | None) -> Iterator[Move]:
    a, b = old["value"], new["value"]
    if a == b or (a is not None and b is not None and abs(a - b) <= SAME * max(1.0, abs(a))):
        return
    errors = math.hypot(standard_error(old), standard_error(new))
    if difference is not None and old["runs"] == new["runs"] == difference["runs"]:
        errors = standard_error(difference)
    known = a is not None and b is not None and errors > 0.0
    yield Move(key[0], key[1:], a, b, (b - a) / errors if known else None)


def _by_run(before: ExperimentResults, now: ExperimentResults) -> dict[tuple[str, ...], Row]:
    """The tables of what each run that both have measures more than its twin."""
    with tempfile.TemporaryDirectory() as folder:
        for table, spec in now.config["tables"].items():
            if table in before.config["tables"]:
                runs = _differences(spec, *(each.select(spec["study"], done=False) for each in (before, now)))
                tidied = tables.tidy(spec, runs, now.published(table), now.methods)
                write_frame(Path(folder, f"{table}.csv"), tidied)
        return values_of(Path(folder))


def _differences(spec: Mapping[str, Any], old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """The runs of a table that both have, with the difference in place of each measure."""
    both = new.merge(old, on="run", suffixes=("", " before"))
    keys = {spec.get("found_as", {}).get(key, key) for key in spec["keys"]}
    for _, _, metric in tables.measured_columns(spec, new):
        if metric in new and metric in old and metric not in keys:
            both[metric] = both[metric].astype("float64") - both[f"{metric} before"].astype("float64")
        else:  # a new measure, or a setting: nothing to pair
            both[metric] = math.nan
    finished = both["status before"] == "done"
    return both.assign(
        chosen=both["chosen"] & both["chosen before"], status=both["status"].where(finished, "failed")
    )


def comparison(root: Path, name: str, other: str | None = None) -> list[str]:
    """An experiment beside `other`, as lines of text.

    Parameters
    ----------
    root : Path
        The project's folder.
    name : str
        An experiment with results.
    other : {"before", "snapshot"} or str, optional
        The run before the last change, the committed one, or another experiment; by default the first of the
        former two that exists at the same scale.
    """
    results = Results(root)
    if name not in results:
        raise _without_results(root, name, list(results))
    now = results[name]
    scale = str(now.summary["scale"])
    folder, called = _other(root, name, scale, other)
    then = ExperimentResults(root, name if other is None or other not in results else other, folder)
    if (its_scale := then.summary["scale"]) != scale:
        raise DataError(f"{called} is of scale {its_scale}, {name} of scale {scale}: run both at one scale")
    heads = ("then", "now") if other in (None, BEFORE, SNAPSHOT) else (str(other), name)
    changed = _config_changes(then.config, now.config)
    return [
        f"{name} (scale {scale}) beside {called}",
        *(f"  config: {change}" for change in changed),
        *_lines(moves(then, now), heads),
    ]


def _lines(compared: Moves, heads: tuple[str, str]) -> list[str]:
    """What moved as a table whose columns of numbers have these heads, and a sentence."""
    moved, lines = compared.moves, []
    if moved:
        lines = _aligned([("", *heads, "moved", "standard errors"), *(move.row for move in moved[:MOST])])
    if len(moved) > MOST:
        lines.append(f"and {len(moved) - MOST} more")
    far = sum(move.errors is not None and abs(move.errors) > ERRORS for move in moved)
    lines.append(
        f"{len(moved)} of {compared.total} numbers moved, {far} by more than {ERRORS:g} standard errors "
        "of the difference"
    )
    for count, where in zip((compared.only_before, compared.only_now), heads, strict=True):
        lines += [f"{count} numbers are there only {where}"] if count else []
    return lines


def _other(root: Path, name: str, scale: str, other: str | None) -> tuple[Path, str]:
    """(folder, how it is called) of what an experiment is compared with."""
    layout = ScaleLayout(root, scale)
    places = {
        BEFORE: (layout.before(name), "the run before the last change"),
        SNAPSHOT: (layout.snapshot / name, "the snapshot"),
    }
    if other is None:
        for folder, called in places.values():
            summary = folder / "summary.json"
            if summary.is_file() and read_json(summary, ("scale",))["scale"] == scale:
                return folder, called
        raise DataError(
            f"no earlier run of {name} is kept, and the snapshot has none at scale {scale}: change something "
            "and run again, or name another experiment"
        )
    folder, called = places.get(other, (Layout(root).shown(other), other))
    if not (folder / "summary.json").is_file():
        if other in places:
            raise DataError(f"there are no results of {name} from {called}")
        raise _without_results(root, other, [*places, *(each for each in Results(root) if each != name)])
    return folder, called


def _without_results(root: Path, name: str, known: Sequence[str]) -> Exception:
    """What to raise for a name that has no results: a config that was not run yet, or a wrong name."""
    configured = sorted(path.stem for path in (root / "configs").glob("*.yaml") if path.stem != "suite")
    if name in configured:
        return DataError(f"there are no results of {name} yet: run make reproduce ONLY={name} first")
    return ConfigError(unknown(name, known or configured, "experiment"))


def _config_changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What the two configs say differently."""
    changed = changes(old, new)
    gone = [(key, value, None) for key, missing, value in changes(new, old) if missing is None]
    return [
        f"{'.'.join(key)}: {short(was)} -> {short(now)}"
        for key, was, now in [*changed, *gone]
        if key[0] not in ("title", "about", "extends")
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]
