"""The fast path of `Sequence`: all tokens in one matrix, all searches of a pass in a few compiled calls."""

from __future__ import annotations

from collections import abc
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.kernels import Matrix
from structmargin.oracles.viterbi import Chains
from structmargin.parts import Parts
from structmargin.problem import Scorer
from structmargin.problems._scratch import PerThread
from structmargin.problems.sequence.features import choose, difference_rows, pack, sparse_scores
from structmargin.problems.sequence.potentials import Potentials
from structmargin.problems.sequence.short_rows import ShortRows

if TYPE_CHECKING:
    from structmargin.problems.sequence.problem import Sequence

GRAIN = 256
"""Where tokens are dense, the scores of so many sequences are one product of matrices, whatever else is asked
for: a product rounds by its shape, and n_jobs must not change it."""
MIN_PART_ENTRIES = 2**16
"""From so many features of all tokens together on, cuts are short rows: rows of fewer are near at hand."""


class SequenceBatch:
    """Examples packed once: N tokens in all, numbered from 0.

    Rows of Psi and of its differences hold no column twice and no zero; columns are in no order.

    Attributes
    ----------
    tokens : Tokens
        phi(x_t) of all tokens as CSR arrays, and where each example begins.
    dense : ndarray of shape (N, D), or None
        The same as a dense array where that makes scores faster.
    parts : Parts, or None
        Tokens as parts of Psi, where they have MIN_PART_ENTRIES features or more in all. A search then leaves
        rows out, and `rows` makes them. None with input transitions, whose weights belong to pairs of labels,
        and where Y is None.
    y : ndarray of int, shape (N,)
        The correct label of each token. The label -1 means "none": all are -1 where Y is None.
    """

    takes_kernels = True
    search_cost = 1

    def __init__(
        self, problem: Sequence, X: abc.Sequence[Matrix], Y: abc.Sequence[np.ndarray] | None
    ) -> None:
        self.problem, self.X = problem, X
        problem.check_inputs(X)
        self.tokens, self.dense = pack(X, problem.n_columns, problem.window)
        self.all = np.arange(len(X), dtype=np.int64)
        self.y = np.full(self.tokens.offsets[-1], -1)
        if Y is not None:
            problem.require_label_numbers(X, Y)
            empty = np.zeros(0, dtype=np.int64)
            self.y = np.concatenate([empty, *(np.asarray(y, dtype=np.int64) for y in Y)])
        self.grain = 1 if self.dense is None else GRAIN
        # scratch memory of `difference_rows`
        self._place = PerThread(partial(np.empty, problem.n_weights, dtype=np.int64))
        self.parts: Parts | None = None
        heavy = len(self.tokens.data) >= MIN_PART_ENTRIES
        if Y is not None and heavy and not problem.layout.input_transitions:
            self._short = ShortRows(problem.layout, self.tokens.offsets, self.y)
            phi = self.tokens.matrix(problem.layout.n_features)
            self.parts = Parts(self.tokens.offsets, phi, problem.L, self._short.longest, self._short)

    def search(self, f: Scorer, indices: np.ndarray, H: Cost) -> Cuts:
        """The maximiser of H for each of the examples."""
        indices = np.ascontiguousarray(indices, dtype=np.int64)
        offsets, token_numbers = choose(self.tokens.offsets, indices)
        if f.w is None:
            searches = [
                self.problem.search(chains, self.y[self.tokens.offsets[i] : self.tokens.offsets[i + 1]], H)
                for i, chains in zip(indices, self._kernel_chains(f, indices), strict=True)
            ]
            outputs, losses = [labels for labels, _ in searches], np.array([loss[0] for _, loss in searches])
            return Cuts.of_search(H, indices, outputs, losses, self._margins(f, indices, outputs))
        potentials = self._potentials(f.w, offsets, token_numbers)
        labels, losses = self.problem.search(
            self.problem.chains(potentials, offsets), self.y[token_numbers], H
        )
        outputs = _split(labels, offsets)
        if self.parts is None:
            rows = self._rows(indices, offsets, labels)
            return Cuts.of_search(H, indices, outputs, losses, rows @ f.w, rows)
        direct = f.w[self.problem.layout.n_features * self.problem.L :]
        margins = self._short.products(indices, offsets, labels, potentials.emissions, direct)
        return Cuts.of_search(H, indices, outputs, losses, margins)

    def rows(self, example: np.ndarray, outputs: abc.Sequence[np.ndarray]) -> sp.csr_matrix:
        """Psi(x_i, y_i) - Psi(x_i, ybar) for examples and outputs given in pairs."""
        example = np.ascontiguousarray(example, dtype=np.int64)
        offsets, _ = choose(self.tokens.offsets, example)
        return self._rows(example, offsets, np.concatenate([np.zeros(0, dtype=np.int64), *outputs]))

    def _margins(self, f: Scorer, indices: np.ndarray, outputs: list[np.ndarray]) -> np.ndarray:
        """f(x, y) - f(x, ybar) of each example, one by one."""
        truths = [self.y[self.tokens.offsets[i] : self.tokens.offsets[i + 1]] for i in indices]
        triples = zip(indices, truths, outputs, strict=True)
        return np.array([f(self.X[i], y) - f(self.X[i], ybar) for i, y, ybar in triples])

    def argmax(self, f: Scorer, indices: np.ndarray | None = None) -> list[np.ndarray]:
        """The best labels of every example, or of some."""
        indices = self.all if indices is None else indices
        if f.w is None:
            return [self.problem.decode(chains) for chains in self._kernel_chains(f, indices)]
        offsets, token_numbers = choose(self.tokens.offsets, indices)
        return _split(self.problem.decode(self.chains(f.w, offsets, token_numbers)), offsets)

    def psi(self) -> sp.csr_matrix:
        """Psi(x_i, y_i) of all examples, one row per example."""
        return self._rows(self.all, self.tokens.offsets, np.full(len(self.y), -1))

    def chains(self, w: np.ndarray, offsets: np.ndarray, token_numbers: np.ndarray) -> Chains:
        """The oracle's arrays for the tokens `token_numbers` under explicit weights."""
        return self.problem.chains(self._potentials(w, offsets, token_numbers), offsets)

    def _potentials(self, w: np.ndarray, offsets: np.ndarray, token_numbers: np.ndarray) -> Potentials:
        W, _, V, _ = self.problem.weights(w)
        inputs = None if V is None else self._products(offsets, token_numbers, V)
        return self.problem.scores(w, self._products(offsets, token_numbers, W), inputs)

    def _products(self, offsets: np.ndarray, token_numbers: np.ndarray, W: np.ndarray) -> np.ndarray:
        """The products of tokens with the columns of W, GRAIN sequences at a time."""
        products: np.ndarray
        if self.dense is None:
            products = sparse_scores(self.tokens, token_numbers, W)
            return products
        products = np.empty((len(token_numbers), W.shape[1]))
        for lo, hi in pairwise([*offsets[:-1:GRAIN].tolist(), len(token_numbers)]):
            np.matmul(self.dense[token_numbers[lo:hi]], W, out=products[lo:hi])
        return products

    def _kernel_chains(self, f: Scorer, indices: np.ndarray) -> list[Chains]:
        """The oracle's arrays of single examples, from a scorer that knows their potentials only."""
        lengths = np.diff(self.tokens.offsets)
        return [self.problem.chains(f.potentials(self.X[i]), np.array([0, lengths[i]])) for i in indices]

    def _rows(self, indices: np.ndarray, offsets: np.ndarray, ybar: np.ndarray) -> sp.csr_matrix:
        """Psi(x_i, y_i) - Psi(x_i, ybar_i) for i in `indices`; Psi(x_i, y_i) alone where ybar_i is all -1."""
        layout, shape = self.problem.layout, (len(indices), self.problem.n_weights)
        indptr, columns, values = difference_rows(
            self.tokens, layout, indices, self.y, offsets, ybar, self._place.value
        )
        return sp.csr_matrix((values, columns, indptr), shape=shape)


def _split(labels: np.ndarray, offsets: np.ndarray) -> list[np.ndarray]:
    """The labels of packed sequences, one array per sequence."""
    return [labels[lo:hi] for lo, hi in pairwise(offsets.tolist())]
