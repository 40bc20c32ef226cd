"""A generative model of aligned places on the features of the tensor model (SSALN-like, Qiu and Elber 2006).

    match of a place of kind a with residue b    log P(b | a) / P(b) + log P(p | place of a, b) / P(p | b)
    in a place of kind p                         + shift
    gaps                                         scale * log P(a gap begins | place), then
                                                 scale * log P(it goes on | place), for either chain

All are counted in the training alignments. The kind of the template's place is its residue (`residue`; then
the target's structure does not count), or residue, state and accessibility together (`structure`): 300
kinds, of which P(b | a) is mixed with PRIOR_COUNTS counts of P(b | residue) P(b | state, access) / P(b). A
place is of one of the 15 kinds state x access, in the template and in the target; P(p | place of a, b) is
mixed with PRIOR_COUNTS counts of P(p | b). Where nothing is known of the target's structure, all its places
are of one kind, and that term is 0 but for the counts that are added. The paper does not say how its
generative model scored gaps: `costs` is "scale/shift", to be chosen on other pairs. The model is a weight
vector of `ProteinAlignment` and predicts with the same search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import N_PLACES, Pair, places, target_kinds, template_kinds
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import Schemas

PRIOR_COUNTS = 20.0  # the weight of the prior estimate, in counted matches
ONCE = 1.0  # added to what may not occur at all
OPTIONS: Schemas = {
    "kinds": {"enum": ["residue", "structure"]},
    "costs": {"type": "string", "pattern": r"^[0-9.]+/-?[0-9.]+$"},
}


@dataclass(frozen=True)
class LogOddsAligner:
    """Weights of the tensor model."""

    w: np.ndarray

    def predict(self, X: Sequence[Pair]) -> list[np.ndarray]:
        """The best chain of every pair."""
        problem = ProteinAlignment("tensor")
        return problem.batch(X, None).argmax(LinearScorer(problem, self.w))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return {"w": self.w}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> LogOddsAligner:
    """The model that `to_arrays` was called on."""
    return LogOddsAligner(arrays["w"])


def train(
    X: Sequence[Pair], Y: Sequence[np.ndarray], *, seed: int, kinds: str = "structure", costs: str = "1/0"
) -> LogOddsAligner:
    """Count and take logarithms; nothing here is random."""
    scale, shift = (float(number) for number in costs.split("/"))
    problem = ProteinAlignment("tensor")
    w = np.zeros(problem.n_weights)
    counts = match_counts(X, Y)
    odds = log_odds(counts.sum(axis=3), kinds)[:, :, :, None] + shift
    if kinds == "structure":
        odds = odds + place_odds(counts.sum(axis=0))
    table = np.broadcast_to(odds, counts.shape).ravel()
    start = problem.terms.table("residue x state x access", "residue x state x access")
    w[start : start + table.size] = table
    w[problem.first_gap :] = scale * gap_logs(X, Y).ravel()
    return LogOddsAligner(w)


def match_counts(X: Sequence[Pair], Y: Sequence[np.ndarray]) -> np.ndarray:
    """How often each kind of place is set against each: (20, 15, 20, 15), residue x place of either chain."""
    counts = np.zeros((20 * N_PLACES, 20 * N_PLACES))
    for x, y in zip(X, Y, strict=True):
        i, j = np.asarray(y).T
        np.add.at(counts, (template_kinds(x)[i], target_kinds(x)[j]), 1.0)
    return counts.reshape(20, N_PLACES, 20, N_PLACES)


def place_odds(counts: np.ndarray) -> np.ndarray:
    """log P(p | place, b) / P(p | b), (15, 20, 15) from counts of a place with a residue b in a place p."""
    places_alone = _shares(counts.sum(axis=(0, 1)) + ONCE)  # (15,)
    given_residue = _shares(counts.sum(axis=0) + PRIOR_COUNTS * places_alone)  # (20, 15)
    odds: np.ndarray = np.log(_shares(counts + PRIOR_COUNTS * given_residue) / given_residue)
    return odds


def log_odds(counts: np.ndarray, kinds: str) -> np.ndarray:
    """log P(b | a) / P(b), (20, 15, 20) for either choice of kinds."""
    background = _shares(counts.sum(axis=(0, 1)) + ONCE)
    by_residue = _shares(counts.sum(axis=1) + PRIOR_COUNTS * background)  # (20, 20)
    by_place = _shares(counts.sum(axis=0) + PRIOR_COUNTS * background)  # (15, 20)
    if kinds == "residue":
        given = np.broadcast_to(by_residue[:, None], counts.shape)
    else:
        apart = _shares(by_residue[:, None] * by_place[None] / background)
        given = _shares(counts + PRIOR_COUNTS * apart)
    odds: np.ndarray = np.log(given / background)
    return odds


def gap_logs(X: Sequence[Pair], Y: Sequence[np.ndarray]) -> np.ndarray:
    """Log probabilities (15, 4) that a gap begins at a kind of place and that it goes on, for either chain.

    Columns: begins and goes on in the template, begins and goes on in the target.

    A gap may begin after every match but the last; one count is added for each outcome.
    """
    chances, taken = np.zeros((N_PLACES, 4)), np.zeros((N_PLACES, 4))
    for x, y in zip(X, Y, strict=True):
        kind, chain = places(x), np.asarray(y)
        skipped, inserted = (
            np.diff(chain, axis=0).T - 1
        )  # residues left out of the template and of the target
        after, before = kind[chain[:-1, 0] + 1], kind[chain[1:, 0] - 1]
        np.add.at(chances[:, 0], after, 1)
        np.add.at(taken[:, 0], after[skipped > 0], 1)
        for i, count in zip(chain[:-1, 0][skipped > 0], skipped[skipped > 0], strict=True):
            out = kind[i + 1 : i + 1 + count]
            np.add.at(taken[:, 1], out[1:], 1)
            np.add.at(chances[:, 1], np.append(out[1:], out[-1]), 1)
        np.add.at(chances[:, 2], before, 1)
        np.add.at(taken[:, 2], before[inserted > 0], 1)
        np.add.at(taken[:, 3], before, np.maximum(inserted - 1, 0))
        np.add.at(chances[:, 3], before, inserted)
    logs: np.ndarray = np.log((taken + 1.0) / (chances + 2.0))
    return logs


def _shares(counts: np.ndarray) -> np.ndarray:
    """Counts as probabilities over the last axis."""
    shares: np.ndarray = counts / counts.sum(axis=-1, keepdims=True)
    return shares
