"""Alignment by BLOSUM62 and affine gaps, as BLAST scores them, computed by Biopython. Nothing is learnt.

`costs` is "open/extend/shift": a gap of k residues costs open + k * extend (BLAST's own are 11 and 1), and
`shift` is added to the score of every match. `mode` is local, or global, where gaps at the ends cost as much
as others. Of equally good alignments Biopython's first is taken.
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
    """How to align: `mode` and `costs` as the module says."""

    mode: str
    costs: str

    def aligner(self) -> PairwiseAligner:
        """Biopython's aligner with these costs."""
        from Bio.Align import PairwiseAligner, substitution_matrices

        opening, extension, shift = (float(number) for number in self.costs.split("/"))
        aligner = PairwiseAligner(mode=self.mode)
        aligner.substitution_matrix = substitution_matrices.load("BLOSUM62") + shift
        aligner.open_gap_score = -(opening + extension)
        aligner.extend_gap_score = -extension
        return aligner

    def predict(self, X: Sequence[Pair]) -> list[np.ndarray]:
        """A best alignment of every pair, as the places of its matches (k, 2)."""
        aligner = self.aligner()
        alignments = []
        for x in X:
            template, target = (
                "".join(RESIDUES[c] for c in np.asarray(codes)) for codes in (x.residue, x.target)
            )
            blocks = next(iter(aligner.align(template, target)), None)
            alignments.append(_matches(blocks.aligned if blocks is not None else ((), ())))
        return alignments

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"mode": np.array(self.mode), "costs": np.array(self.costs)}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> BlosumAligner:
    """The model that `to_arrays` was called on."""
    return BlosumAligner(str(arrays["mode"]), str(arrays["costs"]))


def train(
    X: Sequence[Pair], Y: Sequence[np.ndarray], *, seed: int, mode: str = "local", costs: str = "11/1/0"
) -> BlosumAligner:
    """The aligner with these options; nothing is learnt from X and Y."""
    return BlosumAligner(mode, costs)


def _matches(blocks: Iterable[Sequence[tuple[int, int]]]) -> np.ndarray:
    """The matches (k, 2) of an alignment from its blocks ((begin, end), ...) in template and target."""
    matches = [
        np.column_stack([np.arange(*template), np.arange(*target)])
        for template, target in zip(*blocks, strict=True)
    ]
    return np.concatenate(matches).astype(np.int32) if matches else np.zeros((0, 2), np.int32)
