"""Made-up abstracts in the shape of Joachims' ArXiv sample (cacm09 Table 1): 14 topics, 1,168 to train on.

A topic weights some words of its own more than the language does. An abstract has one topic, and one in three
has a second; of its words (log-normal, about 80) a share comes from its topics, drawn separately for every
abstract, and the rest from the language at large, whose word weights fall with their rank. The k-th topic has
rare^k times as many abstracts as the first. Inputs are tf-idf vectors of unit length. Sizes are those of the
original; the difficulty was set once and is not fitted to the paper's results.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from structmargin_suite.datasets import Schemas, _one_vs_rest
from structmargin_suite.datasets._one_vs_rest import VIEW, score, view
from structmargin_suite.fetching.fetch import Remote

__all__ = ["FILES", "PREPARE", "VIEW", "score", "synthesize", "view"]

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "n_train": {"type": "integer", "minimum": 50},
    "n_test": {"type": "integer", "minimum": 10},
    "n_topics": {"type": "integer", "minimum": 2},
    "n_words": {"type": "integer", "minimum": 100},
    "rare": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
}
SECOND_TOPIC_SHARE = 1.0 / 3.0
NOISE = 1.5  # standard deviation of the logarithms of a topic's word weights around the language's


def synthesize(
    seed: int,
    *,
    n_train: int = 1168,
    n_test: int = 32487,
    n_topics: int = 14,
    n_words: int = 13525,
    rare: float = 0.85,
) -> dict[str, np.ndarray]:
    """Inputs and topics of both subsets, and the topics' names."""
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(seed)
    n = n_train + n_test
    share = rare ** np.arange(n_topics)
    first = rng.choice(n_topics, size=n, p=share / share.sum())
    second = np.where(
        rng.random(n) < SECOND_TOPIC_SHARE, rng.choice(n_topics, size=n, p=share / share.sum()), first
    )
    topics = np.zeros((n, n_topics), dtype=np.uint8)
    topics[np.arange(n), first] = topics[np.arange(n), second] = 1
    counts = word_counts(rng, first, second, n_topics, n_words)
    transformer = TfidfTransformer().fit(counts[:n_train])
    X = sp.csr_matrix(transformer.transform(counts))
    return {
        "names": np.array([f"topic{k:02d}" for k in range(n_topics)]),
        **_one_vs_rest.subset_arrays("train", X[:n_train], topics[:n_train]),
        **_one_vs_rest.subset_arrays("test", X[n_train:], topics[n_train:]),
    }


def word_counts(
    rng: np.random.Generator, first: np.ndarray, second: np.ndarray, n_topics: int, n_words: int
) -> sp.csr_matrix:
    """Word counts (n, n_words) of abstracts with these first and second topics (n,)."""
    language = -np.log(np.arange(10.0, n_words + 10.0))
    weights = np.exp(language + NOISE * np.vstack([np.zeros(n_words), rng.normal(size=(n_topics, n_words))]))
    cumulative = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    n = len(first)
    lengths = 10 + rng.lognormal(4.0, 0.6, size=n).astype(int)
    document = np.repeat(np.arange(n), lengths)
    about = rng.beta(1.0, 3.0, size=n)[document] > rng.random(len(document))
    which = np.where(rng.random(len(document)) < 0.5, first[document], second[document])
    source = np.where(about, which + 1, 0)
    words = np.empty(len(document), dtype=np.int64)
    for k in range(n_topics + 1):
        tokens = np.flatnonzero(source == k)
        words[tokens] = np.minimum(np.searchsorted(cumulative[k], rng.random(len(tokens))), n_words - 1)
    counts = sp.coo_matrix((np.ones(len(words)), (document, words)), shape=(n, n_words)).tocsr()
    counts.sum_duplicates()
    return counts
