"""Tables of text as CSV files: numbers are written alike everywhere, and no spreadsheet runs a cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import cell, encoded, read_utf8, write_bytes

Lines = tuple[list[str], list[list[str]]]
FORMULA_STARTS = "=+-@\t\r＝＋－＠"
"""A spreadsheet takes a cell that begins with one of these for a formula, and runs it."""
NUMBER = re.compile(r"[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|inf|nan)")


def write_csv(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows under the given columns; a missing or None value is an empty cell.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, which `read_csv` takes off
    again; numbers stay numbers.
    """
    write_bytes(path, csv_bytes(rows, columns))


def csv_bytes(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    """What `write_csv` writes."""
    lines = [columns, *([cell(row.get(column)) for column in columns] for row in rows)]
    return encoded("".join(csv_line(line) for line in lines))


def csv_line(cells: Sequence[str]) -> str:
    """One line of a CSV file, with its end."""
    if len(cells) == 1 and not cells[0]:
        return '""\n'  # an empty line would be no row
    return ",".join(_quoted(_shielded(text)) for text in cells) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\r\n') else text


def _shielded(text: str) -> str:
    """A cell that no spreadsheet runs."""
    twice = text[:1] == "'" and text[1:2] != "" and text[1] in FORMULA_STARTS + "'"
    formula = text[:1] != "" and text[0] in FORMULA_STARTS and not NUMBER.fullmatch(text)
    return f"'{text}" if twice or formula else text


def _unshielded(text: str) -> str:
    """The inverse of `_shielded`."""
    return text[1:] if text[:1] == "'" and text[1:2] != "" and text[1] in FORMULA_STARTS + "'" else text


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text; see `read_csv_lines`."""
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
        header, *lines = [
            [_unshielded(each) for each in line]
            for line in csv.reader(io.StringIO(text, newline=""), strict=True)
            if line
        ] or [[]]
    except csv.Error as error:
        raise DamagedFile(path, f"this is no CSV file ({error})") from None
    if len(set(header)) < len(header):
        raise DamagedFile(path, "two columns have one name")
    for number, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise DamagedFile(
                path, f"row {number} has {len(line)} cells, but there are {len(header)} columns"
            )
    return header, lines
