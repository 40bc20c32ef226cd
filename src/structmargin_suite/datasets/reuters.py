"""Reuters-21578, ModApte split: news stories and their topics, one topic against the rest (cacm09 Table 1).

The archive holds 22 SGML files. Of its stories those with TOPICS="YES" are used, LEWISSPLIT="TRAIN" to train
on and "TEST" to test on: 9,603 and 3,299, whether or not they have a topic. Words are runs of letters and
digits of the whole text, title and dateline included, in lower case; words of fewer than 3 training stories
are left out. Inputs are tf-idf vectors of unit length, frequencies from the training set. 90 topics have a
story in each subset. The stand-in draws stories as `abstracts` does.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Schemas, _one_vs_rest, abstracts
from structmargin_suite.datasets._archives import tar_files
from structmargin_suite.datasets._one_vs_rest import VIEW, score, view
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Home
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

FILES = (
    Remote(
        "reuters21578.tar.gz",
        "d93a40b30ba2f3f936e849b543ebfb4919fbe6909750590de9a6256eb5b2aeec",
        "reuters/reuters21578.tar.gz",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/reuters21578-mld/reuters21578.tar.gz",
    ),
)
HOME = Home(
    title="Reuters-21578 (UCI 137)",
    page="https://archive.ics.uci.edu/dataset/137/reuters+21578+text+categorization+collection",
    terms="research",
    folder="reuters",
    version="1.0",
    megabytes=8.2,
)
PREPARE: Schemas = {"stories": {"type": "integer", "minimum": 100}}
SUBSETS = {"TRAIN": "train", "TEST": "test"}
MIN_STORIES = 3  # words in fewer training stories are left out
WORD = r"[a-z0-9]{2,}"

STORY = re.compile(r"<REUTERS ([^>]*)>(.*?)</REUTERS>", re.DOTALL)
OPENING = re.compile(r"<REUTERS\b")
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
NAME = re.compile(r"<D>(.*?)</D>", re.DOTALL)
PLACES = re.compile(r"<PLACES>(.*?)</PLACES>", re.DOTALL)
TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
TITLE = re.compile(r"<TITLE>(.*?)</TITLE>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")


class Story(NamedTuple):
    """A story with TOPICS="YES": its subset of the ModApte split, "" for neither, its topics and its text in
    lower case, which begins with its title; and the places that it is about."""

    subset: str
    topics: list[str]
    text: str
    title: str
    places: list[str]


def parse(files: Mapping[str, Path], seed: int, *, stories: int | None = None) -> dict[str, np.ndarray]:
    """Inputs and topics of both subsets; at most `stories` training and half as many test stories."""
    path = files[FILES[0].name]
    selected = list(read(path))
    if stories is not None:
        limits = {"train": stories, "test": stories // 2}
        selected = [story for subset in limits for story in _drawn(selected, subset, limits[subset], seed)]
    names = sorted({name for story in selected for name in story.topics})
    texts = {
        subset: [story.text for story in selected if story.subset == subset] for subset in SUBSETS.values()
    }
    for subset in texts:
        if not texts[subset]:
            raise DataError(f'{path}: no story of the {subset} set with TOPICS="YES"; add some')
    column = {name: k for k, name in enumerate(names)}
    arrays: dict[str, np.ndarray] = {"names": np.array(names)}
    for subset, X in tfidf(texts["train"], texts["test"]).items():
        topics = np.zeros((X.shape[0], len(names)), dtype=np.uint8)
        for row, story in enumerate(story for story in selected if story.subset == subset):
            topics[row, [column[name] for name in story.topics]] = 1
        arrays |= _one_vs_rest.subset_arrays(subset, X, topics)
    return arrays


def _drawn(stories: list[Story], subset: str, most: int, seed: int) -> list[Story]:
    """At most `most` stories of a subset, drawn by the seed and kept in order."""
    of_subset = [story for story in stories if story.subset == subset]
    chosen = np.random.default_rng(seed).permutation(len(of_subset))[:most]
    return [of_subset[k] for k in sorted(chosen)]


def tfidf(train: list[str], test: list[str]) -> dict[str, sp.csr_matrix]:
    """tf-idf vectors of unit length, words and frequencies of `train`."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(token_pattern=WORD, min_df=min(MIN_STORIES, len(train)))
    return {"train": vectors.fit_transform(train), "test": vectors.transform(test)}


def read(path: Path) -> Iterator[Story]:
    """The stories of the ModApte split, in the order of the archive's file names."""
    return (story for story in read_all(path) if story.subset)


def read_all(path: Path) -> Iterator[Story]:
    """The stories with TOPICS="YES", of the split or not, in the order of the archive's file names."""
    contents = tar_files(path, lambda name: name.endswith(".sgm"))
    texts = {name: content.decode("latin-1") for name, content in contents}
    if not texts:
        raise DataError(f"{path} holds no file that ends in .sgm; fetch it again")
    for name in sorted(texts):
        yield from _stories(texts[name], f"{path}: {name}")


def _stories(text: str, where: str) -> Iterator[Story]:
    """The stories of one SGML file that are used."""
    opened = OPENING.finditer(text)

    def fault(place: int, what: str) -> DataError:
        return DataError(f"{where}, line {text.count(chr(10), 0, place) + 1}: {what}")

    for match in STORY.finditer(text):
        if next(opened).start() != match.start() or OPENING.search(match[2]):
            raise fault(match.start(), "the story is not closed before the next; add </REUTERS>")
        given = dict(ATTRIBUTE.findall(match[1]))
        missing = [key for key in ("TOPICS", "LEWISSPLIT") if key not in given]
        if missing:
            raise fault(match.start(), f"the story has no {missing[0]}; give it one")
        if given["TOPICS"] != "YES":
            continue
        topics, body = TOPICS.search(match[2]), TEXT.search(match[2])
        if topics is None or body is None:
            what = "<TOPICS>" if topics is None else "<TEXT>"
            raise fault(match.start(), f"the story has no {what} element; add it")
        title, places = TITLE.search(body[1]), PLACES.search(match[2])
        yield Story(
            SUBSETS.get(given["LEWISSPLIT"], ""),
            list(dict.fromkeys(NAME.findall(topics[1]))),
            _plain(body[1]),
            "" if title is None else _plain(title[1]),
            [] if places is None else list(dict.fromkeys(NAME.findall(places[1]))),
        )
    left = next(opened, None)
    if left is not None:
        raise fault(left.start(), "the story is not closed; add </REUTERS>")


def _plain(text: str) -> str:
    """A text without its tags, in lower case."""
    return html.unescape(TAG.sub(" ", text)).lower()


def synthesize(seed: int, *, stories: int | None = None) -> dict[str, np.ndarray]:
    """A stand-in of the same shape: 90 topics, rare ones among them."""
    n = 9603 if stories is None else stories
    return abstracts.synthesize(seed, n_train=n, n_test=max(n // 3, 50), n_topics=90, n_words=9000, rare=0.95)
