"""A made-up collection with known subtopics, of the TREC 6-8 interactive track's size (cacm09 Section 3.1).

A query has 10 to 30 subtopics, some popular and most not, and each has some words of its own; a document has
one to four of them. Of its words a third comes from its subtopics, a fourth from the query's own words, which
nearly every document has, and the rest from the language, whose word frequencies fall with their rank. A
title is a few words drawn in the same way, but twice as often from the subtopics. A tenth of a query's
documents has no subtopic. The words that distinguish subtopics are neither the frequent words of a query nor
the rare words of the language: this is what a method has to learn.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Schemas
from structmargin_suite.datasets._subtopics import VIEW, Collection, score, view
from structmargin_suite.fetching.fetch import Remote

__all__ = ["FILES", "PREPARE", "VIEW", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "queries": {"type": "integer", "minimum": 8},
    "documents": {"type": "integer", "minimum": 10},
    "length": {"type": "integer", "minimum": 5},
}
N_WORDS, N_QUERY_WORDS, N_SUBTOPIC_WORDS = 4000, 12, 15
"""Words of the language, of a query and of a subtopic."""


def synthesize(
    seed: int, *, queries: int = 20, documents: int = 50, length: int = 120
) -> dict[str, np.ndarray]:
    """The arrays of a collection; `documents` is per query, and `length` about the words per document."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(5.0, N_WORDS + 5.0)
    language = np.cumsum(frequency / frequency.sum())
    query: list[int] = []
    pairs: list[tuple[int, int]] = []
    rows, titles, words, n_subtopics = [], [], [], 0
    for q in range(queries):
        T = int(rng.integers(10, 31))
        popular = rng.dirichlet(np.full(T, 0.7))
        own = rng.choice(N_WORDS, size=N_QUERY_WORDS, replace=False)
        about = rng.choice(N_WORDS, size=(T, N_SUBTOPIC_WORDS))
        words.append(sorted({int(word) for word in own[:2]}))
        for _ in range(documents):
            size = 0 if rng.random() < 0.1 else int(rng.integers(1, 5))
            subtopics = np.unique(rng.choice(T, size=size, p=popular))
            pairs += [(len(query), n_subtopics + int(t)) for t in subtopics]
            n_words = max(5, int(rng.lognormal(np.log(length), 0.4)))
            title = _draw_words(rng, 6, 0.6, subtopics, about, own, language)
            titles.append(title)
            rows.append(
                np.concatenate([title, _draw_words(rng, n_words, 0.33, subtopics, about, own, language)])
            )
            query.append(q)
        n_subtopics += T
    names = [f"query{q:02d}" for q in range(queries)]
    return Collection(_matrix(rows), _matrix(titles), query, pairs, names, words).to_arrays()


def _draw_words(
    rng: np.random.Generator, n: int, share: float, subtopics: np.ndarray, about: np.ndarray, own: np.ndarray,
    language: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """n words: a share of them from the subtopics, a fourth from the query's own words, the rest
    from the language.

    `about` has the words (T, N_SUBTOPIC_WORDS) of every subtopic, `own` those of the query, `language` the
    cumulative probabilities (N_WORDS,) of all words.
    """
    kind = rng.random(n)
    words = np.minimum(np.searchsorted(language, rng.random(n)), N_WORDS - 1)
    words[kind > 0.75] = rng.choice(own, size=int(np.sum(kind > 0.75)))
    if len(subtopics):
        on_topic = kind < share
        words[on_topic] = rng.choice(about[subtopics].ravel(), size=int(on_topic.sum()))
    return words


def _matrix(rows: list[np.ndarray]) -> sp.csr_matrix:
    lengths = [len(row) for row in rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    ones = np.ones(sum(lengths), dtype=np.int64)
    return sp.coo_matrix((ones, (place, np.concatenate(rows))), shape=(len(rows), N_WORDS)).tocsr()
