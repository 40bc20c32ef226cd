"""Section D of WIPO-alpha from its own XML files: the paper's 1,710 patents in 160 main groups (jmlr05 5.1).

WIPO gives the collection out under its own terms, so it is read only from a user's folder (`source: file`):
folders `train` and `test`, below them one XML file per patent, in any sub-folders. Where these are named by
section (train/D/01/F/...), the other sections are not looked into. The elements that count:

    <record pn="number">                the patent
      <ipcs mc="D01F00608">             its main code: subclass D01F, main group 006, subgroup 08
      <ti xml:lang="EN">, <cl ...>      title and claims; only those in English, or without a language

As the paper does, titles and claims are indexed. Its own software normalized terms; here words are runs of
letters, stemmed (Porter), without stop words. Both folders are put together as one collection, and rounds,
tf-idf (words and frequencies of the training documents only) and the tree of codes are those of `patents`; so
is the stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, patents
from structmargin_suite.datasets._sparse import csr_arrays
from structmargin_suite.datasets._words import counts_over, stem_counts
from structmargin_suite.datasets._xml import read_elements
from structmargin_suite.datasets.patents import VIEW, score, view
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.folder import files_below
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "own_folder", "parse", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
HOME = Home(
    title="WIPO-alpha, the texts",
    page="https://www.wipo.int/classifications/ipc/en/ITsupport/Categorization/dataset/",
    terms="WIPO's own, to be accepted on its page",
    by_hand=(
        "accept WIPO's terms on its page, put the folders train and test of WIPO-alpha into "
        "data/own/wipo-alpha, and in configs/taxonomy.yaml add the line "
        "`wipo-alpha: {from: wipo_alpha, source: file, path: data/own/wipo-alpha, papers_own: true}` to "
        "`data` and `wipo-alpha` to the data of the studies `patents`, `margin` and `one fold`"
    ),
)
PREPARE: Schemas = {}
SECTION = "D"
SUBSETS = ("train", "test")
OTHER_SECTIONS = re.compile(r"(?:train|test)/[A-CE-H]")
CODE = re.compile(r"([A-H]\d\d[A-Z]\d{3})\d*")
"""A main code; in brackets the part up to the main group."""
INDEXED = ("ti", "cl")
LANGUAGE = ("xml:lang", "lang")


class Patent:
    """The main code and the words of one file, gathered while its XML is read.

    Attributes
    ----------
    code : str or None
        The attribute mc of the element ipcs.
    text : str
        Titles and claims in English, with spaces between them.
    """

    def __init__(self, path: Path) -> None:
        self.code: str | None = None
        self._texts: list[str] = []
        self._open = 0  # how many elements, from the outermost title or claim inwards, are open
        read_elements(path, self._start, self._end, self._characters)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "ipcs" and self.code is None:
            self.code = attributes.get("mc")
        language = next((attributes[key] for key in LANGUAGE if key in attributes), "EN")
        if self._open or (name in INDEXED and language.upper().startswith("EN")):
            self._open += 1

    def _end(self, name: str) -> None:
        if self._open:
            self._open -= 1
            self._texts.append(" ")

    def _characters(self, text: str) -> None:
        if self._open:
            self._texts.append(text)


def own_folder(folder: Path) -> dict[str, Path]:
    """The XML files below `train` and `test`; each must have some."""
    files = files_below(folder, ".xml", OTHER_SECTIONS)
    for subset in SUBSETS:
        if not any(name.startswith(f"{subset}/") for name in files):
            raise DataError(
                f"{folder} has no .xml file below {subset}; name the folder of WIPO-alpha that has `train` "
                "and `test` as `path`"
            )
    return {name: path for name, path in files.items() if name.split("/")[0] in SUBSETS}


def parse(files: Mapping[str, Path], seed: int) -> dict[str, np.ndarray]:
    """Word counts, y (n,) and codes, the main groups in alphabetical order; other sections are left out."""
    groups, documents = [], []
    for path in files.values():
        patent = Patent(path)
        code = CODE.fullmatch((patent.code or "").strip())
        if code is None:
            raise DataError(
                f"{path}: the main code is {(patent.code or '')[:20]!r}, not one such as D01F00608; give "
                "<ipcs> an attribute mc with such a code"
            )
        if code[1].startswith(SECTION):
            groups.append(code[1])
            documents.append(stem_counts(patent.text))
            if not documents[-1]:
                raise DataError(f"{path} has no English word in its title (ti) or claims (cl); add them")
    if not groups:
        raise DataError(
            f"{next(iter(files.values()))} and {len(files) - 1} others are of other sections than {SECTION}; "
            "name the whole folder of WIPO-alpha as `path`"
        )
    codes, y = np.unique(groups, return_inverse=True)
    return {
        **csr_arrays(counts_over(documents, documents, 1)), "y": y.astype(np.int64), "codes": codes,
    }  # fmt: skip


def synthesize(seed: int) -> dict[str, np.ndarray]:
    """The same arrays from patents written by rule."""
    return patents.synthesize(seed)
