"""The probabilistic context-free grammar of jmlr05 Table 5: rules with their relative frequencies.

    P(A -> beta) = count(A -> beta) / count(A)        in the training trees, without smoothing (Johnson 1998)

The model is a weight vector of log probabilities for the Grammar problem and predicts with the same search.
With parents or a horizontal Markov order, the frequencies are those of what the grammar then counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structmargin import archive
from structmargin.problems.grammar.problem import Grammar
from structmargin.scorer import LinearScorer
from structmargin_suite.baselines import Schemas

OPTIONS: Schemas = {
    "parents": {"type": "boolean"},
    "horizontal": {"type": ["integer", "null"], "minimum": 0},
}


@dataclass(frozen=True)
class ProbabilisticGrammar:
    """A grammar, and w: the log probability of every rule."""

    problem: Grammar
    w: np.ndarray

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The most probable tree of every sentence, None where there is none."""
        return self.problem.batch(X, None).argmax(LinearScorer(self.problem, self.w))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as arrays."""
        return archive.pack({"problem": self.problem, "w": self.w}, {"Grammar": Grammar})


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ProbabilisticGrammar:
    """The model that `to_arrays` was called on."""
    return ProbabilisticGrammar(**archive.unpack(arrays, {"Grammar": Grammar}))


def train(X: Sequence[Any], Y: Sequence[Any], *, seed: int, **options: Any) -> ProbabilisticGrammar:
    """Relative frequencies in the trees Y; nothing here is random."""
    problem = Grammar(**options).bind(X, Y)
    counts = np.zeros(problem.n_weights)
    for steps in problem.derivations(X, Y):
        np.add.at(counts, [step.rule for step in steps if step.rule >= 0], 1.0)
    group = problem.tables.group
    return ProbabilisticGrammar(problem, np.log(counts / np.bincount(group, counts)[group]))
