"""Lines of CSV: cells quoted where they must be, none that a spreadsheet would run, and back.

A text that begins as a formula does gets an apostrophe in front, and so does one that begins like a text with
such an apostrophe; reading takes it off again: every text comes back as it was. Numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

FORMULA_STARTS = "=+-@\t\r＝＋－＠"
"""A spreadsheet takes a cell that begins with one of these for a formula, and runs it."""
NUMBER = re.compile(r"[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|inf|nan)")


def line(cells: Sequence[str]) -> str:
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


def parsed(text: str) -> tuple[list[str], list[list[str]]]:
    """(columns, rows) of a CSV file; a ValueError says why a text is none."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise ValueError(f"this is no CSV file ({error})") from None
    header, *lines = [[_unshielded(each) for each in row] for row in rows] or [[]]
    if len(set(header)) < len(header):
        raise ValueError("two columns have one name")
    for number, row in enumerate(lines, 1):
        if len(row) != len(header):
            raise ValueError(f"row {number} has {len(row)} cells, but there are {len(header)} columns")
    return header, lines
