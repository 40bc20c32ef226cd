"""A server on this machine that speaks HTTP wrongly, slowly or not at all, each way under a path of its own.

A behaviour is a generator of what to send: bytes go out as they are, a number is a pause in seconds, and None
ends the connection with a reset. Nothing is sent once the server is closed, and no pause outlasts it.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator

CONTENT = b"1 2 3\n" * 2000
Piece = bytes | float | None
OK = b"HTTP/1.1 200 OK\r\n"


def plain(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer with these headers."""
    lines = [f"HTTP/1.1 {status}", *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def sized(body: bytes, length: object) -> bytes:
    return plain(body, f"Content-Length: {length}")


def moved(target: str, status: str = "302 Found") -> bytes:
    return plain(b"", f"Location: {target}", "Content-Length: 0", status=status)


def chunks(*sizes_and_data: tuple[str, bytes], end: bytes = b"0\r\n\r\n") -> bytes:
    body = b"".join(size.encode() + b"\r\n" + data + b"\r\n" for size, data in sizes_and_data)
    return plain(body + end, "Transfer-Encoding: chunked")


def drip(data: bytes, pause: float) -> Iterator[Piece]:
    """A byte at a time, for as long as anybody listens."""
    for each in itertools.cycle(data):
        yield bytes([each])
        yield pause


def behaviours() -> dict[str, Callable[[], Iterable[Piece]]]:
    """Every way to misbehave, by name; `good` and `chunked` are the two that do not."""
    whole, half = CONTENT, CONTENT[: len(CONTENT) // 2]
    return {
        "good": lambda: [sized(whole, len(whole))],
        "chunked": lambda: [chunks((f"{len(half):x}", half), (f"{len(half):x};x=y", half))],
        "without-length": lambda: [plain(whole)],
        "moved": lambda: [moved("/good")],
        "silent": lambda: [30.0],
        "closed": list,
        "reset": lambda: [None],
        "reset-in-body": lambda: [sized(half, len(whole)), 0.05, None],
        "no-http": lambda: [b"220 mail.example ESMTP\r\n"],
        "binary": lambda: [bytes(range(256)) * 20],
        "bad-status": lambda: [b"HTTP/1.1 two hundred OK\r\n\r\n"],
        "long-status": lambda: [b"HTTP/1.1 200 " + b"x" * 100_000],
        "half-status": lambda: [b"HTTP/1.1 2"],
        "many-headers": lambda: [OK + b"".join(b"X%d: y\r\n" % k for k in range(300)) + b"\r\n"],
        "long-header": lambda: [OK + b"X: " + b"y" * 100_000 + b"\r\n\r\n"],
        "odd-headers": lambda: [OK + b"no colon here\r\n\xff\xfe: \x00\r\n\r\n"],
        "half-headers": lambda: [OK + b"Content-Le"],
        "drip-status": lambda: drip(b"HTTP/1.1 200 OK ", 0.05),
        "drip-headers": lambda: itertools.chain([OK], drip(b"X: y\r\n", 0.05)),
        "drip-body": lambda: itertools.chain([sized(b"", 50_000)], drip(b"x", 0.05)),
        "drip-without-length": lambda: itertools.chain([plain(b"")], drip(b"x", 0.05)),
        "stalled": lambda: [sized(half, len(whole)), 30.0],
        "cut-short": lambda: [sized(half, len(whole))],
        "too-long": lambda: [sized(whole + whole, len(whole) * 2)],
        "says-too-long": lambda: [sized(whole, 10**15)],
        "endless": lambda: itertools.chain([plain(b"")], itertools.repeat(b"x" * 65536)),
        "endless-chunks": lambda: itertools.chain(
            [plain(b"", "Transfer-Encoding: chunked")],
            itertools.repeat(b"10000\r\n" + b"x" * 65536 + b"\r\n"),
        ),
        "length-negative": lambda: [sized(half, -5)],
        "length-no-number": lambda: [sized(half, "many")],
        "length-huge": lambda: [sized(half, "9" * 5000)],
        "chunk-no-number": lambda: [chunks(("zz", half))],
        "chunk-negative": lambda: [chunks(("-5", half))],
        "chunk-huge": lambda: [chunks(("F" * 40, half))],
        "chunk-cut-short": lambda: [chunks((f"{len(whole):x}", half), end=b"")],
        "chunk-without-end": lambda: [chunks((f"{len(half):x}", half), end=b"")],
        "not-found": lambda: [plain(b"no", "Content-Length: 2", status="404 Not\x1b[31m Found")],
        "server-error": lambda: [plain(b"no", "Content-Length: 2", status="500 " + "Sorry " * 200)],
        "no-content": lambda: [plain(b"", status="204 No Content")],
        "part": lambda: [plain(half, f"Content-Length: {len(half)}", status="206 Partial Content")],
        "continue": lambda: [b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 101 Other\r\n\r\n"],
        "loop": lambda: [moved("/loop")],
        "ping": lambda: [moved("/pong")],
        "pong": lambda: [moved("/ping", "307 Temporary Redirect")],
        "endless-redirection": lambda: itertools.chain(
            [plain(b"", "Location: /good", status="302 Found")], itertools.repeat(b"x" * 65536)
        ),
        "to-file": lambda: [moved("file:///etc/passwd")],
        "to-ftp": lambda: [moved("ftp://127.0.0.1/x")],
        "to-data": lambda: [moved("data:text/plain,hello")],
        "to-nonsense": lambda: [moved("http://[::1")],
        "to-nowhere": lambda: [plain(b"", "Content-Length: 0", status="302 Found")],
        "to-empty-host": lambda: [moved("http:///x")],
        "to-bad-port": lambda: [moved("http://127.0.0.1:99999/x")],
        "to-control": lambda: [moved("/a\x00b c")],
    }  # fmt: skip


GOOD = ("good", "chunked", "without-length", "moved", "endless-redirection")
WRONG_FILE = ("too-long",)
"""What looks like a file to HTTP and has other bytes: only its sum tells."""


class MisbehavingServer:
    """The server; `asked` lists the paths that were asked for, `address` is where it listens."""

    def __init__(self) -> None:
        self.behaviours: dict[str, Callable[[], Iterable[Piece]]] = behaviours()
        self.asked: list[str] = []
        self.closed = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self._serve)]
        self.threads[0].start()

    def _serve(self) -> None:
        self.listener.settimeout(0.05)
        while not self.closed.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = self.listener.accept()
                self.threads.append(threading.Thread(target=self._answer, args=(connection,)))
                self.threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(2.0)
            request = b""
            while b"\r\n\r\n" not in request and len(request) < 10_000:
                got = connection.recv(4096)
                if not got:
                    return
                request += got
            path = request.split(b" ")[1].decode("latin-1").lstrip("/")
            self.asked.append(path)
            for piece in self.behaviours.get(path, lambda: [sized(b"", 0)])():
                if self.closed.is_set():
                    return
                if piece is None:
                    linger = struct.pack("ii", 1, 0)  # closing now resets the connection
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    return
                if isinstance(piece, bytes):
                    connection.sendall(piece)
                else:
                    self.closed.wait(piece)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    def close(self) -> None:
        self.closed.set()
        for thread in self.threads:
            thread.join()
        self.listener.close()


@contextlib.contextmanager
def misbehaving_server() -> Iterator[MisbehavingServer]:
    server = MisbehavingServer()
    try:
        yield server
    finally:
        server.close()
