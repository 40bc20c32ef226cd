"""The papers' own numbers, checked: can they be what the papers say they are?

    granularity   a share of N things is a whole number over N; a mean over samples with a standard error also
                  has whole numbers behind both
    gains         a gain in percent follows from the two numbers beside it
    harmonic      F1 follows from precision and recall
    text          what the text says of a table
    versions      two versions of a paper print the same

data/published/checks.yaml says what the papers state of each table: sample sizes, gains, versions.
Numbers are taken as they are printed: each stands for all that round to it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structmargin_suite.storage.files import read_yaml
from structmargin_suite.storage.frames import read_frame, records

CHECKS_FILE = "checks.yaml"
ROUNDING = 1e-9

Row = Mapping[str, str]


@dataclass(frozen=True)
class Finding:
    """What a check says of one published number.

    Parameters
    ----------
    check : {"granularity", "gains", "harmonic", "text", "versions"}
        What was checked.
    file, cell : str
        Where the number stands.
    printed : str
        The number as it is printed.
    fits : bool
        Whether it can be what the paper says it is.
    sentence : str
        What was found, for a reader.
    """

    check: str
    file: str
    cell: str
    printed: str
    fits: bool
    sentence: str


def findings(folder: Path) -> list[Finding]:
    """Everything that checks.yaml asks for, in its order; those with `fits` False are worth showing."""
    asked = read_yaml(folder / CHECKS_FILE)
    return [
        finding
        for kind, check in _CHECKS.items()
        for entry in asked.get(kind, [])
        for finding in check(folder, entry)
    ]


def misfits(folder: Path) -> list[Finding]:
    """The published numbers that cannot be what the papers say they are."""
    return [finding for finding in findings(folder) if not finding.fits]


class Printed:
    """A number as it is printed, with the interval of all numbers that round to it."""

    def __init__(self, text: str) -> None:
        self.text, self.value = text, float(text)
        self.half = 0.5 * 10.0 ** -len(text.partition(".")[2])
        self.low, self.high = self.value - self.half, self.value + self.half

    def stands_for(self, value: float) -> bool:
        """Whether a value would be printed so; halves may be rounded either way."""
        return self.low - ROUNDING <= value <= self.high + ROUNDING


def counts_that_fit(percent: Printed, n: int) -> list[int]:
    """The whole numbers whose share of n, in percent, is printed so."""
    first, last = math.ceil(percent.low * n / 100 - ROUNDING), math.floor(percent.high * n / 100 + ROUNDING)
    return list(range(max(first, 0), min(last, n) + 1))


def sizes_that_fit(percents: Sequence[Printed], largest: int, cut: bool = False) -> list[int]:
    """The sizes up to `largest` of which all these percentages are shares, printed rounded or cut off."""
    shown = [_cut_off(percent) for percent in percents] if cut else percents
    return [n for n in range(1, largest + 1) if all(counts_that_fit(percent, n) for percent in shown)]


def _cut_off(percent: Printed) -> Printed:
    """The same number if digits were cut off and not rounded: it stands for what is above it."""
    cut = Printed(percent.text)
    cut.low, cut.high = percent.value, percent.value + 2 * percent.half - 2e-8
    return cut


def size_fits(percent: Printed, error: Printed | None, each: int, samples: int) -> bool:
    """Whether errors of `samples` samples with `each` examples can have this mean and standard error."""
    totals = counts_that_fit(percent, each * samples)
    if error is None or samples < 2:
        return bool(totals)
    return any(
        error.stands_for(_standard_error(total, squares, each, samples))
        for total in totals
        for squares in _sums_of_squares(total, samples, each)
    )


def _standard_error(total: int, squares: int, each: int, samples: int) -> float:
    """Of a mean in percent, from the sums of the samples' counts and of their squares."""
    spread = max(squares - total * total / samples, 0.0) / (samples - 1)
    return 100.0 / each * math.sqrt(spread / samples)


@functools.cache
def _sums_of_squares(total: int, parts: int, largest: int) -> frozenset[int]:
    """All sums of squares of `parts` whole numbers from 0 to `largest` with this total."""
    if parts == 0:
        return frozenset([0] if total == 0 else [])
    if total > parts * largest:
        return frozenset()
    return frozenset(
        part * part + rest
        for part in range(-(-total // parts), min(total, largest) + 1)  # the largest part comes first
        for rest in _sums_of_squares(total - part, parts - 1, part)
    )


def _granularity(folder: Path, entry: Mapping[str, Any]) -> Iterator[Finding]:
    rows = _rows(folder, entry["file"], entry["cells"])
    samples = int(entry.get("samples", 1))
    stated = sorted({_each(entry, row) for row in rows})
    for row in rows:
        percent, error = Printed(row["value"]), Printed(row["spread"]) if row.get("spread") else None
        each = _each(entry, row)
        text = f"{percent.text} ± {error.text}" if error else percent.text
        fits = size_fits(percent, error, each, samples)
        of = f"{samples} samples of {each}" if samples > 1 else f"{each:,}"
        if fits:
            sentence = f"{text} fits {of}" + ("" if samples > 1 else f" ({_as_counts(percent, each)})")
        elif isinstance(entry["each"], str):
            others = [n for n in _between(stated, each) if size_fits(percent, error, n, samples)]
            names = " or ".join(map(str, others)) or "no size between those beside it"
            sentence = f"{text} cannot come from {of}; {names} fits"
        else:
            below = math.floor(percent.value * each / 100)
            near = " and ".join(f"{k} are {100 * k / each:.3f}%" for k in (below, below + 1))
            sentence = f"{text}% is no share of {of}: {near}"
        yield Finding("granularity", entry["file"], _cell(row), text, fits, f"{sentence} ({entry['source']})")
    if "together" in entry:
        yield from _sizes_together(entry, rows)


def _sizes_together(entry: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[Finding]:
    """For rows that were tested alike: the stated size, or those that fit all of them."""
    for value in dict.fromkeys(row[entry["together"]] for row in rows):
        alike = [row for row in rows if row[entry["together"]] == value]
        percents = [Printed(row["value"]) for row in alike]
        each = int(entry["each"])
        rounded, cut = (sizes_that_fit(percents, each, cut) for cut in (False, True))
        printed = ", ".join(dict.fromkeys(percent.text for percent in percents))
        sentence = f"of all sizes up to {each:,}, {_listed(rounded)} fit all of {printed} as rounded shares"
        if each not in rounded:
            sentence += f", and {_listed(cut)} as shares whose further digits were cut off"
        cell = f"{entry['together']} {value}, {alike[0]['measure']}, all methods"
        yield Finding("granularity", entry["file"], cell, printed, each in rounded, sentence)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "none"


def _each(entry: Mapping[str, Any], row: Row) -> int:
    return int(row[entry["each"]] if isinstance(entry["each"], str) else entry["each"])


def _between(stated: Sequence[int], size: int) -> range:
    """Sizes between the stated ones next to this one."""
    place = stated.index(size)
    first = stated[place - 1] + 1 if place else 1
    last = stated[place + 1] - 1 if place + 1 < len(stated) else 2 * size
    return range(first, last + 1)


def _as_counts(percent: Printed, n: int) -> str:
    counts = counts_that_fit(percent, n)
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _gains(folder: Path, entry: Mapping[str, Any]) -> Iterator[Finding]:
    by_method = {row["method"]: row for row in _rows(folder, entry["file"], entry["cells"])}
    old, new = (Printed(by_method[entry[key]]["value"]) for key in ("from", "to"))
    gain, printed = abs(new.value - old.value), Printed(entry["printed"])
    widest, narrowest = gain + old.half + new.half, gain - old.half - new.half
    bases = {}
    for name, base in (("old", old), ("new", new)):
        exact = printed.stands_for(100 * gain / base.value)
        rounded = printed.high >= 100 * narrowest / base.high and printed.low <= 100 * widest / base.low
        bases[name] = "exactly" if exact else "within rounding" if rounded else ""
    fits = bool(bases["old"])
    ways = [f"{how} of the {name} value" for name, how in bases.items() if how] or ["of neither value"]
    sentence = (
        f"{printed.text}% is the gain from {old.text} to {new.text} {', '.join(ways)}; "
        f"of the old value it is {100 * gain / old.value:.2f}%"
    )
    yield Finding("gains", entry["file"], _cell(by_method[entry["to"]]), printed.text, fits, sentence)


def _harmonic(folder: Path, entry: Mapping[str, Any]) -> Iterator[Finding]:
    named = (*entry["of"], entry["is"])
    by_cell: dict[str, dict[str, Row]] = {}
    for row in _rows(folder, entry["file"], {}):
        if row["measure"] in named:
            by_cell.setdefault(_keys(row), {})[row["measure"]] = row
    for cell, by_measure in by_cell.items():
        first, second, mean = (Printed(by_measure[name]["value"]) for name in named)
        low, middle, high = (
            2.0 * a * b / (a + b)
            for a, b in ((first.low, second.low), (first.value, second.value), (first.high, second.high))
        )
        fits = mean.high >= low and mean.low <= high
        sentence = (
            f"{mean.text} {'fits' if fits else 'does not fit'} {entry['of'][0]} {first.text} and "
            f"{entry['of'][1]} {second.text}, whose harmonic mean is {middle:.2f}"
        )
        yield Finding("harmonic", entry["file"], f"{cell}, {entry['is']}", mean.text, fits, sentence)


def _text(folder: Path, entry: Mapping[str, Any]) -> Iterator[Finding]:
    low, high = entry["between"]
    for row in _rows(folder, entry["file"], entry["cells"]):
        ratio = float(row["value"]) / _each(entry, row)
        fits = low <= ratio <= high
        found = f"{row['value']} are {ratio:.2f} times {_each(entry, row):,}"
        sentence = f"{entry['paper']} says {entry['says']}: {found}"
        yield Finding("text", entry["file"], _cell(row), row["value"], fits, sentence)


def _versions(folder: Path, entry: Mapping[str, Any]) -> Iterator[Finding]:
    tables: dict[str, dict[tuple[str, str], Row]] = {}
    for row in _rows(folder, entry["file"], {}):
        file = row["file"]
        if file not in tables:
            tables[file] = {(_keys(r), r["measure"]): r for r in _rows(folder, file, {})}
        other = tables[file].get((row["cell"], row["measure"]))
        first = _with_spread(row)
        second = "nothing" if other is None else _with_spread(other)
        verb = "as" if first == second else "where"
        sentence = f"{entry['paper']} prints {first}, {verb} {entry['other']} prints {second}"
        yield Finding("versions", file, f"{row['cell']}, {row['measure']}", first, first == second, sentence)


def _with_spread(row: Row) -> str:
    return f"{row['value']} ± {row['spread']}" if row.get("spread") else row["value"]


def _rows(folder: Path, file: str, cells: Mapping[str, Any]) -> list[Row]:
    """The rows of a table, all cells as they are printed, whose columns have these values."""
    rows = [
        {key: value for key, value in row.items() if value is not None}
        for row in records(read_frame(folder / file, {}, others="text"))
    ]
    return [row for row in rows if all(row.get(key) == str(value) for key, value in cells.items())]


def _keys(row: Row) -> str:
    """The key columns of a row, which stand before `measure`."""
    names = list(row)
    return "; ".join(row[name] for name in names[: names.index("measure")])


def _cell(row: Row) -> str:
    return f"{_keys(row)}, {row['measure']}"


_CHECKS = {
    "granularity": _granularity,
    "gains": _gains,
    "harmonic": _harmonic,
    "text": _text,
    "versions": _versions,
}
