"""CSV files of rows by column: numbers are written alike everywhere, and no spreadsheet runs a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from structmargin_suite.storage import csv_text
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import cell, encoded, read_utf8, write_bytes

Lines = tuple[list[str], list[list[str]]]
"""Columns, and rows."""


def write_csv(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows under the given columns; a missing or None value is an empty cell.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, which `read_csv` takes off
    again; numbers stay numbers.
    """
    write_bytes(path, csv_bytes(rows, columns))


def csv_bytes(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    """What `write_csv` writes."""
    lines = [columns, *([cell(row.get(column)) for column in columns] for row in rows)]
    return encoded("".join(csv_text.line(cells) for cells in lines))


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text; see `lines_of`."""
    header, lines = read_csv_lines(path)
    return [dict(zip(header, line, strict=True)) for line in lines]


def read_csv_lines(path: Path) -> Lines:
    """(columns, rows) of a CSV file as text; see `lines_of`."""
    return lines_of(read_utf8(path), path)


def lines_of(text: str, path: Path) -> Lines:
    """(columns, rows) of the text of a CSV file, which `path` names in errors.

    Raises DamagedFile where a line has more or fewer cells than there are columns, where two columns have one
    name, or where the last line does not end: the file was cut short, or is of another kind.
    """
    if not text.endswith("\n"):
        raise DamagedFile(
            path, "the last line does not end", "end it, or make the file again if it was cut short"
        )
    try:
        return csv_text.parsed(text)
    except ValueError as error:
        raise DamagedFile(path, str(error)) from None
