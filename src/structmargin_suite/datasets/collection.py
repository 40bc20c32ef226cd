"""A made-up collection with known subtopics, of the TREC 6-8 interactive track's size (cacm09 Section 3.1).

A query has 10 to 30 subtopics, some popular and most not, and each has some words of its own; a document
has one to four of them. Of its words a third comes from its subtopics, a fourth from the query's own words,
which nearly every document has, and the rest from the language, whose words come by their rank. A title is
a few words drawn in the same way, but twice as often from the subtopics. A tenth of a query's documents has
no subtopic. The words that tell subtopics apart are neither the frequent ones of a query nor the rare ones
of the language: that is what is to be learnt.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Schemas
from structmargin_suite.datasets._subtopics import VIEW, Collection, score, view
from structmargin_suite.storage.fetch import Remote

__all__ = ["FILES", "PREPARE", "VIEW", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "queries": {"type": "integer", "minimum": 8},
    "documents": {"type": "integer", "minimum": 10},
    "length": {"type": "integer", "minimum": 5},
}
LANGUAGE, OWN, SUBTOPIC_WORDS = 4000, 12, 15


def synthesize(
    seed: int, *, queries: int = 20, documents: int = 50, length: int = 120
) -> dict[str, np.ndarray]:
    """Counts, subtopics and words of so many queries with so many documents of about so many words each."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(5.0, LANGUAGE + 5.0)
    language = np.cumsum(frequency / frequency.sum())
    query: list[int] = []
    pairs: list[tuple[int, int]] = []
    rows, titles, words, n_subtopics = [], [], [], 0
    for q in range(queries):
        T = int(rng.integers(10, 31))
        popular = rng.dirichlet(np.full(T, 0.7))
        own = rng.choice(LANGUAGE, size=OWN, replace=False)
        about = rng.choice(LANGUAGE, size=(T, SUBTOPIC_WORDS))
        words.append(sorted({int(word) for word in own[:2]}))
        for _ in range(documents):
            size = 0 if rng.random() < 0.1 else int(rng.integers(1, 5))
            mine = np.unique(rng.choice(T, size=size, p=popular))
            pairs += [(len(query), n_subtopics + int(t)) for t in mine]
            many = max(5, int(rng.lognormal(np.log(length), 0.4)))
            title = _drawn(rng, 6, 0.6, mine, about, own, language)
            titles.append(title)
            rows.append(np.concatenate([title, _drawn(rng, many, 0.33, mine, about, own, language)]))
            query.append(q)
        n_subtopics += T
    names = [f"query{q:02d}" for q in range(queries)]
    return Collection(_matrix(rows), _matrix(titles), query, pairs, names, words).to_arrays()


def _drawn(
    rng: np.random.Generator, many: int, share: float, mine: np.ndarray, about: np.ndarray, own: np.ndarray,
    language: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """So many words: of the subtopics by the share, a fourth of the query's own, else of the language."""
    kind = rng.random(many)
    found = np.minimum(np.searchsorted(language, rng.random(many)), LANGUAGE - 1)
    found[kind > 0.75] = rng.choice(own, size=int(np.sum(kind > 0.75)))
    if len(mine):
        told = kind < share
        found[told] = rng.choice(about[mine].ravel(), size=int(told.sum()))
    return found


def _matrix(rows: list[np.ndarray]) -> sp.csr_matrix:
    lengths = [len(row) for row in rows]
    place = np.repeat(np.arange(len(rows)), lengths)
    ones = np.ones(sum(lengths), dtype=np.int64)
    return sp.coo_matrix((ones, (place, np.concatenate(rows))), shape=(len(rows), LANGUAGE)).tocsr()
