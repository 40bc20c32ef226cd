"""Archives: plain ones are opened, those that reach outside are refused before a byte is written."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile

import pytest

from helpers.foreign_files import foreign
from structmargin_suite.fetching import unpack as module
from structmargin_suite.fetching.unpack import UnsafeArchive, read_members, unpack
from structmargin_suite.storage.errors import DataError


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def tarred(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_plain_archives_give_their_files_and_a_second_time_nothing_is_touched(tmp_path):
    one = zipped(tmp_path / "a.zip", [("x/1.txt", "one"), ("2.txt", "two")])
    two = tarred(
        tmp_path / "a.tgz", [(tarfile.TarInfo("x/1.txt"), b"one"), (tarfile.TarInfo("2.txt"), b"two")]
    )
    for archive in (one, two):
        folder = unpack(archive, tmp_path / f"{archive.name}.d")
        written = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
        assert written == {"x/1.txt": "one", "2.txt": "two"}
        (folder / "2.txt").write_text("kept")
        assert (unpack(archive, folder) / "2.txt").read_text() == "kept"


@pytest.mark.parametrize(
    "name", ["../evil.txt", "x/../../evil.txt", "/evil.txt", "C:\\evil.txt", "..\\evil.txt"]
)
def test_members_that_point_outside_are_refused(tmp_path, name):
    archives = [
        zipped(tmp_path / "a.zip", [("good.txt", "good"), (name, "evil")]),
        tarred(
            tmp_path / "a.tgz", [(tarfile.TarInfo("good.txt"), b"good"), (tarfile.TarInfo(name), b"evil")]
        ),
    ]
    for archive in archives:
        with pytest.raises(UnsafeArchive, match="points outside the folder"):
            unpack(archive, tmp_path / "inside" / "d")
    assert not list(tmp_path.rglob("evil*")) and not list(tmp_path.rglob("good.txt"))


@pytest.mark.parametrize(
    "info",
    [
        link("l", "/etc/passwd"),
        link("l", "good.txt"),
        link("l", "../x", tarfile.LNKTYPE),
        link("f", "", tarfile.FIFOTYPE),
    ],
)
def test_links_and_devices_in_tar_files_are_refused(tmp_path, info):
    archive = tarred(tmp_path / "a.tgz", [(tarfile.TarInfo("good.txt"), b"good"), (info, b"")])
    with pytest.raises(UnsafeArchive, match="is a link or a device"):
        unpack(archive, tmp_path / "d")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tgz"]


def test_links_in_zip_files_are_refused(tmp_path):
    info = zipfile.ZipInfo("l")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(UnsafeArchive, match="is a link or a device"):
        unpack(zipped(tmp_path / "a.zip", [(info, "/etc/passwd")]), tmp_path / "d")


def test_a_bomb_and_a_text_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(UnsafeArchive, match="would unpack to 2000 bytes"):
        unpack(zipped(tmp_path / "a.zip", [("x", "a" * 2000)]), tmp_path / "d")
    (tmp_path / "x.txt").write_text("not an archive")
    with pytest.raises(UnsafeArchive, match="neither a zip nor a tar"):
        unpack(tmp_path / "x.txt", tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_bomb_is_told_before_all_of_it_is_unpacked_and_before_it_fills_the_memory(tmp_path, monkeypatch):
    members = [(tarfile.TarInfo(name), b"a" * 600) for name in ("x", "y", "z")]
    archive = tarred(tmp_path / "a.tgz", members)
    assert len(read_members(archive, str)) == 3
    monkeypatch.setattr(module, "MAX_READ_BYTES", 1000)
    assert list(read_members(archive, lambda name: name if name == "z" else None)) == ["z"]
    with pytest.raises(UnsafeArchive, match="what is read of it has more than 1000 bytes"):
        read_members(archive, str)
    with pytest.raises(UnsafeArchive, match="what is read of it has more than 1000 bytes"):
        read_members(zipped(tmp_path / "a.zip", [("x", "a" * 2000)]), str)
    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(UnsafeArchive, match="would unpack to 1200 bytes"):
        unpack(archive, tmp_path / "d")


def test_two_members_of_one_name_too_many_and_a_file_in_a_file_are_refused(tmp_path, monkeypatch):
    twice = [(tarfile.TarInfo("x"), b"one"), (tarfile.TarInfo("x"), b"two")]
    with pytest.raises(UnsafeArchive, match="two members of one name"):
        unpack(tarred(tmp_path / "a.tgz", twice), tmp_path / "d")
    within = [(tarfile.TarInfo("x"), b"one"), (tarfile.TarInfo("x/y"), b"two")]
    with pytest.raises(UnsafeArchive, match="contradicts itself"):
        unpack(tarred(tmp_path / "b.tgz", within), tmp_path / "d")
    monkeypatch.setattr(module, "MAX_MEMBERS", 3)
    many = [(f"{k}.txt", "x") for k in range(4)]
    with pytest.raises(UnsafeArchive, match="more than 3 members"):
        unpack(zipped(tmp_path / "a.zip", many), tmp_path / "d")
    with pytest.raises(UnsafeArchive, match="more than 3 members"):
        unpack(tarred(tmp_path / "c.tgz", [(tarfile.TarInfo(n), b"x") for n, _ in many]), tmp_path / "d")
    assert not (tmp_path / "d").exists() and not list(tmp_path.glob(".*"))


def test_files_of_other_kinds_are_unpacked_whole_or_refused_with_their_name(tmp_path):
    """Also archives with one byte changed."""
    archive, folder = tmp_path / "x.tar", tmp_path / "d"
    refused = 0
    files = list(foreign())[::2]
    for number, data in enumerate([*files, *(flipped(data) for data in files if len(data) > 99)]):
        archive.write_bytes(data)
        try:
            made = unpack(archive, folder / str(number))
        except DataError as error:
            refused += 1
            assert str(archive) in str(error) and str(error).isprintable()
            assert not (folder / str(number)).exists()
        else:
            assert made.is_dir()
    assert refused > 100 and not list(folder.glob(".*"))


def flipped(data: bytes) -> bytes:
    """The data with a bit changed in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
