"""A generative model of aligned places on the features of the tensor model (SSALN-like, Qiu and Elber 2006).

    match of a place of kind a with residue b    log P(b | a) / P(b) + shift
    gaps                                         scale * log P(a gap begins | place), then
                                                 scale * log P(it goes on | place), for either chain

All are counted in the training alignments. The kind of a place is its residue (`residue`), or residue, state
and accessibility together (`structure`): 300 kinds, of which P(b | a) is mixed with PRIOR_COUNTS counts of
P(b | residue) P(b | state, access) / P(b). A place is of one of the 15 kinds state x access. The paper does
not say how its generative model scored gaps: `costs` is "scale/shift", to be chosen on other pairs. The model
is a weight vector of `ProteinAlignment` and predicts with the same search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import N_PLACES, Pair, places
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import Schemas

PRIOR_COUNTS = 20.0  # the weight of the prior estimate, in counted matches
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
    odds = log_odds(match_counts(X, Y), kinds) + shift
    tensor = problem.terms.template.index("residue x state x access")
    start = int(problem.terms.start[tensor])
    w[start : start + odds.size] = odds.ravel()
    w[problem.first_gap :] = scale * gap_logs(X, Y).ravel()
    return LogOddsAligner(w)


def match_counts(X: Sequence[Pair], Y: Sequence[np.ndarray]) -> np.ndarray:
    """How often each kind of place is set against each residue: (20, 15, 20), residue x place x residue."""
    counts = np.zeros((20, N_PLACES, 20))
    for x, y in zip(X, Y, strict=True):
        i, j = np.asarray(y).T
        np.add.at(counts, (np.asarray(x.residue)[i], places(x)[i], np.asarray(x.target)[j]), 1.0)
    return counts


def log_odds(counts: np.ndarray, kinds: str) -> np.ndarray:
    """log P(b | a) / P(b), (20, 15, 20) for either choice of kinds."""
    background = _shares(counts.sum(axis=(0, 1)) + 1.0)
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
