"""What is known of a place in a protein, as codes, and which pairs of codes are features of a match.

Of the template the residues (20), secondary structure (3) and accessibility (5) are known; of the target the
residues, and its structure as far as it is known or predicted. A term of a model pairs a code of the
template's place i with a code of the target's place j: one weight for every pair of values. The models of
cacm09 Section 3.2, each with all terms of those before it:

    simple    residue, state, access                             each with each of the target's
    anova2    residue x state, residue x access, state x access  each with each of the target's
    tensor    residue x state x access                           with the target's
    window    states                                             with residue, hydrophobic, states, neighbours
              hydrophobic                                        with residue, hydrophobic, states
              state x access                                     with hydrophobic, states
              states x hydrophobic                               with hydrophobic
              residue                                            with states
    profile   the scores of the other chain's residue in each chain's profile, a weight for each
              state x access of the template (two real numbers a match)

The paper's example of anova2 is "amino acid 'M' in an alpha helix with another position with amino acid 'V'
in a loop region": residue x state on both sides. `states` are the states of the five places around,
`hydrophobic` tells for each of the five whether it is hydrophobic, and `neighbours` is the residue with that
of the other four. Beyond a chain's ends there is loop, and nothing hydrophobic. The paper gives no detail of
its windows: these are our own. Where nothing is known of the target's structure, all its places have one
code.

The terms up to tensor depend on the kinds of the two places alone, a kind being residue x state x access: the
search adds them up once for every two kinds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
STATES = "HEL"  # helix, strand, loop
N_ACCESS = 5
HYDROPHOBIC = "ACFILMVWY"
MODELS = ("simple", "anova2", "tensor", "window", "profile")
# Code of structmargin.compiled uses what follows: a change of this file compiles it anew.
N_PLACES = len(STATES) * N_ACCESS
"""Kinds of places of the template, state x access: what gaps and profile scores depend on."""
N_KINDS = len(RESIDUES) * N_PLACES
"""Kinds of places with their residues, residue x state x access: place = kind % 15, residue = kind // 15."""

_IS_HYDROPHOBIC = np.array([letter in HYDROPHOBIC for letter in RESIDUES])
_AROUND = (-2, -1, 0, 1, 2)

KIND_CODES = {
    "residue": 20,
    "state": 3,
    "access": 5,
    "residue x state": 60,
    "residue x access": 100,
    "state x access": 15,
    "residue x state x access": 300,
}
"""Codes that follow from a place's kind, and how many values each has."""
TEMPLATE = {**KIND_CODES, "states": 3**5, "hydrophobic": 2**5, "states x hydrophobic": 6**5}
TARGET = {**KIND_CODES, "states": 3**5, "hydrophobic": 2**5, "neighbours": 20 * 2**4}
"""Codes of a place and how many values each has."""

_SINGLE = ("residue", "state", "access")
_DOUBLE = ("residue x state", "residue x access", "state x access")
_TERMS = (
    *(("simple", a, b) for a in _SINGLE for b in _SINGLE),
    *(("anova2", a, b) for a in _DOUBLE for b in _DOUBLE),
    ("tensor", "residue x state x access", "residue x state x access"),
    ("window", "states", "residue"),
    ("window", "hydrophobic", "residue"),
    ("window", "hydrophobic", "hydrophobic"),
    ("window", "states", "hydrophobic"),
    ("window", "state x access", "hydrophobic"),
    ("window", "states x hydrophobic", "hydrophobic"),
    ("window", "states", "neighbours"),
    ("window", "states", "states"),
    ("window", "hydrophobic", "states"),
    ("window", "state x access", "states"),
    ("window", "residue", "states"),
)


class Pair(NamedTuple):
    """An input: a template of n places with structure and a target of m places, all as codes.

    Profiles hold a score for each residue at each place (log-odds, in bits), and are for the model
    `profile` alone. The target's structure may be known, predicted, or None where nothing is known of it.
    """

    residue: np.ndarray  # (n,) int, of the template: 0 .. 19 in the order of RESIDUES
    state: np.ndarray  # (n,) int: 0 .. 2 in the order of STATES
    access: np.ndarray  # (n,) int: 0 (buried) .. 4 (exposed)
    target: np.ndarray  # (m,) int: 0 .. 19
    template_profile: np.ndarray | None = None  # (n, 20) float
    target_profile: np.ndarray | None = None  # (m, 20) float
    target_state: np.ndarray | None = None  # (m,) int: 0 .. 2
    target_access: np.ndarray | None = None  # (m,) int: 0 .. 4


class Terms(NamedTuple):
    """A model's terms: term k's table is w[start[k] + a * size[k] + b].

    The first terms, those in `names`, pair codes of the kinds of both places; the others are ordered by their
    target code.
    """

    names: tuple[tuple[str, str], ...]  # the codes of each term of kinds
    template: tuple[str, ...]  # the template's code of each further term
    target: tuple[str, ...]  # the target codes of the further terms
    group: np.ndarray  # (further terms,) int32: which of `target` each has
    start: np.ndarray  # (terms,) int64: where its table begins in w
    size: np.ndarray  # (terms,) int64: how many values its target code has
    of_template: np.ndarray  # (terms of kinds, 300) int32: the template's code of each kind
    of_target: np.ndarray  # (terms of kinds, 300) int32: the target's code of each kind
    n_weights: int

    def table(self, template: str, target: str) -> int:
        """Where the table of one term of kinds begins in w."""
        if (template, target) not in self.names:
            raise ValueError(f"the model has no term of kinds for {template!r} and {target!r}")
        return int(self.start[self.names.index((template, target))])


def kind_codes() -> dict[str, np.ndarray]:
    """The codes of every kind, each (300,)."""
    residue, place = np.divmod(np.arange(N_KINDS), N_PLACES)
    return _kind_codes(residue, *np.divmod(place, N_ACCESS))


def _kind_codes(r: np.ndarray, s: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "residue": r,
        "state": s,
        "access": a,
        "residue x state": 3 * r + s,
        "residue x access": 5 * r + a,
        "state x access": 5 * s + a,
        "residue x state x access": 15 * r + 5 * s + a,
    }


def terms(model: str) -> Terms:
    """The terms of a model and of those before it; a table's place in w is the same in all of them."""
    level = MODELS.index(model)
    start = 0
    of_kinds: list[tuple[str, str, int]] = []
    further: list[tuple[str, str, int]] = []
    for name, a, b in _TERMS:
        if MODELS.index(name) <= level:
            (further if name == "window" else of_kinds).append((a, b, start))
            start += TEMPLATE[a] * TARGET[b]
    groups = tuple(b for b in TARGET if any(b == used for _, used, _ in further))
    further.sort(key=lambda term: groups.index(term[1]))
    codes = kind_codes()
    return Terms(
        tuple((a, b) for a, b, _ in of_kinds),
        tuple(a for a, _, _ in further),
        groups,
        np.array([groups.index(b) for _, b, _ in further], dtype=np.int32),
        np.array([first for _, _, first in (*of_kinds, *further)], dtype=np.int64),
        np.array([TARGET[b] for _, b, _ in (*of_kinds, *further)], dtype=np.int64),
        np.array([codes[a] for a, _, _ in of_kinds], dtype=np.int32),
        np.array([codes[b] for _, b, _ in of_kinds], dtype=np.int32),
        start,
    )


def template_codes(x: Pair, names: tuple[str, ...]) -> np.ndarray:
    """The named codes of every place of the template, (n, len(names)) int32."""
    r, s, a = (np.asarray(part, dtype=np.int64) for part in x[:3])
    around, hydrophobic = _states_around(s), _pattern(r, _AROUND)
    codes = {
        **_kind_codes(r, s, a),
        "states": around,
        "hydrophobic": hydrophobic,
        "states x hydrophobic": 32 * around + hydrophobic,
    }
    return _columns(codes, names, len(r))


def target_codes(x: Pair, names: tuple[str, ...]) -> np.ndarray:
    """The named codes of every place of the target, (m, len(names)) int32."""
    r = np.asarray(x.target, dtype=np.int64)
    s, a = (
        np.zeros(len(r), np.int64) if part is None else np.asarray(part, dtype=np.int64)
        for part in (x.target_state, x.target_access)
    )
    others = tuple(step for step in _AROUND if step)
    codes = {
        **_kind_codes(r, s, a),
        "states": np.zeros(len(r), np.int64) if x.target_state is None else _states_around(s),
        "hydrophobic": _pattern(r, _AROUND),
        "neighbours": 16 * r + _pattern(r, others),
    }
    return _columns(codes, names, len(r))


def template_kinds(x: Pair) -> np.ndarray:
    """The kind of every place of the template, (n,) int32."""
    return template_codes(x, ("residue x state x access",))[:, 0]


def target_kinds(x: Pair) -> np.ndarray:
    """The kind of every place of the target, (m,) int32."""
    return target_codes(x, ("residue x state x access",))[:, 0]


def places(x: Pair) -> np.ndarray:
    """state x access of every place of the template, (n,) int32."""
    return template_kinds(x) % N_PLACES


def _columns(codes: dict[str, np.ndarray], names: tuple[str, ...], n: int) -> np.ndarray:
    table = np.empty((n, len(names)), dtype=np.int32)
    for k, name in enumerate(names):
        table[:, k] = codes[name]
    return table


def _states_around(s: np.ndarray) -> np.ndarray:
    """The states of the five places around, as one code."""
    around = np.zeros(len(s), dtype=np.int64)
    for step in _AROUND:
        around = 3 * around + _shifted(s, step, STATES.index("L"))
    return around


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
