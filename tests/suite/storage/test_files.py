"""Files are whole or not there: after an error, a full disk, a kill; and equal results are equal bytes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import (
    read_arrays,
    read_csv,
    read_json,
    write_arrays,
    write_csv,
    write_json,
    write_with,
)


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


def test_a_reader_of_the_old_file_is_not_disturbed_by_the_new_one(tmp_path):
    write_json(tmp_path / "x.json", {"a": 1})
    with open(tmp_path / "x.json") as old:
        write_json(tmp_path / "x.json", {"a": 2})
        assert old.read() == '{\n "a": 1\n}\n' and read_json(tmp_path / "x.json") == {"a": 2}


def test_arrays_keep_their_values_and_their_bytes(tmp_path):
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "s": np.array(["MD", "M"]),
        "n": np.array([], dtype=np.int64),
    }
    write_arrays(tmp_path / "a.npz", arrays)
    time.sleep(0.01)
    write_arrays(tmp_path / "b.npz", arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    back = read_arrays(tmp_path / "a.npz")
    assert all(
        np.array_equal(back[name], array) and back[name].dtype == array.dtype
        for name, array in arrays.items()
    )


def test_objects_are_neither_written_nor_read(tmp_path):
    with pytest.raises(TypeError, match=r"'y' for a\.npz holds objects"):
        write_arrays(tmp_path / "a.npz", {"y": np.array([{}, None])})
    np.savez(tmp_path / "b.npz", y=np.array([{}, None], dtype=object))
    with pytest.raises(DamagedFile, match=r"b\.npz: 'y\.npy' holds objects, which are never read"):
        read_arrays(tmp_path / "b.npz")


def test_missing_values_are_empty_cells(tmp_path):
    write_csv(tmp_path / "x.csv", [{"a": 1, "b": None}, {"a": float("nan"), "c": "x,y"}], ["a", "b", "c"])
    assert (tmp_path / "x.csv").read_text() == 'a,b,c\n1,,\n,,"x,y"\n'
    assert read_csv(tmp_path / "x.csv")[1]["c"] == "x,y"


def test_json_has_no_nan(tmp_path):
    write_json(
        tmp_path / "x.json", {"a": float("nan"), "b": [float("inf"), np.float64(1.5)], "c": np.arange(2)}
    )
    assert read_json(tmp_path / "x.json") == {"a": None, "b": ["inf", 1.5], "c": [0, 1]}
