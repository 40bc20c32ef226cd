"""Taxonomies as partial orders, and what classes know of each other (jmlr05 Section 4.2).

A taxonomy is a set Z of nodes with a partial order, given by each node's parents: a tree where all have at
most one, a lattice otherwise. The classes are some of the nodes, numbered in the order given. Output maps
Lambda, one row per class, for `structmargin.problems.Taxonomy`:

    node_features        lambda_z(y) = sqrt(beta_z) if y = z or y below z, else 0
    description_features tf-idf of each class's text
    similarity_features  rows with <Lambda(y), Lambda(y')> = L[y, y'] for a given L

and `tree_loss`, the height of the first common ancestor (Section 5.1). A node's height is the length of the
longest way down from it to a node without children.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

Parents = Mapping[Any, Any]
"""node -> its parents (none, one name, or a collection of names)."""


def climb(parents: Parents) -> dict[Any, frozenset[Any]]:
    """Every node with all nodes at or above it, parents before children.

    A node that only occurs as a parent is a root. A cycle is an error that names its nodes.
    """
    above: dict[Any, frozenset[Any]] = {}
    for start in parents:
        way: list[Any] = [start]  # a walk up that waits for the parents of its last node
        while way:
            node = way[-1]
            waiting = [parent for parent in _parents(parents, node) if parent not in above]
            if node in above or not waiting:
                ancestors = (above[parent] for parent in _parents(parents, node))
                above.setdefault(node, frozenset([node]).union(*ancestors))
                way.pop()
            elif waiting[0] in way:
                cycle = [*way[way.index(waiting[0]) :], waiting[0]]
                raise ValueError(
                    f"the taxonomy has a cycle: {' below '.join(repr(node) for node in cycle)}; "
                    "take one of these parents away"
                )
            else:
                way.append(waiting[0])
    return above


def heights(parents: Parents) -> dict[Any, int]:
    """The length of the longest way down from each node."""
    height = dict.fromkeys(climb(parents), 0)
    for node in reversed(height):
        for parent in _parents(parents, node):
            height[parent] = max(height[parent], height[node] + 1)
    return height


def node_features(
    parents: Parents, classes: Sequence[Hashable], beta: Mapping[Any, float] | None = None
) -> tuple[list[Any], sp.csr_matrix]:
    """(nodes, Lambda of shape (number of classes, number of nodes)): a column for every node of Z.

    `beta` weights nodes in the inner product of two classes, 1 where it names none.
    """
    above = _of_classes(parents, classes)
    nodes = list(climb(parents))
    weights = dict.fromkeys(nodes, 1.0)
    for node, weight in (beta or {}).items():
        if node not in weights:
            raise ValueError(f"beta has a weight for {node!r}, which is no node of the taxonomy; remove it")
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(f"beta[{node!r}] is {weight}, but a node's weight must be finite and >= 0")
        weights[node] = float(weight)
    column = {node: k for k, node in enumerate(nodes)}
    entries = [(y, column[node]) for y, ancestors in enumerate(above) for node in ancestors]
    y, z = np.array(sorted(entries)).T
    data = np.sqrt([weights[nodes[k]] for k in z])
    Lambda = sp.csr_matrix((data, (y, z)), shape=(len(classes), len(nodes)))
    Lambda.eliminate_zeros()
    return nodes, Lambda


def tree_loss(parents: Parents, classes: Sequence[Hashable]) -> np.ndarray:
    """Delta[y, y'] = the least height of a node at or above both classes, and 0 for y = y'."""
    above, height = _of_classes(parents, classes), heights(parents)
    losses = np.zeros((len(classes), len(classes)))
    for y, ancestors in enumerate(above):
        for other in range(y):
            common = ancestors & above[other]
            if not common:
                raise ValueError(
                    f"classes {classes[other]!r} and {classes[y]!r} have no common ancestor; "
                    "give their topmost nodes a root"
                )
            losses[y, other] = losses[other, y] = min(height[node] for node in common)
    return losses


def description_features(texts: Sequence[str], **tfidf: Any) -> sp.csr_matrix:
    """Unit tf-idf rows of the classes' texts, (number of classes, number of words).

    `tfidf` goes to scikit-learn's TfidfVectorizer. A class without a word is an error.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**{"sublinear_tf": True, **tfidf})
    words = vectorizer.build_analyzer()
    for y, text in enumerate(texts):
        if not words(text):
            raise ValueError(f"the description of class {y} is empty (no word in {text!r}); describe it")
    return sp.csr_matrix(vectorizer.fit_transform(texts))


def similarity_features(L: Any, tol: float = 1e-10) -> np.ndarray:
    """Rows Lambda(y) with Lambda Lambda^T = L, from the eigenvectors of L (K, K).

    An eigenvalue below -tol times the largest is an error that gives it and the class it weighs on most.
    """
    L = np.asarray(L, dtype=float)
    if L.ndim != 2 or L.shape[0] != L.shape[1]:
        raise ValueError(f"the similarity must be a square matrix, but has shape {L.shape}")
    bad = np.argwhere(~np.isfinite(L))
    if len(bad):
        raise ValueError(f"the similarity of classes {tuple(map(int, bad[0]))} is NaN or infinite")
    uneven = np.argwhere(~np.isclose(L, L.T))
    if len(uneven):
        y, other = map(int, uneven[0])
        raise ValueError(
            f"the similarity is not symmetric: L[{y}, {other}] is {L[y, other]:g} "
            f"but L[{other}, {y}] is {L[other, y]:g}"
        )
    values, vectors = np.linalg.eigh((L + L.T) / 2.0)
    if values[0] < -tol * max(values[-1], 1e-300):
        culprit = int(np.argmax(np.abs(vectors[:, 0])))
        raise ValueError(
            f"the similarity is not positive semi-definite: it has the eigenvalue {values[0]:.3g}, "
            f"whose eigenvector is largest at class {culprit}; add {-values[0]:.3g} to its diagonal"
        )
    positive = values > tol * values[-1]
    features: np.ndarray = vectors[:, positive] * np.sqrt(values[positive])
    return features


def _of_classes(parents: Parents, classes: Sequence[Hashable]) -> list[frozenset[Any]]:
    """All nodes at or above each class; a class that is no node, or is there twice, is an error."""
    above = climb(parents)
    seen: set[Any] = set()
    for y, name in enumerate(classes):
        if name not in above:
            raise ValueError(
                f"class {name!r} (number {y}) is missing from the taxonomy; name its parents, or take it away"
            )
        if name in seen:
            raise ValueError(f"class {name!r} (number {y}) is there twice; keep it once")
        seen.add(name)
    return [above[name] for name in classes]


def _parents(parents: Parents, node: Any) -> Iterable[Any]:
    above = parents.get(node)
    if above is None:
        return ()
    return above if isinstance(above, (tuple, list, set, frozenset)) else (above,)
