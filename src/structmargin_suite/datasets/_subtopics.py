"""Queries, their candidate documents and subtopics: what the data sets of cacm09 Section 3.1 share.

Stored are the word counts of all documents, of whole texts and of titles, the query that each belongs to, the
subtopics that it has, and the words of each query. A view makes one example of every query:

    candidates   `labelled`, the documents that have a subtopic (the paper's setting), or `all`
    items        a word in a document's text, a word that is there twice or more, and a word in its title:
                 three levels of coverage, each with its own weights
    phi          for each level and each threshold (THRESHOLDS), whether at least this percentage of the
                 candidates have the item, divided by the number of items, so that long queries weigh no more

The weight of a subtopic is the number of candidates that have it. Queries with fewer than K candidates are
left out. The queries are split into FOLDS folds: one to test on, the next to choose options by, the others to
train on. After FOLDS rounds they are split again, so that all are tested equally often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.problems.diversity.problem import Candidates, Selection, best_selection, missed
from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets._sparse import csr_arrays

THRESHOLDS = (0, 2, 5, 10, 15, 25, 35, 50)
LEVELS = ("text", "text twice", "title")
FOLDS = 4
MAX_REMEMBERED = 32  # answers of `examples`: the runs of a job ask for few different ones
_REMEMBERED: dict[tuple[str, int, str], tuple[list[Query], list[Selection]]] = {}
VIEW: Schemas = {
    "K": {"type": "integer", "minimum": 1},
    "candidates": {"enum": ["labelled", "all"]},
    "round": {"type": "integer", "minimum": 0},
}


@dataclass(frozen=True, eq=False)
class Query(Candidates):
    """The candidates of a query, with what baselines look at: word counts (n, V) of the documents, the
    numbers of the query's words, and the query as text."""

    counts: sp.csr_matrix
    words: np.ndarray
    name: str


class Collection(NamedTuple):
    """Queries, their documents and which subtopics these have, before any view of them.

    Attributes
    ----------
    text, title : csr_matrix (N, V)
        Word counts of whole texts and of titles.
    query : sequence of int (N,)
        The query that each document belongs to.
    pairs : sequence of (document, subtopic)
        Which document has which subtopic, by their numbers.
    names : sequence of str (Q,)
        The queries.
    words : sequence of sequences of int (Q,)
        The numbers of each query's own words.
    """

    text: sp.csr_matrix
    title: sp.csr_matrix
    query: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    names: Sequence[str]
    words: Sequence[Sequence[int]]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays that `view` takes."""
        arrays: dict[str, np.ndarray] = {
            "query": np.asarray(self.query, dtype=np.int64),
            "pairs": np.asarray(self.pairs, dtype=np.int64).reshape(-1, 2),
            "names": np.asarray(self.names, dtype=str),
            "words_of": np.repeat(np.arange(len(self.words)), [len(words) for words in self.words]),
            "words": np.array([word for words in self.words for word in words], dtype=np.int64),
            "shape": np.array(self.text.shape),
        }
        for field, counts in (("text", self.text), ("title", self.title)):
            stored = csr_arrays(counts, f"{field}_", data=np.int32)
            del stored[f"{field}_shape"]  # that of the texts, stored once
            arrays |= stored
        return arrays


def _counts(arrays: Mapping[str, np.ndarray], field: str) -> sp.csr_matrix:
    stored = (arrays[f"{field}_data"], arrays[f"{field}_indices"], arrays[f"{field}_indptr"])
    return sp.csr_matrix(stored, shape=tuple(arrays["shape"]))


def view(
    arrays: Mapping[str, np.ndarray], seed: int, *, K: int = 5, candidates: str = "labelled", round: int = 0
) -> Split:
    """Queries to train on, to choose options by and to test on; the module says what the parameters do."""
    X, Y = examples(arrays, K, candidates)
    order = np.random.default_rng([seed, round // FOLDS]).permutation(len(X))
    fold = np.empty(len(X), dtype=np.int64)
    fold[order] = np.arange(len(X)) % FOLDS
    test_fold, validation_fold = round % FOLDS, (round + 1) % FOLDS
    subsets = [
        Examples([X[i] for i in which], [Y[i] for i in which])
        for which in (
            np.flatnonzero((fold != test_fold) & (fold != validation_fold)),
            np.flatnonzero(fold == test_fold),
            np.flatnonzero(fold == validation_fold),
        )
    ]
    return Split(
        subsets[0], subsets[1], subsets[2], problem={"K": K, "n_features": len(LEVELS) * len(THRESHOLDS)}
    )


def examples(
    arrays: Mapping[str, np.ndarray], K: int, candidates: str
) -> tuple[list[Query], list[Selection]]:
    """Every query with K candidates or more, and the selection made from its subtopics.

    Many runs of a job ask for the same: the last answers are remembered.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    key = (digest.hexdigest(), K, candidates)
    if key not in _REMEMBERED:
        _REMEMBERED[key] = _examples(arrays, K, candidates)
        while len(_REMEMBERED) > MAX_REMEMBERED:
            _REMEMBERED.pop(next(iter(_REMEMBERED)))
    return _REMEMBERED[key]


def _examples(
    arrays: Mapping[str, np.ndarray], K: int, candidates: str
) -> tuple[list[Query], list[Selection]]:
    text, title = _counts(arrays, "text"), _counts(arrays, "title")
    documents, topics = arrays["pairs"].T
    have = sp.csr_matrix(
        (np.ones(len(documents), dtype=bool), (documents, topics)),
        shape=(text.shape[0], int(topics.max()) + 1),
    )
    X, Y = [], []
    for q, name in enumerate(arrays["names"]):
        members = np.flatnonzero(arrays["query"] == q)
        subtopics = have[members].toarray()
        subtopics = subtopics[:, subtopics.any(axis=0)]
        if candidates == "labelled":
            members, subtopics = members[subtopics.any(axis=1)], subtopics[subtopics.any(axis=1)]
        if len(members) < K or not subtopics.size:
            continue
        x = query_of(text[members], title[members], arrays["words"][arrays["words_of"] == q], str(name))
        X.append(x)
        Y.append(best_selection(x, subtopics, K))
    return X, Y


def query_of(text: sp.csr_matrix, title: sp.csr_matrix, words: np.ndarray, name: str) -> Query:
    """A query from the word counts (n, V) of its candidates' texts and titles, its words and its name."""
    levels = [sp.csr_matrix(occurs, dtype=float) for occurs in (text > 0, text > 1, title > 0)]
    shares = [np.asarray(level.sum(axis=0)).ravel() / text.shape[0] for level in levels]
    used = [np.flatnonzero(share) for share in shares]
    m = sum(len(items) for items in used)
    phi = np.zeros((m, len(levels) * len(THRESHOLDS)))
    begin = 0
    for k, (share, items) in enumerate(zip(shares, used, strict=True)):
        columns = slice(k * len(THRESHOLDS), (k + 1) * len(THRESHOLDS))
        phi[begin : begin + len(items), columns] = 100.0 * share[items, None] >= np.array(THRESHOLDS)
        begin += len(items)
    both = sp.hstack([level[:, items] for level, items in zip(levels, used, strict=True)], format="csr")
    indptr, items = both.indptr.astype(np.int64), both.indices.astype(np.int64)
    return Query(indptr, items, phi / max(m, 1), sp.csr_matrix(text), np.asarray(words), name)


@measures("subtopic_loss", "best_loss")
def score(Y: Sequence[Selection], Yhat: Sequence[Selection]) -> dict[str, float]:
    """Mean weighted share of subtopics missed by Yhat, and by the selections Y made from the subtopics."""
    return {
        "subtopic_loss": float(np.mean([missed(y, yhat.documents) for y, yhat in zip(Y, Yhat, strict=True)])),
        "best_loss": float(np.mean([missed(y, y.documents) for y in Y])),
    }
