"""Pairs of a chain with known structure and a chain to be aligned with it, and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from structmargin.problems.proteins.features import Pair
from structmargin_suite.datasets import Examples
from structmargin_suite.datasets.homstrad import pir
from structmargin_suite.datasets.homstrad.profiles import STEP
from structmargin_suite.storage.errors import DataError


class AlignedPair(NamedTuple):
    """A template of n residues, a target of m, and their true alignment of k matches.

    Attributes
    ----------
    residue, state, access : ndarray of uint8 (n,)
        The template: codes of residues, secondary structure and accessibility.
    target : ndarray of uint8 (m,)
        The residues of the target.
    chain : ndarray of int32 (k, 2)
        The matches: a place of the template and one of the target each.
    identity : float
        The share of matches with equal residues.
    """

    residue: np.ndarray
    state: np.ndarray
    access: np.ndarray
    target: np.ndarray
    chain: np.ndarray
    identity: float

    @property
    def longer(self) -> int:
        """The length of the longer of the two chains."""
        return max(len(self.residue), len(self.target))


class Profiles(NamedTuple):
    """The profiles (n, 20) and (m, 20) of a pair's template and target, in steps of STEP bits."""

    template: np.ndarray
    target: np.ndarray


class FamilyPair(NamedTuple):
    """A pair with its profiles and the name of its family."""

    family: str
    pair: AlignedPair
    profiles: Profiles


class Truths(list[np.ndarray]):
    """True alignments, and the share of equal residues and the family of each."""

    def __init__(self, chains: Sequence[np.ndarray], identity: np.ndarray, family: np.ndarray) -> None:
        super().__init__(chains)
        self.identity, self.family = identity, family


def usable_pairs(
    family: str, names: Sequence[str], rows: np.ndarray, structure: pir.Structure, below: float,
    longest: int | None,
) -> dict[str, AlignedPair]:  # fmt: skip
    """The pairs of a family's master with its other chains, by the name of the target.

    Rows (chains, columns) are codes of the family's alignment. Left out are pairs without a match, with a
    share of equal residues of `below` or more, and with a chain longer than `longest`. There is none if the
    master is not aligned.
    """
    if structure.master not in names:
        return {}
    master = rows[names.index(structure.master)]
    template = pir.fitted(family, structure, master[master != pir.GAP])
    usable = {}
    for name, other in zip(names, rows, strict=True):
        both = (master != pir.GAP) & (other != pir.GAP)
        if name == structure.master or not both.any():
            continue
        place = [(np.cumsum(row != pir.GAP) - 1)[both] for row in (master, other)]
        pair = AlignedPair(
            residue=template.residue,
            state=template.state,
            access=template.access,
            target=other[other != pir.GAP],
            chain=np.column_stack(place).astype(np.int32),
            identity=float(np.mean(master[both] == other[both])),
        )
        if pair.identity < below and (longest is None or pair.longer <= longest):
            usable[name] = pair
    return usable


def to_arrays(pairs: Sequence[FamilyPair]) -> dict[str, np.ndarray]:
    """Pairs end to end, with the lengths of template, target and matches."""
    if not pairs:
        raise DataError("no pair is left; raise `longest` or `identity_below`")
    joined = {
        name: np.concatenate([getattr(entry.pair, name) for entry in pairs])
        for name in ("residue", "state", "access", "target", "chain")
    }
    lengths = [[len(array) for array in (pair.residue, pair.target, pair.chain)] for _, pair, _ in pairs]
    return {
        **joined,
        "template_profile": np.concatenate([entry.profiles.template for entry in pairs]),
        "target_profile": np.concatenate([entry.profiles.target for entry in pairs]),
        "lengths": np.array(lengths, dtype=np.int64),
        "identity": np.array([entry.pair.identity for entry in pairs]),
        "family": np.array([entry.family for entry in pairs]),
    }


def examples(arrays: Mapping[str, np.ndarray], which: np.ndarray) -> Examples:
    """The pairs with the numbers `which` of those that `to_arrays` stored, as ProteinAlignment takes them."""
    end = np.cumsum(arrays["lengths"], axis=0)
    start = end - arrays["lengths"]
    X, chains = [], []
    for k in which:
        template, target, matches = (slice(start[k, column], end[k, column]) for column in range(3))
        X.append(
            Pair(
                arrays["residue"][template],
                arrays["state"][template],
                arrays["access"][template],
                arrays["target"][target],
                STEP * arrays["template_profile"][template].astype(float),
                STEP * arrays["target_profile"][target].astype(float),
            )
        )
        chains.append(arrays["chain"][matches])
    return Examples(X, Truths(chains, arrays["identity"][which], arrays["family"][which]))
