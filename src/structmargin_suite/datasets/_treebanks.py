"""Treebanks in Penn style: bracketed trees read with their line numbers, cleaned as Johnson (1998) does.

Cleaning removes empty elements (-NONE-) and brackets with nothing else in them, function tags and indices of
labels (NP-SBJ-1 becomes NP), and an outer ROOT, TOP or nameless bracket. X over a single X becomes one X, and
so does a longer chain from X to X. Words are removed; their tags stay as leaves. Punctuation is kept like
other tags, or deleted before lengths are counted. Trees of a single tag have no bracket and are left out.

All data sets of trees have the same view, the same measures and the same arrays (`trees` as text; `subset`: 0
train, 1 test, -1 not given).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from structmargin.problems.grammar.trees import Tree, leaves
from structmargin_suite.datasets import Examples, Schemas, Split
from structmargin_suite.datasets._measures import measures
from structmargin_suite.storage.errors import DataError

RawTree: TypeAlias = list[Any]
"""[label, child, ...] as read, with such lists as children; [tag, word] is a leaf."""

PREPARE: Schemas = {
    "longest": {"type": "integer", "minimum": 1},
    "punctuation": {"enum": ["kept", "deleted"]},
    "roots": {"enum": ["any", "clauses"]},
    "at_most": {"type": "integer", "minimum": 10},
    "repetition": {"type": "integer", "minimum": 0},
}
VIEW: Schemas = {"n_train": {"type": "integer", "minimum": 1}}
PUNCTUATION = frozenset({",", ".", ":", "``", "''", "-LRB-", "-RRB-"})
CLAUSES = frozenset({"S", "SBARQ", "SINV", "SQ"})
OUTER = frozenset({"", "ROOT", "TOP"})
TOKEN = re.compile(r"[()]|[^ \t\r()]+")
"""Words may hold other white space: thin spaces occur."""
TRACE = b"-NONE-"
"""The tag of an empty element."""
TEST_SHARE = 5
"""One in this many trees is a test tree where the corpus has no subsets of its own."""


def read(name: str, text: str, longest: int | None = None) -> list[RawTree]:
    """The bracketed trees of a text as nested lists [label, child, ...]; a leaf is [tag, word].

    Anything else is an error that gives the line of the file `name`. With `longest`, trees of more words
    (traces not counted) are skipped without parsing them, which saves most of the time.
    """
    data = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    trees, last = [], 0
    for first, end, n_words in zip(*_extents(name, data), strict=True):
        _outside(name, data, last, first)
        last = end + 1
        if longest is None or n_words <= longest:
            chunk = data[first:last].tobytes().decode("utf-8")
            trees.append(_node(name, chunk, _line(data, first)))
    _outside(name, data, last, len(data))
    return trees


def _extents(name: str, data: np.ndarray) -> tuple[list[int], list[int], list[int]]:
    """(first byte, last byte, number of words without traces) of every outermost bracket, three lists."""
    place = np.flatnonzero((data == ord("(")) | (data == ord(")")))
    opens = data[place] == ord("(")
    depth = np.cumsum(np.where(opens, 1, -1))
    if np.any(depth < 0):
        wrong = place[int(np.argmax(depth < 0))]
        raise DataError(f"{name}, line {_line(data, wrong)}: a bracket is closed that was never opened")
    ends = np.flatnonzero(depth == 0)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64) if len(ends) else np.zeros(0, np.int64)
    if len(depth) and depth[-1] != 0:
        first = place[int(ends[-1]) + 1 if len(ends) else 0]
        raise DataError(
            f"{name}, line {_line(data, first)}: the bracket opened there is never closed; complete it"
        )
    leaf = np.flatnonzero(opens[:-1] & ~opens[1:])
    padded = np.concatenate([data, np.zeros(len(TRACE), np.uint8)])
    trace = np.all([padded[place[leaf] + 1 + k] == byte for k, byte in enumerate(TRACE)], axis=0)
    words = np.searchsorted(leaf[~trace], ends) - np.searchsorted(leaf[~trace], starts)
    return place[starts].tolist(), place[ends].tolist(), words.tolist()


def _line(data: np.ndarray, place: int) -> int:
    return 1 + int(np.count_nonzero(data[:place] == ord("\n")))


def _outside(name: str, data: np.ndarray, lo: int, hi: int) -> None:
    """Raise if anything but white space stands between two trees."""
    between = data[lo:hi].tobytes()
    if between.strip():
        word = between.split()[0].decode("utf-8", "replace")
        raise DataError(
            f"{name}, line {_line(data, lo + between.find(between.split()[0]))}: {word!r} stands outside all "
            "brackets; remove it"
        )


def _node(name: str, text: str, line: int) -> RawTree:
    """One balanced tree that begins at a line of the file."""
    stack: list[list[Any]] = [[]]
    for offset, row in enumerate(text.split("\n")):
        where = f"{name}, line {line + offset}"
        for token in TOKEN.findall(row):
            if token == "(":
                stack.append([])
            elif token != ")":
                stack[-1].append(token)
            else:
                node = stack.pop()
                if not node:
                    raise DataError(f"{where}: an empty bracket; give it a label and children")
                if isinstance(node[0], str) and len(node) == 1:
                    raise DataError(f"{where}: ({node[0]}) has no children; remove or complete it")
                if not isinstance(node[0], str):
                    node.insert(0, "")
                if len(node) > 2 and any(isinstance(child, str) for child in node[1:]):
                    word = next(child for child in node[1:] if isinstance(child, str))
                    raise DataError(f"{where}: the word {word!r} has no tag of its own; write (TAG word)")
                stack[-1].append(node)
    return stack[0][0]


def cleaned(node: RawTree, delete: frozenset[str] = frozenset()) -> Tree | None:
    """What cleaning leaves of a tree: a tree over tags as nested tuples, a single tag, or None."""
    label = node[0]
    if len(node) == 2 and isinstance(node[1], str):
        return None if label == "-NONE-" or label in delete else label
    children = [child for child in (cleaned(child, delete) for child in node[1:]) if child is not None]
    if not children:
        return None
    if label in OUTER:
        if len(children) == 1:
            return children[0]
        label = "X"  # several trees under one nameless bracket
    if not label.startswith("-"):
        label = re.split(r"[-=]", label)[0]
    below, chain = children, []
    while len(below) == 1 and not isinstance(below[0], str):
        chain.append(below[0])
        if below[0][0] == label:
            return (label, *chain[-1][1:])
        below = list(below[0][1:])
    return (label, *children)


@dataclass(frozen=True)
class TreeFilter:
    """Which trees of a corpus are used; the parameters are those of PREPARE.

    Attributes
    ----------
    longest : int
        The number of tags that a tree may have.
    punctuation : {"kept", "deleted"}
        Whether punctuation counts as tags or is deleted first.
    roots : {"any", "clauses"}
        Whether the root may have any label or must be a clause.
    """

    longest: int
    punctuation: str
    roots: str

    @property
    def longest_to_read(self) -> int | None:
        """The number of words above which `read` need not look into a tree, or None.

        Where punctuation is deleted, the length of a tree is known only afterwards.
        """
        return self.longest if self.punctuation == "kept" else None

    def select(self, raw: Iterable[RawTree]) -> list[Tree]:
        """The trees, cleaned, that are no longer than `longest` tags and have the roots asked for."""
        delete = PUNCTUATION if self.punctuation == "deleted" else frozenset()
        trees = [cleaned(node, delete) for node in raw]
        return [
            tree
            for tree in trees
            if isinstance(tree, tuple)
            and len(leaves(tree)) <= self.longest
            and (self.roots == "any" or tree[0] in CLAUSES)
        ]


def tree_arrays_by_subset(
    documents: Iterable[tuple[int, list[RawTree]]], select: TreeFilter, seed: int, at_most: int | None
) -> dict[str, np.ndarray]:
    """`tree_arrays` of a corpus with subsets: (number of its subset, raw trees) for every document."""
    trees: list[Tree] = []
    subset: list[int] = []
    document: list[int] = []
    for k, (number, raw) in enumerate(documents):
        selected = select.select(raw)
        trees += selected
        subset += [number] * len(selected)
        document += [k] * len(selected)
    return tree_arrays(trees, subset, seed, at_most, document)


def tree_arrays(
    trees: Sequence[Tree],
    subset: Sequence[int],
    seed: int,
    at_most: int | None,
    document: Sequence[int] | None = None,
) -> dict[str, np.ndarray]:
    """The arrays `trees`, `subset` and, where it is known, `document`, the number of each tree's document.

    With `at_most`, only of that many trees, drawn by the seed.
    """
    if not trees:
        raise DataError("no tree is left under `longest` and `roots`; raise the one or widen the other")
    chosen = np.arange(len(trees))
    if at_most is not None and at_most < len(trees):
        chosen = np.sort(np.random.default_rng(seed).permutation(len(trees))[:at_most])
    arrays = {
        "trees": np.array([text_of(trees[int(k)]) for k in chosen]),
        "subset": np.asarray(subset, dtype=np.int64)[chosen],
    }
    if document is not None:
        arrays["document"] = np.asarray(document, dtype=np.int64)[chosen]
    return arrays


def text_of(tree: Tree) -> str:
    """A tree over tags as text: (S (NP DT NN) (VP VBZ))."""
    return tree if isinstance(tree, str) else f"({tree[0]} {' '.join(text_of(child) for child in tree[1:])})"


def tree_of(text: str) -> Tree:
    """The tree that `text_of` wrote."""
    stack: list[list[Any]] = [[]]
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            node = tuple(stack.pop())
            stack[-1].append(node)
        else:
            stack[-1].append(token)
    return stack[0][0]


def view(stored: Mapping[str, np.ndarray], seed: int, *, n_train: int | None = None) -> Split:
    """The corpus's own training and test set, or else a fifth of the trees, drawn by the seed, as
    the test set.

    With `n_train`, only the first n_train trees of the training set.
    """
    subset = stored["subset"]
    if np.all(subset < 0):
        order = np.random.default_rng(seed).permutation(len(subset))
        test, train = np.split(order, [len(subset) // TEST_SHARE])
    else:
        train, test = np.flatnonzero(subset == 0), np.flatnonzero(subset == 1)
    if n_train is not None and n_train > len(train):
        raise ValueError(f"n_train is {n_train}, but the training set has {len(train)} trees; lower it")
    return Split(_examples(stored["trees"], train[:n_train]), _examples(stored["trees"], test))


def _examples(trees: np.ndarray, which: np.ndarray) -> Examples:
    Y = [tree_of(str(trees[k])) for k in which]
    return Examples([tuple(leaves(y)) for y in Y], Y)


@measures("accuracy", "precision", "recall", "f1", "unparsed")
def score(Y: Sequence[Tree], Yhat: Sequence[Tree | None]) -> dict[str, float]:
    """In percent: `accuracy` of whole trees; `precision`, `recall` and `f1` over all brackets together.

    `unparsed` is the number of sentences without a parse: they count as wrong, all their brackets as missed.
    """
    from structmargin.scoring import bracket_matches

    right, given, predicted = bracket_matches(Y, Yhat)
    return {
        "accuracy": 100.0 * float(np.mean([y == yhat for y, yhat in zip(Y, Yhat, strict=True)])),
        "precision": 100.0 * right / max(predicted, 1),
        "recall": 100.0 * right / max(given, 1),
        "f1": 200.0 * right / max(given + predicted, 1),
        "unparsed": float(sum(yhat is None for yhat in Yhat)),
    }
