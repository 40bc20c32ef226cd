"""Public originals in their own layouts, made out of the files that the suite reads."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from helpers.foreign_files import tarred
from structmargin_suite.fetching.contents import Members, Unpacked, digest_of_members
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home

Files = Mapping[str, bytes]


def untarred(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}


def gum(files: Files) -> dict[str, bytes]:
    trees = {name.split("/")[-1]: text for name, text in untarred(files["gum_const.tar.xz"]).items()}
    inside = {f"const/{name}": text for name, text in trees.items() if name.endswith(".ptb")}
    inside |= {"splits.md": files["splits.md"], "README.md": b"GUM", "_build/splits.md": b"another"}
    inside |= {"const/GUM_reddit_card.ptb": b"(ROOT (S (X _)))", "dep/GUM_x.conllu": b"1"}
    return {"gum-V11.1.0.tar.gz": below("gum-72ce5ac", inside)}


def craft(files: Files) -> dict[str, bytes]:
    trees = {name.split("/")[-1]: text for name, text in untarred(files["craft_penn_trees.tar.xz"]).items()}
    inside = {f"structural-annotation/treebank/penn/{name}": text for name, text in trees.items()}
    inside |= {f"articles/ids/{name}": text for name, text in files.items() if name.endswith(".txt")}
    inside |= {"articles/ids/craft-pmids.txt": b"1", "structural-annotation/treebank/xml/1.xml": b"<x/>"}
    return {"CRAFT-v5.0.2.tar.gz": below("CRAFT-5.0.2", inside)}


def covertype(files: Files) -> dict[str, bytes]:
    rows = gzip.decompress(files["covtype.20k.data.gz"])
    return {"covtype.data.gz": gzip.compress(rows + 9 * rows[: rows.index(b"\n") + 1], 1)}


def newsgroups(files: Files) -> dict[str, bytes]:
    return {"20news-bydate.tar.gz": packed(untarred(files["20news-bydate.tar.xz"]))}


def uiuc_cars(files: Files) -> dict[str, bytes]:
    inside = untarred(files["CarData.tar.xz"])
    return {
        "CarData.tar.gz": packed({**inside, "CarData/Evaluator.java": b"class", "CarData/README.txt": b""})
    }


def ambient(files: Files) -> dict[str, bytes]:
    return {"dataset.tar.gz": below("AMBIENT", {**files, "ReadMe.txt": b"Carpineto and Romano"})}


def wipo_d(files: Files) -> dict[str, bytes]:
    return {
        name.replace(".txt", ".npy"): array_of_objects(text.decode().split())
        for name, text in files.items()
        if name.endswith(".txt")
    }


def homstrad(files: Files) -> dict[str, bytes]:
    alignments = {name.split("/")[-1]: text for name, text in untarred(files["homstrad_ali.tar.xz"]).items()}
    inside = {f"{name.removesuffix('.ali')}/{name}": text for name, text in alignments.items()}
    more = {"brand_new/brand_new.ali": b">P1;x\nstructure\nAC*\n"}
    return {"homstrad_ali_only.tar.gz": below("homstrad_ali_only_2021_Feb_1", {**inside, **more})}


LAYOUTS: dict[str, Callable[[Files], dict[str, bytes]]] = {
    layout.__name__: layout
    for layout in (gum, craft, covertype, newsgroups, uiuc_cars, ambient, wipo_d, homstrad)
}
"""By data set: from the files that are read, the public originals."""


def packed(inside: Files) -> bytes:
    return gzip.compress(tarred(dict(inside), "w"), 1)


def below(folder: str, inside: Files) -> bytes:
    return packed({f"{folder}/{name}": content for name, content in inside.items()})


def array_of_objects(strings: list[str]) -> bytes:
    """An array of strings as numpy.save writes it: as a pickle, and here with each string once."""
    out = io.BytesIO()
    np.save(out, np.array([str(text) for text in strings], dtype=object), allow_pickle=True)
    return out.getvalue()


def with_sums_of(files: tuple[Remote, ...], mirror: Files) -> tuple[Remote, ...]:
    """The same files of a data set, with the sums and digests that these contents have."""
    import hashlib

    def contents(file: Remote):
        if isinstance(file.contents, Members):
            named = {file.contents.name_of(name): text for name, text in untarred(mirror[file.name]).items()}
            named.pop(None, None)
            return replace(file.contents, digest=digest_of_members(named))
        if isinstance(file.contents, Unpacked):
            return Unpacked(hashlib.sha256(gzip.decompress(mirror[file.name])).hexdigest())
        return file.contents

    return tuple(
        file._replace(sha256=hashlib.sha256(mirror[file.name]).hexdigest(), contents=contents(file))
        for file in files
    )


def with_originals(home: Home, originals: Files, address: str | None = None) -> Home:
    """The same home, with the sums of these originals, and all of them below one address."""
    import hashlib

    return replace(
        home,
        originals=tuple(
            replace(
                original,
                sha256=original.sha256 and hashlib.sha256(originals[original.name]).hexdigest(),
                urls=original.urls if address is None else (f"{address}/{original.name}",),
            )
            for original in home.originals
        ),
    )
