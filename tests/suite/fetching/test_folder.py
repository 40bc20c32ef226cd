"""Files below a user's own folder: which are listed, and what is refused with its name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from structmargin_suite.fetching import folder
from structmargin_suite.fetching.fetch import Remote, own_files
from structmargin_suite.fetching.folder import files_below
from structmargin_suite.storage.errors import DataError


@pytest.fixture()
def mine(tmp_path: Path) -> Path:
    """A folder with three files of the kind, and one of another kind."""
    for name in ("b/x.mrg", "a/y.MRG", "z.mrg", "a/readme"):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text("(S)")
    return tmp_path / "mine"


def refused(mine: Path) -> str:
    with pytest.raises(DataError) as error:
        files_below(mine, ".mrg")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_files_come_by_their_names_in_order_whatever_their_case(mine, tmp_path):
    assert files_below(mine, ".mrg") == {
        "a/y.MRG": mine / "a" / "y.MRG", "b/x.mrg": mine / "b" / "x.mrg", "z.mrg": mine / "z.mrg",
    }  # fmt: skip
    assert list(files_below(mine, ".mrg")) == ["a/y.MRG", "b/x.mrg", "z.mrg"]
    assert list(files_below(mine, ".mrg", re.compile("a"))) == ["b/x.mrg", "z.mrg"]
    (tmp_path / "link").symlink_to(mine)  # the folder itself may be a link
    assert list(files_below(tmp_path / "link", ".mrg")) == ["a/y.MRG", "b/x.mrg", "z.mrg"]


def test_a_link_out_of_the_folder_is_refused_and_one_within_it_is_not(mine, tmp_path):
    (mine / "b" / "again.mrg").symlink_to("../z.mrg")
    assert len(files_below(mine, ".mrg")) == 4
    secret = tmp_path / "secret.mrg"
    secret.write_text("(S)")
    (mine / "b" / "out.mrg").symlink_to(secret)
    assert refused(mine) == f"{mine / 'b' / 'out.mrg'} is a link out of {mine}; put the file itself there"


@pytest.mark.parametrize("target", ["..", "../elsewhere", "a"])
def test_a_link_to_a_folder_is_refused(mine, tmp_path, target):
    (tmp_path / "elsewhere").mkdir()
    (mine / "c").symlink_to(mine / target)
    assert refused(mine).startswith(f"{mine / 'c'} is a link to a folder")


def test_broken_links_and_what_is_no_file_are_refused(mine):
    (mine / "gone.mrg").symlink_to("nowhere")
    assert refused(mine).startswith(f"{mine / 'gone.mrg'} is a link that leads nowhere")
    (mine / "gone.mrg").unlink()
    os.mkfifo(mine / "pipe.mrg")
    assert refused(mine) == f"{mine / 'pipe.mrg'} is no regular file; remove it"


@pytest.mark.parametrize("name", ["a b.mrg", "{x}.mrg", "a\nb.mrg", "é.mrg", "$(x).mrg"])
def test_names_have_plain_characters(mine, name):
    (mine / name).write_text("(S)")
    assert "names may have only letters, digits" in refused(mine)


def test_sizes_and_numbers_have_limits(mine, monkeypatch):
    monkeypatch.setattr(folder, "MAX_FILE_BYTES", 3)
    assert len(files_below(mine, ".mrg")) == 3
    (mine / "z.mrg").write_text("(SS)")
    assert refused(mine) == f"{mine / 'z.mrg'} has 4 bytes, more than 3; split or remove it"
    monkeypatch.setattr(folder, "MAX_FILE_BYTES", 4)
    monkeypatch.setattr(folder, "MAX_FILES", 2)
    assert refused(mine).startswith(f"{mine} has more than 2 files")
    monkeypatch.setattr(folder, "MAX_FILES", 3)
    monkeypatch.setattr(folder, "MAX_FOLDER_BYTES", 10)
    assert len(files_below(mine, ".mrg")) == 3
    monkeypatch.setattr(folder, "MAX_FOLDER_BYTES", 9)
    assert refused(mine).startswith(f"{mine} has more than 3 files or 9 bytes")


def test_a_folder_of_another_layout_is_asked_only_where_the_files_are_not(mine, tmp_path):
    files = [Remote("a.txt", "0" * 64, "a")]

    def layout(place: Path) -> dict[str, Path]:
        return files_below(place, ".mrg")

    assert len(own_files("mine", files, tmp_path, layout)) == 3
    assert len(own_files("mine", [], tmp_path, layout)) == 3
    with pytest.raises(DataError, match=r"there is no file .*/mine/a\.txt"):
        own_files("mine", files, tmp_path)
    (mine / "a.txt").write_text("x")
    assert own_files("mine", files, tmp_path, layout) == {"a.txt": mine / "a.txt"}
    for path in ("nothing", "mine/z.mrg", {"a.txt": "mine/a.txt"}, None):
        with pytest.raises(DataError, match="there is no folder"):
            own_files(path, [], tmp_path, layout)
