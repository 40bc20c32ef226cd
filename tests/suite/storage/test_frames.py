"""Frames: every type of column, and missing values, come back from a file as they were written."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from structmargin_suite.storage.frames import (
    frame_of,
    read_frame,
    records,
    type_of,
    type_of_texts,
    write_frame,
)

ROWS = [
    {"on": True, "n": 3, "x": 0.5, "name": "007", "mixed": 1, "never": None},
    {"on": None, "n": None, "x": None, "name": None, "mixed": "all", "never": None},
    {"on": False, "n": -2, "x": 4, "name": "1e3", "mixed": 2.5, "never": None},
]
TYPES = {"on": "boolean", "n": "integer", "x": "float", "name": "text", "mixed": "text", "never": "float"}
DTYPES = {
    "on": "boolean",
    "n": "Int64",
    "x": "float64",
    "name": "string",
    "mixed": "string",
    "never": "float64",
}


def test_every_type_and_every_missing_value_reads_back_as_it_was_written(tmp_path):
    frame = frame_of(ROWS)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == DTYPES
    write_frame(tmp_path / "x.csv", frame)
    back = read_frame(tmp_path / "x.csv", TYPES)
    assert_frame_equal(back, frame)
    assert back["name"].tolist() == ["007", pd.NA, "1e3"], "text that looks like a number stays text"
    assert back["n"].tolist() == [3, pd.NA, -2] and back["never"].isna().all()
    assert records(back)[1] == {**dict.fromkeys(TYPES), "mixed": "all"}
    assert records(back)[2] == {
        "on": False, "n": -2, "x": 4.0, "name": "1e3", "mixed": "2.5", "never": None,
    }  # fmt: skip


def test_without_a_schema_a_column_is_what_all_its_cells_can_be_read_as(tmp_path):
    write_frame(tmp_path / "x.csv", frame_of(ROWS))
    back = read_frame(tmp_path / "x.csv", {"name": "text"})
    assert {name: str(kind) for name, kind in back.dtypes.items()} == DTYPES
    assert str(read_frame(tmp_path / "x.csv", {})["name"].dtype) == "float64", "nothing says that it is text"
    assert type_of_texts(["1", "2"]) == "integer" and type_of_texts(["1", "2.0", ""]) == "float"
    assert type_of_texts(["1", "true"]) == "text" and type_of_texts([]) == "float"
    assert type_of_texts([str(2**63)]) == "float"


def test_the_type_of_values():
    assert type_of([True, None]) == "boolean" and type_of([1, np.int64(2)]) == "integer"
    assert type_of([1, 2.5]) == type_of([None, math.nan]) == type_of([2**70]) == "float"
    assert type_of(["1"]) == type_of([1, "a"]) == type_of([True, 1]) == type_of([[1, 2]]) == "text"


def test_a_cell_of_another_type_is_named(tmp_path):
    (tmp_path / "x.csv").write_text("n,on\n1,true\nmany,yes\n")
    with pytest.raises(ValueError, match=r"x\.csv: column 'n' is of type integer, but row 2 has 'many'"):
        read_frame(tmp_path / "x.csv", {"n": "integer"})
    with pytest.raises(ValueError, match="column 'on' is of type boolean, but row 2 has 'yes'"):
        read_frame(tmp_path / "x.csv", {"on": "boolean"})


def test_a_table_without_rows_keeps_its_columns(tmp_path):
    write_frame(tmp_path / "x.csv", frame_of([], ["run", "n"], {"run": "text", "n": "integer"}))
    back = read_frame(tmp_path / "x.csv", {"run": "text", "n": "integer"})
    assert list(back.columns) == ["run", "n"] and [str(kind) for kind in back.dtypes] == ["string", "Int64"]


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.lists(st.none() | st.booleans(), min_size=1),
        st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1),
        st.lists(st.none() | st.floats(allow_nan=False).map(lambda x: float(f"{x:.10g}")), min_size=1),
        st.lists(st.none() | st.text("a1.-,\"' \n", min_size=1), min_size=1),
    )
)
def test_any_column_reads_back_by_its_type(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    frame = frame_of([{"x": value} for value in values])
    write_frame(path, frame)
    assert_frame_equal(read_frame(path, {"x": type_of(values)}), frame)


def test_stages_that_need_no_frames_start_without_pandas():
    code = (
        "import sys, structmargin_suite.stages.train, structmargin_suite.stages.evaluate, "
        "structmargin_suite.stages.prepare, structmargin_suite.workflow; assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
