"""The exact search by F1 where its pruning is at work: weights under which all trees tie, or nearly.

Random weights let the first bounds decide nearly every search. Here H of all trees is brought close to one
small value, so that the winner passes a threshold only just: a bound ten percent too tight loses some. With
no weights at all, or whole ones, scores tie and the brackets decide.
"""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from helpers.trees import example, one_minus_f1, spans, weights
from structmargin.formulation import FORMULATIONS
from structmargin.oracles.cky_f1_strata import _alive, _inside_strata, _outside_strata, _trace_stratum
from structmargin.problems import Grammar
from structmargin.problems.grammar import batch as grammar_batch
from structmargin.scorer import LinearScorer

SENTENCES, TRUTHS, TRIES, TIES = 6, 3, 90, 30
BOUNDS = [(1, 1), (3, 1), (1, 2), (6, 6)]
"""How many bounds of each kind are tried: the fewer, the more derivations are enumerated."""


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
            mine, largest = searched(problem, batch, delta, dpsi, w, H, BOUNDS[k % len(BOUNDS)])
            if abs(mine - largest) > 1e-9:
                lost.append((mine, largest))
    assert lost == []


def searched(problem, batch, delta, dpsi, w, H, bounds):
    """(H of the tree that the search finds, the largest H of all trees)."""
    with patch.multiple(grammar_batch, MAX_LINES=bounds[0], MAX_STRATA=bounds[1]):
        cuts = batch.search(LinearScorer(problem, w), np.array([0]), H)
    return float(H(cuts.losses[0], (cuts.rows @ w)[0])), max(0.0, float(np.max(H(delta, dpsi @ w))))


@pytest.mark.parametrize("name", ["SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"])
def test_where_scores_tie_the_brackets_decide(name):
    """No weights, a weight for every bracket alike, and whole weights of the size of a loss."""
    H, rng, lost = FORMULATIONS[name].H, np.random.default_rng(2), []
    for problem, batch, delta, dpsi in cases():
        n_rules = problem.tables.n_rules
        for k in range(TIES):
            size = rng.choice([0.003, 0.05, 0.25])
            w = size * rng.integers(-1, 2, problem.n_weights)
            w[n_rules:] = 0.0
            if k < 2:
                w = np.zeros(problem.n_weights)
            elif k < 6:
                w[:n_rules] = (-1.0) ** k * size
            mine, largest = searched(problem, batch, delta, dpsi, w, H, BOUNDS[k % len(BOUNDS)])
            if abs(mine - largest) > 1e-9:
                lost.append((k, mine, largest))
    assert lost == []


def test_the_best_tree_with_every_number_of_correct_brackets():
    """M(c) = max score + mu p over the trees with c correct brackets, and its tree, against all trees."""
    compared = 0
    for seed in range(40):
        rng, rules, start, x, trees = example(200 + seed, least=10)
        problem = Grammar(rules=rules, start=start)
        y = trees[rng.integers(len(trees))]
        batch, w, mu = problem.batch([x], [y]), weights(rng, problem.n_weights), float(rng.normal())
        gold = spans(y)[0]
        values = {}
        for tree in trees:
            own = spans(tree)[0]
            c, p = sum((gold & own).values()), sum(own.values())
            values.setdefault(c, {})[tree] = problem.psi(x, tree) @ w + mu * p
        part = whole_part(batch, w, max_c=max(values) - seed % 2)
        V = np.empty(part.at[part.n])
        _inside_strata(part, mu, V)
        low, high = part.low[part.n - 1], part.high[part.n - 1]
        assert (low, high) == (min(values), max(min(values), max(values) - seed % 2)), seed
        for c in range(low, high + 1):
            M = V[part.at[part.n - 1] + c - low]
            assert M == pytest.approx(max(values.get(c, {0: -np.inf}).values())), (seed, c)
            if c in values:
                out = np.empty(part.n, np.int64)
                p, count = _trace_stratum(part, c, mu, V, np.empty((part.n + 1, 2), np.int64), out)
                tree = batch.packed.tree(0, out[:count])
                assert values[c][tree] == pytest.approx(M)
                assert p == sum(spans(tree)[0].values())
                compared += 1
    assert compared > 100


def test_what_is_outside_a_stratum_completes_it_to_the_best_tree_through_it():
    """V + O at a node, over the ways to share c between them, is the best of the trees with that node."""
    compared = 0
    for seed in range(25):
        rng, rules, start, x, trees = example(300 + seed, least=10, most=100)
        problem = Grammar(rules=rules, start=start)
        y = trees[rng.integers(len(trees))]
        batch, w, mu = problem.batch([x], [y]), weights(rng, problem.n_weights), float(rng.normal())
        part = whole_part(batch, w, max_c=len(trees))
        V, O = np.empty(part.at[part.n]), np.empty((part.n, part.high[part.n - 1] + 1))  # noqa: E741
        _inside_strata(part, mu, V)
        _outside_strata(part, mu, V, O)
        through = {}
        for tree in trees:
            own = spans(tree)[0]
            c, value = sum((spans(y)[0] & own).values()), problem.psi(x, tree) @ w + mu * sum(own.values())
            given = problem.batch([x], [tree]).given
            for k in np.flatnonzero(given >= 0):
                through[k, c] = max(through.get((k, c), -np.inf), value)
        for (k, c), value in through.items():
            shares = range(part.low[k], min(part.high[k], c) + 1)
            assert max(V[part.at[k] + a - part.low[k]] + O[k, c - a] for a in shares) == pytest.approx(value)
            compared += 1
    assert compared > 500


def whole_part(batch, w, max_c):
    """All of the first sentence's forest: there are no lines to pass."""
    none = np.empty((0, 0))
    return _alive(
        batch.packed.forest,
        0,
        w,
        np.zeros(0),
        batch.correct,
        np.empty((0, 2)),
        np.empty(0),
        0,
        none,
        none,
        max_c,
    )


def test_a_tree_does_not_depend_on_the_sentences_searched_with_it():
    rng, rules, start, x, trees = example(7, longest=7, least=60)
    problem = Grammar(rules=rules, start=start)
    Y = [trees[k] for k in rng.choice(len(trees), 12, replace=False)]
    batch = problem.batch([x] * 12, Y)
    for name in ("SVM1 margin", "SVM2 slack"):
        for size in (0.0, 0.05, 0.3):
            f = LinearScorer(problem, size * rng.integers(-2, 3, problem.n_weights).astype(float))
            together = batch.search(f, rng.permutation(12), FORMULATIONS[name].H)
            for k, i in enumerate(together.example):
                alone = problem.batch([x], [Y[i]]).search(f, np.array([0]), FORMULATIONS[name].H)
                assert alone.outputs[0] == together.outputs[k]
                assert alone.losses[0] == together.losses[k]
