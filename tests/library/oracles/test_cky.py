"""Parse forests against a plain enumeration of all trees, on random grammars with unary rules and ties."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.trees import (
    example,
    one_minus_f1,
    seeds,
    used,
    weights,
)
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Grammar
from structmargin.problems.grammar import batch as grammar_batch
from structmargin.scorer import LinearScorer

MOST = 400


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_best_tree_is_the_best_of_all(seed):
    rng, rules, start, x, trees = example(seed)
    problem = Grammar(rules=rules, start=start)
    f = LinearScorer(problem, weights(rng, problem.n_weights))
    yhat = problem.argmax(f, x)
    if not trees:
        assert yhat is None
        return
    index = {rule: k for k, rule in enumerate(rules)}
    score = {tree: sum(f.w[index[rule]] for rule in used(tree)) for tree in trees}
    assert len(score) == len(trees)
    assert score[yhat] == pytest.approx(max(score.values()))


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_a_forest_holds_every_tree_once(seed):
    from structmargin.oracles.cky import forests

    _, rules, start, x, trees = example(seed)
    tables = Grammar(rules=rules, start=start).tables
    forest = forests(tables.rules, [tables.words(x)])
    ways = np.zeros(len(forest.item), dtype=int)
    for u in range(len(ways)):
        edges = range(forest.edge_start[u], forest.edge_start[u + 1])
        ways[u] = sum(
            ways[forest.left[e]] * (ways[forest.right[e]] if forest.right[e] >= 0 else 1) for e in edges
        )
        ways[u] = ways[u] if len(edges) else 1
    assert (ways[-1] if len(ways) else 0) == len(trees)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_every_formulation_against_all_trees(seed):
    """Often after a single bound of each kind, so that derivations must be enumerated."""
    rng, rules, start, x, trees = example(seed, least=1)
    y = trees[rng.integers(len(trees))]
    w = weights(rng, len(rules)) * float(rng.choice([0.0, 0.05, 0.3, 2.0]))
    index = {rule: k for k, rule in enumerate(rules)}
    margin = {t: sum(w[index[r]] for r in used(y)) - sum(w[index[r]] for r in used(t)) for t in trees}
    for loss in ("f1", "zero_one"):
        problem = Grammar(loss=loss, rules=rules, start=start)
        batch = problem.batch([x, x], [trees[0], y])
        f = LinearScorer(problem, w)
        delta = {t: float(t != y) if loss == "zero_one" else one_minus_f1(y, t) for t in trees}
        for name, formulation in FORMULATIONS.items():
            H = formulation.H
            with patch.multiple(grammar_batch, MAX_LINES=1 + 2 * (seed % 2), MAX_STRATA=1 + seed // 2 % 2):
                found = batch.search(f, np.array([1]), H)
            ybar = found.outputs[0]
            assert found.losses[0] == pytest.approx(delta[ybar]), (loss, name)
            assert problem.delta(y, ybar) == pytest.approx(delta[ybar])
            assert (found.rows @ w)[0] == pytest.approx(margin[ybar])
            largest = max(float(H(delta[t], margin[t])) for t in trees if t != y or len(trees) == 1)
            mine = float(H(delta[ybar], margin[ybar]))
            assert max(mine, 0.0) == pytest.approx(max(largest, 0.0), abs=1e-9), (loss, name)


@settings(max_examples=80, deadline=None)
@given(seeds)
def test_the_second_best_follows_the_best(seed):
    rng, rules, start, x, trees = example(seed, least=2)
    problem = Grammar(loss="zero_one", rules=rules, start=start)
    f = LinearScorer(problem, weights(rng, len(rules)))
    yhat = problem.argmax(f, x)
    second = problem.augmented_argmax(f, x, yhat, FORMULATIONS["SVM1"].H)
    scores = sorted((f(x, tree) for tree in trees), reverse=True)
    assert second != yhat
    assert [f(x, yhat), f(x, second)] == pytest.approx(scores[:2])


def markov_trees(seen, symbol, x, h, chain=frozenset()):
    """Trees whose children are read one by one: (head, first?, last h children) must have been seen to go on
    to each child and to stop; unary rules are seen as a whole."""
    if symbol[0] in chain:
        return
    for child in seen["unary"].get(symbol, ()):
        if child == x[0:1][0] and len(x) == 1 and isinstance(child, str):
            yield (symbol[0], child)
        elif not isinstance(child, str):
            yield from ((symbol[0], t) for t in markov_trees(seen, child, x, h, chain | {symbol[0]}))

    def read(state, rest, children):
        if not rest:
            if len(children) > 1 and (symbol, state, None) in seen["go"]:
                yield (symbol[0], *children)
            return
        for head, before, child in sorted(seen["go"], key=str):
            if head != symbol or before != state or child is None:
                continue
            past = (*(state[1] if state else ()), child)
            after = (len(children) == 0, past[len(past) - h :] if h else ())
            for size in range(1, len(rest) + 1):
                part = rest[:size]
                if len(part) == len(x):
                    continue
                if isinstance(child, str):
                    options = [child] if part == (child,) else []
                else:
                    options = list(markov_trees(seen, child, part, h))
                for option in options:
                    yield from read(after, rest[size:], (*children, option))

    yield from read(None, x, ())


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from([0, 1, 2]))
def test_markovised_children_against_reading_one_by_one(seed, h):
    rng, rules, start, x, trees = example(seed, longest=4)
    seen = {"unary": {}, "go": set()}
    for head, *children in rules:
        if len(children) == 1:
            seen["unary"].setdefault(head, []).append(children[0])
            continue
        state = None
        for k, child in enumerate(children):
            seen["go"].add((head, state, child))
            past = tuple(children[: k + 1])
            state = (k == 0, past[len(past) - min(h, len(past)) :] if h else ())
        seen["go"].add((head, state, None))
    found = set()
    for label in start:
        for tree in markov_trees(seen, (label,), x, h):
            found.add(tree)
            assume(len(found) <= MOST)
    assert found >= set(trees)
    problem = Grammar(rules=rules, start=start, horizontal=h)
    f = LinearScorer(problem, weights(rng, problem.n_weights))
    yhat = problem.argmax(f, x)
    assert (yhat is None) == (not found)
    if found:
        assert f(x, yhat) == pytest.approx(max(f(x, tree) for tree in found))
