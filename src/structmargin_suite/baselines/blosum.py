"""Alignment by BLOSUM62 and affine gaps, by Biopython: what BLAST scores with, and nothing is learnt.

`costs` is "open/extend/shift": a gap of k residues costs open + k * extend (BLAST's own are 11 and 1), and
`shift` is added to the score of every match. `mode` is local, or global with gaps at the ends paid too.
Of equally good alignments Biopython's first is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structmargin.problems.proteins.features import RESIDUES, Pair
from structmargin_suite.baselines import Schemas

if TYPE_CHECKING:
    from Bio.Align import PairwiseAligner

OPTIONS: Schemas = {
    "mode": {"enum": ["local", "global"]},
    "costs": {"type": "string", "pattern": r"^[0-9.]+/[0-9.]+/-?[0-9.]+$"},
}


@dataclass(frozen=True)
class BlosumAligner:
    """How to align."""

    mode: str
    costs: str

    def aligner(self) -> PairwiseAligner:
        """Biopython's aligner with these costs."""
        from Bio.Align import PairwiseAligner, substitution_matrices

        first, more, shift = (float(part) for part in self.costs.split("/"))
        made = PairwiseAligner(mode=self.mode)
        made.substitution_matrix = substitution_matrices.load("BLOSUM62") + shift
        made.open_gap_score = -(first + more)
        made.extend_gap_score = -more
        return made

    def predict(self, X: Sequence[Pair]) -> list[np.ndarray]:
        """A best alignment of every pair as its matches (k, 2)."""
        aligner = self.aligner()
        found = []
        for x in X:
            one, other = ("".join(RESIDUES[c] for c in np.asarray(part)) for part in (x.residue, x.target))
            blocks = next(iter(aligner.align(one, other)), None)
            found.append(_matches(blocks.aligned if blocks is not None else ((), ())))
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"mode": np.array(self.mode), "costs": np.array(self.costs)}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> BlosumAligner:
    """The model that `to_arrays` was called on."""
    return BlosumAligner(str(arrays["mode"]), str(arrays["costs"]))


def train(
    X: Sequence[Pair], Y: Sequence[np.ndarray], *, seed: int, mode: str = "local", costs: str = "11/1/0"
) -> BlosumAligner:
    """Nothing to learn."""
    return BlosumAligner(mode, costs)


def _matches(blocks: Iterable[Sequence[tuple[int, int]]]) -> np.ndarray:
    """Blocks of matches ((begin, end), ...) in either chain as single ones."""
    rows = [np.column_stack([np.arange(*one), np.arange(*other)]) for one, other in zip(*blocks, strict=True)]
    return np.concatenate(rows).astype(np.int32) if rows else np.zeros((0, 2), np.int32)
