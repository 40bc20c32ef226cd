"""The exact search by F1 where its pruning is at work: weights under which trees of all losses nearly tie.

Random weights let the first bounds decide nearly every search. Here H of all trees is brought close to one
small value, so that the winner passes a threshold only just: a bound ten percent too tight loses some.
"""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from helpers.trees import example, one_minus_f1
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Grammar
from structmargin.problems.grammar import batch as grammar_batch
from structmargin.scorer import LinearScorer

SENTENCES, TRUTHS, TRIES = 6, 3, 90


@cache
def cases():
    """(problem, batch, Delta of every tree, Psi(x, y) - Psi(x, ybar) of every tree), sentences of up to 7."""
    found = []
    for seed in range(SENTENCES):
        rng, rules, start, x, trees = example(100 + seed, longest=7, least=60)
        problem = Grammar(rules=rules, start=start, spans=True)
        psi = np.array([problem.psi(x, t) for t in trees])
        for k in rng.choice(len(trees), TRUTHS, replace=False):
            delta = np.array([one_minus_f1(trees[k], t) for t in trees])
            found.append((problem, problem.batch([x], [trees[k]]), delta, psi[k] - psi))
    return found


def near_ties(rng, name, delta, dpsi):
    """Weights that bring H of some of the trees with a loss as close to h as they can, and a little noise.

    Margin re-scaling: H = d - gap = h at gap = d - h; slack re-scaling: H = d (1 - gap) = h at gap = 1 - h/d.
    """
    d, h = delta ** (1.0 if name.startswith("SVM1") else 0.5), rng.uniform(0.01, 0.3)
    some = (delta > 0.0) & (rng.random(len(d)) < rng.choice([0.1, 1.0]))
    gap = d[some] - h if "margin" in name else 1.0 - h / d[some]
    w = np.linalg.lstsq(dpsi[some], gap, rcond=None)[0]
    return w + rng.choice([0.003, 0.02]) * rng.normal(size=len(w))


@pytest.mark.parametrize("name", ["SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"])
def test_pruning_loses_no_tree_where_many_nearly_tie(name):
    H, rng, lost = FORMULATIONS[name].H, np.random.default_rng(1), []
    for problem, batch, delta, dpsi in cases():
        for k in range(TRIES):
            w = near_ties(rng, name, delta, dpsi)
            with patch.object(grammar_batch, "MAX_BOUNDS", (1, 3, 6)[k % 3]):
                found = batch.search(LinearScorer(problem, w), np.array([0]), H)
            mine = float(H(found.losses[0], (found.rows @ w)[0]))
            largest = max(0.0, float(np.max(H(delta, dpsi @ w))))
            if abs(mine - largest) > 1e-9:
                lost.append((mine, largest))
    assert lost == []
