"""Small files such as the suite reads, public originals in their own layouts made of them, and a server."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from helpers.chains import helix, master, pdb
from helpers.foreign_files import tarred
from helpers.pgm import write_pgm
from structmargin_suite.datasets.homstrad.releases import COLUMNS, Alignments
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
    inside |= {f"_build/src/const/{name}": b"(ROOT (S (X x)))" for name in trees}
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
    inside = untarred(files["homstrad_map.tar.xz"])
    inside |= {"Data/HOMSTRAD/helix/1abc.pdb": pdb(helix(12)), "Data/HOMSTRAD/helix/helix.fasta": b">helix"}
    return {"meet-u-2019-2020.tar.gz": below("2019---2020-partage-b393f5c", inside)}


def release_of(files: Files) -> bytes:
    """HOMSTRAD's own archive of alignments."""
    alignments = {name.split("/")[-1]: text for name, text in untarred(files["homstrad_ali.tar.xz"]).items()}
    inside = {f"{name.removesuffix('.ali')}/{name}": text for name, text in alignments.items()}
    more = {"brand_new/brand_new.ali": b">P1;x\nstructure\nAC*\n"}
    return below("homstrad_ali_only_2021_Feb_1", {**inside, **more})


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

    def contents(file: Remote):
        if isinstance(file.contents, Members):
            named = {file.contents.name_of(name): text for name, text in untarred(mirror[file.name]).items()}
            named.pop(None, None)
            return replace(file.contents, digest=digest_of_members(named))
        if isinstance(file.contents, Alignments):
            inside = {name.split("/")[-1]: text for name, text in untarred(mirror[file.name]).items()}
            return Alignments(digest_of_members(inside))
        if isinstance(file.contents, Unpacked):
            return type(file.contents)(hashlib.sha256(gzip.decompress(mirror[file.name])).hexdigest())
        return file.contents

    return tuple(
        file._replace(sha256=hashlib.sha256(mirror[file.name]).hexdigest(), contents=contents(file))
        for file in files
    )


def with_originals(home: Home, originals: Files, address: str | None = None) -> Home:
    """The same home, with the sums of these originals, and all of them below one address."""
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


TREE = b"(ROOT (S (NP (NN a)) (VP (VB b)) (. .)))\n"


def made_up(name: str) -> dict[str, bytes]:
    """Small files such as a mirror has, of a data set of this name."""
    return _FILES[name](np.random.default_rng(5))


def _gum(rng: np.random.Generator) -> dict[str, bytes]:
    """Three documents, one in each part."""
    trees = {f"gum_const/GUM_{k}.ptb": TREE * (k + 1) for k in (1, 2, 3)}
    splits = b"## dev\n\n* GUM_2\n\n## train\n\n* GUM_1\n\n## test\n\n* GUM_3\n"
    return {
        "gum_const.tar.xz": tarred({**trees, "gum_const/LICENSE.txt": b"L"}, "w:xz"),
        "splits.md": splits,
    }


def _craft(rng: np.random.Generator) -> dict[str, bytes]:
    """Three documents, one in each part."""
    trees = {f"penn/{k}.tree": TREE * k for k in (1, 2, 3)}
    lists = {f"craft-ids-{s}.txt": f"{k}\n".encode() for k, s in enumerate(("train", "dev", "test"), 1)}
    return {"craft_penn_trees.tar.xz": tarred(trees, "w:xz"), **lists}


def _covertype(rng: np.random.Generator) -> dict[str, bytes]:
    """300 rows."""
    X, y = rng.integers(0, 99, size=(300, 54)), rng.integers(1, 8, size=300)
    rows = "".join(",".join(map(str, [*row, label])) + "\n" for row, label in zip(X, y))
    return {"covtype.20k.data.gz": gzip.compress(rows.encode())}


def _newsgroups(rng: np.random.Generator) -> dict[str, bytes]:
    """Two groups with three documents in each part."""
    text = b"From: me\nSubject: x\n\nengines and brakes of cars\n"
    places = [
        f"20news-bydate-{s}/{g}/{k}"
        for s in ("train", "test")
        for g in ("rec.autos", "sci.med")
        for k in "123"
    ]
    return {"20news-bydate.tar.xz": tarred({place: text + place.encode() for place in places}, "w:xz")}


def _uiuc_cars(rng: np.random.Generator) -> dict[str, bytes]:
    """Two pictures of each kind, and the boxes of cars."""
    folders = {
        "TestImages/test": 2,
        "TestImages_Scale/test": 2,
        "TrainImages/pos": 2,
        "TrainImages/neg": 2,
    }
    shapes = {"Test": (120, 200), "Trai": (40, 100)}
    pictures = {
        f"CarData/{head}-{k}.pgm": write_pgm(rng.integers(0, 256, size=shapes[head[:4]]))
        for head, count in folders.items() for k in range(count)
    }  # fmt: skip
    pictures["CarData/trueLocations.txt"] = b"0: (10,20)\n1: (5,-3) (35,12)\n"
    pictures["CarData/trueLocations_Scale.txt"] = b"0: (20,30,120)\n1: (10,10,90)\n"
    return {"CarData.tar.xz": tarred(pictures, "w:xz")}


def _ambient(rng: np.random.Generator) -> dict[str, bytes]:
    """One topic with one result."""
    return {
        "topics.txt": b"ID\tdescription\n1\tjaguar\n", "subTopics.txt": b"ID\tdescription\n1.1\tcars\n",
        "results.txt": b"ID\turl\ttitle\tsnippet\n1.1\tu\tJaguar cars\tThe car\n",
        "STRel.txt": b"subTopicID\tresultID\n1.1\t1.1\n",
    }  # fmt: skip


def _homstrad(rng: np.random.Generator) -> dict[str, bytes]:
    """One family of two chains."""
    chains = [("1abc", b"AAAAAAAAAAAA", b"AAAAAA-AAAAAA"), ("2xyz", b"AAAAAAAAAAA-", b"AAAAAA-AAAAA-")]
    about = b"structureX:chain:   1 : :  12 : :made up:Nobody: 2.0: 19.8\n"
    rows = [(b">P1;" + chain.encode() + b"\n" + about, short, long) for chain, short, long in chains]
    homologue = b">P1;gi|1|homologue [ score ]\nsequence\nAAAAAACAAAAAA*\n"
    table = "\t".join(COLUMNS) + "\n" + "\t".join(master("helix", "1abc", helix(12))) + "\n"
    return {
        "homstrad_ali.tar.xz": tarred(
            {"homstrad_ali/helix.ali": b"".join(head + short + b"*\n" for head, short, _ in rows)}, "w:xz"
        ),
        "homstrad_map.tar.xz": tarred(
            {
                "Data/HOMSTRAD/helix/helix.map": b"".join(head + long + b"*\n" for head, _, long in rows)
                + homologue
            },
            "w:xz",
        ),
        "homstrad_master_dssp.tsv.gz": gzip.compress(table.encode()),
    }


def _wipo_d(rng: np.random.Generator) -> dict[str, bytes]:
    """Features and labels of five and three documents."""
    matrices = {}
    for subset, n in (("train", 5), ("test", 3)):
        out = io.BytesIO()
        np.save(out, rng.normal(size=(n, 4)))
        matrices[f"{subset}-D.npy"] = out.getvalue()
        matrices[f"{subset}_label-D.txt"] = "".join(f"D01F0{k % 2}\n" for k in range(n)).encode()
    return matrices


_FILES = {
    "gum": _gum,
    "craft": _craft,
    "covertype": _covertype,
    "newsgroups": _newsgroups,
    "uiuc_cars": _uiuc_cars,
    "ambient": _ambient,
    "homstrad": _homstrad,
    "wipo_d": _wipo_d,
}


@contextlib.contextmanager
def serving(contents: dict[str, bytes], cut: dict[str, int] | None = None):
    """A web server with these files; `cut` is after how many bytes the first answer breaks off."""
    asked: list[tuple[str, str | None]] = []
    cut = dict(cut or {})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name, wanted = self.path[1:], self.headers.get("Range")
            asked.append((name, wanted))
            if name not in contents:
                return self.send_error(404)
            start = int(wanted[6:-1]) if wanted else 0
            body = contents[name][start:]
            self.send_response(206 if wanted else 200)
            if wanted:
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(contents[name]) - 1}/{len(contents[name])}"
                )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: cut.pop(name, len(body))])

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}", asked
        finally:  # else a test that fails would wait for its server for ever
            running.shutdown()
            thread.join()
