"""The files of a data set, made from its public originals: the same parts to the byte as from a mirror."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import lzma
import os
import pickle
import re
import shutil
import tarfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.foreign_files import tarred, zipped
from helpers.originals import (
    LAYOUTS,
    array_of_objects,
    below,
    made_up,
    release_of,
    serving,
    untarred,
    with_originals,
    with_sums_of,
)  # fmt: skip
from helpers.toy_project import HERE as TREE
from structmargin_suite.datasets import covertype, dataset
from structmargin_suite.datasets.homstrad import releases
from structmargin_suite.fetching import fetch
from structmargin_suite.fetching.contents import Members, digest_of_members
from structmargin_suite.fetching.fetch import Remote, Unavailable, obtain
from structmargin_suite.fetching.object_arrays import strings_of
from structmargin_suite.fetching.originals import Original, at_hand, obtain_files
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.sources import FETCHED, HERE, SYNTHETIC, sources, state_of
from structmargin_suite.stages.prepare import _files
from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.errors import DataError

MIRROR = Path(os.environ.get("STRUCTMARGIN_DATA", "data/mirror"))
PARAMS = {
    "gum": {"longest": 10}, "craft": {"longest": 10}, "covertype": {"n_train": 100, "n_test": 100},
    "newsgroups": {"postings_per_group": 4}, "ambient": {}, "wipo_d": {},
    "uiuc_cars": {
        "stride": 8, "surf_scale": 1, "n_words": 4, "train_images": 2, "test_images": 2, "crops": 4,
    },
}  # fmt: skip


def real(name: str) -> dict[str, bytes] | None:
    """The files of a data set in the mirror, or None without them."""
    paths = {file.name: MIRROR / file.mirror for file in dataset(name).FILES}
    whole = all(path.is_file() for path in paths.values())
    return {name: path.read_bytes() for name, path in paths.items()} if whole else None


CASES = [(name, "made up") for name in PARAMS]
CASES += [(name, "real") for name in PARAMS if name not in ("newsgroups", "uiuc_cars") and real(name)]


@pytest.mark.parametrize(("name", "source"), CASES)
def test_originals_and_the_mirror_give_the_same_parts_to_the_byte(name, source, tmp_path, monkeypatch):
    data_set = dataset(name)
    mirror = made_up(name) if source == "made up" else real(name)
    originals = LAYOUTS[name](mirror)
    files = with_sums_of(data_set.FILES, mirror) if source == "made up" else data_set.FILES
    home = with_originals(data_set.HOME, originals)
    if source == "made up":
        monkeypatch.setattr(covertype, "N_ROWS", 300)
    public = originals | {file.name: mirror[file.name] for file in files if file.url is not None}
    parts = {}
    for folder, contents in (("mirror", mirror), ("originals", public)):
        raw = tmp_path / "raw" / folder
        (tmp_path / folder / home.folder).mkdir(parents=True)
        for path, content in contents.items():
            (tmp_path / folder / home.folder / path).write_bytes(content)
        assert at_hand(files, home, raw, tmp_path / folder)
        paths = obtain_files(files, home, raw, tmp_path / folder)
        assert paths == obtain_files(files, home, raw, tmp_path / "nowhere")  # they stay, and verify again
        parts[folder] = npz_bytes(data_set.parse(paths, 7, **PARAMS[name]))
    assert parts["mirror"] == parts["originals"]


def test_without_a_network_but_with_a_folder_of_originals_every_corpus_is_real(tmp_path, monkeypatch):
    """Every experiment as it is committed, in a folder without data; the originals are made up."""

    def no_network(*args):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(fetch, "download", no_network)
    monkeypatch.setattr(covertype, "N_ROWS", 300)
    monkeypatch.setattr(releases, "families", lambda: frozenset({"helix"}))
    for part in ("configs", "data/published"):
        shutil.copytree(TREE / part, tmp_path / part)
    folder = tmp_path / "originals"
    monkeypatch.setenv("STRUCTMARGIN_DATA", str(folder))
    suite = load(tmp_path, "smoke", library=False)
    parts = {
        (experiment.name, corpus): experiment.parts_of(corpus)[0]
        for experiment in suite.experiments.values()
        for corpus in experiment.corpora
    }
    real = {
        key: part for key, part in parts.items() if dataset(part.module).FILES and part.source != "synthetic"
    }
    assert {state_of(suite, part.module)[0] for part in real.values()} == {FETCHED}
    for name in {part.module for part in real.values()}:
        _put_originals(name, folder, monkeypatch)
    assert {str(source.state) for source in sources(suite)} == {HERE, SYNTHETIC}
    for part in real.values():
        files, kind = _files(suite, part)
        assert kind == "real" and set(files) == {file.name for file in dataset(part.module).FILES}, part
    known = Catalogue(tmp_path, library=False).datasets
    assert {part.module for part in real.values()} == {name for name in known if dataset(name).FILES}


def _put_originals(name, folder, monkeypatch):
    """Write the public originals of a data set, made up, and nothing else; its sums become theirs."""
    module = importlib.import_module(f"structmargin_suite.datasets.{name}")
    content = gzip.compress(module.HOME.title.encode(), mtime=0)  # it is not parsed
    mirror = made_up(name) if name in LAYOUTS else {file.name: content for file in module.FILES}
    originals = LAYOUTS[name](mirror) if name in LAYOUTS else {}
    monkeypatch.setattr(module, "FILES", with_sums_of(module.FILES, mirror))
    monkeypatch.setattr(module, "HOME", with_originals(module.HOME, originals))
    (folder / module.HOME.folder).mkdir(parents=True, exist_ok=True)  # two data sets may share one
    public = originals | {file.name: mirror[file.name] for file in module.FILES if file.url is not None}
    for file, content in public.items():
        (folder / module.HOME.folder / file).write_bytes(content)


def test_structures_homologues_and_alignments_come_from_one_collection(tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "families", lambda: frozenset({"helix"}))
    mirror = made_up("homstrad")
    (tmp_path / "original").write_bytes(LAYOUTS["homstrad"](mirror)["meet-u-2019-2020.tar.gz"])
    made = releases.from_collection(tmp_path / "original")
    for name, head in (("homstrad_ali.tar.xz", "homstrad_ali/"), ("homstrad_map.tar.xz", "Data/HOMSTRAD/")):
        inside = untarred(made[name])
        assert inside == untarred(mirror[name]) and all(member.startswith(head) for member in inside)
    table = [
        row.split("\t") for row in gzip.decompress(made["homstrad_master_dssp.tsv.gz"]).decode().splitlines()
    ]
    assert table[0] == list(releases.OWN_COLUMNS) and table[1][:4] == [
        "helix",
        "1abc",
        "A" * 12,
        "-HHHHHHHHHH-",
    ]
    structures = tmp_path / "structures"
    structures.write_bytes(made["homstrad_master_dssp.tsv.gz"])
    assert releases.STRUCTURES.fault(structures) is None, "it says who made it"
    assert releases.STRUCTURES.release(structures) == "structures found by structmargin"
    digest = hashlib.sha256(gzip.decompress(mirror["homstrad_master_dssp.tsv.gz"])).hexdigest()
    monkeypatch.setattr(releases, "STRUCTURES", releases.Structures(digest))
    same = releases.from_collection(tmp_path / "original")["homstrad_master_dssp.tsv.gz"]
    assert gzip.decompress(same) == gzip.decompress(mirror["homstrad_master_dssp.tsv.gz"])
    structures.write_bytes(gzip.compress(gzip.decompress(same).replace(b"-HHH", b"-HHG")))
    assert "its contents have the digest" in releases.STRUCTURES.fault(structures)
    (tmp_path / "original").write_bytes(below("x", {"Data/HOMSTRAD/helix/helix.map": b">P1;1abc\n"}))
    with pytest.raises(DataError, match="has no coordinates of helix, nor of 0 other families;"):
        releases.from_collection(tmp_path / "original")


def test_the_mirrors_own_archives_hold_what_the_digests_say():
    """With the tests above, in which only the digests are made up, an original gives the same parts."""
    for name in ("newsgroups", "uiuc_cars", "homstrad"):
        for file in dataset(name).FILES:
            if (MIRROR / file.mirror).is_file():
                assert file.contents.fault(MIRROR / file.mirror) is None
            else:
                print(f"not here: {file.mirror} (STRUCTMARGIN_DATA names the folder)")


TREES = Members(r"(?:.*/)?trees/([a-z]+\.txt)", "trees", "")


def toy_home(build=None, **changes):
    """A data set of one archive and one list, and its home."""
    from structmargin_suite.fetching.originals import Home, members_of

    inside = {"a.txt": b"(A)", "b.txt": b"(B)"}
    trees = replace(TREES, digest=digest_of_members(inside))
    files = (
        Remote("trees.tar.xz", "0" * 64, "toy/trees.tar.xz", contents=trees),
        Remote("list.txt", hashlib.sha256(b"a b").hexdigest(), "toy/list.txt"),
    )
    build = build or members_of({"trees.tar.xz": trees}, {"list.txt": r"[^/]+/list\.txt"})
    original = Original("toy.tar.gz", (), ("trees.tar.xz", "list.txt"), build)
    home = Home("Toy", "a page", "free", folder="toy", originals=(replace(original, **changes),))
    return files, home, {"trees/a.txt": b"(A)", "trees/b.txt": b"(B)", "list.txt": b"a b", "other": b"?"}


@pytest.mark.parametrize(
    "pack",
    [
        lambda inside: below("toy-1.0", inside),
        lambda inside: lzma.compress(tarred({f"x/{name}": text for name, text in inside.items()}, "w")),
        lambda inside: zipped({f"y/{name}": text for name, text in reversed(inside.items())}),
    ],
)
def test_whoever_packed_the_original_it_verifies_by_its_contents(pack, tmp_path):
    files, home, inside = toy_home()
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.tar.gz").write_bytes(pack(inside))
    paths = obtain_files(files, home, tmp_path / "raw", tmp_path)
    assert paths["list.txt"].read_bytes() == b"a b"
    with tarfile.open(paths["trees.tar.xz"]) as made:
        assert {m.name: made.extractfile(m).read() for m in made} == {
            "trees/a.txt": b"(A)",
            "trees/b.txt": b"(B)",
        }
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["list.txt", "trees.tar.xz"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trees/b.txt": b"(C)"}, "gives trees.tar.xz, which has the SHA-256 sum"),
        ({"trees/c.txt": b"(C)"}, "its contents have the digest"),
        ({"list.txt": b"b a"}, "gives list.txt, which has the SHA-256 sum"),
        ({"list.txt": None}, "has not what list.txt is made from, and so is not Toy"),
        ({"z/trees/a.txt": b"(A)"}, "has two members for trees.tar.xz/a.txt"),
        ({"../../out.txt": b"x"}, "points outside the folder"),
    ],
)
def test_an_original_that_is_another_or_hostile_is_refused_and_leaves_nothing(change, said, tmp_path):
    files, home, inside = toy_home()
    inside = {name: text for name, text in {**inside, **change}.items() if text is not None}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.tar.gz").write_bytes(below("toy", inside))
    with pytest.raises(DataError, match=re.escape(said)) as caught:
        obtain_files(files, home, tmp_path / "raw", tmp_path)
    assert "\n" not in str(caught.value)
    left = {path.name for path in (tmp_path / "raw").glob("**/*")}
    assert left <= {"trees.tar.xz"} and (not left or "list.txt" in said)


def test_nothing_is_downloaded_for_a_corpus_that_lacks_a_file_without_an_address(tmp_path):
    files, home, inside = toy_home()
    files = (*files, Remote("derived.tsv", "0" * 64, "toy/derived.tsv"))
    with serving({"toy.tar.gz": below("toy", inside)}) as (address, asked):
        home = replace(home, originals=(replace(home.originals[0], urls=(f"{address}/toy.tar.gz",)),))
        home = replace(home, by_hand="ask for derived.tsv")
        with pytest.raises(Unavailable, match=r"derived\.tsv is neither in .*\(ask for derived\.tsv\)"):
            obtain_files(files, home, tmp_path / "raw", tmp_path)
    assert asked == [] and home.without_address(files) == ["derived.tsv"]


def test_a_known_sum_comes_before_anything_is_read(tmp_path):
    def build(path):
        raise AssertionError("a file with another sum was opened")

    files, home, inside = toy_home(build=build, sha256="1" * 64)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "toy.tar.gz").write_bytes(below("toy", inside))
    with pytest.raises(DataError, match=r"toy\.tar\.gz must have 1111"):
        obtain_files(files, home, tmp_path / "raw", tmp_path)


def test_an_original_is_fetched_from_the_first_address_that_answers_and_then_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTMARGIN_RUN", "one")
    files, home, inside = toy_home()
    with serving({"toy.tar.gz": below("toy", inside)}) as (address, asked), serving({}) as (empty, _):
        urls = (f"{empty}/gone", f"{address}/toy.tar.gz")
        home = replace(home, originals=(replace(home.originals[0], urls=urls),))
        told = []
        paths = obtain_files(files, home, tmp_path / "raw", tmp_path / "m", lambda *word: told.append(word))
    assert asked == [("toy.tar.gz", None)] and paths["list.txt"].read_bytes() == b"a b"
    assert told[-1][0] == "toy.tar.gz" and told[-1][1] == told[-1][2] > 0
    left = {path.name for path in (tmp_path / "raw").iterdir()}
    assert left == {"list.txt", "trees.tar.xz", ".unreachable.json"}


PAGE = b"<html>This page has moved.</html>"


@pytest.mark.parametrize("first", [None, PAGE, below("toy", {"other": b"?"})])
def test_where_an_address_sends_nothing_or_another_file_the_next_is_tried(first, tmp_path, monkeypatch):
    """Also one of the same host, which answers."""
    monkeypatch.setenv("STRUCTMARGIN_RUN", "one")
    files, home, inside = toy_home()
    contents = {"toy.tar.gz": below("toy", inside)} | ({} if first is None else {"first": first})
    with serving(contents) as (address, asked):
        urls = (f"{address}/first", f"{address}/toy.tar.gz")
        home = replace(home, originals=(replace(home.originals[0], urls=urls),))
        paths = obtain_files(files, home, tmp_path / "raw", tmp_path / "m")
    assert [name for name, _ in asked] == ["first", "toy.tar.gz"]
    assert paths["list.txt"].read_bytes() == b"a b"
    left = {path.name for path in (tmp_path / "raw").iterdir()} - {".unreachable.json"}
    assert left == {"list.txt", "trees.tar.xz"}


@pytest.mark.parametrize("sha256", [None, "1" * 64])
def test_where_no_address_sends_the_original_the_error_names_one_that_sent_another_file(sha256, tmp_path):
    files, home, _ = toy_home(sha256=sha256)
    with serving({"toy.tar.gz": PAGE}) as (address, asked):
        urls = (f"{address}/gone", f"{address}/toy.tar.gz")
        home = replace(home, originals=(replace(home.originals[0], urls=urls),))
        with pytest.raises(DataError, match=re.escape(f"{address}/toy.tar.gz sent a")) as caught:
            obtain_files(files, home, tmp_path / "raw", tmp_path / "m")
    assert not isinstance(caught.value, Unavailable) and len(asked) == 2
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {".unreachable.json"}


def test_jobs_that_need_the_same_original_at_once_fetch_it_once(tmp_path):
    """As the corpora gum and gum-all-roots are prepared beside each other."""
    files, home, inside = toy_home()
    build, built, failures = home.originals[0].build, [], []

    def slowly(path):
        time.sleep(0.3)
        built.append(path)
        return build(path)

    def job():
        try:
            assert obtain_files(files, home, tmp_path / "raw", tmp_path / "m")["list.txt"].is_file()
        except Exception as error:
            failures.append(error)

    with serving({"toy.tar.gz": below("toy", inside)}) as (address, asked):
        original = replace(home.originals[0], urls=(f"{address}/toy.tar.gz",), build=slowly)
        home = replace(home, originals=(original,))
        jobs = [threading.Thread(target=job) for _ in range(3)]
        for thread in jobs:
            thread.start()
        for thread in jobs:
            thread.join()
    assert failures == [] and len(asked) == len(built) == 1
    assert {path.name for path in (tmp_path / "raw").iterdir()} == {"list.txt", "trees.tar.xz"}


def test_a_download_that_broke_off_goes_on_where_it_was(tmp_path, monkeypatch):
    content = bytes(range(256)) * 1000
    remote = Remote("x.bin", hashlib.sha256(content).hexdigest(), "toy/x.bin")
    raw = tmp_path / "raw"
    with serving({"x": content}, cut={"x": 100_000}) as (address, asked):
        remote = remote._replace(url=f"{address}/x")
        monkeypatch.setenv("STRUCTMARGIN_RUN", "one")
        with pytest.raises(Unavailable, match="100000 of 256000 bytes"):
            obtain(remote, raw, tmp_path)
        assert (raw / ".x.bin.part").read_bytes() == content[:100_000]
        monkeypatch.setenv("STRUCTMARGIN_RUN", "two")
        assert obtain(remote, raw, tmp_path).read_bytes() == content
        assert asked == [("x", None), ("x", "bytes=100000-")] and not (raw / ".x.bin.part").exists()
        (raw / "x.bin").unlink()
        (raw / ".x.bin.part").write_bytes(b"of another file")  # the whole is wrong, and nothing is kept
        with pytest.raises(DataError, match="nothing was kept"):
            obtain(remote, raw, tmp_path)
        assert not (raw / ".x.bin.part").exists() and obtain(remote, raw, tmp_path).read_bytes() == content


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_strings_of_an_array_of_objects_are_read_whatever_the_protocol(protocol, tmp_path):
    strings = ["D01F00", "D21H02", "D01F00", "ä", "D21H02"] * 300  # the same objects again: from the memo
    head = array_of_objects(strings)
    head = head[: head.index(b"\n") + 1]
    path = tmp_path / "labels.npy"
    array = np.array(strings, dtype=object)
    path.write_bytes(head + pickle.dumps(array, protocol=protocol))
    assert strings_of(path) == strings


def test_nothing_in_an_array_of_objects_is_unpickled(tmp_path):
    path, sprung = tmp_path / "labels.npy", tmp_path / "sprung"
    head = array_of_objects(["a", "b"])
    head = head[: head.index(b"\n") + 1]
    for value in (["a", Trap(sprung)], [Trap(sprung), "a", "b"], Trap(sprung)):
        path.write_bytes(head + pickle.dumps(value))
        with pytest.raises(DataError, match=r"labels\.npy"):
            strings_of(path)
        assert not sprung.exists()
    for damaged in (b"", head, head + b"garbage", array_of_objects(["a"] * 9)[:-30]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"labels\.npy"):
            strings_of(path)


def test_alignments_of_another_release_are_taken_and_the_release_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "families", lambda: frozenset({"globin", "kinase"}))
    ours = {"globin.ali": b">P1;1\nx\nAC*\n", "kinase.ali": b">P1;2\nx\nAC*\n"}
    monkeypatch.setattr(releases, "ALIGNMENTS", releases.Alignments(digest_of_members(ours)))
    mirror = tarred({f"homstrad_ali/{name}": text for name, text in ours.items()}, "w:xz")
    path = tmp_path / "homstrad_ali.tar.xz"
    for changed, named in (({}, ""), ({"kinase.ali": b">P1;2\nx\nAD*\n"}, "HOMSTRAD 2021_Feb_1")):
        release = tarred({f"homstrad_ali/{name}": text for name, text in {**ours, **changed}.items()}, "w:xz")
        original = release_of({"homstrad_ali.tar.xz": release})
        (tmp_path / "original").write_bytes(original)
        path.write_bytes(releases.from_release(tmp_path / "original")["homstrad_ali.tar.xz"])
        assert releases.ALIGNMENTS.fault(path) is None and releases.ALIGNMENTS.release(path) == named
        with tarfile.open(path) as made:
            assert {Path(m.name).stem for m in made} - {"RELEASE"} == {"globin", "kinase"}
    path.write_bytes(mirror.replace(b"x", b"x"))
    assert releases.ALIGNMENTS.fault(path) is None
    path.write_bytes(tarred({"homstrad_ali/globin.ali": b">P1;1\nx\nAA*\n"}, "w:xz"))
    assert "names no release" in releases.ALIGNMENTS.fault(path)
    (tmp_path / "original").write_bytes(below("homstrad_ali_only_2030_Jan_1", {"globin.ali": b"x"}))
    with pytest.raises(DataError, match="no alignment of kinase"):
        releases.from_release(tmp_path / "original")
