"""Families of made-up proteins with known alignments: a stand-in where HOMSTRAD is not available.

A template is a sequence of helices, strands and loops. Helices and strands have a buried side (every third or
fourth place, every second one), loops are mostly exposed. A residue is drawn by its place's state and
accessibility: hydrophobic residues are more common in buried places, and each state prefers some residues. A
target keeps some of the template's residues and draws the others again for the same places, so that it shares
the structure more than the sequence; residues are deleted or inserted mostly in loops, and both ends are
random. Homologues of a chain are drawn in the same way, nearer to it, for its profile.
"""

from __future__ import annotations

import numpy as np

from structmargin.problems.proteins.features import HYDROPHOBIC, RESIDUES, STATES
from structmargin_suite.datasets.homstrad.pairs import AlignedPair, ChainStructure, FamilyPair, Profiles
from structmargin_suite.datasets.homstrad.profiles import profile

SEGMENTS = {"H": (8, 17), "E": (4, 9), "L": (3, 9)}
PERIOD = {"H": 3.6, "E": 2.0, "L": 7.0}
PREFERRED = {"H": "AELMQKRH", "E": "VIYFWTC", "L": "GNPSD"}
"""Residues more common in each state."""
IDENTITY_OF_TARGET, IDENTITY_OF_HOMOLOGUE = 0.22, 0.6
"""The share of a chain's residues that a target or a homologue copies; the others are drawn again."""
GAPS = {"H": 0.01, "E": 0.01, "L": 0.12}
"""How often a gap begins at a place of each state."""
N_HOMOLOGUES = 8


def odds() -> np.ndarray:
    """The probabilities of residues for each state and accessibility, (3, 5, 20)."""
    hydrophobic = np.array([letter in HYDROPHOBIC for letter in RESIDUES])
    weight = np.ones((3, 5, 20))
    for s, state in enumerate(STATES):
        weight[s, :, [letter in PREFERRED[state] for letter in RESIDUES]] *= 2.5
        for a in range(5):
            weight[s, a, hydrophobic] *= np.exp(1.0 - 0.6 * a)
    probabilities: np.ndarray = weight / weight.sum(axis=2, keepdims=True)
    return probabilities


def generate(rng: np.random.Generator, n_families: int, per_family: int) -> list[FamilyPair]:
    """per_family pairs of each family, which share their template."""
    chances = odds()
    made = []
    for family in range(n_families):
        state, access = structure(rng, int(rng.integers(60, 150)))
        residue = draw(rng, chances[state, access])
        near = profile(residue, _homologues(rng, residue, chances[state, access]))
        for _ in range(per_family):
            pair, target_profile, known = target(rng, residue, state, access, chances)
            name = f"made_{family:04d}"
            made.append(FamilyPair(name, name, pair, Profiles(near, target_profile), known))
    return made


def structure(rng: np.random.Generator, length: int) -> tuple[np.ndarray, np.ndarray]:
    """States and accessibilities of a template, both (length,)."""
    states: list[int] = []
    buried: list[float] = []
    while len(states) < length:
        kind = "HE"[rng.integers(0, 2)] if len(states) and states[-1] == STATES.index("L") else "L"
        size, turn = int(rng.integers(*SEGMENTS[kind])), float(rng.uniform(0, 2 * np.pi))
        states += [STATES.index(kind)] * size
        side = np.cos(turn + 2 * np.pi * np.arange(size) / PERIOD[kind])
        buried += list(side - (1.0 if kind == "L" else 0.0))
    noisy = np.array(buried[:length]) + rng.normal(0, 0.4, length)
    access = np.searchsorted([-1.2, -0.6, 0.0, 0.6], noisy)
    return np.array(states[:length], dtype=np.uint8), (4 - access).astype(np.uint8)


def draw(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """One residue for each row of probabilities."""
    return (rng.random((len(chances), 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1).astype(np.uint8)


def target(
    rng: np.random.Generator, residue: np.ndarray, state: np.ndarray, access: np.ndarray, chances: np.ndarray
) -> tuple[AlignedPair, np.ndarray, ChainStructure]:
    """(a pair of this template and a target drawn for it, the profile and the structure of the target).

    The template's residue, state and access are (n,); chances are those of `odds`.
    """
    redrawn = draw(rng, chances[state, access])
    mutated = np.where(rng.random(len(residue)) < IDENTITY_OF_TARGET, residue, redrawn)
    begin, end = int(rng.integers(0, 6)), len(residue) - int(rng.integers(0, 6))
    letters: list[np.ndarray] = []
    kinds: list[tuple[int, int]] = []  # state and access that each letter was drawn for
    matches: list[tuple[int, int]] = []
    loop = (STATES.index("L"), 4)

    def insert(count: int) -> None:
        letters.extend(draw(rng, np.broadcast_to(chances[loop], (count, 20))))
        kinds.extend([loop] * count)

    insert(int(rng.integers(0, 8)))
    i = begin
    while i < end:
        gap = rng.random() < GAPS[STATES[state[i]]] and i > begin
        if gap and rng.random() < 0.5:
            i += int(rng.geometric(0.4))
            continue
        if gap:
            insert(int(rng.geometric(0.4)))
        matches.append((i, len(letters)))
        letters.append(mutated[i])
        kinds.append((int(state[i]), int(access[i])))
        i += 1
    insert(int(rng.integers(0, 8)))
    made, chain = np.array(letters, dtype=np.uint8), np.array(matches, dtype=np.int32)
    identity = float(np.mean(residue[chain[:, 0]] == made[chain[:, 1]]))
    pair = AlignedPair(residue, state, access, made, chain, identity)
    known = ChainStructure(*np.array(kinds, dtype=np.uint8).T)
    return pair, profile(made, _homologues(rng, made, chances[known.state, known.access])), known


def _homologues(rng: np.random.Generator, residue: np.ndarray, chances: np.ndarray) -> np.ndarray:
    drawn = [
        np.where(rng.random(len(residue)) < IDENTITY_OF_HOMOLOGUE, residue, draw(rng, chances))
        for _ in range(N_HOMOLOGUES)
    ]
    return np.array(drawn)
