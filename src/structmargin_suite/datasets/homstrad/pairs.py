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


class ChainStructure(NamedTuple):
    """State and access of every place of a chain, as codes."""

    state: np.ndarray
    access: np.ndarray


class FamilyPair(NamedTuple):
    """A pair with its profiles, its family, the group of families that share chains, and the structure of
    the target where it is known."""

    family: str
    group: str
    pair: AlignedPair
    profiles: Profiles
    known: ChainStructure | None


class Truths(list[np.ndarray]):
    """True alignments; of each the share of equal residues, the family, the group of families, and how well
    the structure of its master was predicted (`structure.Prediction`), (0 columns where it was not)."""

    def __init__(
        self, chains: Sequence[np.ndarray], identity: np.ndarray, family: np.ndarray,
        group: np.ndarray | None = None, counts: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(chains)
        self.identity, self.family = identity, family
        self.group = family if group is None else group
        self.counts = np.zeros((len(chains), 0), np.int64) if counts is None else counts


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


UNKNOWN = 255
"""The code of state and access where the structure of a target is not known."""


def to_arrays(pairs: Sequence[FamilyPair]) -> dict[str, np.ndarray]:
    """Pairs end to end, with the lengths of template, target and matches."""
    if not pairs:
        raise DataError("no pair is left; raise `identity_below`, or `longest` if it is given")
    joined = {
        name: np.concatenate([getattr(entry.pair, name) for entry in pairs])
        for name in ("residue", "state", "access", "target", "chain")
    }
    lengths = [
        [len(array) for array in (pair.residue, pair.target, pair.chain)] for _, _, pair, _, _ in pairs
    ]
    unknown = [np.full(len(entry.pair.target), UNKNOWN, np.uint8) for entry in pairs]
    return {
        **joined,
        "template_profile": np.concatenate([entry.profiles.template for entry in pairs]),
        "target_profile": np.concatenate([entry.profiles.target for entry in pairs]),
        "known_state": np.concatenate(
            [none if e.known is None else e.known.state for e, none in zip(pairs, unknown, strict=True)]
        ),
        "known_access": np.concatenate(
            [none if e.known is None else e.known.access for e, none in zip(pairs, unknown, strict=True)]
        ),
        "is_known": np.array([entry.known is not None for entry in pairs]),
        "lengths": np.array(lengths, dtype=np.int64),
        "identity": np.array([entry.pair.identity for entry in pairs]),
        "family": np.array([entry.family for entry in pairs]),
        "group": np.array([entry.group for entry in pairs]),
    }


def examples(
    arrays: Mapping[str, np.ndarray], which: np.ndarray, target_structure: str = "predicted"
) -> Examples:
    """The pairs with the numbers `which` of those that `to_arrays` stored, as ProteinAlignment takes them.

    The target's structure is "predicted", "known" or "none".
    """
    end = np.cumsum(arrays["lengths"], axis=0)
    start = end - arrays["lengths"]
    X, chains = [], []
    for k in which:
        template, target, matches = (slice(start[k, column], end[k, column]) for column in range(3))
        structure = [
            None if target_structure == "none" else arrays[f"{target_structure}_{what}"][target]
            for what in ("state", "access")
        ]
        X.append(
            Pair(
                arrays["residue"][template],
                arrays["state"][template],
                arrays["access"][template],
                arrays["target"][target],
                STEP * arrays["template_profile"][template].astype(float),
                STEP * arrays["target_profile"][target].astype(float),
                *structure,
            )
        )
        chains.append(arrays["chain"][matches])
    of_pair = (arrays[name][which] for name in ("identity", "family", "group", "counts"))
    return Examples(X, Truths(chains, *of_pair))
