"""Words of texts: runs of letters in lower case, stemmed (Porter), without stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import scipy.sparse as sp

from structmargin_suite.datasets._sparse import count_matrix

if TYPE_CHECKING:
    from nltk.stem import PorterStemmer

WORD = re.compile(r"[a-z]{2,}")


def stem_counts(text: str) -> Counter[str]:
    """How often each stem occurs in a text, stop words left out."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = WORD.findall(text.lower())
    return Counter(_stem(word) for word in words if word not in ENGLISH_STOP_WORDS)


def counts_over(
    documents: Sequence[Counter[str]], vocabulary_of: Sequence[Counter[str]], min_documents: int
) -> sp.csr_matrix:
    """Counts (documents, words) of the words that at least `min_documents` of the documents `vocabulary_of`
    have, in alphabetical order."""
    frequency = Counter(word for counts in vocabulary_of for word in counts)
    words = sorted(word for word, n in frequency.items() if n >= min_documents)
    number = {word: k for k, word in enumerate(words)}
    numbered = [{number[word]: n for word, n in counts.items() if word in number} for counts in documents]
    return count_matrix(numbered, len(words))


@cache
def _stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> PorterStemmer:
    from nltk.stem import PorterStemmer

    return PorterStemmer()
