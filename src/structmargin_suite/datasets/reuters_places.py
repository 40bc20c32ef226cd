"""Places of Reuters-21578 as queries, stories as documents, topics as subtopics (cacm09 Section 3.1).

The collection of `reuters`, of which all stories with TOPICS="YES" are read. A place is a query if at least
MIN_STORIES of its stories have two topics or more: 27 places. Its candidates are these stories and as many of
its stories with a single topic, or all of them if there are fewer, drawn by the seed; the subtopics are their
topics. So at least half of a query's documents have several subtopics, as in the paper's data. A story about
several places is a document of each. Words are stemmed, without stop words; a query's words are those of its
place's name. The stand-in is made as in `collection`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from structmargin_suite.datasets import Schemas, collection, reuters
from structmargin_suite.datasets._subtopics import VIEW, Collection, score, view
from structmargin_suite.datasets._words import counts_over, stem_counts
from structmargin_suite.datasets.reuters import FILES, HOME, Story
from structmargin_suite.storage.errors import DataError

__all__ = ["FILES", "HOME", "PREPARE", "VIEW", "parse", "score", "synthesize", "view"]

PREPARE: Schemas = {"queries": {"type": "integer", "minimum": 8}, "without": {"type": "string"}}
MIN_STORIES = 20
N_PLACES = 27


def parse(
    files: Mapping[str, Path], seed: int, *, queries: int | None = None, without: str = ""
) -> dict[str, np.ndarray]:
    """Counts, subtopics and words of the first `queries` places by name, or of all but `without`."""
    path = files[FILES[0].name]
    stories = list(reuters.read_all(path))
    several = places_of(stories)
    if without and without not in several:
        raise DataError(f"{path} has no query {without!r} to leave out; it has {', '.join(several)}")
    names = [name for name in several if name != without][:queries]
    if not names:
        raise DataError(f"{path} has no place with {MIN_STORIES} stories of several topics; fetch it again")
    documents: list[int] = []
    query: list[int] = []
    for q, name in enumerate(names):
        chosen = candidates_of(stories, name, seed)
        documents += chosen
        query += [q] * len(chosen)
    place = {story: k for k, story in enumerate(sorted(set(documents)))}
    texts = [stem_counts(stories[story].text) for story in place]
    titles = [stem_counts(stories[story].title) for story in place]
    words = [stem_counts(name) for name in names]
    text, title, of_names = (counts_over(rows, [*texts, *words], 1) for rows in (texts, titles, words))
    rows = np.array([place[story] for story in documents])
    topics: dict[str, int] = {}
    pairs = [
        (document, topics.setdefault(topic, len(topics)))
        for document, story in enumerate(documents)
        for topic in stories[story].topics
    ]
    listed = [of_names[q].indices.tolist() for q in range(len(names))]
    return Collection(text[rows], title[rows], query, pairs, names, listed).to_arrays()


def places_of(stories: Sequence[Story]) -> list[str]:
    """The places that are queries, by name."""
    counts: dict[str, int] = {}
    for story in stories:
        if len(story.topics) > 1:
            for place in story.places:
                counts[place] = counts.get(place, 0) + 1
    return sorted(place for place, n in counts.items() if n >= MIN_STORIES)


def candidates_of(stories: Sequence[Story], place: str, seed: int) -> list[int]:
    """The numbers of a place's candidates, in the order of the stories."""
    here = [k for k, story in enumerate(stories) if place in story.places]
    several = [k for k in here if len(stories[k].topics) > 1]
    single = [k for k in here if len(stories[k].topics) == 1]
    drawn = np.random.default_rng([seed, *place.encode()]).permutation(len(single))[: len(several)]
    return sorted([*several, *(single[k] for k in drawn)])


def synthesize(seed: int, *, queries: int | None = None, without: str = "") -> dict[str, np.ndarray]:
    """A stand-in with as many queries."""
    n = N_PLACES - bool(without) if queries is None else queries
    return collection.synthesize(seed, queries=n, documents=80, length=60)
