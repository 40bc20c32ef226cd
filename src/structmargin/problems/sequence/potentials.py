"""Scores of labels, pairs and triplets, and the chain that `oracles.viterbi` searches in their stead.

Masks become scores of -inf, triplets of labels become steps between pairs of labels (a chain of order 2),
and the step t -> t + 1, filed under t by the paper's sums, goes under t + 1 as the oracle wants it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structmargin.oracles.viterbi import Chains


class Potentials(NamedTuple):
    """The scores of one sequence of T tokens, or of packed ones with T tokens in all: linear in w."""

    emissions: np.ndarray  # (T, L)
    # (L, L), or (T, L, L) with one matrix for each step t -> t + 1 (the last of a sequence is not read)
    transitions: np.ndarray
    triplets: np.ndarray | None = None  # (L, L, L), or None


PotentialArrays = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Emissions, transitions and triplets as `Potentials` has them, in any tuple."""


class MaskScores(NamedTuple):
    """What to add to transitions, first and final labels: 0 if allowed, -inf if not; None for no mask."""

    allowed: np.ndarray | None  # (L, L)
    first: np.ndarray | None  # (L,)
    final: np.ndarray | None  # (L,)

    def forbid(self, y: np.ndarray) -> bool:
        """Whether the masks forbid the labelling y somewhere."""
        return bool(
            (self.first is not None and self.first[y[0]] < 0.0)
            or (self.final is not None and self.final[y[-1]] < 0.0)
            or (self.allowed is not None and np.any(self.allowed[y[:-1], y[1:]] < 0.0))
        )

    def draw(self, T: int, L: int, rng: np.random.Generator) -> np.ndarray:
        """T random labels that no mask forbids, each drawn from those that the end can be reached from."""
        if self.allowed is None and self.first is None and self.final is None:
            return rng.integers(L, size=T)
        may_follow = np.ones((L, L), dtype=bool) if self.allowed is None else self.allowed == 0.0
        reaches_end = np.ones((T, L), dtype=bool)
        if self.final is not None:
            reaches_end[-1] = self.final == 0.0
        for t in range(T - 2, -1, -1):
            reaches_end[t] = (may_follow & reaches_end[t + 1]).any(axis=1)
        choice = reaches_end[0] if self.first is None else reaches_end[0] & (self.first == 0.0)
        y = np.empty(T, dtype=np.int64)
        for t in range(T):
            y[t] = rng.choice(np.flatnonzero(choice))
            if t + 1 < T:
                choice = may_follow[y[t]] & reaches_end[t + 1]
        return y


def mask_scores(mask: ArrayLike | None) -> np.ndarray | None:
    """One of the `MaskScores` from booleans."""
    return None if mask is None else np.where(np.asarray(mask, dtype=bool), 0.0, -np.inf)


def chains(potentials: PotentialArrays, offsets: np.ndarray, masks: MaskScores) -> Chains:
    """The oracle's arrays for sequences packed at `offsets` (n + 1,), from their potentials and masks."""
    E, A, triplets = Potentials(*potentials)
    N, L = E.shape
    start, stop = offsets[:-1], offsets[1:] - 1
    if np.any(stop < start):
        i = int(np.flatnonzero(stop < start)[0])
        raise ValueError(f"sequence {i} has no tokens: leave sequences of length 0 out")
    if masks.first is not None or masks.final is not None:
        E = np.array(E, dtype=float)
        E[start] += 0.0 if masks.first is None else masks.first
        E[stop] += 0.0 if masks.final is None else masks.final
    if masks.allowed is not None:
        A = A + masks.allowed
    by_token = A.ndim == 3
    if by_token:
        A = np.concatenate([A[:1], A[:-1]])
    if triplets is None:
        which = np.arange(N, dtype=np.int64) if by_token else np.zeros(N, dtype=np.int64)
        A = np.ascontiguousarray(A if by_token else A[None], dtype=float)
        return Chains(np.ascontiguousarray(E, dtype=float), offsets, A, which)
    pairs = E[:, None, :] + A
    pairs[start] = -np.inf
    pairs[start, 0] = E[start]
    # A[0] is the step from a first token, which completes no triplet yet; A[1] every later one.
    steps = np.stack([np.zeros((L * L, L)), np.reshape(triplets, (L * L, L))])
    which = np.ones(N, dtype=np.int64)
    which[start[stop > start] + 1] = 0
    return Chains(np.ascontiguousarray(pairs.reshape(N, L * L), dtype=float), offsets, steps, which)
