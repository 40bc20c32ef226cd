"""Chains of alanine with given angles, and what is known of them without any search."""

from __future__ import annotations

import numpy as np

from structmargin_suite.datasets.homstrad.dssp import Residue, assign, residues_of

LENGTHS = {"N": 1.329, "CA": 1.458, "C": 1.525}
"""Of the bond that ends in an atom, in angstrom."""
ANGLES = {"N": 116.6, "CA": 121.7, "C": 111.0}
"""At the atom before it, in degrees."""


def placed(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, length: float, angle: float, turn: float
) -> np.ndarray:
    """The atom at this distance from c, with this angle at c and this dihedral angle about the bond b, c."""
    angle, turn = np.radians(angle), np.radians(turn)
    axis = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, axis)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, axis)
    way = -np.cos(angle) * axis + np.sin(angle) * (np.cos(turn) * across + np.sin(turn) * normal)
    return c + length * way


def chain(n: int, phi: float, psi: float) -> list[Residue]:
    """A chain of n alanines with the same angles everywhere."""
    atoms = [np.array([0.0, 0.0, 0.0]), np.array([1.458, 0.0, 0.0]), np.array([2.0, 1.42, 0.0])]
    for _ in range(1, n + 1):
        for name, turn in (("N", psi), ("CA", 180.0), ("C", phi)):
            atoms.append(placed(*atoms[-3:], LENGTHS[name], ANGLES[name], turn))
    residues = []
    for k in range(n):
        N, CA, C, following = atoms[3 * k : 3 * k + 4]
        O = placed(N, CA, C, 1.231, 120.5, psi + 180.0)  # noqa: E741
        CB = placed(C, N, CA, 1.53, 110.5, -122.5)
        assert following is not None
        residues.append(Residue("A", {"N": N, "CA": CA, "C": C, "O": O, "CB": CB}))
    return residues


def helix(n: int) -> list[Residue]:
    """An alpha helix."""
    return chain(n, -57.0, -47.0)


def pdb(residues: list[Residue]) -> bytes:
    """A chain in PDB format."""
    lines = []
    for k, residue in enumerate(residues, 1):
        for name, (x, y, z) in residue.atoms.items():
            lines.append(
                f"ATOM  {len(lines) + 1:5d}  {name:<3s} ALA A{k:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00 20.00"
                f"           {name[0]}  "
            )
    return ("\n".join([*lines, "TER"]) + "\n").encode()


def master(family: str, name: str, residues: list[Residue]) -> tuple[str, ...]:
    """A row of the table of structures."""
    found = assign(residues_of(pdb(residues).decode()))
    return family, name, found.sequence, found.states, ",".join(map(str, found.surfaces))
