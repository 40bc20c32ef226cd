"""Whatever a server does: the whole file, or one sentence and no file, within the limits."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.misbehaving_server import CONTENT, GOOD, WRONG_FILE, behaviours, misbehaving_server
from structmargin_suite.fetching import fetch
from structmargin_suite.fetching.download import Limits, Refused, download
from structmargin_suite.fetching.fetch import Remote, Unavailable, obtain
from structmargin_suite.storage.errors import DataError

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "60"))
SUM = hashlib.sha256(CONTENT).hexdigest()
SMALL = Limits(bytes=100_000)
SHORT = Limits(silence=0.3, patience=0.5, slowest=1000.0, seconds=1.0, bytes=100_000)
"""For servers that would take as long as they are allowed to."""
SLOW = ("silent", "stalled", "drip-status", "drip-headers", "drip-body", "drip-without-length")
SAID = {
    "silent": "the server stopped answering",
    "closed": "Remote end closed connection",
    "reset": "reset",
    "reset-in-body": "reset",
    "no-http": "BadStatusLine",
    "bad-status": "BadStatusLine",
    "long-status": "LineTooLong",
    "many-headers": "more than 100 headers",
    "long-header": "LineTooLong",
    "drip-status": "there was no answer after 0.5 seconds",
    "drip-headers": "there was no answer after 0.5 seconds",
    "drip-body": "which is too slow",
    "drip-without-length": "which is too slow",
    "stalled": "the server stopped answering",
    "cut-short": "the answer ended after 6000 of 12000 bytes",
    "says-too-long": "the file has 1000000000000000 bytes, more than the 100000 allowed",
    "endless": "the file has more than the 100000 bytes allowed",
    "endless-chunks": "the file has more than the 100000 bytes allowed",
    "chunk-no-number": "IncompleteRead",
    "chunk-cut-short": "IncompleteRead",
    "not-found": "status 404: Not",
    "server-error": "status 500: Sorry Sorry",
    "half-headers": "the answer ended after 0 of some bytes",
    "length-huge": "which is no number",
    "length-negative": "the length of the answer is '-5', which is no number",
    "no-content": "status 204",
    "part": "status 206",
    "loop": "status 302: The HTTP server returned a redirect error that would lead to an infinite loop",
    "ping": "infinite loop",
    "to-file": "Redirection to url 'file:///etc/passwd' is not allowed",
    "to-ftp": "unknown url type: ftp",
    "to-data": "is not allowed",
}


@pytest.fixture(scope="module")
def server():
    with misbehaving_server() as running:
        yield running


@pytest.fixture()
def places(tmp_path):
    return tmp_path / "raw", tmp_path / "mirror"


@pytest.mark.parametrize("name", behaviours())
def test_every_way_to_answer_gives_the_file_or_a_sentence(server, places, name, monkeypatch):
    monkeypatch.setattr(fetch, "LIMITS", SHORT if name in SLOW else SMALL)
    raw, mirror = places
    remote = Remote("x.txt", SUM, "toy/x.txt", f"{server.address}/{name}")
    if name in GOOD:
        assert obtain(remote, raw, mirror).read_bytes() == CONTENT
        assert [path.name for path in raw.iterdir()] == ["x.txt"]
        return
    with pytest.raises(DataError) as caught:
        obtain(remote, raw, mirror)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 900 and f"{server.address}/{name}" in message
    assert isinstance(caught.value, Unavailable) == (name not in WRONG_FILE), message
    if name in SAID:
        assert SAID[name] in message
    left = [path for path in raw.iterdir() if not path.name.startswith(".unreachable")]
    assert all(path.name == ".x.txt.part" for path in left)  # never the file itself; a part is gone on with
    assert all(0 < path.stat().st_size <= 100_000 for path in left) and not (left and name in WRONG_FILE)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "x", "http://", "//x/y"]
)
def test_only_http_is_spoken(url):
    out = io.BytesIO()
    with pytest.raises(Refused, match=r"only http and https|no host given"):
        download(url, out)
    assert out.getvalue() == b""


class FullDisk(io.BytesIO):
    def write(self, data):
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_no_fault_of_the_server(server):
    with pytest.raises(OSError, match="No space left"):
        download(f"{server.address}/good", FullDisk())


def test_what_comes_too_late_is_not_written(server):
    """The thread that waits for a server ends by itself once its caller has given up."""

    def late():
        yield 0.4
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + CONTENT

    server.behaviours["late"] = late
    out, before = io.BytesIO(), threading.active_count()
    with pytest.raises(Refused, match=r"no answer after 0\.1 seconds"):
        download(f"{server.address}/late", out, Limits(silence=5.0, patience=0.1))
    while threading.active_count() > before + 1:
        time.sleep(0.02)
    assert out.getvalue() == b""


@settings(max_examples=max(CASES, 1), database=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 ", b"Content-Length: 12000\r\n", b"\r\n", b"\r\n\r\n",
                 b"5\r\n", b"Transfer-Encoding: chunked\r\n", b"Location: /good\r\n", b"HTTP/1.1 301 x\r\n",
                 CONTENT, b"0\r\n"]
            ),
        ),
        max_size=8,
    )
)  # fmt: skip
def test_any_bytes_in_answer_give_the_sent_body_or_a_sentence(server, pieces):
    server.behaviours["drawn"] = lambda: [b"".join(pieces)]
    out = io.BytesIO()
    try:
        download(f"{server.address}/drawn", out, SHORT)
    except Refused as reason:
        assert str(reason).isprintable() and 0 < len(str(reason)) < 400
    else:
        sent = b"".join(pieces)
        assert out.getvalue() in sent or b"chunked" in sent or b"Location" in sent
