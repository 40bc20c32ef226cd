"""Archives read without unpacking them, and sparse matrices as arrays."""

from __future__ import annotations

import io
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from structmargin_suite.datasets._archives import tar_files, zip_files
from structmargin_suite.datasets._sparse import count_matrix, csr_arrays, csr_of
from structmargin_suite.storage.errors import DataError

CONTENTS = {"b/two.txt": " ".join(map(str, range(100_000))).encode(), "a/one.txt": b"1", "a/other.bin": b"0"}


def text(name: str) -> bool:
    return name.endswith(".txt")


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
def test_files_of_a_tar_archive_come_in_its_order(tmp_path, kind):
    path = tmp_path / f"x.tar.{kind}"
    with tarfile.open(path, f"w:{kind}") as archive:
        archive.addfile(tarfile.TarInfo("folder.txt/"))
        for name, content in CONTENTS.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "a/one.txt"
        archive.addfile(link)
    expected = [(name, CONTENTS[name]) for name in ("b/two.txt", "a/one.txt")]
    assert [entry for entry in tar_files(path, text) if entry[0] != "folder.txt"] == expected
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:9000] + bytes(999) + whole[9999:], b"no archive"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"x\.tar\..* is no tar archive, or is damaged or cut short"):
            list(tar_files(path, text))


def test_files_of_a_zip_archive_come_by_name(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in CONTENTS.items():
            archive.writestr(name, content)
    assert list(zip_files(path, text).items()) == [(n, CONTENTS[n]) for n in ("a/one.txt", "b/two.txt")]
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"x\.zip is no zip archive, or is damaged"):
        zip_files(path, text)


def test_a_sparse_matrix_is_stored_whole():
    dense = np.array([[0.0, 1.5, 0.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 3.0]])
    arrays = csr_arrays(sp.csr_matrix(dense), "train_", indptr=np.int32)
    assert list(arrays) == ["train_data", "train_indices", "train_indptr", "train_shape"]
    assert [arrays[name].dtype for name in list(arrays)[:3]] == [np.float32, np.int32, np.int32]
    np.testing.assert_array_equal(csr_of(arrays, "train_").toarray(), dense)
    assert csr_arrays(sp.csr_matrix(dense))["indptr"].dtype == np.int64


def test_counts_of_numbered_words():
    counts = count_matrix([{2: 1, 0: 3}, {}, {1: 2}], 4)
    assert (
        counts.toarray().tolist() == [[3, 0, 1, 0], [0, 0, 0, 0], [0, 2, 0, 0]] and counts.has_sorted_indices
    )
