"""Random outputs: all outputs of a small example are drawn, and none has a larger H than the search finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest

from helpers.boxes import listed
from helpers.protein_chains import chains
from helpers.protein_pairs import random_pair
from helpers.trees import all_trees, example
from structmargin import registry
from structmargin.adapted import adapt
from structmargin.formulation import FORMULATIONS
from structmargin.problems import (
    Alignment,
    Diversity,
    Grammar,
    Localization,
    Measure,
    Multiclass,
    ProteinAlignment,
    Sequence,
    Taxonomy,
)
from structmargin.problems.diversity.problem import Candidates, best_selection
from structmargin.problems.measures.problem import Sample
from structmargin.problems.proteins.features import Pair
from structmargin.scorer import LinearScorer

DRAWS = 1500
"""Enough for every output of the examples here to be drawn, whatever the seed."""


class Case(NamedTuple):
    """A small example of a problem, and all outputs that `draw` may return, as hashable values."""

    problem: Any
    x: Any
    y: Any
    outputs: set[Any]
    hashable: Callable[[Any], Any]


def labels(y: Any) -> tuple[int, ...]:
    return tuple(int(label) for label in y)


def sequence(T: int, masked: bool = False, **options: Any) -> Case:
    rng = np.random.default_rng(T)
    outputs = set(product(range(3), repeat=T))
    if masked:  # after label 2 comes 2 alone, which may not be final: nothing may lead there
        allowed = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
        options |= {"allowed": allowed, "first": [True, False, True], "final": [True, True, False]}
        ends = {y for y in outputs if y[0] != 1 and y[-1] != 2}
        outputs = {y for y in ends if all(allowed[a, b] for a, b in pairwise(y))}
    y = np.array(sorted(outputs)[len(outputs) // 2])
    return Case(Sequence(3, 2, **options), rng.normal(size=(T, 2)), y, outputs, labels)


def alignment() -> Case:
    """Every path of two decoys of one letter; those of the homolog are equally right."""
    native, candidates = np.array([1, 0]), [np.array([1]), np.array([1, 0, 1]), np.array([0])]
    outputs = set()
    for c in (0, 2):
        for i, j in product(range(3), range(len(candidates[c]) + 1)):
            todo = [""]
            for ops in todo:
                end = i + len(ops) - ops.count("I"), j + len(ops) - ops.count("D")
                if end[0] <= 2 and end[1] <= len(candidates[c]):
                    outputs.add((c, (i, j, ops)))
                    todo += [ops + step for step in "MDI"]
    return Case(Alignment(2), (native, candidates), (1, (0, 0, "MM")), outputs, _nested)


def _nested(y: Any) -> Any:
    return (y[0], tuple(y[1]))


def grammar(seed: int, **options: Any) -> Case:
    """A random grammar and a sentence with 5 to 25 trees."""
    _, rules, start, x, trees = example(seed, longest=4, least=5, most=25)
    return Case(Grammar(rules=rules, start=start, **options), x, trees[0], set(trees), lambda y: y)


def markovized() -> Case:
    X = [("x", "x", "y")] * 2
    Y = [("A", "x", ("B", "x", "y")), ("A", ("B", "x", "x"), "y")]
    problem = Grammar(horizontal=0).bind(X, Y)
    rules = [
        ((head,), *children)
        for head, firsts, others in (("A", ["x", ("B",)], [("B",), "y"]), ("B", ["x"], ["x", "y"]))
        for size in (2, 3)
        for children in product(firsts, *[others] * (size - 1))
    ]
    return Case(problem, X[0], Y[0], set(all_trees(rules, ("A",), X[0])), lambda y: y)


def boxes(search: str) -> Case:
    words = np.random.default_rng(5).integers(3, size=(4, 5))
    windows, y = np.array([[2, 2, 1], [3, 4, 1]]), np.array([[1, 2, 3, 4], [0, 0, 2, 2]])
    every = [(2, 2), (3, 4)] if search == "scan" else list(product((2, 3), (2, 3, 4)))
    outputs = set(listed(4, 5, [(h, w, 1) for h, w in every])) - {(0, 0, 2, 2)}  # y stands for every truth
    return Case(Localization(3, 2, search=search), (words, windows), y, outputs, lambda y: labels(y[0]))


def measure(name: str, **options: Any) -> Case:
    rng = np.random.default_rng(3)
    y = np.array([1, -1, 1, -1], dtype=np.int8)
    chosen = {"prbep": 2, "precision_at_k": 3, "recall_at_k": 1}.get(name)
    outputs = {ybar for ybar in product((-1, 1), repeat=4) if chosen in (None, ybar.count(1))}
    return Case(Measure(name, **options), Sample(rng.normal(size=(4, 2)), y > 0), y, outputs, labels)


def ranking() -> Case:
    """Every ranking of three rows, ties included, as the order of the three pairs."""
    x = Sample(np.random.default_rng(3).normal(size=(3, 2)), np.array([True, False, True]))
    outputs = {signs(r) for r in product(range(3), repeat=3)}
    return Case(Measure("roc_area"), x, np.array([1, -1, 1], dtype=np.int8), outputs, signs)


def signs(r: Any) -> tuple[int, ...]:
    return tuple(int(np.sign(float(a) - float(b))) for a, b in combinations(r, 2))


def diversity() -> Case:
    phi = np.random.default_rng(1).random((4, 2))
    x = Candidates(np.array([0, 2, 3, 5, 6]), np.array([0, 1, 1, 0, 2, 3]), phi)
    subtopics = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], dtype=bool)
    outputs = {frozenset(pair) for pair in combinations(range(4), 2)}
    y = best_selection(x, subtopics, 2)
    return Case(Diversity(2, K=2, exact=True), x, y, outputs, lambda y: frozenset(labels(y.documents)))


def proteins() -> Case:
    x: Pair = random_pair(np.random.default_rng(2), 3, 3)
    outputs = {chain for chain in chains(3, 3) if chain}
    problem = ProteinAlignment("simple", tolerance=0)
    return Case(problem, x, np.array([[0, 0], [2, 1]]), outputs, lambda y: tuple(map(labels, y)))


def classes(problem: Multiclass) -> Case:
    return Case(problem, np.array([1.0, -0.5]), 1, {0, 1, 2}, int)


CASES: dict[str, Case] = {
    "Multiclass": classes(Multiclass(3, 2)),
    "Multiclass with a loss": classes(Multiclass(3, 2, loss=[[0, 1, 2], [0.3, 0, 3], [1, 1, 0]])),
    "Taxonomy": classes(Taxonomy(3, 2, Lambda=np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]]))),
    "Sequence": sequence(3),
    "Sequence of one token": sequence(1),
    "Sequence with masks": sequence(4, masked=True),
    "Sequence of one token with masks": sequence(1, masked=True),
    "Sequence with everything": sequence(
        3, masked=True, window=1, triplets=True, input_transitions=True, loss="hamming_normalised"
    ),
    "Sequence with 0/1 loss": sequence(3, loss="zero_one"),
    "Alignment": alignment(),
    "Grammar": grammar(1),
    "Grammar with 0/1 loss and spans": grammar(4, loss="zero_one", spans=True),
    "Grammar, markovized": markovized(),
    "Localization": boxes("scan"),
    "Localization by branch and bound": boxes("branch_and_bound"),
    **{f"Measure of {name}": measure(name) for name in ("f1", "error_rate", "prbep")},
    "Measure of precision": measure("precision_at_k", k=3),
    "Measure of recall": measure("recall_at_k", k=1),
    "Measure of rankings": ranking(),
    "Diversity": diversity(),
    "ProteinAlignment": proteins(),
}


def drawn(case: Case) -> dict[Any, Any]:
    """What is drawn, by hashable value."""
    rng = np.random.default_rng(0)
    draw = adapt(case.problem).draw
    assert draw is not None
    outputs = (draw(case.x, case.y, rng) for _ in range(DRAWS))
    return {case.hashable(ybar): ybar for ybar in outputs}


def test_every_problem_draws() -> None:
    assert {type(case.problem).__name__ for case in CASES.values()} == set(registry.PROBLEMS)


@pytest.mark.parametrize("name", CASES)
def test_every_output_is_drawn_and_nothing_else(name: str) -> None:
    case = CASES[name]
    assert set(drawn(case)) == case.outputs


@pytest.mark.parametrize("name", CASES)
def test_no_drawn_output_has_a_larger_cost_than_the_search_finds(name: str) -> None:
    """Nor is it smaller: the best of all outputs is among them. The truth, with H = 0, may be left out."""
    case = CASES[name]
    problem, x, y, *_ = case
    adapted = adapt(problem)
    assert adapted.exact
    outputs = list(drawn(case).values())
    n_weights = adapted.n_weights([x], [y])
    searched = 0
    for seed in range(4):
        f = LinearScorer(problem, np.random.default_rng(seed).normal(size=n_weights) * (1.0, 0.1)[seed % 2])

        def cost(ybar: Any, H: Any, f: Any = f) -> float:
            return float(H(adapted.loss(x, y, ybar), f(x, y) - f(x, ybar)))

        for formulation in FORMULATIONS.values():
            if adapted.refuse(formulation.H) is not None:
                continue
            searched += 1
            best = cost(problem.augmented_argmax(f, x, y, formulation.H), formulation.H)
            largest = max(cost(ybar, formulation.H) for ybar in outputs)
            assert max(largest, 0.0) == pytest.approx(max(best, 0.0), rel=1e-9, abs=1e-9), formulation.name
    assert searched


def test_a_greedy_search_has_random_outputs_too() -> None:
    case = CASES["Diversity"]
    greedy = case.problem.with_params(exact=False)
    assert set(drawn(case._replace(problem=greedy))) == case.outputs


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_draws_the_same(name: str) -> None:
    case = CASES[name]
    first, again = (
        [case.hashable(case.problem.draw(case.x, case.y, rng)) for _ in range(5)]
        for rng in (np.random.default_rng(7), np.random.default_rng(7))
    )
    assert first == again
