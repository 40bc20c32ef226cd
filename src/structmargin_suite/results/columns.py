"""The columns of result files and their types, and how to read a column that may not be there."""

from __future__ import annotations

from typing import Any

import pandas as pd

from structmargin_suite.storage.files import cell
from structmargin_suite.storage.frames import ColumnType

RUN_TYPES: dict[str, ColumnType] = {
    "run": "text",
    "method": "text",
    "reading": "text",
    "corpus": "text",
    "data": "text",
    "studies": "text",
    "status": "text",
    "reason": "text",
    "chosen": "boolean",
}
"""The identifiers of a run: the first columns of every runs.csv."""
TABLE_TYPES: dict[str, ColumnType] = {
    "split": "text",
    "measure": "text",
    "data": "text",
    "value": "float",
    "spread": "float",
    "spread_kind": "text",
    "runs": "integer",
    "published": "float",
    "asked": "integer",
    "distance": "float",
    "distance_unit": "text",
    "printed": "text",
}
"""The columns of a table after its keys."""
TIMING_TYPES: dict[str, ColumnType] = {
    "run": "text",
    "cpu": "text",
    "cores": "integer",
    "system": "text",
    "python": "text",
}
"""The columns of timings.csv that are no measurements."""
PUBLISHED_TYPES: dict[str, ColumnType] = {
    "dataset": "text",
    "method": "text",
    "split": "text",
    "measure": "text",
    "value": "float",
    "spread": "float",
    "spread_kind": "text",
    "note": "text",
}
STATEMENT_TYPES: dict[str, ColumnType] = {
    "primary": "boolean",
    "n": "integer",
    "effect": "float",
    "low": "float",
    "high": "float",
    "delta": "float",
    "published": "float",
    "volatile": "boolean",
}
"""The columns of statements.csv that are no texts."""
STUDY_SEPARATOR = "; "
"""Between the names of a run's studies in its column `studies`."""


def column(frame: pd.DataFrame, name: str, missing: Any = None) -> pd.Series:
    """A column of a frame, also where the frame has none of that name.

    Parameters
    ----------
    frame : DataFrame
    name : str
    missing : optional
        Stands where a value is missing, and everywhere if the column is; missing values stay without it.

    Returns
    -------
    Series

    Examples
    --------
    >>> frame = pd.DataFrame({"n": [1, 2]})
    >>> column(frame, "repetition", 0).tolist()
    [0, 0]
    """
    if name not in frame:
        return pd.Series([float("nan") if missing is None else missing] * len(frame), index=frame.index)
    return frame[name] if missing is None else frame[name].fillna(missing)


def has_value(frame: pd.DataFrame, name: str, value: Any) -> pd.Series:
    """For each row of a frame, whether a column has this value; a column that is not there has none.

    In a column of text a number is compared as it is written: settings that are numbers for some methods
    and words for others are text.
    """
    values = column(frame, name)
    wanted = cell(value) if values.dtype == "string" else value
    return (values == wanted).fillna(False).astype(bool)


def with_readings(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose column `reading` has "" where there is none; results older than readings have none."""
    readings = column(frame, "reading", "").astype("string")
    if "reading" in frame or "method" not in frame:
        return frame.assign(reading=readings)
    place = int(frame.columns.get_loc("method")) + 1
    frame = frame.copy()
    frame.insert(place, "reading", readings)
    return frame
