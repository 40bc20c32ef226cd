"""Secondary structure and surfaces: chains with ideal angles, and surfaces by another count of points."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.chains import chain, helix, pdb
from structmargin_suite.datasets.homstrad.dssp import (
    RADII,
    SIDE_RADIUS,
    WATER,
    Residue,
    _dihedral,
    assign,
    residues_of,
)


@pytest.mark.parametrize(
    ("phi", "psi", "states"),
    [
        (-57.0, -47.0, "-HHHHHHHHHH-"),  # an alpha helix: residues 1 to n - 2
        (-49.0, -26.0, "-GGGGGGGGGG-"),  # a 3-10 helix
        (-75.0, 145.0, "-PPPPPPPPPP-"),  # polyproline: no bonds, and hardly bent
        (-120.0, 120.0, "------------"),  # one strand alone has no partner
    ],
)
def test_ideal_chains_have_the_states_that_their_angles_say(phi, psi, states):
    residues = chain(12, phi, psi)
    for k in range(1, 11):
        own, after = residues[k].atoms, residues[k + 1].atoms
        assert _dihedral(residues[k - 1].atoms["C"], own["N"], own["CA"], own["C"]) == pytest.approx(phi)
        assert _dihedral(own["N"], own["CA"], own["C"], after["N"]) == pytest.approx(psi)
    assert assign(residues).states == states


def test_a_break_of_the_chain_ends_a_helix_and_residues_without_a_backbone_are_left_out():
    residues = helix(24)
    away = [Residue(r.letter, {n: xyz + 100.0 for n, xyz in r.atoms.items()}) for r in residues[12:]]
    assert assign([*residues[:12], *away]).states == 2 * "-HHHHHHHHHH-"
    text = pdb(helix(12)).decode()
    read = residues_of(text)
    assert len(read) == 12 and [r.letter for r in read] == ["A"] * 12
    assert np.allclose(read[3].atoms["O"], helix(12)[3].atoms["O"], atol=1e-3)
    without = "\n".join(line for line in text.splitlines() if " O   ALA A   4" not in line)
    assert len(residues_of(without)) == 11


def test_surfaces_are_those_of_points_drawn_at_random():
    residues = helix(8)
    rng = np.random.default_rng(3)
    points = rng.normal(size=(20_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    atoms = [
        (k, RADII.get(n, SIDE_RADIUS) + WATER, xyz)
        for k, r in enumerate(residues)
        for n, xyz in r.atoms.items()
    ]
    areas = np.zeros(len(residues))
    for m, (k, radius, place) in enumerate(atoms):
        on = place + radius * points
        free = np.ones(len(on), dtype=bool)
        for j, (_, other, centre) in enumerate(atoms):
            if j != m:
                free &= ((on - centre) ** 2).sum(axis=1) > other**2
        areas[k] += free.mean() * 4 * np.pi * radius**2
    assert assign(residues).surfaces == pytest.approx(areas, abs=3.0)
