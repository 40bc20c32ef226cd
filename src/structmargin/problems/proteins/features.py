"""What is known of a place in a protein, as codes, and which pairs of codes are features of a match.

The template's structure is known: its residues (20), secondary structure (3) and accessibility (5). Of the
target only the residues are known. A term of a model pairs a code of the template's place i with a code of
the target's place j: one weight for every pair of values. The models of cacm09 Section 3.2, each with all
terms of those before it:

    simple    residue, state, access                              with residue
    anova2    residue x state, residue x access, state x access   with residue
    tensor    residue x state x access                            with residue
    window    states                                              with residue, hydrophobic, neighbours
              hydrophobic                                         with residue, hydrophobic
              state x access, states x hydrophobic                with hydrophobic
    profile   the scores of the other chain's residue in each chain's profile, a weight for each
              state x access (two real numbers a match)

`states` are the states of the five places around, `hydrophobic` tells for each of the five whether it is
hydrophobic, and `neighbours` is the residue with that of the other four. Beyond a chain's ends there is
loop, and nothing hydrophobic. The paper gives no detail of its windows: these are our own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
STATES = "HEL"  # helix, strand, loop
N_ACCESS = 5
HYDROPHOBIC = "ACFILMVWY"
MODELS = ("simple", "anova2", "tensor", "window", "profile")
N_PLACES = len(STATES) * N_ACCESS
"""Kinds of places of the template, state x access: what gaps and profile scores depend on."""

_IS_HYDROPHOBIC = np.array([letter in HYDROPHOBIC for letter in RESIDUES])
_AROUND = (-2, -1, 0, 1, 2)

TEMPLATE = {
    "residue": 20,
    "state": 3,
    "access": 5,
    "residue x state": 60,
    "residue x access": 100,
    "state x access": 15,
    "residue x state x access": 300,
    "states": 3**5,
    "hydrophobic": 2**5,
    "states x hydrophobic": 6**5,
}
TARGET = {"residue": 20, "hydrophobic": 2**5, "neighbours": 20 * 2**4}
"""Codes of a place and how many values each has."""

_TERMS = (
    ("simple", "residue", "residue"),
    ("simple", "state", "residue"),
    ("simple", "access", "residue"),
    ("anova2", "residue x state", "residue"),
    ("anova2", "residue x access", "residue"),
    ("anova2", "state x access", "residue"),
    ("tensor", "residue x state x access", "residue"),
    ("window", "states", "residue"),
    ("window", "hydrophobic", "residue"),
    ("window", "hydrophobic", "hydrophobic"),
    ("window", "states", "hydrophobic"),
    ("window", "state x access", "hydrophobic"),
    ("window", "states x hydrophobic", "hydrophobic"),
    ("window", "states", "neighbours"),
)


class Pair(NamedTuple):
    """An input: a template of n places with structure and a target of m residues, all as codes.

    Profiles hold a score for each residue at each place (log-odds, in bits), and are for the model
    `profile` alone.
    """

    residue: np.ndarray  # (n,) int, of the template: 0 .. 19 in the order of RESIDUES
    state: np.ndarray  # (n,) int: 0 .. 2 in the order of STATES
    access: np.ndarray  # (n,) int: 0 (buried) .. 4 (exposed)
    target: np.ndarray  # (m,) int: 0 .. 19
    template_profile: np.ndarray | None = None  # (n, 20) float
    target_profile: np.ndarray | None = None  # (m, 20) float


class Terms(NamedTuple):
    """A model's terms, ordered by their target code: term k's table is w[start[k] + a * size[k] + b]."""

    template: tuple[str, ...]  # the template's code of each term
    target: tuple[str, ...]  # the target codes in use
    group: np.ndarray  # (terms,) int32: which of `target` each term has
    start: np.ndarray  # (terms,) int64: where its table begins in w
    size: np.ndarray  # (terms,) int64: how many values its target code has
    n_weights: int


def terms(model: str) -> Terms:
    """The terms of a model and of those before it; a table's place in w is the same in all of them."""
    level = MODELS.index(model)
    start, used, chosen = 0, [], []
    for name, a, b in _TERMS:
        if MODELS.index(name) <= level:
            chosen.append((a, b, start))
            used.append(b)
            start += TEMPLATE[a] * TARGET[b]
    codes = tuple(b for b in TARGET if b in used)
    chosen.sort(key=lambda term: codes.index(term[1]))
    return Terms(
        tuple(a for a, _, _ in chosen),
        codes,
        np.array([codes.index(b) for _, b, _ in chosen], dtype=np.int32),
        np.array([first for _, _, first in chosen], dtype=np.int64),
        np.array([TARGET[b] for _, b, _ in chosen], dtype=np.int64),
        start,
    )


def template_codes(x: Pair, names: tuple[str, ...]) -> np.ndarray:
    """The named codes of every place of the template, (n, len(names)) int32."""
    r, s, a = (np.asarray(part, dtype=np.int64) for part in x[:3])
    around = np.zeros(len(r), dtype=np.int64)
    for step in _AROUND:
        around = 3 * around + _shifted(s, step, STATES.index("L"))
    hydrophobic = _pattern(r, _AROUND)
    codes = {
        "residue": r,
        "state": s,
        "access": a,
        "residue x state": 3 * r + s,
        "residue x access": 5 * r + a,
        "state x access": 5 * s + a,
        "residue x state x access": 15 * r + 5 * s + a,
        "states": around,
        "hydrophobic": hydrophobic,
        "states x hydrophobic": 32 * around + hydrophobic,
    }
    return np.column_stack([codes[name] for name in names]).astype(np.int32)


def target_codes(x: Pair, names: tuple[str, ...]) -> np.ndarray:
    """The named codes of every place of the target, (len(names), m) int32."""
    r = np.asarray(x.target, dtype=np.int64)
    others = tuple(step for step in _AROUND if step)
    codes = {
        "residue": r,
        "hydrophobic": _pattern(r, _AROUND),
        "neighbours": 16 * r + _pattern(r, others),
    }
    return np.stack([codes[name] for name in names]).astype(np.int32)


def places(x: Pair) -> np.ndarray:
    """state x access of every place of the template, (n,) int32."""
    return template_codes(x, ("state x access",))[:, 0]


def _shifted(values: np.ndarray, step: int, beyond: int) -> np.ndarray:
    """values[i + step], and `beyond` where the chain has ended."""
    index = np.arange(len(values)) + step
    inside = (index >= 0) & (index < len(values))
    return np.where(inside, values[np.clip(index, 0, max(len(values) - 1, 0))], beyond)


def _pattern(residue: np.ndarray, steps: tuple[int, ...]) -> np.ndarray:
    """One bit a step: whether the residue there is hydrophobic."""
    hydrophobic = _IS_HYDROPHOBIC[residue].astype(np.int64)
    bits = np.zeros(len(residue), dtype=np.int64)
    for step in steps:
        bits = 2 * bits + _shifted(hydrophobic, step, 0)
    return bits
