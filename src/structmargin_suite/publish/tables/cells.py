"""A cell of a table: ours with its spread, the paper's as it prints it, and how far they are apart.

Ours and the paper's have their best in bold, each among the methods that are compared: those of the same
measure and the same keys. A mean over fewer runs than others of its group says so and is not compared. A
tint says how near ours is to the paper's, only where the data are the paper's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

ERRORS, POINTS = "standard errors", "points"
"""Units of a distance."""
NEAR, FAR = 2.0, 4.0
"""Up to two standard errors apart is near, beyond four is far."""
NEAR_SHARE, FAR_SHARE = 0.05, 0.2
"""The same as shares of the paper's number, where standard errors are not known."""
LOWEST = ("error", "loss", "unparsed", "gap", "slack")
HIGHEST = ("accuracy", "f1", "precision", "recall", "prbep", "roc", "q4", "q0")
"""Words in a measure's name that tell which value is best, where the config does not say."""
MANY_PLACES = 6
"""Decimal places beyond which a number is written by its power of ten."""
GROUPED = 10_000.0
"""From here on commas part the thousands of ours and of its spread."""
NO_RUN = "no run"


@dataclass(frozen=True)
class Cell:
    """What a cell shows, as text.

    Attributes
    ----------
    ours, spread, paper : str
        Our number, its spread, and the paper's number as it prints it; empty where there is none.
    lacking : str
        How many runs a mean covers, where it covers fewer than were asked for, or than others it stands with.
    best, paper_best : bool
        Whether ours and the paper's are the best of theirs.
    tint : {"", "near", "apart", "far"}
        How far ours is from the paper's; empty for data that are not the paper's own.
    distance : str
        The same as a number with its unit.
    """

    ours: str
    spread: str = ""
    paper: str = ""
    lacking: str = ""
    best: bool = False
    paper_best: bool = False
    tint: str = ""
    distance: str = ""

    @property
    def plain(self) -> str:
        """Ours and its spread in one line."""
        return self.ours + (f" ± {self.spread}" if self.spread else "") + self.lacking


def digits(spec: Mapping[str, Any], measure: str) -> int:
    """Decimal places of a measure."""
    return int(spec.get("digits", {}).get(measure, 1))


def direction(spec: Mapping[str, Any], measure: str) -> str:
    """Which value of a measure is best: highest, lowest, or neither (plain)."""
    if measure in spec.get("cells", {}):
        return str(spec["cells"][measure])
    for side, words in (("lowest", LOWEST), ("highest", HIGHEST)):
        if any(word in measure for word in words):
            return side
    return "plain"


def best_in(spec: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], float]:
    """The best value of ours and of the paper's by group: among methods, for equal measure and other keys.

    Values are compared as they are shown. A group of one, or of equals, has no best.
    """
    rows = list(rows)
    most = most_asked(spec, rows)
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        for kind in ("value", "published"):
            if row.get(kind) is not None and not (kind == "value" and _fewer(spec, row, most)):
                values.setdefault(_group(spec, row, kind), []).append(_shown(spec, row, kind))
    picks = {"highest": max, "lowest": min}
    return {
        group: picks[side](found)
        for group, found in values.items()
        if (side := direction(spec, group[1])) in picks and len(set(found)) > 1
    }


def most_asked(spec: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], int]:
    """How many runs were asked for at most in each group of ours that is compared."""
    most: dict[tuple[Any, ...], int] = {}
    for row in rows:
        group = _group(spec, row, "value")
        most[group] = max(most.get(group, 0), row.get("asked") or 0)
    return most


def cell_of(
    spec: Mapping[str, Any],
    row: Mapping[str, Any],
    best: Mapping[tuple[Any, ...], float],
    most: Mapping[tuple[Any, ...], int] = MappingProxyType({}),
) -> Cell:
    """The cell of a row of a tidy table, with what `best_in` and `most_asked` say of those around it."""
    places = digits(spec, row["measure"])
    value, spread = row["value"], row["spread"]
    if value is None:
        return Cell(NO_RUN, paper=_printed(row, places))
    fewer = _fewer(spec, row, most)
    return Cell(
        _figures(value, places),
        "" if spread is None else _figures(spread, places),
        _printed(row, places),
        _lacking(row, fewer),
        not fewer and best.get(_group(spec, row, "value")) == _shown(spec, row, "value"),
        row.get("published") is not None
        and best.get(_group(spec, row, "published")) == _shown(spec, row, "published"),
        _tint(row),
        _distance(row, places),
    )


def _figures(value: float, places: int) -> str:
    """A number with its decimal places; a large one with commas, one of mostly zeros by its power of ten."""
    if places > MANY_PLACES:
        if value == 0.0:
            return "0"
        mantissa, _, power = f"{value:.1e}".partition("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:,.{places}f}" if abs(value) >= GROUPED else f"{value:.{places}f}"


def _group(spec: Mapping[str, Any], row: Mapping[str, Any], kind: str) -> tuple[Any, ...]:
    others = [key for key in (*spec["keys"], "split", "data") if key not in ("method", "reading")]
    return (kind, row["measure"], *(row.get(key) for key in others))


def _shown(spec: Mapping[str, Any], row: Mapping[str, Any], kind: str) -> float:
    return round(float(row[kind]), digits(spec, row["measure"]) if kind == "value" else 6)


def _printed(row: Mapping[str, Any], places: int) -> str:
    """The paper's number as it prints it; results that do not know that have it with our digits."""
    if row.get("published") is None:
        return ""
    return str(row.get("printed") or f"{row['published']:.{places}f}")


def _lacking(row: Mapping[str, Any], fewer: bool) -> str:
    asked = row.get("asked")
    if asked is not None and row["runs"] < asked:
        return f" ({row['runs']} of {asked} runs)"
    return f" ({asked} run{'' if asked == 1 else 's'})" if fewer else ""


def _fewer(spec: Mapping[str, Any], row: Mapping[str, Any], most: Mapping[tuple[Any, ...], int]) -> bool:
    """Whether fewer runs were asked for than of others in the same group."""
    return (row.get("asked") or 0) < most.get(_group(spec, row, "value"), 0)


def _distance(row: Mapping[str, Any], places: int) -> str:
    distance = row.get("distance")
    if distance is None:
        return ""
    unit = "standard errors" if row["distance_unit"] == ERRORS else "points"
    return f"{distance:+.{1 if row['distance_unit'] == ERRORS else places}f} {unit}"


def _tint(row: Mapping[str, Any]) -> str:
    """How near ours is: by standard errors where they are known, else by the share of the paper's number."""
    distance = row.get("distance")
    if distance is None:
        return ""
    near, far, apart = NEAR, FAR, abs(distance)
    if row["distance_unit"] != ERRORS:
        near, far, apart = NEAR_SHARE, FAR_SHARE, apart / max(abs(row["published"]), 1e-12)
    return "near" if apart <= near else "far" if apart > far else "apart"
