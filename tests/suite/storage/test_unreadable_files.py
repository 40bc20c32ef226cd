"""Our own files cut short, changed or of another kind: what was written, or an error that names the file."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.foreign_files import foreign
from helpers.limits import bounded
from structmargin_suite.storage import files
from structmargin_suite.storage.arrays import arrays_of, npz_bytes
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.errors import DamagedFile, DataError, one_line
from structmargin_suite.storage.files import read_bytes, read_json, read_yaml, write_json
from structmargin_suite.storage.frames import read_frame
from structmargin_suite.storage.statements_file import read_statements

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "150"))
RECORD = {"key": "abc", "status": "done", "files": {"model.npz": "0" * 64}, "numbers": [1.5, None, "ä"]}
ROWS = [{"run": "a,b", "n": 1, "value": -0.5}, {"run": 'x"y', "n": None, "value": 2.25}]
ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "s": np.array(["MD", "M"]), "n": np.array([], dtype=np.int64)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    write_json(made / "x.json", RECORD)
    write_csv(made / "x.csv", ROWS, ["run", "n", "value"])
    (made / "x.npz").write_bytes(npz_bytes(ARRAYS))
    (made / "x.yaml").write_text(
        "- {id: a, says: b, paper: jmlr05, where: here, experiment: e,\n"
        "   statements: [{id: a-1, says: c, kind: order, unit: d}]}\n"
    )
    return made


def read_arrays(path):
    """The arrays in an .npz file."""
    return arrays_of(files.read_bytes(path), path)


READERS = {"x.json": read_json, "x.csv": read_csv, "x.npz": read_arrays, "x.yaml": read_statements}


def equal(one, other):
    if isinstance(one, dict) and any(isinstance(value, np.ndarray) for value in one.values()):
        return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)
    return one == other


def said(path, reader, data):
    """The sentence that a reader says of a file with these bytes, or what it reads."""
    path.write_bytes(data)
    try:
        with bounded(cpu_seconds=5.0):
            return reader(path)
    except DamagedFile as error:
        assert str(path) in str(error) and "; " in str(error) and str(error).isprintable()
        assert isinstance(error, DataError) and isinstance(error, ValueError)
        return str(error)


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.npz"])
def test_a_file_cut_short_anywhere_is_an_error(folder, tmp_path, name):
    whole = (folder / name).read_bytes()
    for length in range(len(whole)):
        if name == "x.csv" and whole[:length].endswith(b"\n"):
            continue  # whole lines are a file of their own, which only its sum tells from this one
        if whole[length:].strip() == b"":
            continue  # only the last line's end is missing
        assert isinstance(said(tmp_path / name, READERS[name], whole[:length]), str), length


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused(folder, tmp_path, name):
    whole = (folder / name).read_bytes()

    @settings(max_examples=CASES, database=None)
    @given(st.data())
    def check(data):
        changed = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(changed) - 1))
            changed[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        found = said(tmp_path / name, READERS[name], bytes(changed))
        if name == "x.npz" and not isinstance(found, str):
            for key, array in found.items():
                assert not array.dtype.hasobject and array.nbytes < 10_000
                assert key not in ARRAYS or np.array_equal(array, ARRAYS[key]), "a sum of its own tells"

    check()


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_another_kind_is_an_error(tmp_path, name):
    for data in list(foreign())[:: 1 if CASES > 1000 else 3]:
        found = said(tmp_path / name, READERS[name], data)
        if name == "x.npz":
            assert isinstance(found, str) or set(found) == {"a"} or found == {}
        if name == "x.yaml":
            assert isinstance(found, str)


@pytest.mark.parametrize("name", [*READERS, "x.any"])
def test_a_folder_and_a_pipe_are_an_error_and_a_missing_file_is_missing(tmp_path, name):
    reader = READERS.get(name, read_bytes)
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DamagedFile, match="this is a folder, not a file; remove it, or correct the name"):
        reader(tmp_path / name)
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    with pytest.raises(DamagedFile, match="a device, a pipe or a socket"):
        reader(tmp_path / name)


def test_a_record_has_its_keys(tmp_path):
    path = tmp_path / "run.json"
    write_json(path, RECORD)
    assert read_json(path, ("key", "status")) == RECORD
    with pytest.raises(DamagedFile, match=r"run\.json: the file has no digest, model: it is of another kind"):
        read_json(path, ("digest", "key", "model"))
    for other in ([1, 2], "text", None, 5):
        path.write_text(json.dumps(other))
        assert read_json(path) == other
        with pytest.raises(DamagedFile, match="the file has no key: it is of another kind"):
            read_json(path, ("key",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": NaN}', "it holds NaN"),
        ('{"a": -Infinity}', "it holds -Infinity"),
        ('{"a": 1e999}', "it holds 1e999"),
        ('{"a": ' + "1" * 5000 + "}", "this is no JSON file of ours, or it is cut short"),
        ("[" * 100_000, "this is no JSON file of ours, or it is cut short"),
        ('{"a": 1} {"b": 2}', "Extra data"),
    ],
)
def test_json_that_we_do_not_write_is_not_read(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DamagedFile, match=message):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1\n", "row 1 has 1 cells, but there are 2 columns"),
        ("a,b\n1,2\n1,2,3\n", "row 2 has 3 cells, but there are 2 columns"),
        ("a,a\n1,2\n", "two columns have one name"),
        ('a,b\n"1,2\n', "this is no CSV file"),
        ("a,b\n1,2", "the last line does not end; end it, or make the file again"),
        ("", "the last line does not end"),
    ],
)
def test_csv_that_is_not_a_table_is_refused(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DamagedFile, match=message):
        read_csv(tmp_path / "x.csv")


def test_a_frame_names_the_file_the_column_and_the_row(tmp_path):
    (tmp_path / "x.csv").write_text("n,v\n1,2\n99999999999999999999999,3\n")
    with pytest.raises(DamagedFile, match=r"x\.csv: column 'n' is of type integer, but row 2 has '9+'"):
        read_frame(tmp_path / "x.csv", {"n": "integer"})
    with pytest.raises(DamagedFile, match="said to be of the type 'weird', which there is not"):
        read_frame(tmp_path / "x.csv", {"v": "weird"})


def npy(shape: str, dtype: str = "'<f8'", data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    """An .npy file by its header."""
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy("(1000000000000,)"), r"has not as many bytes as its shape \(1000000000000,\) needs"),
        (npy("(-1,)"), "has not as many bytes as its shape"),
        (npy("(2**70,)"), "this is no .npz file of ours"),
        (npy(f"({2**63}, {2**63})"), "has not as many bytes|this is no .npz file of ours"),
        (npy("(1,)", "'|O'", b"\x80\x04N."), "holds objects, which are never read"),
        (npy("(1,)", "[('a', '|O')]", b"\x80\x04N."), "holds objects, which are never read"),
        (npy("(1,)", version=b"\3\0"), "version"),
        (npy("__import__('os').system('true')"), "this is no .npz file of ours"),
        (npy("(" * 3000 + ")" * 3000), "this is no .npz file of ours"),
        (b"\x93NUMPY", "this is no .npz file of ours"),
        (b"", "this is no .npz file of ours"),
    ],
)
def test_a_crafted_array_is_refused_before_memory_is_taken(tmp_path, content, message):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    with bounded(more_bytes=2**28), pytest.raises(DamagedFile, match=message):
        read_arrays(path)


def test_an_archive_that_grows_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(10**6))
    with pytest.raises(DamagedFile, match=r"'x\.npy' is compressed, which our files are not"):
        read_arrays(tmp_path / "x.npz")
    (tmp_path / "y.npz").write_bytes(zipped_text())
    with pytest.raises(DamagedFile, match=r"'x\.txt' is no array"):
        read_arrays(tmp_path / "y.npz")


def zipped_text() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x.txt", "text")
    return stream.getvalue()


def test_a_file_larger_than_any_of_ours_is_not_read(tmp_path):
    with open(tmp_path / "large.json", "wb") as sparse:
        sparse.truncate(files.MAX_FILE_BYTES + 1)
    with bounded(), pytest.raises(DamagedFile, match="bytes, more than the 268435456 allowed"):
        read_json(tmp_path / "large.json")


def test_yaml_of_the_project_names_the_line(tmp_path):
    (tmp_path / "x.yaml").write_text("a: 1\nb: !!python/name:os.system x\n")
    with pytest.raises(
        DamagedFile, match=r"x\.yaml: line 2: b the tag !!python/name:os\.system is not read here"
    ):
        read_yaml(tmp_path / "x.yaml")


@given(st.text(), st.integers(10, 50))
def test_a_quoted_text_is_one_printable_line(text, limit):
    line = one_line(text, limit)
    assert line.isprintable() and len(line) <= limit and "\n" not in line
    if text.isprintable() and len(text) <= limit and text == " ".join(text.split()):
        assert line == text
