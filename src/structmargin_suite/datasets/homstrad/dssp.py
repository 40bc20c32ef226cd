"""Secondary structure and accessible surface of a chain from its coordinates, as the program DSSP gives them.

    E = q (1/r_ON + 1/r_CH - 1/r_OH - 1/r_CN), q = 27.9 kcal/mol angstrom; a hydrogen bond has E < -0.5
From the hydrogen bonds of the backbone follow turns, helices, bridges and strands, from angles at the alpha
carbons bends: Kabsch and Sander 1983, with the limits and the order of DSSP 4 (each donor keeps its two best
acceptors; energies have three digits; a pi helix comes before an alpha helix; extended stretches are P). A
residue's surface is that part of a sphere about each of its atoms, wider by a water's radius, which lies in
no other atom's: 401 points each, in single precision, so that the same points count as in that program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from structmargin.compiled import compiled

COUPLING = -27.888
MAX_BOND = -0.5
"""The energy below which there is a hydrogen bond."""
MIN_BOND = -9.9
"""The least energy; of atoms that are nearer than MIN_DISTANCE too."""
MIN_DISTANCE = 0.5
NEAR_CARBONS = 9.0
"""Residues whose alpha carbons are farther apart have no bond."""
PEPTIDE = 2.5
"""A longer bond of C and the next N is a break of the chain."""
BEND = 70.0
WATER = 1.4
RADII = {"N": 1.65, "CA": 1.87, "C": 1.76, "O": 1.4}
SIDE_RADIUS = 1.8
BACKBONE = ("N", "CA", "C", "O")
LETTERS = {
    "ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "CYS": "C", "GLN": "Q", "GLU": "E", "GLY": "G",
    "HIS": "H", "ILE": "I", "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F", "PRO": "P", "SER": "S",
    "THR": "T", "TRP": "W", "TYR": "Y", "VAL": "V",
}  # fmt: skip


class Residue(NamedTuple):
    """A residue with all of its backbone: its letter, and coordinates by name of the atom."""

    letter: str
    atoms: dict[str, np.ndarray]


class Assigned(NamedTuple):
    """What is found of a chain: its letters, a state of each ('-' for none), and surfaces in whole A^2."""

    sequence: str
    states: str
    surfaces: list[int]


def residues_of(text: str) -> list[Residue]:
    """The residues of a chain in PDB format that have N, CA, C and O; of alternatives the first counts."""
    found: dict[str, tuple[str, dict[str, np.ndarray]]] = {}
    for line in text.splitlines():
        if not line.startswith("ATOM  ") or len(line) < 54:
            continue
        name, kind = line[12:16].strip(), line[17:20]
        element = line[76:78].strip() if len(line) >= 78 else ""
        if element == "H" or (not element and name.lstrip("0123456789").startswith(("H", "D"))):
            continue
        _, atoms = found.setdefault(line[21:27], (kind, {}))
        if name in atoms and (line[16] != " " or name in BACKBONE):
            continue
        while name in atoms:  # a name given twice by mistake: both atoms are there
            name += "'"
        atoms[name] = np.array([float(line[k : k + 8]) for k in (30, 38, 46)])
    return [
        Residue(LETTERS.get(kind, "X"), atoms)
        for kind, atoms in found.values()
        if all(name in atoms for name in BACKBONE)
    ]


def assign(residues: list[Residue]) -> Assigned:
    """The states and surfaces of a chain."""
    return Assigned("".join(r.letter for r in residues), _states(residues), _surfaces(residues))


# ---- surfaces ----


def _dots(half: int = 200) -> np.ndarray:
    """(401, 3) points spread evenly over a sphere, along a spiral; in single precision, as DSSP has them."""
    count, golden = 2 * half + 1, np.float32((1 + 5**0.5) / 2)
    i = np.arange(-half, half + 1, dtype=np.float32)
    latitude = np.arcsin(2.0 * i.astype(float) / count).astype(np.float32)
    longitude = (np.fmod(i, golden) * 2 * np.pi / golden).astype(np.float32)
    cosine = np.cos(latitude)
    dots = np.stack([np.sin(longitude) * cosine, np.cos(longitude) * cosine, np.sin(latitude)], axis=1)
    return dots.astype(np.float32)


DOTS = _dots()
AREAS = np.concatenate([[0], np.cumsum(np.full(len(DOTS), 4 * np.pi / len(DOTS), np.float32))]).astype(
    np.float32
)
"""The area of so many points on the unit sphere, added up one by one."""


def _surfaces(residues: list[Residue]) -> list[int]:
    place = np.array([xyz for r in residues for xyz in r.atoms.values()], dtype=np.float32).reshape(-1, 3)
    owner = np.array([k for k, r in enumerate(residues) for _ in r.atoms], dtype=int)
    own = np.array([RADII.get(name, SIDE_RADIUS) for r in residues for name in r.atoms], dtype=np.float32)
    radius = own + np.float32(WATER)
    near = cKDTree(place).query_ball_point(place, radius + radius.max() + 0.01)
    bounds = np.concatenate([[0], np.cumsum([len(others) for others in near])])
    others = np.array([other for listed in near for other in listed], dtype=np.int64)
    areas = AREAS[_free_dots(place, radius, bounds, others, DOTS)] * radius * radius
    total = np.bincount(owner, weights=areas, minlength=len(residues))
    return [int(area) for area in np.floor(total + 0.5)]


@compiled
def _free_dots(
    place: np.ndarray, radius: np.ndarray, bounds: np.ndarray, others: np.ndarray, dots: np.ndarray
) -> np.ndarray:
    """How many dots of each atom's sphere lie in no other's; near k are others[bounds[k] : bounds[k + 1]]."""
    counts = np.zeros(len(place), dtype=np.int64)
    way = np.empty((len(place), 3), dtype=np.float32)
    limit = np.empty(len(place), dtype=np.float32)
    for k in range(len(place)):
        touching = 0
        for m in range(bounds[k], bounds[k + 1]):
            other = others[m]
            x = place[other, 0] - place[k, 0]
            y = place[other, 1] - place[k, 1]
            z = place[other, 2] - place[k, 2]
            squared = x * x + y * y + z * z
            reach = radius[k] + radius[other]
            if other != k and squared < reach * reach and squared > 0.0001:
                way[touching, 0], way[touching, 1], way[touching, 2] = x, y, z
                limit[touching] = radius[other] * radius[other]
                touching += 1
        for d in range(len(dots)):
            free = True
            for m in range(touching):
                x = dots[d, 0] * radius[k] - way[m, 0]
                y = dots[d, 1] * radius[k] - way[m, 1]
                z = dots[d, 2] * radius[k] - way[m, 2]
                if not limit[m] < x * x + y * y + z * z:
                    free = False
                    break
            counts[k] += free
    return counts


# ---- hydrogen bonds ----


def _bonds(residues: list[Residue]) -> set[tuple[int, int]]:
    """(donor, acceptor) of all hydrogen bonds: of each donor the two best acceptors."""
    n = len(residues)
    N, CA, C, O = (np.array([r.atoms[name] for r in residues]) for name in BACKBONE)  # noqa: E741
    H = N.copy()
    for k in range(1, n):
        if residues[k].letter != "P":
            way = C[k - 1] - O[k - 1]
            H[k] += way / np.sqrt((way**2).sum())
    best: list[list[tuple[float, int]]] = [[] for _ in range(n)]
    for i, j in sorted(cKDTree(CA).query_pairs(NEAR_CARBONS)):
        for donor, acceptor in ((i, j), (j, i))[: 1 if j == i + 1 else 2]:
            if residues[donor].letter == "P":
                continue
            HO, HC = _apart(H[donor], O[acceptor]), _apart(H[donor], C[acceptor])
            NC, NO = _apart(N[donor], C[acceptor]), _apart(N[donor], O[acceptor])
            energy = MIN_BOND
            if min(HO, HC, NC, NO) >= MIN_DISTANCE:
                energy = COUPLING / HO - COUPLING / HC + COUPLING / NC - COUPLING / NO
                energy = max(MIN_BOND, float(np.floor(1000 * energy + 0.5)) / 1000)
            best[donor] = sorted([*best[donor], (energy, acceptor)], key=lambda bond: bond[0])[:2]
    return {(donor, acceptor) for donor in range(n) for energy, acceptor in best[donor] if energy < MAX_BOND}


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(((a - b) ** 2).sum()))


# ---- states ----


Whole = Callable[[int, int], bool]
"""Whether the chain has no break between two residues, and both are there."""


@dataclass
class _Ladder:
    """Bridges that follow each other: the residues of both sides, in order."""

    parallel: bool
    i: deque[int]
    j: deque[int]


def _states(residues: list[Residue]) -> str:
    n = len(residues)
    bonds = _bonds(residues)
    gap = [_apart(a.atoms["C"], b.atoms["N"]) > PEPTIDE for a, b in pairwise(residues)]
    breaks = np.concatenate([[0], np.cumsum(gap)]) if n else np.zeros(0)

    def whole(first: int, last: int) -> bool:
        return 0 <= first and last < n and breaks[first] == breaks[last]

    states = ["-"] * n
    for ladder in _ladders(n, bonds, whole):
        for side in (ladder.i, ladder.j):
            for k in range(side[0], side[-1] + 1):
                if states[k] != "E":
                    states[k] = "B" if len(ladder.i) == 1 else "E"
    start = {
        stride: [whole(i, i + stride) and (i + stride, i) in bonds for i in range(n)] for stride in (3, 4, 5)
    }
    for stride, state, over in ((4, "H", "-EBH"), (3, "G", "-G"), (5, "I", "-IH")):
        for i in range(1, n - stride):
            if start[stride][i] and start[stride][i - 1]:
                span = range(i, i + stride)
                if all(states[k] in over for k in span):
                    for k in span:
                        states[k] = state
    CA = np.array([r.atoms["CA"] for r in residues]).reshape(n, 3)
    for i in range(1, n - 1):
        if states[i] == "-":
            if any(start[s][i - k] for s in start for k in range(1, s) if i >= k):
                states[i] = "T"
            elif whole(i - 2, i + 2) and _bend(CA[i] - CA[i - 2], CA[i + 2] - CA[i]) > BEND:
                states[i] = "S"
    extended = _extended(residues, whole)
    for i in range(1, n - 3):
        if all(extended[i : i + 3]):
            for k in range(i, i + 3):
                if states[k] == "-":
                    states[k] = "P"
    return "".join(states)


def _extended(residues: list[Residue], whole: Whole) -> list[bool]:
    """Whether the angles of each residue are those of a polyproline helix."""
    n = len(residues)
    found = [False] * n
    for i in range(1, n - 1):
        if whole(i - 1, i + 1):
            before, own, after = (residues[k].atoms for k in (i - 1, i, i + 1))
            phi = _dihedral(before["C"], own["N"], own["CA"], own["C"])
            psi = _dihedral(own["N"], own["CA"], own["C"], after["N"])
            found[i] = abs(phi + 75) <= 29 and abs(psi - 145) <= 29
    return found


def _dihedral(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    """The angle in degrees by which d is turned from a, about the line from b to c."""
    first, axis, last = a - b, c - b, d - c
    v, w = np.cross(axis, first), np.cross(axis, last)
    return float(np.degrees(np.arctan2(-np.sqrt(axis @ axis) * (first @ w), v @ w)))


def _bend(before: np.ndarray, after: np.ndarray) -> float:
    cosine = float(before @ after / np.sqrt((before @ before) * (after @ after)))
    return float(np.degrees(np.arctan2(np.sqrt(max(0.0, 1 - cosine**2)), cosine)))


def _ladders(n: int, bonds: set[tuple[int, int]], whole: Whole) -> list[_Ladder]:
    """Bridges, joined where one follows the other, with bulges."""
    ladders: list[_Ladder] = []
    partners: dict[int, set[int]] = {}
    for d, a in bonds:
        for i in range(d - 1, d + 2):
            for j in range(a - 1, a + 2):
                partners.setdefault(min(i, j), set()).add(max(i, j))
    for i in range(1, n - 4):
        for j in sorted(partners.get(i, ())):
            if j < i + 3 or j + 1 >= n or not (whole(i - 1, i + 1) and whole(j - 1, j + 1)):
                continue
            parallel = ((i + 1, j) in bonds and (j, i - 1) in bonds) or (
                (j + 1, i) in bonds and (i, j - 1) in bonds
            )
            anti = ((i + 1, j - 1) in bonds and (j + 1, i - 1) in bonds) or (
                (j, i) in bonds and (i, j) in bonds
            )
            if not (parallel or anti):
                continue
            for ladder in ladders:
                if ladder.parallel == parallel and ladder.i[-1] + 1 == i:
                    if parallel and ladder.j[-1] + 1 == j:
                        ladder.j.append(j)
                    elif not parallel and ladder.j[0] - 1 == j:
                        ladder.j.appendleft(j)
                    else:
                        continue
                    ladder.i.append(i)
                    break
            else:
                ladders.append(_Ladder(parallel, deque([i]), deque([j])))
    return _with_bulges(sorted(ladders, key=lambda ladder: ladder.i[0]), whole)


def _with_bulges(ladders: list[_Ladder], whole: Whole) -> list[_Ladder]:
    """Ladders of one kind joined where few residues lie between them."""
    k = 0
    while k < len(ladders):
        a, m = ladders[k], k + 1
        while m < len(ladders):
            b = ladders[m]
            between = b.i[0] - a.i[-1]
            m += 1
            if (
                a.parallel != b.parallel
                or not whole(min(a.i[0], b.i[0]), max(a.i[-1], b.i[-1]))
                or not whole(min(a.j[0], b.j[0]), max(a.j[-1], b.j[-1]))
                or not 0 <= between < 6
                or (a.i[-1] >= b.i[0] and a.i[0] <= b.i[-1])
            ):
                continue
            across = b.j[0] - a.j[-1] if a.parallel else a.j[0] - b.j[-1]
            if 0 <= across < (6 if between < 3 else 3):
                a.i.extend(b.i)
                if a.parallel:
                    a.j.extend(b.j)
                else:
                    a.j.extendleft(reversed(b.j))
                m -= 1
                del ladders[m]
        k += 1
    return ladders
