"""Tables as typed pandas frames: CSV files read by a schema, so that a cell comes back as it was written.

A column has one of four types, and every type has missing values (an empty cell):

    boolean   true, false          pandas "boolean"
    integer   whole numbers        pandas "Int64"
    float     any numbers          "float64", missing values are NaN
    text      everything else      pandas "string"

Only here is pandas imported for files: stages that train and evaluate models start without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from structmargin_suite.storage.csv_files import Lines, read_csv_lines, write_csv
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import cell

ColumnType = Literal["boolean", "integer", "float", "text"]

DTYPES: dict[ColumnType, str] = {
    "boolean": "boolean",
    "integer": "Int64",
    "float": "float64",
    "text": "string",
}
PARSERS: dict[ColumnType, Callable[[str], Any]] = {
    "boolean": {"true": True, "false": False}.__getitem__,
    "integer": int,
    "float": float,
    "text": str,
}
INT64 = np.iinfo(np.int64)


def is_missing(value: Any) -> bool:
    """Whether a value is written as an empty cell: None, NaN, NA and the empty text."""
    return value is None or value is pd.NA or value == "" or value != value


def type_of(values: Iterable[Any]) -> ColumnType:
    """The type of a column with these Python values.

    Whole numbers among other numbers are floats; numbers beside words are text, and so is what is no single
    value (a list). A column without any value is a float: a number that was never measured.
    """
    types: set[ColumnType] = {_type_of_value(value) for value in values if not is_missing(value)}
    if types <= {"integer", "float"}:
        return "integer" if types == {"integer"} else "float"
    return types.pop() if len(types) == 1 else "text"


def _type_of_value(value: Any) -> ColumnType:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if INT64.min <= value <= INT64.max else "float"
    return "float" if isinstance(value, float) else "text"


def type_of_texts(texts: Iterable[str]) -> ColumnType:
    """The type of a column of a file without a schema: the narrowest that all its cells can be read as."""
    filled = [text for text in texts if text != ""]
    order: tuple[ColumnType, ...] = ("boolean", "integer", "float") if filled else ("float",)
    return next((kind for kind in order if all(_reads_as(kind, text) for text in filled)), "text")


def _reads_as(kind: ColumnType, text: str) -> bool:
    try:
        value = PARSERS[kind](text)
    except (KeyError, ValueError):
        return False
    return kind != "integer" or INT64.min <= value <= INT64.max


def frame_of(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    types: Mapping[str, ColumnType] | None = None,
) -> pd.DataFrame:
    """Records as a typed frame; columns that `types` does not name have the type of their values.

    Without `columns`, those of the records, in the order in which they first appear.
    """
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    typed = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        kind = types[name] if types is not None and name in types else type_of(values)
        as_text = kind == "text"
        typed[name] = _series(
            [None if is_missing(value) else cell(value) if as_text else value for value in values], kind
        )
    return pd.DataFrame(typed, columns=list(columns))


def _series(values: Sequence[Any], kind: ColumnType) -> pd.Series:
    if kind == "float":
        return pd.Series([np.nan if value is None else float(value) for value in values], dtype="float64")
    return pd.Series([pd.NA if value is None else value for value in values], dtype=DTYPES[kind])


def read_frame(path: Path, types: Mapping[str, ColumnType], others: ColumnType | None = None) -> pd.DataFrame:
    """A CSV file as a typed frame.

    Columns that `types` does not name have the type `others`, or without it the narrowest that all
    their cells can be read as.
    """
    return frame_from(read_csv_lines(path), types, path, others)


def frame_from(
    lines: Lines, types: Mapping[str, ColumnType], path: Path, others: ColumnType | None = None
) -> pd.DataFrame:
    """As `read_frame`, from the lines of a CSV file, which `path` names in errors."""
    columns, rows = lines
    typed = {}
    for place, name in enumerate(columns):
        texts = [row[place] for row in rows]
        kind = types.get(name) or others or type_of_texts(texts)
        if kind not in DTYPES:
            raise DamagedFile(path, f"column {name!r} is said to be of the type {kind!r}, which there is not")
        try:
            typed[name] = _series([None if text == "" else PARSERS[kind](text) for text in texts], kind)
        except (KeyError, ValueError, OverflowError):
            wrong = next(k for k, text in enumerate(texts) if text != "" and not _reads_as(kind, text))
            what = f"column {name!r} is of type {kind}, but row {wrong + 1} has {texts[wrong]!r}"
            raise DamagedFile(path, what, "make the file again") from None
    return pd.DataFrame(typed)


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV, its missing values as empty cells."""
    write_csv(path, records(frame), list(frame.columns))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries of Python's own values, missing ones as None."""
    columns = {
        name: [None if is_missing(value) else value for value in frame[name].tolist()] for name in frame
    }
    return [{name: values[place] for name, values in columns.items()} for place in range(len(frame))]
