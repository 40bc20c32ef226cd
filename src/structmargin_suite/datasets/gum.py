"""GUM and GENTLE: 263 documents of many genres, 14,597 trees; brackets are automatic ("silver").

The training set is the corpus's own, the test set its dev and test documents together (nothing is chosen on
dev). The out-of-domain documents test2 (GENTLE) are left out. With clauses of at most 10 tokens this is near
the paper's size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import pcfg
from structmargin_suite.datasets._archives import tar_files, text_of
from structmargin_suite.datasets._treebanks import (
    PREPARE,
    VIEW,
    RawTree,
    TreeFilter,
    read,
    score,
    tree_arrays_by_subset,
    view,
)
from structmargin_suite.fetching.contents import Members
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original, members_of
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

TREES = Members(
    r"(?:(?:[^/]+/)?const|(?:.*/)?gum_const)/((?!GUM_reddit_)[A-Za-z0-9_-]+\.ptb)",
    "gum_const",
    "0cf2ec2e75d9ada618de00297ef6c32376018a7ffd7ba26ba15639f8d8c5eb0b",
)
"""The 263 documents. In the original those of Reddit have no words, which have to be asked for elsewhere, and
_build/src/const has what the documents were made from, under the same names."""
COMMIT = "72ce5ac14978a324c2fd18d49484e65292cbe316"
FILES = (
    Remote(
        "gum_const.tar.xz",
        "83a9fc2531184926c7eff56f3be1560ee8e5b83e18213a6c00b5c98f00b7dc1e",
        "treebank-gum/gum_const.tar.xz",
        contents=TREES,
    ),
    Remote(
        "splits.md",
        "957bad1a952eefbccd5b4807e1fc90a82ceadbbbe3a8f7de371d68883a1b40a6",
        "treebank-gum/splits.md",
    ),
)
HOME = Home(
    title="GUM and GENTLE",
    page="https://github.com/amir-zeldes/gum",
    terms="annotations CC BY 4.0; texts under the licences of their sources",
    folder="treebank-gum",
    version="V11.1.0",
    originals=(
        Original(
            "gum-V11.1.0.tar.gz",
            (
                f"https://github.com/amir-zeldes/gum/archive/{COMMIT}.tar.gz",
                "https://github.com/amir-zeldes/gum/archive/refs/tags/V11.1.0.tar.gz",
            ),
            ("gum_const.tar.xz", "splits.md"),
            members_of({"gum_const.tar.xz": TREES}, {"splits.md": r"[^/]+/splits\.md"}),
        ),
    ),
    megabytes=100,
    sure="more than",
)
SUBSETS = {"train": 0, "dev": 1, "test": 1}
N_TREES = 2884
"""Clauses of at most 10 tokens in the real corpus, which is the size of the stand-in."""


def parse(
    files: Mapping[str, Path], seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any",
    at_most: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """All trees that pass the filter, with the corpus's own subsets."""
    splits = subsets(files["splits.md"])
    select = TreeFilter(longest, punctuation, roots)

    def of_subsets() -> Iterator[tuple[int, list[RawTree]]]:
        for name, raw in documents(files["gum_const.tar.xz"], ".ptb", select.longest_to_read):
            if name not in splits:
                raise DataError(f"{files['splits.md']} does not say in which subset {name} is; add it")
            if splits[name] in SUBSETS:
                yield SUBSETS[splits[name]], raw

    return tree_arrays_by_subset(of_subsets(), select, seed, at_most)


def subsets(path: Path) -> dict[str, str]:
    """The subset of every document: lines `* name` under headings `## subset`."""
    subset_of: dict[str, str] = {}
    heading = None
    for number, line in enumerate(text_of(path.read_bytes(), path).splitlines(), start=1):
        if line.startswith("## "):
            heading = line[3:].strip()
        named = re.match(r"\s*\*\s+(\S+)\s*$", line)
        if named:
            if heading is None:
                raise DataError(
                    f"{path}, line {number}: {named[1]} stands under no heading; add ## and a subset"
                )
            subset_of[named[1]] = heading
    if not subset_of:
        raise DataError(f"{path} names no document; use the corpus's own splits.md")
    return subset_of


def documents(path: Path, suffix: str, longest: int | None) -> list[tuple[str, list[RawTree]]]:
    """(name, raw trees) of every member of a tar file with this suffix, by name; `longest` as for `read`."""
    trees = [
        (Path(name).stem, read(f"{path}/{name}", text_of(content, f"{path}/{name}"), longest))
        for name, content in tar_files(path, lambda name: name.endswith(suffix))
    ]
    if not trees:
        raise DataError(f"{path} has no member *{suffix}; use the corpus's own archive")
    return sorted(trees, key=lambda document: document[0])


def synthesize(
    seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any", at_most: int = N_TREES,
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A stand-in of the corpus's size."""
    return pcfg.synthesize(seed, longest=longest, at_most=at_most)
