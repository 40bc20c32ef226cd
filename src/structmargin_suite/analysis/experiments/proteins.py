"""Protein alignment: scores of every test pair, joined by family (cacm09 Section 3.2, Figure 6)."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from structmargin_suite.datasets.homstrad import q_scores
from structmargin_suite.results import ExperimentResults


class PairScores(NamedTuple):
    """Test pairs: the family of each, its share of identical residues, its Q4-score in percent.

    Families that share a PDB entry count as one.
    """

    family: np.ndarray
    identity: np.ndarray
    q4: np.ndarray


@functools.cache  # used by several statements
def pair_scores(experiment: ExperimentResults, run: str) -> PairScores:
    """The test pairs of a run."""
    test: Any = experiment.split(run).test
    q4, _ = q_scores(test.Y, experiment.model(run).predict(test.X))
    return PairScores(np.asarray(test.Y.group, dtype=str), np.asarray(test.Y.identity, dtype=float), q4)


def family_sums(families: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of the values (pairs, k) over the pairs of each family, (families, k)."""
    names, places = np.unique(families, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, places, values)
    return sums
