"""The fast path of `Grammar`: forests built once, then every search of a pass in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.oracles.cky import Forests, forests
from structmargin.oracles.cky_best import best, best_other
from structmargin.oracles.cky_f1 import MAX_LINES, MAX_STRATA, best_by_f1
from structmargin.oracles.cky_f1_bounds import limits
from structmargin.problem import Scorer
from structmargin.problems.grammar.trees import Node, Tree, brackets, from_brackets
from structmargin.problems.grammar.unparsed import warn_of_unparsed

if TYPE_CHECKING:
    from structmargin.problems.grammar.problem import Grammar

Tags = Sequence[str]

FORESTS_AT_A_TIME = 500
"""How many sentences' forests are held at a time where only the best trees are asked for."""


class PackedForests:
    """The forests of some sentences, and the weights that their edges and nodes carry."""

    def __init__(self, problem: Grammar, X: Sequence[Tags]) -> None:
        self.problem, self.X = problem, X
        words = [problem.tables.words(x) for x in X]
        self.forest: Forests = forests(problem.tables.rules, words)
        self.all = np.arange(len(X), dtype=np.int64)
        self.head = np.repeat(np.arange(len(self.forest.item)), np.diff(self.forest.edge_start)).astype(
            np.int64
        )
        self.columns = problem.span_columns(self.forest, words)

    def scores(self, f: Scorer) -> tuple[np.ndarray, np.ndarray]:
        """One score per rule, and one score per node or none at all."""
        w = np.asarray(f.potentials(None), dtype=np.float64)
        if not len(self.columns):
            return w, np.zeros(0)
        return w[: self.problem.tables.n_rules], np.append(w, 0.0)[self.columns].sum(axis=1)

    def tree(self, i: int, edges: np.ndarray) -> Tree | None:
        """The tree of sentence i with these edges; None if there are none."""
        if not len(edges):
            return None
        heads, forest = self.head[edges], self.forest
        heads = heads[forest.label[heads] >= 0]
        names = self.problem.label_names
        spans = zip(*(part[heads].tolist() for part in (forest.label, forest.lo, forest.hi)), strict=True)
        labelled = [(names[label], lo, hi) for label, lo, hi in spans]
        return from_brackets(labelled, self.X[i])

    def draw(self, i: int, rng: np.random.Generator) -> Tree | None:
        """A tree of sentence i, every edge from the goal down drawn at random; None if there is no tree."""
        forest, first = self.forest, int(self.forest.start[i])
        edges: list[int] = []
        nodes = [int(forest.start[i + 1]) - 1] if forest.start[i + 1] > first else []
        while nodes:
            u = nodes.pop()
            lo, hi = forest.edge_start[u : u + 2].tolist()
            if lo < hi:
                edges.append(int(rng.integers(lo, hi)))
                below = (int(forest.right[edges[-1]]), int(forest.left[edges[-1]]))
                nodes += [first + child for child in below if child >= 0]
        return self.tree(i, np.array(edges, dtype=np.int64))

    def argmax(self, f: Scorer) -> list[Tree | None]:
        """The best trees, None where the grammar has none."""
        _, start, edges = best(self.forest, self.all, *self.scores(f))
        return [self.tree(i, edges[start[i] : start[i + 1]]) for i in range(len(self.X))]


class Trees(Sequence["Tree | None"]):
    """Trees made from their edges only when asked for; where there are no edges, the given tree."""

    def __init__(
        self,
        packed: PackedForests,
        Y: Sequence[Node],
        which: np.ndarray,
        start: np.ndarray,
        edges: np.ndarray,
    ) -> None:
        self.packed, self.Y, self.which, self.start, self.edges = packed, Y, which, start, edges

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        edges = self.edges[self.start[k] : self.start[k + 1]]
        i = int(self.which[k])
        return self.packed.tree(i, edges) if len(edges) else self.Y[i]


class GrammarBatch:
    """Sentences and, for the augmented search, their trees."""

    grain = 1

    def __init__(self, problem: Grammar, X: Sequence[Tags], Y: Sequence[Node] | None) -> None:
        self.problem, self.X = problem, X
        problem.check_inputs(X)
        if Y is None:
            return
        self.Y = Y
        self.packed = PackedForests(problem, X)
        forest = self.packed.forest
        given = [np.array(steps, dtype=np.int64) for steps in problem.derivations(X, Y)]
        begin = np.concatenate([[0], np.cumsum([len(steps) for steps in given])]).astype(np.int64)
        self.given = _marked(forest, begin, np.concatenate(given) if given else np.zeros((0, 6), np.int64))
        self.truth_at, self.truth = _listed(forest.start, self.given)
        gold_brackets = [brackets(y) for y in Y]
        self.n_gold = np.array([len(tree) for tree in gold_brackets], dtype=np.int64)
        number = problem.tables.labels
        gold = np.array([(number[a], lo, hi) for tree in gold_brackets for a, lo, hi in tree], dtype=np.int64)
        self.correct = _correct(forest, np.concatenate([[0], np.cumsum(self.n_gold)]), gold.reshape(-1, 3))
        self.limit = limits(forest, self.correct)

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[Tree | None]:
        """The best tree of every sentence, or of some; None where the grammar has none."""
        X = self.X if indices is None else [self.X[i] for i in indices]
        trees: list[Tree | None] = []
        for lo in range(0, len(X), FORESTS_AT_A_TIME):
            trees += PackedForests(self.problem, X[lo : lo + FORESTS_AT_A_TIME]).argmax(f)
        return trees

    def combined(self, parts: list[list[Tree | None]]) -> list[Tree | None]:
        """The trees of all sentences; a NoParseWarning tells of those that have none."""
        trees = [tree for part in parts for tree in part]
        warn_of_unparsed(self.X, trees, self.problem.tables.tags)
        return trees

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The maximiser of H for each of the sentences, the given tree included where nothing beats it."""
        which = np.ascontiguousarray(indices, dtype=np.int64)
        forest = self.packed.forest
        score, extra = self.packed.scores(f)
        if self.problem.loss == "zero_one" or H.power == 0.0:
            _, start, edges = best_other(forest, which, score, extra, self.given)
            losses = (np.diff(start) > 0).astype(float)
            if self.problem.loss != "zero_one":
                losses = self._losses(which, start, edges)
                # Another tree with the same brackets has no loss: then only a search by loss can tell.
                again = np.flatnonzero((losses == 0.0) & (np.diff(start) > 0))
                if len(again):
                    by_f1 = self._by_f1(which[again], score, extra, H)
                    start, edges = _replaced(start, edges, again, *by_f1[2:])
                    losses[again] = by_f1[1]
        else:
            _, losses, start, edges = self._by_f1(which, score, extra, H)
        rows = self._rows(which, start, edges)
        trees = Trees(self.packed, self.Y, which, start, edges)
        return Cuts.of_search(H, which, trees, losses, rows @ f.w, rows)

    def _by_f1(
        self, which: np.ndarray, score: np.ndarray, extra: np.ndarray, H: Cost
    ) -> tuple[np.ndarray, ...]:
        truth = (self.given, self.correct, self.n_gold, self.limit)
        search: tuple[np.ndarray, ...] = best_by_f1(
            self.packed.forest, which, score, extra, *truth, H, MAX_LINES, MAX_STRATA
        )
        return search

    def _losses(self, which: np.ndarray, start: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """1 - F1 of derivations; 0 where there is none."""
        heads = self.packed.head[edges]
        row = np.repeat(np.arange(len(which)), np.diff(start))
        predicted = np.bincount(row, self.packed.forest.label[heads] >= 0, minlength=len(which))
        correct = np.bincount(row, self.correct[heads], minlength=len(which))
        losses = 1.0 - 2.0 * correct / (predicted + self.n_gold[which])
        return np.where(np.diff(start) > 0, losses, 0.0)

    def _rows(self, which: np.ndarray, start: np.ndarray, edges: np.ndarray) -> sp.csr_matrix:
        """Psi(x, y) - Psi(x, ybar): rows with no column twice and no zero, in no order."""
        packed = self.packed
        n_weights = self.problem.n_weights
        data, columns, indptr = _differences(
            packed.forest.rule, packed.head, packed.columns, self.truth_at, self.truth, which, start, edges,
            n_weights,
        )  # fmt: skip
        return sp.csr_matrix((data, columns, indptr), shape=(len(which), n_weights))


@compiled
def _marked(forest, begin, steps):  # type: ignore[no-untyped-def]
    """The edge of every node of the given trees, -1 elsewhere (N,); steps as `Tables.derivation` lists them.

    A step whose item is no node of its own stands for the node it comes from (see `_forest`).
    """
    given = np.full(forest.item.shape[0], -1, np.int64)
    for i in range(begin.shape[0] - 1):
        first = forest.start[i]
        node = np.empty(begin[i + 1] - begin[i], np.int64)
        for k in range(node.shape[0]):
            item, lo, hi, left, right, rule = steps[begin[i] + k]
            node[k] = -1
            for u in range(first, forest.start[i + 1]):
                if forest.item[u] == item and forest.lo[u] == lo and forest.hi[u] == hi:
                    node[k] = u
                    break
            if node[k] < 0:
                node[k] = node[left]
                continue
            if left < 0:
                continue
            b = node[right] - first if right >= 0 else -1
            for e in range(forest.edge_start[node[k]], forest.edge_start[node[k] + 1]):
                if forest.left[e] == node[left] - first and forest.right[e] == b and forest.rule[e] == rule:
                    given[node[k]] = e
    return given


@compiled
def _listed(start, given):  # type: ignore[no-untyped-def]
    """(offsets, edges): the edges of the given trees, sentence by sentence."""
    offsets, edges, used = np.zeros(start.shape[0], np.int64), np.empty(given.shape[0], np.int64), 0
    for i in range(start.shape[0] - 1):
        for u in range(start[i], start[i + 1]):
            if given[u] >= 0:
                edges[used] = given[u]
                used += 1
        offsets[i + 1] = used
    return offsets, edges[:used].copy()


@compiled
def _correct(forest, gold_start, gold):  # type: ignore[no-untyped-def]
    """Which nodes' brackets are among the given ones.

    Those of sentence i are (label, lo, hi) in gold[gold_start[i]:gold_start[i + 1]].
    """
    correct = np.zeros(forest.item.shape[0], np.bool_)
    for i in range(gold_start.shape[0] - 1):
        for u in range(forest.start[i], forest.start[i + 1]):
            for k in range(gold_start[i], gold_start[i + 1]):
                same = forest.label[u] == gold[k, 0] and forest.lo[u] == gold[k, 1]
                if same and forest.hi[u] == gold[k, 2]:
                    correct[u] = True
                    break
    return correct


@compiled
def _differences(rule, head, columns, truth_at, truth, which, start, edges, n_weights):  # type: ignore[no-untyped-def]
    """(data, columns, indptr) of the rows: weights used by the given tree less those used by the found one.

    columns (N, 3) or (0, 3) are the further weights of nodes, n_weights where a node has none. A row without
    edges is that of the given tree itself: empty.
    """
    width = 1 + (3 if columns.shape[0] > 0 else 0)
    room = 0
    for r in range(which.shape[0]):
        room += width * (truth_at[which[r] + 1] - truth_at[which[r]] + start[r + 1] - start[r])
    data, indices, indptr = np.empty(room), np.empty(room, np.int32), np.zeros(which.shape[0] + 1, np.int64)
    counts, used = np.zeros(n_weights), 0
    touched = np.empty(room, np.int64)
    for r in range(which.shape[0]):
        n = 0
        if start[r + 1] > start[r]:
            for part in range(2):
                lo, hi = start[r], start[r + 1]
                if part == 0:
                    lo, hi = truth_at[which[r]], truth_at[which[r] + 1]
                for k in range(lo, hi):
                    e = truth[k] if part == 0 else edges[k]
                    for t in range(width):
                        column = rule[e] if t == 0 else columns[head[e], t - 1]
                        if column < 0 or column == n_weights:
                            continue
                        counts[column] += 1.0 if part == 0 else -1.0
                        touched[n] = column
                        n += 1
        for k in range(n):
            column = touched[k]
            if counts[column] != 0.0:
                data[used], indices[used] = counts[column], column
                counts[column] = 0.0
                used += 1
        indptr[r + 1] = used
    return data[:used], indices[:used], indptr


def _replaced(
    start: np.ndarray, edges: np.ndarray, which: np.ndarray, new_start: np.ndarray, new_edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Packed derivations with those of the sentences in `which` replaced."""
    parts = [edges[lo:hi] for lo, hi in pairwise(start)]
    for k, row in enumerate(which):
        parts[row] = new_edges[new_start[k] : new_start[k + 1]]
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(parts)
