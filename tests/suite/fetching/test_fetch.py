"""Where data come from, in which order, and what happens when a file is not what it should be."""

from __future__ import annotations

import gzip
import hashlib
import os
import socket

import pytest

from helpers.originals import serving
from helpers.toy_project import TOY, project
from structmargin_suite.datasets import clusters, dataset
from structmargin_suite.fetching import fetch
from structmargin_suite.fetching.contents import Unpacked
from structmargin_suite.fetching.fetch import Remote, Unavailable, here, obtain, own_files
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun.unfit import unfit
from structmargin_suite.stages import prepare
from structmargin_suite.storage.bundle import Bundle
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.layout import ScaleLayout

CONTENT = b"1 2 3\n"
SUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture()
def server():
    """A web server on this machine: its address, and what it was asked."""
    with serving({"good": CONTENT, "bad": b"something else"}) as running:
        yield running


@pytest.fixture()
def places(tmp_path):
    raw, mirror = tmp_path / "raw", tmp_path / "mirror"
    raw.mkdir()
    (mirror / "toy").mkdir(parents=True)
    return raw, mirror


def test_raw_goes_before_the_mirror_and_the_mirror_before_the_network(places, server):
    raw, mirror = places
    address, asked = server
    remote = Remote("x.txt", SUM, "toy/x.txt", f"{address}/good")
    assert not here(remote, raw, mirror)
    (mirror / "toy" / "x.txt").write_bytes(CONTENT)
    assert here(remote, raw, mirror)
    assert obtain(remote, raw, mirror) == raw / "x.txt" and asked == []
    (mirror / "toy" / "x.txt").write_bytes(b"changed in the mirror")
    assert obtain(remote, raw, mirror).read_bytes() == CONTENT and asked == []
    (raw / "x.txt").unlink()
    (mirror / "toy" / "x.txt").unlink()
    assert obtain(remote, raw, mirror).read_bytes() == CONTENT and asked == [("good", None)]
    assert obtain(remote, raw, mirror).read_bytes() == CONTENT and asked == [("good", None)]


@pytest.mark.parametrize("place", ["raw", "mirror"])
def test_a_wrong_sum_names_the_file_both_sums_and_what_to_do(places, place):
    raw, mirror = places
    file = raw / "x.txt" if place == "raw" else mirror / "toy" / "x.txt"
    file.write_bytes(b"tampered")
    with pytest.raises(DataError) as caught:
        obtain(Remote("x.txt", SUM, "toy/x.txt"), raw, mirror)
    message = str(caught.value)
    assert str(file) in message and SUM in message and hashlib.sha256(b"tampered").hexdigest() in message
    assert "delete the file and fetch it again" in message and not isinstance(caught.value, Unavailable)


def test_a_download_with_a_wrong_sum_is_an_error_and_keeps_nothing(places, server):
    raw, mirror = places
    address, _ = server
    with pytest.raises(DataError, match="sent a file with the SHA-256 sum") as caught:
        obtain(Remote("x.txt", SUM, "toy/x.txt", f"{address}/bad"), raw, mirror)
    assert not isinstance(caught.value, Unavailable) and list(raw.iterdir()) == []


def test_a_copy_may_be_packed_otherwise_but_must_hold_the_same(places):
    raw, mirror = places
    remote = Remote("toy.gz", "0" * 64, "toy/toy.gz", contents=Unpacked(SUM))
    (mirror / "toy" / "toy.gz").write_bytes(gzip.compress(CONTENT, 1))
    assert gzip.decompress(obtain(remote, raw, mirror).read_bytes()) == CONTENT
    assert gzip.decompress(obtain(remote, raw, mirror).read_bytes()) == CONTENT  # and again from raw
    (raw / "toy.gz").write_bytes(gzip.compress(CONTENT + b"x"))
    with pytest.raises(DataError, match=f"its contents have the digest .* but should have {SUM}"):
        obtain(remote, raw, mirror)


def test_an_address_that_failed_is_not_asked_again_in_the_same_run(places, server, monkeypatch):
    raw, mirror = places
    address, asked = server
    remote = Remote("x.txt", SUM, "toy/x.txt", f"{address}/gone")
    monkeypatch.setenv("STRUCTMARGIN_RUN", "one")
    for _ in range(2):
        with pytest.raises(Unavailable, match="did not answer"):
            obtain(remote, raw, mirror)
    assert asked == [("gone", None)]
    monkeypatch.setenv("STRUCTMARGIN_RUN", "two")
    with pytest.raises(Unavailable):
        obtain(remote, raw, mirror)
    assert asked == [("gone", None)] * 2


def test_a_host_that_refuses_is_unavailable_and_says_where_to_put_the_file(places):
    raw, mirror = places
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unavailable) as caught:
        obtain(Remote("x.txt", SUM, "toy/x.txt", f"http://127.0.0.1:{port}/x"), raw, mirror)
    assert "STRUCTMARGIN_DATA" in str(caught.value) and "source: synthetic" in str(caught.value)
    assert fetch.LIMITS.silence == 10.0


def test_own_files_by_name_by_folder_and_by_mapping(tmp_path):
    files = [Remote("a.txt", SUM, "a"), Remote("b.txt", SUM, "b")]
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"mine")
    assert own_files("a.txt", files[:1], tmp_path) == {"a.txt": tmp_path / "a.txt"}
    assert set(own_files(".", files, tmp_path)) == {"a.txt", "b.txt"}
    assert own_files({"a.txt": "b.txt", "b.txt": "a.txt"}, files, tmp_path)["a.txt"] == tmp_path / "b.txt"
    with pytest.raises(DataError, match=r"no file for b.txt"):
        own_files({"a.txt": "a.txt"}, files, tmp_path)
    with pytest.raises(DataError, match="correct `path` in the config"):
        own_files("c.txt", files[:1], tmp_path)


@pytest.fixture()
def real(monkeypatch):
    """The clusters data set as if it had one file on the network and a parser."""

    def parse(files, seed, **params):
        assert files["x.txt"].read_bytes() in (CONTENT, b"mine")
        arrays = clusters.synthesize(0, **params)
        arrays["groups"] = arrays["groups"] + 100
        return arrays

    monkeypatch.setattr(clusters, "FILES", (Remote("x.txt", SUM, "clusters/x.txt"),))
    monkeypatch.setattr(clusters, "parse", parse, raising=False)
    monkeypatch.delenv("STRUCTMARGIN_DATA", raising=False)
    assert dataset("clusters").FILES


def prepared(root, **data):
    config = {**TOY, "data": {"clusters": {**TOY["data"]["clusters"], **data}}}
    suite = load(project(root, config), library=False)
    prepare.prepare(suite, "toy", "clusters")
    return Bundle(ScaleLayout(root, suite.scale).corpus("toy", "clusters")).about


def test_auto_takes_the_stand_in_and_says_so_then_the_real_data_once_they_are_there(tmp_path, real, capsys):
    receipt = prepared(tmp_path, source="auto")
    assert (receipt["kind"], receipt["label"], receipt["files"]) == ("synthetic", "clusters (synthetic)", {})
    assert "using the synthetic stand-in" in capsys.readouterr().err
    mirrored = tmp_path / "data" / "mirror" / "clusters" / "x.txt"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT)
    receipt = prepared(tmp_path, source="auto")
    assert (receipt["kind"], receipt["label"], receipt["files"]) == ("real", "clusters", {"x.txt": SUM})


def test_the_environment_names_a_mirror_before_the_config_does(tmp_path, real, monkeypatch):
    (tmp_path / "elsewhere" / "clusters").mkdir(parents=True)
    (tmp_path / "elsewhere" / "clusters" / "x.txt").write_bytes(CONTENT)
    monkeypatch.setenv("STRUCTMARGIN_DATA", str(tmp_path / "elsewhere"))
    assert prepared(tmp_path, source="real")["kind"] == "real"


def test_real_without_files_is_an_error_and_a_wrong_mirror_is_never_passed_over(tmp_path, real):
    with pytest.raises(Unavailable):
        prepared(tmp_path, source="real")
    wrong = tmp_path / "data" / "mirror" / "clusters" / "x.txt"
    wrong.parent.mkdir(parents=True)
    wrong.write_bytes(b"tampered")
    with pytest.raises(DataError, match="SHA-256"):
        prepared(tmp_path, source="auto")


def test_a_users_own_file_is_used_with_its_own_sum(tmp_path, real):
    (tmp_path / "mine.txt").write_bytes(b"mine")
    receipt = prepared(tmp_path, source="file", path="mine.txt")
    assert (receipt["kind"], receipt["label"]) == ("file", "clusters (own file)")
    assert receipt["files"] == {"x.txt": hashlib.sha256(b"mine").hexdigest()}


def test_an_own_file_that_changed_but_kept_its_date_is_read_again(tmp_path, real):
    mine = tmp_path / "mine.txt"
    mine.write_bytes(b"mine")
    prepared(tmp_path, source="file", path="mine.txt")
    suite = load(tmp_path, library=False)
    corpus = ScaleLayout(tmp_path, suite.scale).corpus("toy", "clusters")
    assert corpus not in [fault.path for fault in unfit(suite, ["toy"])]
    dates = mine.stat()
    mine.write_bytes(CONTENT)
    os.utime(mine, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    assert corpus in [fault.path for fault in unfit(suite, ["toy"])]
