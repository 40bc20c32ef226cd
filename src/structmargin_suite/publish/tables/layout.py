"""Tables in the papers' own form: the rows of a tidy table, pivoted into lines, columns in groups, and tabs.

A table's config says which keys run down (`rows`), which run across (`columns`, outermost first, or groups
with titles), how people call keys and values (`names`) and which number is best (`cells`). Besides the keys
of the table, `measure`, `split`, `data` and `reading` may be named. What is named neither under rows nor
under columns and has several values makes tabs: a corpus each, a measure each, a reading each.

The tab of a reading shows each method under it; methods without it are shown under their primary reading, so
that every tab is a whole table. Without these keys the table's own keys run down and its measures across.
A key under rows of which no row has a value, since it does not vary at this scale, is left out. Numbers stand
in order, whichever of them other studies run first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import Reading
from structmargin_suite.publish.tables.cells import Cell, best_in, cell_of, most_asked
from structmargin_suite.publish.tables.names import Names, written
from structmargin_suite.storage.frames import records

Record = dict[str, Any]
Choice = dict[str, Any]
"""Values by key: what the cells of a column, of a line or of a tab have in common."""
PRIMARY = "primary reading"


@dataclass(frozen=True)
class Heading:
    """A heading over some columns."""

    text: str
    span: int


@dataclass(frozen=True)
class Line:
    """A line of a table: the section it stands in, its name, and its cells (None where there is nothing)."""

    section: str
    name: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Tab:
    """One table in the paper's form.

    `chosen` names what this tab shows, by the names of the keys that make tabs; `under` says under which
    readings methods are shown. `header` has the lines of headings, the groups first.
    """

    chosen: dict[str, str]
    under: str
    corner: str
    header: tuple[tuple[Heading, ...], ...]
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """What the tab shows, in one line."""
        return ", ".join(self.chosen.values())

    @property
    def width(self) -> int:
        """The number of columns with cells."""
        return len(self.header[-1])

    @property
    def labels(self) -> list[str]:
        """For each column all its headings in one line, for where they cannot stand in several."""
        labels = [""] * self.width
        for line in self.header:
            place = 0
            for heading in line:
                for column in range(place, place + heading.span):
                    labels[column] = ", ".join(text for text in (labels[column], heading.text) if text)
                place += heading.span
        return labels


def tabs(
    spec: Mapping[str, Any],
    table: pd.DataFrame,
    methods: Mapping[str, Method],
    readings: Mapping[str, Reading] | None = None,
) -> list[Tab]:
    """A tidy table in the form that its config describes, one tab after another.

    Parameters
    ----------
    spec : mapping
        The table's config.
    table : DataFrame
        The tidy table, as `tables.tidy` makes it.
    methods, readings : mapping
        Those of the experiment, by name.
    """
    return _Layout(spec, table, methods, readings or {}).tabs()


def row_keys(spec: Mapping[str, Any]) -> list[str]:
    """The keys that run down: as the config says, or the table's own except for those that run across."""
    across = column_keys(spec) if "columns" in spec else []
    own = [key for key in spec["keys"] if key != "reading" and key not in across]
    return list(spec.get("rows", own or ["measure"]))


def column_keys(spec: Mapping[str, Any]) -> list[str]:
    """The keys that run across: as the config says, or split and measure, except for those that run down."""
    given = spec.get("columns")
    if isinstance(given, Mapping):
        return list(dict.fromkeys(key for group in given.values() for key in group))
    if given is not None:
        return list(given)
    measured = ["split", "measure"] if "splits" in spec else ["measure"]
    return [key for key in measured if key not in spec.get("rows", [])] or ["data"]


def listed(value: Any) -> list[Any]:
    """The values that a group names under a key: one, or several."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


class _Layout:
    """One tidy table on its way to its tabs."""

    def __init__(
        self,
        spec: Mapping[str, Any],
        table: pd.DataFrame,
        methods: Mapping[str, Method],
        readings: Mapping[str, Reading],
    ) -> None:
        self.spec, self.methods, self.readings = spec, methods, readings
        self.names = Names(spec, methods, readings)
        self.rows, self.columns = row_keys(spec), column_keys(spec)
        self.records: list[Record] = [
            {**row, "reading": row.get("reading") or "", "split": row.get("split")} for row in records(table)
        ]
        self.rows = [key for key in self.rows if self._varies(key)] or self.rows
        self.orders = {
            key: self._order(key) for key in (*spec["keys"], "split", "measure", "data", "reading")
        }

    def _varies(self, key: str) -> bool:
        """Whether some row has a value of a key, or the rows have none at all."""
        return not self.records or any(row.get(key) is not None for row in self.records)

    def _order(self, key: str) -> dict[Any, int]:
        """The place of each value of a key: as the config lists measures and splits, else as in the rows.

        Numbers that the rows have out of order stand from the least to the greatest.
        """
        first = {"measure": self.spec["measures"], "split": self.spec.get("splits", [])}.get(key, [])
        present = dict.fromkeys(row.get(key) for row in self.records)
        numbers = [value for value in present if isinstance(value, (int, float))]
        if len(numbers) == len(present) and numbers not in (sorted(numbers), sorted(numbers, reverse=True)):
            present = dict.fromkeys(sorted(numbers))
        return {value: place for place, value in enumerate(dict.fromkeys([*first, *present]))}

    def _tab_keys(self) -> list[str]:
        """The keys that make tabs, except for readings: named nowhere, with several values."""
        placed = {*self.rows, *self.columns}
        keys = [key for key in ("data", *self.spec["keys"], "split", "measure") if key not in placed]
        keys = [key for key in dict.fromkeys(keys) if key != "reading" and len(self._values(key)) > 1]
        told = [key for key in self.spec["keys"] if key not in ("method", "reading")]
        pairs = {(*(row.get(key) for key in told), row["data"]) for row in self.records}
        if len(pairs) == len({pair[:-1] for pair in pairs}):  # the keys tell which data a row is of
            keys = [key for key in keys if key != "data"]
        return keys

    def _values(self, key: str) -> list[Any]:
        """The values that a key has in the table, in their order."""
        present = {row.get(key) for row in self.records}
        return [value for value in self.orders[key] if value in present]

    def tabs(self) -> list[Tab]:
        """All tabs that have a cell."""
        keys = self._tab_keys()
        made = []
        for combination in itertools.product(*(self._values(key) for key in keys)):
            choice = dict(zip(keys, combination, strict=True))
            shown = [row for row in self.records if _fits(row, choice)]
            for title, under, variant in self._by_reading(shown):
                named = {self.names.of_key(k): self.names.of_value(k, v) for k, v in choice.items()}
                made.append(self._tab({**named, **({"reading": title} if title else {})}, under, variant))
        several = len({tab.chosen.get("reading") for tab in made}) > 1
        return [tab if several else _without_reading(tab) for tab in made]

    def _by_reading(self, shown: Sequence[Record]) -> list[tuple[str, str, list[Record]]]:
        """(title, which method is shown under which reading, rows): the primary readings first."""
        if not shown:
            return []
        if "reading" in (*self.rows, *self.columns) or not any(row["reading"] for row in shown):
            return [("", "", list(shown))]
        under: dict[Any, list[str]] = {}
        for row in shown:
            names = under.setdefault(row.get("method"), [])
            names += [row["reading"]] if row["reading"] not in names else []
        base = {method: self._base(names) for method, names in under.items()}
        mains = dict.fromkeys(reading for reading in base.values() if reading)
        labels = [self.names.of_value("reading", reading) for reading in mains]
        title = f"{labels[0]} (primary)" if len(mains) == 1 else PRIMARY
        variants = [(title, base)]
        others = dict.fromkeys(
            name for names in under.values() for name in names if name and name not in mains
        )
        for other in others:
            chosen = {method: other if other in names else base[method] for method, names in under.items()}
            variants.append((self.names.of_value("reading", other), chosen))
        return [
            (name, self._said(chosen), [row for row in shown if chosen[row.get("method")] == row["reading"]])
            for name, chosen in variants
        ]

    def _said(self, chosen: Mapping[Any, str]) -> str:
        """Which method is shown under which reading, where it is not the same one for all."""
        pairs = [(method, reading) for method, reading in chosen.items() if reading]
        if len({reading for _, reading in pairs}) < 2:
            return ""
        names = self.names
        said = [f"{names.of_value('method', m)} ({names.of_value('reading', r)})" for m, r in pairs]
        return f"Readings: {'; '.join(said)}"

    def _base(self, names: Sequence[str]) -> str:
        """Of the readings that a method has in a table the primary one, else the first."""
        return next((n for n in names if n in self.readings and self.readings[n].primary), names[0])

    def _combinations(self, keys: Sequence[str], shown: Sequence[Record]) -> list[Choice]:
        found = {tuple(self.orders[key][row.get(key)] for key in keys): row for row in shown}
        return [{key: row.get(key) for key in keys} for _, row in sorted(found.items())]

    def _columns(self, shown: Sequence[Record]) -> list[tuple[tuple[str, ...], Choice]]:
        """(headings from the outermost, what its cells have in common) of each column that has a cell."""
        given = self.spec.get("columns")
        if not isinstance(given, Mapping):
            return [
                (tuple(self.names.of_value(key, value) for key, value in choice.items()), choice)
                for choice in self._combinations(self.columns, shown)
            ]
        found: list[tuple[tuple[str, ...], Choice]] = []
        for title, group in given.items():
            inner = [key for key, value in group.items() if isinstance(value, (list, tuple))]
            for values in itertools.product(*(listed(value) for value in group.values())):
                choice = dict(zip(group, values, strict=True))
                if any(_fits(row, choice) for row in shown):
                    names = [self.names.of_value(key, choice[key]) for key in inner or list(group)[-1:]]
                    found.append(((title, ", ".join(names)), choice))
        return found

    def _tab(self, chosen: dict[str, str], under: str, shown: list[Record]) -> Tab:
        columns = self._columns(shown)
        best, most = best_in(self.spec, shown), most_asked(self.spec, shown)
        lines = []
        for place in self._combinations(self.rows, shown):
            here = [row for row in shown if _fits(row, place)]
            texts = [self.names.of_value(key, value) for key, value in place.items()]
            cells = []
            for _, choice in columns:
                row = next((row for row in here if _fits(row, choice)), None)
                cells.append(None if row is None else cell_of(self.spec, row, best, most))
            lines.append(Line(", ".join(texts[:-1]), texts[-1], tuple(cells)))
        return Tab(
            chosen, under, self.names.of_key(self.rows[-1]), _header([c[0] for c in columns]), tuple(lines)
        )


def _fits(row: Record, choice: Choice) -> bool:
    """Whether a row has these values; values are compared as they are written."""
    return all(written(row.get(key)) == written(value) for key, value in choice.items())


def _header(names: Sequence[tuple[str, ...]]) -> tuple[tuple[Heading, ...], ...]:
    """Lines of headings; neighbours under the same headings share one. Lines without text are left out."""
    depth = len(names[0]) if names else 1
    lines = []
    for level in range(depth):
        line: list[Heading] = []
        for _, same in itertools.groupby(names, key=lambda name: name[: level + 1]):
            line.append(Heading(next(iter(group := list(same)))[level], len(group)))
        if level == depth - 1 or any(heading.text for heading in line):
            lines.append(tuple(line))
    return tuple(lines)


def _without_reading(tab: Tab) -> Tab:
    """A tab of a table that has no other reading to choose."""
    chosen = {key: name for key, name in tab.chosen.items() if key != "reading"}
    return Tab(chosen, tab.under, tab.corner, tab.header, tab.lines)
