"""Files that are not what they should be: empty, cut short, of another kind, or packed around nonsense."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator

import numpy as np

TEXTS = (
    b"", b"\n", b"a", b"a b c\n" * 50, b"1 2 3\n" * 50, b"1,2,3\n" * 50, b"\0" * 600, bytes(range(256)) * 4,
    b"((a)\n" * 20, b"\xff\xfe" + "abc\n".encode("utf-16-le"), b"{}", b"[1, 2", b"<REUTERS>", b"a\tb\n" * 9,
    b">P1;x\nsequence\nAC*\n", b"P5\n99 99\n255\nx", b"9" * 400 + b"\n", b"-1 " * 99 + b"\n",
    b"nan inf 1e999\n" * 9, "ä\u2028é\n".encode() * 9, b"\t\t\t\n" * 9,
    b"1\tb\t-1\t1\t0\t0\n" * 3, b"O B-PER I-LOC\n\nx\n", b"From: x\nNewsgroups: a\n\ntext\n",
)  # fmt: skip
"""Contents that no parser of ours was written for."""


def tarred(contents: dict[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zipped(contents: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return stream.getvalue()


def foreign(
    names: tuple[str, ...] = ("x.txt", "a/b.mrg", "a/wsj_0001.mrg", "x.data", "1.pgm", "x.tem", "x.ali"),
) -> Iterator[bytes]:
    """Each content as it is, packed by each packer, in each archive, and each of these cut short."""
    for text in TEXTS:
        yield text
        packed = [gzip.compress(text), bz2.compress(text), lzma.compress(text)]
        archives = [tarred(dict.fromkeys(names, text), mode) for mode in ("w", "w:gz", "w:xz")]
        archives.append(zipped(dict.fromkeys(names, text)))
        for data in [*packed, *archives]:
            yield data
            yield data[: len(data) // 2]
    stream = io.BytesIO()
    np.savez(stream, a=np.arange(3))
    yield stream.getvalue()
    yield tarred({})
    yield zipped({})
