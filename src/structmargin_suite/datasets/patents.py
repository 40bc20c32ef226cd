"""Made-up patents in the shape of WIPO-alpha's section D: 7 classes, 20 subclasses, 160 groups (jmlr05 5.1).

Codes are those of the IPC (D01B07: section D, class 01, subclass B, group 07), and the taxonomy has a node
for every prefix. Word distributions are drawn down the tree: the logarithms of a node's word weights are
those of its parent plus normal noise, the section's fall with the rank of the word. A document's own weights
have more noise added; it then draws a title of 3 to 12 words and claims of about 150, log-normal; groups
differ in size.

A round is one fold of a cross-validation: with 4 training documents per class, 3-fold cross-validation
repeated five times; with 2, 5-fold repeated three times. Of the training folds, only 4 or 2 documents per
class are used; or (train_on: one fold) one fold is trained on, and the others are the test set: with the
paper's 160 groups and 1,710 documents, a third of them is 3.6 documents per class and a fifth 2.1. Classes
with fewer than 3 documents are left out. Inputs are tf-idf vectors of unit length
over the words of the training set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from structmargin.problems.taxonomy.taxonomies import node_features, tree_loss
from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.datasets._sparse import csr_arrays, csr_of
from structmargin_suite.fetching.fetch import Remote

FILES: tuple[Remote, ...] = ()
PREPARE: Schemas = {
    "n_documents": {"type": "integer", "minimum": 10},
    "n_groups": {"type": "integer", "minimum": 2},
    "n_words": {"type": "integer", "minimum": 10},
}
VIEW: Schemas = {
    "instances_per_class": {"enum": [2, 4]},
    "round": {"type": "integer", "minimum": 0, "maximum": 14},
    "features": {"enum": ["flat", "taxonomy"]},
    "train_on": {"enum": ["drawn", "one fold"]},
}
Inputs: TypeAlias = np.ndarray | sp.csr_matrix
FOLDS = {4: 3, 2: 5}
N_CLASSES, N_SUBCLASSES = 7, 20
MIN_DOCUMENTS = 3
"""Classes with fewer documents are left out."""
LEVELS = (1, 3, 4, None)
"""The lengths of the codes of a section, a class and a subclass; None: the whole code is that of a group."""
NODE_NOISE, DOCUMENT_NOISE = 0.5, 1.2


def synthesize(
    seed: int, *, n_documents: int = 1710, n_groups: int = 160, n_words: int = 5000
) -> dict[str, np.ndarray]:
    """Word counts as data, indices, indptr, shape of a sparse matrix; y (n,), codes of the classes."""
    rng = np.random.default_rng(seed)
    codes = ipc_codes(rng, n_groups)
    smallest = min(6, n_documents // n_groups)
    sizes = smallest + rng.multinomial(n_documents - smallest * n_groups, rng.dirichlet(np.ones(n_groups)))
    y = np.repeat(np.arange(n_groups), sizes)
    counts = word_counts(rng, parents(codes), codes, y, n_words)
    return {**csr_arrays(counts), "y": y, "codes": np.array(codes)}


def word_counts(
    rng: np.random.Generator, order: Mapping[str, str], classes: Sequence[str], y: np.ndarray, n_words: int
) -> sp.csr_matrix:
    """Word counts (n, n_words) of documents of the classes y, word distributions drawn down the tree."""
    weights: dict[str, np.ndarray] = {}

    def of(node: str) -> np.ndarray:
        if node not in weights:
            noise = NODE_NOISE * rng.normal(size=n_words)
            above = of(order[node]) if node in order else -np.log(np.arange(1.0, n_words + 1.0))
            weights[node] = above + noise
        return weights[node]

    lengths = rng.integers(3, 13, size=len(y)) + rng.lognormal(5.0, 0.5, size=len(y)).astype(int)
    rows = []
    for label, length in zip(y, lengths, strict=True):
        p = np.cumsum(np.exp(of(classes[label]) + DOCUMENT_NOISE * rng.normal(size=n_words)))
        words = np.searchsorted(p[:-1] / p[-1], rng.random(length))
        rows.append(sp.csr_matrix(np.bincount(words, minlength=n_words).astype(float)))
    return sp.vstack(rows, format="csr")


def ipc_codes(rng: np.random.Generator, n_groups: int) -> list[str]:
    """Codes of n_groups groups below 20 subclasses of 7 classes; fewer of these if there are fewer groups."""
    subclasses = min(N_SUBCLASSES, n_groups)
    classes = min(N_CLASSES, subclasses)
    of = np.sort(np.concatenate([np.arange(classes), rng.integers(0, classes, subclasses - classes)]))
    names = [f"D{c + 1:02d}{chr(ord('A') + k - np.searchsorted(of, c))}" for k, c in enumerate(of)]
    under = np.sort(
        np.concatenate([np.arange(subclasses), rng.integers(0, subclasses, n_groups - subclasses)])
    )
    return [f"{names[s]}{k - np.searchsorted(under, s):02d}" for k, s in enumerate(under)]


def view(
    arrays: Mapping[str, np.ndarray],
    seed: int,
    *,
    instances_per_class: int = 4,
    round: int = 0,
    features: str = "flat",
    train_on: str = "drawn",
) -> Split:
    """One fold to test on, and a few documents per class from the others to train on; or the reverse."""
    counts = csr_of(arrays)
    drawn = seed, instances_per_class, round, train_on
    return round_split(arrays, lambda train, test: tfidf(counts[train], counts[test]), drawn, features)


def round_split(
    arrays: Mapping[str, np.ndarray],
    inputs: Callable[[np.ndarray, np.ndarray], tuple[Inputs, Inputs]],
    drawn: tuple[int, int, int, str],
    features: str,
) -> Split:
    """The examples of a round.

    `drawn` is what `fold_documents` takes after y; `inputs` returns X of the training and of the test set
    for the numbers of their documents.
    """
    documents, y, codes = large_classes(arrays["y"], arrays["codes"])
    train, test = fold_documents(y, *drawn)
    X_train, X_test = inputs(documents[train], documents[test])
    problem = {**class_features(codes, features), "n_features": X_train.shape[1]}
    return Split(Examples(X_train, y[train]), Examples(X_test, y[test]), problem=problem, tested=test)


def class_features(codes: Sequence[str], features: str) -> dict[str, Any]:
    """The problem of classes with these codes: tree loss, and one feature per class or one per node."""
    order = parents(codes)
    Lambda = node_features(order, codes)[1].toarray() if features == "taxonomy" else None
    return {"n_classes": len(codes), "loss": tree_loss(order, codes), "Lambda": Lambda}


def parents(codes: Sequence[str]) -> dict[str, str]:
    """The tree of the codes: the parent of a group, subclass or class is its next shorter prefix."""
    pairs = zip(LEVELS[1:], LEVELS, strict=False)
    return {code[:below]: code[:above] for below, above in pairs for code in codes}


def large_classes(y: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(documents of the classes with at least MIN_DOCUMENTS, their labels renumbered, codes
    of the classes)."""
    sizes = np.bincount(y, minlength=len(codes))
    classes = np.flatnonzero(sizes >= MIN_DOCUMENTS)
    documents = np.flatnonzero(np.isin(y, classes))
    return documents, np.searchsorted(classes, y[documents]), [str(codes[k]) for k in classes]


def fold_documents(
    y: np.ndarray, seed: int, per_class: int, round: int, train_on: str = "drawn"
) -> tuple[np.ndarray, np.ndarray]:
    """(training, test) documents of a round, for labels y (n,); classes are spread evenly over the folds."""
    folds = FOLDS[per_class]
    rng = np.random.default_rng([seed, per_class, round // folds])
    fold, order = np.empty(len(y), dtype=np.int64), rng.permutation(len(y))
    for label in range(int(y.max()) + 1):
        members = order[y[order] == label]
        fold[members] = (np.arange(len(members)) + rng.integers(folds)) % folds
    test_fold = round % folds
    if train_on == "one fold":
        return np.flatnonzero(fold == test_fold), np.flatnonzero(fold != test_fold)
    train = [
        order[(y[order] == label) & (fold[order] != test_fold)][:per_class]
        for label in range(int(y.max()) + 1)
    ]
    return np.sort(np.concatenate(train)), np.flatnonzero(fold == test_fold)


def tfidf(train: sp.csr_matrix, test: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """(1 + log count) times log-inverse document frequency, unit rows; words and frequencies of `train`."""
    from sklearn.feature_extraction.text import TfidfTransformer

    words = np.flatnonzero(np.asarray((train > 0).sum(axis=0)).ravel())
    transformer = TfidfTransformer(sublinear_tf=True).fit(train[:, words])
    weighted = (sp.csr_matrix(transformer.transform(subset[:, words])) for subset in (train, test))
    return next(weighted), next(weighted)


@measures("accuracy", "error")
def score(Y: np.ndarray, Yhat: np.ndarray) -> dict[str, float]:
    """Accuracy and error in percent."""
    accuracy = 100.0 * float(np.mean(np.asarray(Y) == np.asarray(Yhat)))
    return {"accuracy": accuracy, "error": 100.0 - accuracy}
