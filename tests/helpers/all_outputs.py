"""Every output of small inputs of every problem, and with them every constraint, listed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from helpers import references
from helpers.boxes import listed
from helpers.protein_chains import chains
from helpers.trees import all_trees
from structmargin.adapted import adapt
from structmargin.problems.diversity.problem import Selection

STEP = {"M": (1, 1), "D": (1, 0), "I": (0, 1)}


def alignments(x: Any) -> Iterator[tuple[int, tuple[int, int, str]]]:
    """Every candidate with every path."""

    def paths_from(n: int, m: int, i: int, j: int) -> Iterator[str]:
        yield ""
        for op, (di, dj) in STEP.items():
            if i + di <= n and j + dj <= m:
                for rest in paths_from(n, m, i + di, j + dj):
                    yield op + rest

    native, candidates = x
    for c, candidate in enumerate(candidates):
        for i in range(len(native) + 1):
            for j in range(len(candidate) + 1):
                for ops in paths_from(len(native), len(candidate), i, j):
                    yield c, (i, j, ops)


def boxes(x: Any) -> list[np.ndarray]:
    """Every box that the windows allow."""
    return [np.array([box]) for box in listed(*x[0].shape, x[1])]


OUTPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "Multiclass": lambda problem, x: range(problem.K),
    "Taxonomy": lambda problem, x: range(problem.K),
    "Sequence": lambda problem, x: map(np.array, product(range(problem.L), repeat=len(x))),
    "Alignment": lambda problem, x: alignments(x),
    "Grammar": lambda problem, x: (
        tree for label in problem.start for tree in all_trees(problem.rules, (label,), tuple(x))
    ),
    "Localization": lambda problem, x: boxes(x),
    "Measure": lambda problem, x: map(np.array, product((-1, 1), repeat=x.rows.shape[0])),
    "Diversity": lambda problem, x: (
        Selection(np.array(documents)) for documents in combinations(range(len(x)), problem.K)
    ),
    "ProteinAlignment": lambda problem, x: (
        np.array(chain, dtype=int).reshape(-1, 2) for chain in chains(len(x[0]), len(x[3]))
    ),
}
EQUALLY_RIGHT = ("Alignment", "Localization")
"""Problems that constrain no output without a loss: other paths of the homolog, other true boxes."""


def constraints(name: str, problem: Any, X: Any, Y: Any) -> list[references.Constraint]:
    """Every constraint of examples as a user gives them, each once."""
    problem = adapt(problem).bind(X, Y)
    X, Y = adapt(problem).wrap(X, Y)
    result = []
    for i in range(len(Y)):
        at_truth = references.dense(problem.psi(X[i], Y[i]))
        rows = {}
        for ybar in OUTPUTS[name](problem, X[i]):
            delta = problem.delta(Y[i], ybar)
            if delta > 0.0 or name not in EQUALLY_RIGHT:
                dpsi = at_truth - references.dense(problem.psi(X[i], ybar))
                rows[delta, dpsi.tobytes()] = references.Constraint(i, delta, dpsi)
        result += rows.values()
    return result
