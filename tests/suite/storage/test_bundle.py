"""Bundles and seals: equal contents are equal bytes, and what was changed is refused with the file's name."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.bundle import MANIFEST, Bundle, Entry, write_bundle
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import json_bytes
from structmargin_suite.storage.seal import SEAL, read_seal, verified, write_seal

names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
entries = st.lists(
    st.builds(
        Entry,
        name=names,
        key=names,
        status=st.sampled_from(["done", "skipped", "failed"]),
        files=st.dictionaries(names, st.binary(max_size=200), max_size=3),
    ),
    max_size=4,
    unique_by=lambda entry: entry.name,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("bundle") / "x.zip"


@given(entries, st.dictionaries(names, names, max_size=3))
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_and_equal_contents_are_equal_bytes(place, written, about):
    write_bundle(place, about, written)
    first = place.read_bytes()
    bundle = Bundle(place)
    bundle.verify()
    assert list(bundle.taken()) == written and bundle.about == about
    bundle.expect({entry.name: entry.key for entry in written})
    write_bundle(place, about, iter(written))
    assert place.read_bytes() == first


WHOLE = [
    Entry("a,C=1", "k1", "done", {"run.json": b'{"C": 1}', "model.npz": npz_bytes({"w": np.arange(9.0)})}),
    Entry("b", "k2", "failed", {"run.json": json_bytes({"reason": "no"})}),
]  # fmt: skip


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_refused_or_change_nothing(place, data):
    """Bytes that mean nothing (dates, attributes) may change for a reader, but not for `verify`."""
    write_bundle(place, {}, WHOLE)
    whole = place.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "drop", "double"]))
    if kind == "flip":
        spoilt = bytearray(whole)
        spoilt[position] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        spoilt = whole[:position]
    elif kind == "drop":
        spoilt = whole[:position] + whole[position + data.draw(st.integers(1, 40)) :]
    else:
        spoilt = whole[:position] + whole
    assume(bytes(spoilt) != whole)
    place.write_bytes(bytes(spoilt))
    try:
        bundle = Bundle(place)
        taken = list(bundle.taken())
    except DamagedFile as error:
        assert str(place) in str(error) and "delete it and run again" in str(error)
    else:
        assert taken == WHOLE
        with pytest.raises(DamagedFile, match=r"x\.zip: the file is not as it was written"):
            bundle.verify()


def rewritten(place, edit):
    """The bundle with its members passed through `edit`, as a person with a zip program would do it."""
    write_bundle(place, {}, WHOLE)
    with zipfile.ZipFile(place) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit(members)
    with zipfile.ZipFile(place, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def edited(members):
    members["a,C=1/run.json"] = b'{"C": 2}'


def swapped(members):
    members["a,C=1/run.json"], members["b/run.json"] = members["b/run.json"], members["a,C=1/run.json"]


def without(members):
    del members["b/run.json"]


@pytest.mark.parametrize(
    ("edit", "said"), [(edited, "SHA-256"), (swapped, "bytes|SHA-256"), (without, "has no")]
)
def test_an_edited_or_swapped_member_is_refused(place, edit, said):
    rewritten(place, edit)
    with pytest.raises(DamagedFile, match=said):
        list(Bundle(place).taken())
    with pytest.raises(DamagedFile, match="another SHA-256 sum than it ends with"):
        Bundle(place).verify()


def test_a_member_that_would_grow_past_what_the_manifest_says_is_not_unpacked(place):
    def bomb(members):
        members["b/run.json"] = bytes(50_000_000)

    rewritten(place, bomb)
    with pytest.raises(DamagedFile, match=r"b/run\.json has 50000000 bytes where at most \d+ may be"):
        Bundle(place).read("b", "run.json")


@pytest.mark.parametrize(
    "manifest",
    [
        b"", b"[]", b"{", b"null", b'{"format": "other", "about": {}, "entries": {}}',
        b'{"format": "structmargin-bundle-1", "about": {}, "entries": {"a": {}}}',
        b'{"format": "structmargin-bundle-1", "about": {}, "entries": {"a": {"key": 1, "status": ""}}}',
        b'{"format": "structmargin-bundle-1", "about": [], "entries": {}}', b"[" * 100_000, b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_manifest_of_another_kind_is_refused(place, manifest):
    rewritten(place, lambda members: members.__setitem__(MANIFEST, manifest))
    with pytest.raises(DamagedFile, match=r"x\.zip: the file is not as it was written"):
        Bundle(place)


def test_a_bundle_must_have_the_entries_and_keys_of_the_plan(place):
    write_bundle(place, {}, WHOLE)
    bundle = Bundle(place)
    for keys, said in (
        ({"a,C=1": "k1", "b": "other"}, "'b' was made from another configuration"),
        ({"a,C=1": "k1"}, "'b' does not belong to it"),
        ({"a,C=1": "k1", "b": "k2", "c": "k3"}, "'c' is not in it"),
    ):
        with pytest.raises(DamagedFile, match=said):
            bundle.expect(keys)


def test_a_failed_write_leaves_the_old_bundle(place):
    write_bundle(place, {}, WHOLE)
    before = place.read_bytes()

    def broken():
        yield WHOLE[0]
        raise MemoryError

    with pytest.raises(MemoryError):
        write_bundle(place, {}, broken())
    with pytest.raises(ValueError, match="two entries 'b'"):
        write_bundle(place, {}, [WHOLE[1], WHOLE[1]])
    assert place.read_bytes() == before and [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_seal_names_the_file_that_was_changed_or_lost(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "a.csv").write_text("1\n")
    (tmp_path / "figures" / "b.svg").write_text("<svg/>")
    write_seal(tmp_path, "key", ["a.csv", "figures/b.svg"])
    assert verified(tmp_path).key == "key" and list(read_seal(tmp_path).files) == ["a.csv", "figures/b.svg"]
    (tmp_path / "a.csv").write_text("2\n")
    with pytest.raises(DamagedFile, match=r"a\.csv: the file is not as it was written"):
        verified(tmp_path)
    (tmp_path / "a.csv").write_text("1\n")
    shutil.rmtree(tmp_path / "figures")
    with pytest.raises(DamagedFile, match=r"b\.svg: the file is missing"):
        verified(tmp_path)
    for text in ("", "[]", json.dumps({"key": "k"}), "{"):
        (tmp_path / SEAL).write_text(text)
        with pytest.raises(DamagedFile, match=r"files\.json: the file is not as it was written"):
            verified(tmp_path)
    (tmp_path / SEAL).unlink()
    with pytest.raises(DamagedFile, match=r"files\.json: the file is missing"):
        verified(tmp_path)
