"""The Wall Street Journal of the Penn Treebank: the free sample, or a licence holder's own folder.

jmlr05 5.4 trains on the sentences of at most 10 words of sections 2 to 21 and tests on section 22. The free
sample (3,914 trees in 199 files) has 393 such sentences in all, so its split is drawn: four fifths to train
on, by the seed.

Who has the treebank names its folder of sections (`source: file`, `path: .../parsed/mrg/wsj`): sub-folders 00
to 24 with files wsj_SSNN.mrg, SS the section. `train_sections` and `test_sections` are those of the paper
unless the config says otherwise, for example "02-21" or "00, 22-24".
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, _treebanks, pcfg
from structmargin_suite.datasets._archives import text_of, zip_files
from structmargin_suite.datasets._treebanks import (
    VIEW,
    RawTree,
    TreeFilter,
    read,
    score,
    tree_arrays,
    tree_arrays_by_subset,
    view,
)
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.folder import files_below
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "own_folder", "parse", "score", "synthesize", "view"]

FILES = (
    Remote(
        name="treebank.zip",
        sha256="9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
        mirror="treebank-wsj/treebank.zip",
        url="https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/treebank.zip",
    ),
)
HOME = Home(
    title="Penn Treebank, the Wall Street Journal sample",
    page="https://www.nltk.org/nltk_data/",
    terms="LDC's sample, not for commercial use",
    folder="treebank-wsj",
    version="nltk_data package treebank",
    megabytes=1.7,
    by_hand=(
        "the whole treebank, LDC99T42, is licensed by LDC (https://catalog.ldc.upenn.edu/LDC99T42): put the "
        "sections 00 to 24 of parsed/mrg/wsj into data/own/wsj, and in configs/parsing.yaml add the line "
        "`treebank: {from: wsj, source: file, path: data/own/wsj, longest: 10, papers_own: true}` to `data` "
        "and `treebank` to the data of the studies `table 5` and `C`"
    ),
)
SECTION_RANGE = r"(?:[01]\d|2[0-4])(?:-(?:[01]\d|2[0-4]))?"
SECTIONS = {"type": "string", "pattern": f"^{SECTION_RANGE}(?:, *{SECTION_RANGE})*$"}
PREPARE: Schemas = {**_treebanks.PREPARE, "train_sections": SECTIONS, "test_sections": SECTIONS}
TRAIN_SECTIONS, TEST_SECTIONS = "02-21", "22"
"""Of jmlr05 5.4."""
FILE_OF_SECTION = re.compile(r"(?P<section>[01]\d|2[0-4])/wsj_(?P=section)\d\d\.mrg", re.IGNORECASE)
N_TREES = 393
"""Trees of at most 10 tokens in the real sample, which is the size of the stand-in."""


def parse(
    files: Mapping[str, Path], seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any",
    at_most: int | None = None, repetition: int = 0, train_sections: str | None = None,
    test_sections: str | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """All trees that pass the filter: of a folder's sections with their subsets, of the sample without.

    A user's own file may be plain text with trees; it has no subsets either.
    """
    select = TreeFilter(longest, punctuation, roots)
    sample = files.get(FILES[0].name)
    if sample is None:
        subset_of = subsets(files, train_sections, test_sections)
        documents = ((subset_of[name], _trees(files[name], select.longest_to_read)) for name in subset_of)
        return _with_both_subsets(tree_arrays_by_subset(documents, select, seed, at_most))
    if train_sections or test_sections:
        raise DataError(
            f"{sample} has no sections; leave train_sections and test_sections out, or name a folder of "
            "sections as `path`"
        )
    trees = select.select(members(sample, select.longest_to_read))
    return tree_arrays(trees, [-1] * len(trees), seed, at_most)


def own_folder(
    folder: Path, *, train_sections: str | None = None, test_sections: str | None = None, **others: object
) -> dict[str, Path]:
    """The files of all sections in a folder; those to train and to test on must be there."""
    files = files_below(folder, ".mrg")
    wrong = [path for name, path in files.items() if not FILE_OF_SECTION.fullmatch(name)]
    if wrong or not files:
        what = f"{wrong[0]} is not named like" if wrong else f"{folder} has no file such as"
        raise DataError(
            f"{what} 02/wsj_0201.mrg; name the treebank's folder with the sections 00 to 24 as `path`"
        )
    subsets(files, train_sections, test_sections)
    return files


def subsets(
    files: Mapping[str, Path], train_sections: str | None, test_sections: str | None
) -> dict[str, int]:
    """The files of the sections asked for by name: 0 those to train on, 1 those to test on."""
    section_of = {name: int(name[:2]) for name in files}
    train, test = sections(train_sections or TRAIN_SECTIONS), sections(test_sections or TEST_SECTIONS)
    shared = sorted({*train} & {*test})
    if shared:
        raise DataError(f"section {shared[0]:02d} is both in train_sections and in test_sections; remove one")
    for section in (*train, *test):
        if section not in section_of.values():
            folder = next(iter(files.values())).parents[1]
            raise DataError(
                f"{folder} has no file of section {section:02d} ({section:02d}/wsj_{section:02d}NN.mrg); add "
                "it, or leave it out of train_sections and test_sections"
            )
    wanted: list[tuple[Collection[int], int]] = [(train, 0), (test, 1)]
    return {name: number for of, number in wanted for name in files if section_of[name] in of}


def sections(text: str) -> list[int]:
    """The numbers that a text such as "02-04, 22" names."""

    def of_ranges() -> Iterator[int]:
        for part in text.split(","):
            first, _, last = part.partition("-")
            if int(last or first) < int(first):
                raise DataError(
                    f"the sections {part.strip()} end before they begin; write the lower one first"
                )
            yield from range(int(first), int(last or first) + 1)

    return sorted(set(of_ranges()))


def _with_both_subsets(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same arrays; an error if there is no tree to train on, or none to test on."""
    for number, name in enumerate(("train_sections", "test_sections")):
        if not np.any(arrays["subset"] == number):
            raise DataError(f"no tree of {name} is left; raise `longest` or `at_most`, or add sections")
    return arrays


def _trees(path: Path, longest: int | None) -> list[RawTree]:
    text = text_of(path.read_bytes(), path)
    if not text.strip():
        raise DataError(f"{path} is empty; copy it again from the treebank")
    return read(str(path), text, longest)


def members(path: Path, longest: int | None) -> list[RawTree]:
    """The raw trees of the archive's combined/*.mrg, or of a plain text file; `longest` as for `read`."""
    if not zipfile.is_zipfile(path) and path.suffix != ".zip":
        return read(str(path), text_of(path.read_bytes(), path), longest)
    texts = zip_files(path, lambda name: name.endswith(".mrg"))
    if not texts:
        raise DataError(f"{path} has no member combined/*.mrg; use the treebank archive of nltk_data")
    return [
        tree
        for name, content in texts.items()
        for tree in read(f"{path}/{name}", text_of(content, f"{path}/{name}"), longest)
    ]


def synthesize(
    seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any", at_most: int = N_TREES,
    repetition: int = 0, train_sections: str | None = None, test_sections: str | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A stand-in of the sample's size, without subsets."""
    made = pcfg.synthesize(seed, longest=longest, at_most=at_most)
    return {**made, "subset": np.full(at_most, -1, dtype=np.int64)}
