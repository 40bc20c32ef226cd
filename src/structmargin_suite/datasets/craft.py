"""CRAFT: 97 biomedical articles with hand-made trees, 30,830 in all, one per line, with subsets of its own.

The training set is the corpus's own, the test set its dev and test articles together (nothing is
chosen on dev).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import pcfg
from structmargin_suite.datasets._archives import text_of
from structmargin_suite.datasets._treebanks import (
    PREPARE,
    VIEW,
    RawTree,
    TreeFilter,
    score,
    tree_arrays_by_subset,
    view,
)
from structmargin_suite.datasets.gum import documents
from structmargin_suite.fetching.contents import Members
from structmargin_suite.fetching.fetch import Remote, mirrored
from structmargin_suite.fetching.originals import Home, Original, members_of
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

TREES = Members(
    r"(?:.*/)?penn/([0-9]+\.tree)", "penn", "d4ca1e01e8d336fe735d43da13840c9d6c6e8d3cba959c7bc5f8a910b08b4584"
)
LISTS = mirrored(
    "treebank-craft",
    {
        "craft-ids-train.txt": "9215bc144bb67f3f2c93555068e166fe9934d9f941e1df1ae1e842dac15ccae9",
        "craft-ids-dev.txt": "96e26a2a6e818a36b23ed14891ab195616f752c42abc686585b8a1d39bd3bafe",
        "craft-ids-test.txt": "9b86db4128e9314e24bcc1f910fdba01bc08686b1754adcdbe6eb39a730a0f33",
    },
)
FILES = (
    Remote(
        "craft_penn_trees.tar.xz",
        "1d28cb9182a9d9d9257f27fe885debeb5eaaa7a38b1ba804f2667dfdf8a7731d",
        "treebank-craft/craft_penn_trees.tar.xz",
        contents=TREES,
    ),
    *LISTS,
)
COMMIT = "2abe82b8bb8089448b84937d5f61d8c218011322"
HOME = Home(
    title="CRAFT",
    page="https://github.com/UCDenver-ccp/CRAFT",
    terms="CC BY 3.0",
    folder="treebank-craft",
    version="v5.0.2",
    originals=(
        Original(
            "CRAFT-v5.0.2.tar.gz",
            (
                f"https://github.com/UCDenver-ccp/CRAFT/archive/{COMMIT}.tar.gz",
                "https://github.com/UCDenver-ccp/CRAFT/archive/refs/tags/v5.0.2.tar.gz",
            ),
            tuple(file.name for file in FILES),
            members_of(
                {"craft_penn_trees.tar.xz": TREES},
                {file.name: rf"(?:.*/)?articles/ids/{re.escape(file.name)}" for file in LISTS},
            ),
        ),
    ),
    megabytes=40,
    sure="more than",
)
SUBSETS = {"train": 0, "dev": 1, "test": 1}
N_TREES = 2395
"""Clauses of at most 15 tokens in the real corpus, which is the size of the stand-in."""


def parse(
    files: Mapping[str, Path], seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any",
    at_most: int | None = None, repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """All trees that pass the filter, with the corpus's own subsets."""
    subset_of = {
        line.strip(): value
        for subset, value in SUBSETS.items()
        for path in [files[f"craft-ids-{subset}.txt"]]
        for line in text_of(path.read_bytes(), path).splitlines()
        if line.strip()
    }
    select = TreeFilter(longest, punctuation, roots)

    def of_subsets() -> Iterator[tuple[int, list[RawTree]]]:
        for name, raw in documents(files["craft_penn_trees.tar.xz"], ".tree", select.longest_to_read):
            if name not in subset_of:
                raise DataError(
                    f"{files['craft-ids-train.txt']} and the other lists do not name article {name}; add it"
                )
            yield subset_of[name], raw

    return tree_arrays_by_subset(of_subsets(), select, seed, at_most)


def synthesize(
    seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any", at_most: int = N_TREES,
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """A stand-in of the corpus's size."""
    return pcfg.synthesize(seed, longest=longest, at_most=at_most)
