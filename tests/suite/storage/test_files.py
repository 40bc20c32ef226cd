"""Files are whole or not there: after an error, a full disk, a kill; and equal results are equal bytes."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from structmargin_suite.storage.arrays import arrays_of, npz_bytes
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_json, write_json, write_with


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})

    def write(temporary):
        temporary.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_with(path, write)
    assert read_json(path) == {"a": 1} and [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_kill_in_the_middle_of_writing_leaves_no_file_under_its_name(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from structmargin_suite.storage.files import write_with\n"
        "def write(temporary):\n"
        "    temporary.write_bytes(b'half'); print('now', flush=True); time.sleep(60)\n"
        "write_with(Path(sys.argv[1]), write)"
    )
    path = tmp_path / "x.json"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"now\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not path.exists()
    left = [p.name for p in tmp_path.iterdir()]
    assert len(left) == 1 and left[0].startswith(".") and ".tmp" in left[0]
    write_json(path, {"a": 1})
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"], "the next writer sweeps up"


def test_what_others_left_beside_a_file_does_not_keep_it_from_being_written(tmp_path):
    """A file with the number of no process in its name is removed, one without a number stays."""
    for number in ("9" * 30, "1.2", "x"):
        (tmp_path / f".x.{number}.tmp.json").write_text("")
    write_json(tmp_path / "x.json", [1])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".x.1.2.tmp.json", ".x.x.tmp.json", "x.json"]


def test_a_reader_of_the_old_file_is_not_disturbed_by_the_new_one(tmp_path):
    write_json(tmp_path / "x.json", {"a": 1})
    with open(tmp_path / "x.json") as old:
        write_json(tmp_path / "x.json", {"a": 2})
        assert old.read() == '{\n "a": 1\n}\n' and read_json(tmp_path / "x.json") == {"a": 2}


def test_arrays_keep_their_values_and_their_bytes():
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "s": np.array(["MD", "M"]),
        "n": np.array([], dtype=np.int64),
    }
    data = npz_bytes(arrays)
    time.sleep(0.01)
    assert npz_bytes(arrays) == data
    back = arrays_of(data, Path("a.npz"))
    assert all(
        np.array_equal(back[name], array) and back[name].dtype == array.dtype
        for name, array in arrays.items()
    )


def test_objects_are_neither_written_nor_read():
    with pytest.raises(TypeError, match="'y' holds objects"):
        npz_bytes({"y": np.array([{}, None])})
    data = io.BytesIO()
    np.savez(data, y=np.array([{}, None], dtype=object))
    with pytest.raises(DamagedFile, match=r"b\.npz: 'y\.npy' holds objects, which are never read"):
        arrays_of(data.getvalue(), Path("b.npz"))


def test_missing_values_are_empty_cells(tmp_path):
    write_csv(tmp_path / "x.csv", [{"a": 1, "b": None}, {"a": float("nan"), "c": "x,y"}], ["a", "b", "c"])
    assert (tmp_path / "x.csv").read_text() == 'a,b,c\n1,,\n,,"x,y"\n'
    assert read_csv(tmp_path / "x.csv")[1]["c"] == "x,y"


def test_json_has_no_nan(tmp_path):
    write_json(
        tmp_path / "x.json", {"a": float("nan"), "b": [float("inf"), np.float64(1.5)], "c": np.arange(2)}
    )
    assert read_json(tmp_path / "x.json") == {"a": None, "b": ["inf", 1.5], "c": [0, 1]}
