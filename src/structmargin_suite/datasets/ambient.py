"""AMBIENT (Carpineto and Romano 2008): 44 ambiguous queries, 100 results each, which subtopics each has.

Four files with a header and tabs between fields: topics.txt (ID, description), subTopics.txt (ID,
description), results.txt (ID, url, title, snippet), STRel.txt (subTopicID, resultID). A subtopic's and a
result's ID begin with that of their topic and a dot. A document is a result's title and snippet; words are
runs of letters and digits in lower case, stemmed (Porter), without stop words. The stand-in is that of
`collection`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import _subtopics, collection
from structmargin_suite.datasets._subtopics import VIEW, score, view
from structmargin_suite.storage.fetch import DataError, Remote

__all__ = ["FILES", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

FILES = tuple(
    Remote(name, total, f"ambient/{name}")
    for name, total in (
        ("topics.txt", "0d1f948c59265cddb392a451856beeca5161a44d8014f57002e240e0b83ce200"),
        ("subTopics.txt", "9d9d54d6d51acd63378827737fc3431e84fca273830c9417662154a0e4e4deed"),
        ("results.txt", "beb059f5a40d93552f5950bf3afef30e0eb1e08ada18d1ca99f2c065c23a01c0"),
        ("STRel.txt", "81c4738af54d05fd51819467f0f7b5f4c6b5b47a68c4580364a046c8fc53ade9"),
    )
)
PREPARE: dict[str, Any] = {"queries": {"type": "integer", "minimum": 8}}
COLUMNS = {"topics.txt": 2, "subTopics.txt": 2, "results.txt": 4, "STRel.txt": 2}
WORD = re.compile(r"[a-z0-9]{2,}")


def parse(files: Mapping[str, Path], seed: int, *, queries: int | None = None) -> dict[str, np.ndarray]:
    """Counts, subtopics and words of the first so many queries, all unless told."""
    topics = {row[0]: (k, row[1]) for k, (_, row) in enumerate(read(files["topics.txt"])[:queries])}
    every = {row[0] for _, row in read(files["topics.txt"])}
    tokens = _Tokens()
    place: dict[str, int] = {}
    query: list[int] = []
    texts, titles = [], []
    known: dict[str, set[str]] = {"subTopics.txt": set(), "results.txt": set()}
    for name in known:
        for number, row in read(files[name]):
            topic = row[0].partition(".")[0]
            if topic not in every or "." not in row[0]:
                raise DataError(
                    f"{files[name]}, line {number}: {row[0]!r} belongs to no topic of topics.txt; correct it"
                )
            known[name].add(row[0])
            if name == "results.txt" and topic in topics:
                place[row[0]] = len(query)
                query.append(topics[topic][0])
                titles.append(tokens(row[2]))
                texts.append(titles[-1] + tokens(row[3]))
    if not query:
        raise DataError(f"{files['results.txt']} has no result of any topic; fetch it again")
    subtopics: dict[str, int] = {}
    pairs = []
    for number, (subtopic, result) in read(files["STRel.txt"]):
        for what, one in (("subTopics.txt", subtopic), ("results.txt", result)):
            if one not in known[what]:
                raise DataError(
                    f"{files['STRel.txt']}, line {number}: {one!r} is not in {what}; correct or remove it"
                )
        if result in place:
            pairs.append((place[result], subtopics.setdefault(subtopic, len(subtopics))))
    if not pairs:
        raise DataError(f"{files['STRel.txt']} has no pair for any result; fetch it again")
    words = [sorted(tokens(text)) for _, text in topics.values()]
    V = len(tokens.place)
    return _subtopics.stored(
        _matrix(texts, V), _matrix(titles, V), query, pairs, [text for _, text in topics.values()], words
    )


def read(path: Path) -> list[tuple[int, list[str]]]:
    """(line number, fields) of every line after the header."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}); fetch it again"
        ) from None
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != COLUMNS[path.name]:
            raise DataError(
                f"{path}, line {number}: has {len(fields)} fields with tabs between, but must have "
                f"{COLUMNS[path.name]}; correct it"
            )
        rows.append((number, fields))
    return rows


class _Tokens:
    """Texts as counts of numbered words."""

    def __init__(self) -> None:
        from nltk.stem import PorterStemmer
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        self.stop, self.stemmer = ENGLISH_STOP_WORDS, PorterStemmer()
        self.place: dict[str, int] = {}
        self.stems: dict[str, str] = {}

    def __call__(self, text: str) -> Counter[int]:
        found: Counter[int] = Counter()
        for word in WORD.findall(text.lower()):
            if word in self.stop:
                continue
            if word not in self.stems:
                self.stems[word] = self.stemmer.stem(word)
            found[self.place.setdefault(self.stems[word], len(self.place))] += 1
        return found


def _matrix(rows: list[Counter[int]], n_words: int) -> sp.csr_matrix:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.array([word for row in rows for word in sorted(row)], dtype=np.int64)
    data = np.array([row[word] for row in rows for word in sorted(row)], dtype=np.int64)
    return sp.csr_matrix((data, indices, indptr), shape=(len(rows), n_words))


def synthesize(seed: int, *, queries: int | None = None) -> dict[str, np.ndarray]:
    """A stand-in with as many queries and documents."""
    return collection.synthesize(seed, queries=44 if queries is None else queries, documents=100, length=25)
