"""The Wall Street Journal sample of the Penn Treebank: 3,914 trees in 199 files, far fewer than the paper's.

jmlr05 5.4 trains on the sentences of at most 10 words of sections 2 to 21 and tests on section 22; the free
sample has 393 such sentences in all, so the split is drawn: four fifths to train on, by the seed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import pcfg
from structmargin_suite.datasets._archives import text_of, zip_files
from structmargin_suite.datasets._treebanks import (
    PREPARE,
    VIEW,
    RawTree,
    TreeFilter,
    read,
    score,
    tree_arrays,
    view,
)
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

FILES = (
    Remote(
        name="treebank.zip",
        sha256="9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
        mirror="treebank-wsj/treebank.zip",
        url="https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/treebank.zip",
    ),
)
N_TREES = 393
"""Trees of at most 10 tokens in the real sample, which is the size of the stand-in."""


def parse(
    files: Mapping[str, Path], seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any",
    at_most: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """All trees that pass the filter, without subsets; a user's own file may be plain text with trees."""
    path = files[FILES[0].name]
    select = TreeFilter(longest, punctuation, roots)
    trees = select.select(members(path, select.longest_to_read))
    return tree_arrays(trees, [-1] * len(trees), seed, at_most)


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
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A stand-in of the sample's size, without subsets."""
    made = pcfg.synthesize(seed, longest=longest, at_most=at_most)
    return {**made, "subset": np.full(at_most, -1, dtype=np.int64)}
