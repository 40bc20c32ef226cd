"""AMBIENT (Carpineto and Romano 2008): 44 ambiguous queries with 100 results each, and their subtopics.

Four files with a header and tabs between fields: topics.txt (ID, description), subTopics.txt (ID,
description), results.txt (ID, url, title, snippet), STRel.txt (subTopicID, resultID). A subtopic's and a
result's ID begin with that of their topic and a dot. A document is a result's title and snippet; words
are runs of letters and digits in lower case, stemmed (Porter), without stop words. The stand-in is made
as in `collection`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structmargin_suite.datasets import Schemas, collection
from structmargin_suite.datasets._sparse import count_matrix
from structmargin_suite.datasets._subtopics import VIEW, Collection, score, view
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home, Original, members_of
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

FILES = tuple(
    Remote(name, total, f"ambient/{name}")
    for name, total in (
        ("topics.txt", "0d1f948c59265cddb392a451856beeca5161a44d8014f57002e240e0b83ce200"),
        ("subTopics.txt", "9d9d54d6d51acd63378827737fc3431e84fca273830c9417662154a0e4e4deed"),
        ("results.txt", "beb059f5a40d93552f5950bf3afef30e0eb1e08ada18d1ca99f2c065c23a01c0"),
        ("STRel.txt", "81c4738af54d05fd51819467f0f7b5f4c6b5b47a68c4580364a046c8fc53ade9"),
    )
)
HOME = Home(
    title="AMBIENT",
    page="http://credo.fub.it/ambient/",
    terms="research",
    folder="ambient",
    version="2008",
    originals=(
        Original(
            "dataset.tar.gz",
            ("http://credo.fub.it/ambient/dataset.tar.gz",),
            tuple(file.name for file in FILES),
            members_of({}, {file.name: rf"(?:.*/)?{re.escape(file.name)}" for file in FILES}),
        ),
    ),
    megabytes=0.4,
    sure="about",
)
PREPARE: Schemas = {"queries": {"type": "integer", "minimum": 8}}
COLUMNS = {"topics.txt": 2, "subTopics.txt": 2, "results.txt": 4, "STRel.txt": 2}
WORD = re.compile(r"[a-z0-9]{2,}")


class Result(NamedTuple):
    """A result of a search: the number of its topic, and the word counts of its title and whole text."""

    topic: int
    title: Counter[int]
    text: Counter[int]


def parse(files: Mapping[str, Path], seed: int, *, queries: int | None = None) -> dict[str, np.ndarray]:
    """Counts, subtopics and words of the first `queries` queries, or of all."""
    topics = dict(fields for _, fields in read(files["topics.txt"]))
    names = list(topics.values())[:queries]
    number = {topic: k for k, topic in enumerate(list(topics)[:queries])}
    tokens = _Tokens()
    subtopics = {fields[0] for fields in _of_topics(files["subTopics.txt"], topics)}
    listed = _of_topics(files["results.txt"], topics)
    results: dict[str, Result] = {}
    for result, _, title, snippet in listed:
        topic = result.partition(".")[0]
        if topic in number:
            title_counts = tokens(title)
            results[result] = Result(number[topic], title_counts, title_counts + tokens(snippet))
    if not results:
        raise DataError(f"{files['results.txt']} has no result of any topic; fetch it again")
    pairs = _judgements(files["STRel.txt"], subtopics, {fields[0] for fields in listed}, list(results))
    words = [sorted(tokens(name)) for name in names]
    n_words = len(tokens.place)
    return Collection(
        count_matrix([result.text for result in results.values()], n_words),
        count_matrix([result.title for result in results.values()], n_words),
        [result.topic for result in results.values()],
        pairs,
        names,
        words,
    ).to_arrays()


def _of_topics(path: Path, topics: Mapping[str, str]) -> list[list[str]]:
    """The fields of every line of a file whose IDs must each begin with a topic's and a dot."""
    lines = []
    for line, fields in read(path):
        topic, dot, _ = fields[0].partition(".")
        if topic not in topics or not dot:
            raise DataError(
                f"{path}, line {line}: {fields[0]!r} belongs to no topic of topics.txt; correct it"
            )
        lines.append(fields)
    return lines


def _judgements(
    path: Path, subtopics: set[str], results: set[str], used: Sequence[str]
) -> list[tuple[int, int]]:
    """(place in `used`, number of the subtopic) of every result that is used and has a subtopic.

    Subtopics are numbered as they first occur; IDs that the other files do not have are errors.
    """
    place = {result: k for k, result in enumerate(used)}
    number: dict[str, int] = {}
    pairs = []
    for line, (subtopic, result) in read(path):
        for file, known, ID in (("subTopics.txt", subtopics, subtopic), ("results.txt", results, result)):
            if ID not in known:
                raise DataError(f"{path}, line {line}: {ID!r} is not in {file}; correct or remove it")
        if result in place:
            pairs.append((place[result], number.setdefault(subtopic, len(number))))
    if not pairs:
        raise DataError(f"{path} has no pair for any result; fetch it again")
    return pairs


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
    """Texts as counts of their stems, which are numbered as they first occur; stop words are left out."""

    def __init__(self) -> None:
        from nltk.stem import PorterStemmer
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        self.stop, self.stemmer = ENGLISH_STOP_WORDS, PorterStemmer()
        self.place: dict[str, int] = {}
        self.stems: dict[str, str] = {}

    def __call__(self, text: str) -> Counter[int]:
        counts: Counter[int] = Counter()
        for word in WORD.findall(text.lower()):
            if word in self.stop:
                continue
            if word not in self.stems:
                self.stems[word] = self.stemmer.stem(word)
            counts[self.place.setdefault(self.stems[word], len(self.place))] += 1
        return counts


def synthesize(seed: int, *, queries: int | None = None) -> dict[str, np.ndarray]:
    """A stand-in with as many queries and documents."""
    return collection.synthesize(seed, queries=44 if queries is None else queries, documents=100, length=25)
