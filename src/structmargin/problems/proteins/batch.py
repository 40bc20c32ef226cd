"""Pairs of proteins packed end to end, and both searches of `ProteinAlignment` over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from structmargin.compiled import compiled
from structmargin.cuts import Cuts
from structmargin.formulation import Cost
from structmargin.oracles.chains import search, work_space
from structmargin.problems._scratch import PerThread
from structmargin.problems.proteins.features import (
    N_PLACES,
    Pair,
    target_codes,
    target_kinds,
    template_codes,
    template_kinds,
)
from structmargin.problems.proteins.scores import PackedPairs, Weights, fill, kind_tables

if TYPE_CHECKING:
    from structmargin.problems.proteins.problem import ProteinAlignment


class PackedMatches(NamedTuple):
    """Chains end to end: the p-th is match[start[p]:end[p]]."""

    match: np.ndarray  # (total, 2) int32
    start: np.ndarray  # (P,) int64
    end: np.ndarray  # (P,) int64


class ProteinBatch:
    """All pairs of all examples, packed once; `problem` has checked them."""

    grain = 1

    def __init__(self, problem: ProteinAlignment, X: Sequence[Pair], Y: Sequence[np.ndarray] | None) -> None:
        self.problem, self.n = problem, len(X)
        X = [x if isinstance(x, Pair) else Pair(*x) for x in X]
        t = problem.terms
        sizes = np.array([(len(x.residue), len(x.target)) for x in X], dtype=np.int64).reshape(-1, 2)
        start = np.vstack([np.zeros((1, 2), np.int64), np.cumsum(sizes, axis=0)])
        profiles = [x for x in X if problem.profiles]
        self.packed = PackedPairs(
            _joined([template_kinds(x) for x in X], (0,), np.int32),
            _joined([target_kinds(x) for x in X], (0,), np.int32),
            _joined([template_codes(x, t.template) for x in X], (0, len(t.template)), np.int32),
            *_compressed([target_codes(x, t.target) for x in X], len(t.target)),
            np.ascontiguousarray(start[:, 0]),
            np.ascontiguousarray(start[:, 1]),
            _joined([np.asarray(x.template_profile) for x in profiles], (0, 20), np.float64),
            np.ascontiguousarray(
                _joined([np.asarray(x.target_profile) for x in profiles], (0, 20), np.float64).T
            ),
        )
        self.sizes = sizes
        cells, bordered = (int((sizes + edge).prod(axis=1).max(initial=0)) for edge in (0, 1))
        self._work = PerThread(partial(work_space, cells, bordered))
        if Y is not None:
            self.truth = _chains(Y)

    def weights(self, w: np.ndarray) -> Weights:
        """The parts of w."""
        if not np.isfinite(w).all():
            raise ValueError("the weights must be finite; look for NaN or infinity in w")
        p, t = self.problem, self.problem.terms
        profile = t.n_weights if p.profiles else -1
        return Weights(
            np.ascontiguousarray(w, dtype=float), t.start, t.size, t.of_template, t.of_target, t.group,
            profile, p.gap_weights(w), p.first_gap, p.gaps == "affine",
        )  # fmt: skip

    def search(self, f: Any, indices: np.ndarray, H: Cost) -> Cuts:
        """The chain of each example with the largest Delta + score; H must fold (`refuse` says so)."""
        if not H.folds:
            raise ValueError(self.problem.refuse(H))
        indices = np.ascontiguousarray(indices, dtype=np.int64)
        matches = self._best_matches(f.w, indices, True)
        losses = _losses(self.truth, matches, indices, self.problem.tolerance)
        rows = self._rows(indices, matches)
        return Cuts.of_search(H, indices, _listed(matches), losses, rows @ f.w, rows)

    def argmax(self, f: Any, indices: np.ndarray | None = None) -> list[np.ndarray]:
        """The best chain of each example, or of some."""
        return _listed(self._best_matches(f.w, np.arange(self.n) if indices is None else indices, False))

    def _best_matches(self, w: np.ndarray, indices: np.ndarray, augmented: bool) -> PackedMatches:
        length = self.sizes[indices].min(axis=1)
        end = np.cumsum(length)
        matches = PackedMatches(
            np.empty((int(length.sum()), 2), np.int32), np.zeros(len(indices), np.int64), end
        )
        truth = self.truth if augmented else matches
        _search_all(
            self.packed,
            self.weights(w),
            indices,
            augmented,
            truth,
            self.problem.tolerance,
            self._work.value,
            kind_tables(),
            matches,
        )
        return matches

    def potentials(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The scores of matches (n, m) and of gaps (n, 4) of the first pair."""
        weights = self.weights(w)
        n, m = self.sizes[0]
        S = self._work.value.S
        fill(self.packed, weights, 0, kind_tables(), S)
        gaps = weights.gaps[self.packed.a_kind[:n] % N_PLACES]
        return S[: n * m].reshape(n, m).copy(), gaps

    def psi(self) -> sp.csr_matrix:
        """Psi of each example's own chain, one row per example."""
        empty = PackedMatches(self.truth.match, np.zeros(self.n, np.int64), np.zeros(self.n, np.int64))
        return self._rows(np.arange(self.n), empty)

    def _rows(self, indices: np.ndarray, matches: PackedMatches) -> sp.csr_matrix:
        """Psi(x, y) - Psi(x, ybar) as sparse rows, their columns in the order in which chains meet them."""
        p = self.problem
        n_matches = int(
            (self.truth.end - self.truth.start)[indices].sum() + (matches.end - matches.start).sum()
        )
        each = len(p.terms.start) + (2 if p.profiles else 0)
        max_entries = n_matches * each + len(indices) * (
            p.n_weights - p.first_gap
        )  # columns that chains can meet
        data, columns = np.empty(max_entries), np.empty(max_entries, np.int32)
        indptr = np.zeros(len(indices) + 1, np.int64)
        scratch = np.zeros(p.n_weights), np.zeros(p.n_weights, np.bool_)
        weights = self.weights(np.zeros(p.n_weights))
        _differences(self.packed, weights, indices, self.truth, matches, *scratch, data, columns, indptr)
        used = indptr[-1]
        return sp.csr_matrix(
            (data[:used].copy(), columns[:used].copy(), indptr), shape=(len(indices), p.n_weights)
        )


def _joined(parts: list[np.ndarray], empty: tuple[int, ...], kind: type) -> np.ndarray:
    return np.concatenate(parts).astype(kind) if parts else np.zeros(empty, dtype=kind)


def _compressed(codes: list[np.ndarray], n_codes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The fields b, values and value_start of `PackedPairs`, from codes (places, n_codes) of each target."""
    number = np.zeros((n_codes, sum(map(len, codes))), np.int32)
    start = np.zeros((n_codes, len(codes) + 1), np.int64)
    values: list[np.ndarray] = []
    used = 0
    for g in range(n_codes):
        first = 0
        for p, of_target in enumerate(codes):
            start[g, p] = used
            found, number[g, first : first + len(of_target)] = np.unique(of_target[:, g], return_inverse=True)
            values.append(found)
            used, first = used + len(found), first + len(of_target)
        start[g, len(codes)] = used
    return number, _joined(values, (0,), np.int32), start


def _chains(Y: Sequence[np.ndarray]) -> PackedMatches:
    end = np.cumsum([len(y) for y in Y], dtype=np.int64)
    start = np.concatenate([[0], end[:-1]]).astype(np.int64)[: len(end)]
    return PackedMatches(_joined([np.asarray(y) for y in Y], (0, 2), np.int32), start, end)


def _listed(chains: PackedMatches) -> list[np.ndarray]:
    return [chains.match[low:high].copy() for low, high in zip(chains.start, chains.end, strict=True)]


@compiled
def _search_all(packed, weights, indices, augmented, truth, tolerance, work, tables, matches):  # type: ignore[no-untyped-def]
    """Write the best chain of each index to `matches`, whose ends are set; its starts are set here."""
    gaps = np.empty((0, 4))
    for r in range(len(indices)):
        p = indices[r]
        n = packed.a_start[p + 1] - packed.a_start[p]
        m = packed.b_start[p + 1] - packed.b_start[p]
        fill(packed, weights, p, tables, work.S)
        if len(gaps) < n:
            gaps = np.empty((n, 4))
        for i in range(n):
            gaps[i] = weights.gaps[packed.a_kind[packed.a_start[p] + i] % N_PLACES]
        if augmented:
            share = 1.0 / (truth.end[p] - truth.start[p])
            for k in range(truth.start[p], truth.end[p]):
                i, j = truth.match[k, 0], truth.match[k, 1]
                for near in range(max(i - tolerance, 0), min(i + tolerance + 1, n)):
                    work.S[near * m + j] -= share
        _, matches.start[r] = search(work, n, m, gaps, matches.match, matches.end[r])


@compiled
def _losses(truth, matches, indices, tolerance):  # type: ignore[no-untyped-def]
    """Q4-loss of each found chain; both chains rise, so one walk along both is enough."""
    losses = np.empty(len(indices))
    for r in range(len(indices)):
        p = indices[r]
        near, k_predicted = 0, matches.start[r]
        for k in range(truth.start[p], truth.end[p]):
            while k_predicted < matches.end[r] and matches.match[k_predicted, 1] < truth.match[k, 1]:
                k_predicted += 1
            if k_predicted < matches.end[r] and matches.match[k_predicted, 1] == truth.match[k, 1]:
                near += abs(matches.match[k_predicted, 0] - truth.match[k, 0]) <= tolerance
        losses[r] = 1.0 - near / (truth.end[p] - truth.start[p])
    return losses


@compiled
def _put(column, value, counts, seen, columns, used):  # type: ignore[no-untyped-def]
    """Add to one count and list its column when it is met for the first time; returns how many are listed."""
    if not seen[column]:
        seen[column] = True
        columns[used] = column
        used += 1
    counts[column] += value
    return used


@compiled
def _add_chain(packed, weights, p, chains, low, high, sign, counts, seen, columns, used):  # type: ignore[no-untyped-def]
    """Add sign * Psi of one chain of pair p to the counts."""
    per, n_kind = 4 if weights.affine else 2, len(weights.of_template)
    for k in range(low, high):
        i, j = chains.match[k, 0], chains.match[k, 1]
        a_place, b_place = packed.a_start[p] + i, packed.b_start[p] + j
        a_kind, b_kind = packed.a_kind[a_place], packed.b_kind[b_place]
        for t in range(n_kind):
            column = (
                weights.start[t]
                + weights.of_template[t, a_kind] * weights.size[t]
                + weights.of_target[t, b_kind]
            )
            used = _put(column, sign, counts, seen, columns, used)
        for t in range(len(weights.group)):
            column = (
                weights.start[n_kind + t]
                + packed.a[a_place, t] * weights.size[n_kind + t]
                + packed.values[packed.value_start[weights.group[t], p] + packed.b[weights.group[t], b_place]]
            )
            used = _put(column, sign, counts, seen, columns, used)
        if weights.profile >= 0:
            column = weights.profile + a_kind % N_PLACES
            value = sign * packed.a_profile[a_place, b_kind // N_PLACES]
            used = _put(column, value, counts, seen, columns, used)
            value = sign * packed.b_profile[a_kind // N_PLACES, b_place]
            used = _put(column + N_PLACES, value, counts, seen, columns, used)
        if k == low:
            continue
        for left in range(chains.match[k - 1, 0] + 1, i):
            more = weights.affine and left > chains.match[k - 1, 0] + 1
            column = (
                weights.gap + per * (packed.a_kind[packed.a_start[p] + left] % N_PLACES) + (1 if more else 0)
            )
            used = _put(column, sign, counts, seen, columns, used)
        inserted = j - chains.match[k - 1, 1] - 1
        if inserted > 0:
            column = weights.gap + per * (packed.a_kind[a_place - 1] % N_PLACES) + per // 2
            if weights.affine:
                used = _put(column, sign, counts, seen, columns, used)
                used = _put(column + 1, sign * (inserted - 1), counts, seen, columns, used)
            else:
                used = _put(column, sign * inserted, counts, seen, columns, used)
    return used


@compiled
def _differences(packed, weights, indices, truth, matches, counts, seen, data, columns, indptr):  # type: ignore[no-untyped-def]
    """Write row r: Psi of the truth indices[r] less that of the found chain r."""
    used = 0
    for r in range(len(indices)):
        p, first = indices[r], used
        end = _add_chain(
            packed, weights, p, truth, truth.start[p], truth.end[p], 1.0, counts, seen, columns, used
        )
        end = _add_chain(
            packed, weights, p, matches, matches.start[r], matches.end[r], -1.0, counts, seen, columns, end
        )
        for k in range(first, end):
            column = columns[k]
            if counts[column] != 0.0:
                data[used], columns[used] = counts[column], column
                used += 1
            counts[column], seen[column] = 0.0, False
        indptr[r + 1] = used
