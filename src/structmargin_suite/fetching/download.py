"""One file from the network, within limits of size and time: whole, or a reason in one sentence.

A server may send nothing, or a byte a minute, or more than it said; it may send another page, point to a file
of this machine, or speak no HTTP at all. Sockets have a limit for a single answer only, so the work is done
in a thread of its own, which the caller waits for no longer than it means to. What was sent goes to a file
that the caller opened: nobody sees it before it is whole.
"""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from structmargin_suite.storage.errors import one_line

BLOCK = 1 << 16
Told = Callable[[str, int, int | None], None]
"""told(name, bytes so far, bytes in all or None): how far the download of a file is."""


def silent(name: str, count: int, total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Limits:
    """What a download may take.

    Parameters
    ----------
    silence : float
        Seconds in which a server must send something.
    patience : float
        Seconds until an answer begins; after as many more the body must come faster than `slowest`.
    slowest : float
        Bytes per second.
    seconds : float
        For all of it.
    bytes : int
        Of the file.
    """

    silence: float = 10.0
    patience: float = 30.0
    slowest: float = 1000.0
    seconds: float = 1800.0
    bytes: int = 2 * 2**30


class Refused(Exception):
    """Why a file was not fetched, in one line."""


LIMITS = Limits()


def download(
    url: str,
    out: IO[bytes],
    limits: Limits = LIMITS,
    start: int = 0,
    tell: Callable[[int, int | None], None] = lambda count, total: None,
) -> None:
    """Write the file at an address to `out`.

    Parameters
    ----------
    url : str
        An http or https address; redirections to such addresses are followed.
    out : file
        Open for writing. After an error it may hold a part, which the caller keeps or removes.
    limits : Limits
    start : int
        How many bytes `out` already holds: the server is asked for the rest. One that sends the whole file
        instead is taken at its word, and `out` begins anew.
    tell : callable
        tell(bytes so far, bytes in all or None), after every block.

    Raises
    ------
    Refused
        With a reason, for whatever the network or the server did. An error of `out`, such as a full disk, is
        raised as it is.
    """
    work = _Download(url, out, limits, start, tell)
    thread = threading.Thread(target=work.run, daemon=True)
    thread.start()
    answered = work.answered.wait(limits.patience)
    if answered:
        thread.join(limits.seconds)
    if work.error is not None:
        raise work.error
    if not work.done:
        work.cancelled = True
        raise Refused(
            f"the file was not there after {limits.seconds:g} seconds"
            if answered
            else f"there was no answer after {limits.patience:g} seconds"
        )


class _Download:
    """A download as its thread does it; `error` is what it ended with."""

    def __init__(
        self, url: str, out: IO[bytes], limits: Limits, start: int, tell: Callable[[int, int | None], None]
    ) -> None:
        self.url, self.out, self.limits, self.start, self.tell = url, out, limits, start, tell
        self.error: Exception | None = None
        self.answered = threading.Event()
        self.done = self.cancelled = False

    def run(self) -> None:
        try:
            self.fetch()
            self.done = True
        except Exception as error:  # raised in the caller's thread
            self.error = error
        finally:
            self.answered.set()

    def fetch(self) -> None:
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise Refused("only http and https addresses are fetched")
        opener = urllib.request.OpenerDirector()
        for handler in HANDLERS:
            opener.add_handler(handler())
        asked = urllib.request.Request(self.url)
        if self.start:
            asked.add_header("Range", f"bytes={self.start}-")
        try:
            answer = _asked(lambda: opener.open(asked, timeout=self.limits.silence))
        except Refused as reason:
            if str(reason).startswith("status 416"):  # there is no rest: the part is no part of this file
                self.restart()
            raise
        with answer:
            self.answered.set()
            self.copy(answer)

    def copy(self, answer: http.client.HTTPResponse) -> None:
        """The body of an answer, block by block as it comes."""
        said = None if answer.chunked else answer.headers.get("Content-Length")
        rest = str(answer.headers.get("Content-Range", "")).startswith(f"bytes {self.start}-")
        if answer.status != 200 and not (answer.status == 206 and self.start and rest):
            self.restart()
            raise Refused(f"status {answer.status}")
        if answer.status == 200 and self.start:
            self.restart()
        if said is not None and not (said.isascii() and said.isdecimal() and len(said) < 20):
            raise Refused(f"the length of the answer is {one_line(said, 40)!r}, which is no number")
        length = None if said is None else self.start + int(said)
        if length is not None and length > self.limits.bytes:
            raise Refused(f"the file has {length} bytes, more than the {self.limits.bytes} allowed")
        began, count = time.monotonic(), self.start
        while block := _asked(lambda: answer.read1(BLOCK)):
            count += len(block)
            if self.cancelled:
                return
            if count > self.limits.bytes:
                raise Refused(f"the file has more than the {self.limits.bytes} bytes allowed")
            seconds = time.monotonic() - began
            sent = count - self.start
            if seconds > self.limits.patience and sent < self.limits.slowest * seconds:
                raise Refused(f"the server sent {sent} bytes in {seconds:.0f} seconds, which is too slow")
            self.out.write(block)
            self.tell(count, length)
        if count == 0 or (length is not None and count != length):
            raise Refused(f"the answer ended after {count} of {'some' if length is None else length} bytes")

    def restart(self) -> None:
        """Forget the part that was there."""
        self.start = 0
        self.out.seek(0)
        self.out.truncate()


class Redirections(urllib.request.HTTPRedirectHandler):
    """urllib's own, which would first read all of an answer that only points elsewhere."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        fp.close()
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


HANDLERS: tuple[type[urllib.request.BaseHandler], ...] = (
    urllib.request.ProxyHandler,
    urllib.request.UnknownHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPDefaultErrorHandler,
    Redirections,
    urllib.request.HTTPErrorProcessor,
)
"""urllib's own, without those for files of this machine, FTP and data in the address."""


def _asked(question: Callable[[], Any]) -> Any:
    """What the network answers; whatever it does instead is a Refused."""
    try:
        return question()
    except urllib.error.HTTPError as error:
        error.close()
        raise Refused(f"status {error.code}: {one_line(error.reason, 120)}") from None
    except urllib.error.URLError as error:
        raise Refused(one_line(error.reason, 200)) from None
    except TimeoutError:
        raise Refused("the server stopped answering") from None
    except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
        raise Refused(f"{type(error).__name__}: {one_line(error, 200)}") from None
