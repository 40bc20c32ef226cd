"""The scores of all matches of a pair of proteins.

The score of a match is a sum over terms of w[start + a * size + b], with a code a of the template's place
and a code b of the target's. Terms that depend on the kinds of both places alone are added up once for every
kind of the template that occurs, and further terms that share their target code once for a row of the
template, over the values that the code has in this target: a cell costs one look-up for the kind, and one for
each of at most four further target codes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled
from structmargin.problems.proteins.features import N_KINDS, N_PLACES, TARGET

MAX_TARGET_VALUES = max(TARGET.values())


class PackedPairs(NamedTuple):
    """P pairs: places of templates and of targets end to end, and where each pair's begin."""

    a_kind: np.ndarray  # (all template places,) int32
    b_kind: np.ndarray  # (all target places,) int32
    a: np.ndarray  # (all template places, further terms) int32
    b: np.ndarray  # (further target codes, all target places) int32: which of the pair's values it is
    values: np.ndarray  # int32: the values that a code has in a pair, ordered by code and pair
    value_start: np.ndarray  # (further target codes, P + 1) int64: where those of a code and pair begin
    a_start: np.ndarray  # (P + 1,) int64
    b_start: np.ndarray  # (P + 1,) int64
    a_profile: np.ndarray  # (all template places, 20); with profiles, else empty
    b_profile: np.ndarray  # (20, all target places); with profiles, else empty


class Weights(NamedTuple):
    """w and where its parts are: the tables of terms, the profile scores, the gaps."""

    w: np.ndarray
    start: np.ndarray  # (terms,) where the table begins; those of kinds come first
    size: np.ndarray  # (terms,) the values of the target code
    of_template: np.ndarray  # (terms of kinds, 300) the template's code of each kind
    of_target: np.ndarray  # (terms of kinds, 300)
    group: np.ndarray  # (further terms,) which target code
    profile: int  # where the weights of the profile scores begin
    gaps: np.ndarray  # (15, 4)
    gap: int  # where the weights of the gaps begin
    affine: bool


class KindTables(NamedTuple):
    """Work space of a search: the scores of kinds by their terms, and of further target codes."""

    scores: np.ndarray  # (300, 300): row a is valid where added[a]
    added: np.ndarray  # (300,) bool
    further: np.ndarray  # (values of a target code,)


def kind_tables() -> KindTables:
    """Work space in which no kind is added up yet."""
    return KindTables(np.empty((N_KINDS, N_KINDS)), np.zeros(N_KINDS, bool), np.empty(MAX_TARGET_VALUES))


@compiled
def _kind_scores(weights, tables, kind):  # type: ignore[no-untyped-def]
    """The scores of one kind of the template with every kind of the target, added up when first asked for."""
    row = tables.scores[kind]
    if not tables.added[kind]:
        tables.added[kind] = True
        row[:] = 0.0
        for k in range(len(weights.of_template)):
            base = weights.start[k] + weights.of_template[k, kind] * weights.size[k]
            codes = weights.of_target[k]
            for b in range(N_KINDS):
                row[b] += weights.w[base + codes[b]]
    return row


@compiled
def fill(packed, weights, p, tables, S):  # type: ignore[no-untyped-def]
    """The scores of pair p's matches: S[i * m + j]."""
    w, b, n_kind = weights.w, packed.b, len(weights.of_template)
    first, m = packed.b_start[p], packed.b_start[p + 1] - packed.b_start[p]
    kinds = packed.b_kind[first : first + m]
    for i in range(packed.a_start[p + 1] - packed.a_start[p]):
        a_place = packed.a_start[p] + i
        kind = packed.a_kind[a_place]
        out, row = S[i * m : (i + 1) * m], _kind_scores(weights, tables, kind)
        for j in range(m):
            out[j] = row[kinds[j]]
        if weights.profile >= 0:
            column = weights.profile + kind % N_PLACES
            ours, theirs = packed.a_profile[a_place], packed.b_profile[kind // N_PLACES]
            for j in range(m):
                out[j] += w[column] * ours[kinds[j] // N_PLACES] + w[column + N_PLACES] * theirs[first + j]
        k = 0
        for g in range(len(b)):
            values = packed.values[packed.value_start[g, p] : packed.value_start[g, p + 1]]
            added = tables.further[: len(values)]
            added[:] = 0.0
            while k < len(weights.group) and weights.group[k] == g:
                base = weights.start[n_kind + k] + packed.a[a_place, k] * weights.size[n_kind + k]
                for c in range(len(values)):
                    added[c] += w[base + values[c]]
                k += 1
            code = b[g]
            for j in range(m):
                out[j] += added[code[first + j]]
