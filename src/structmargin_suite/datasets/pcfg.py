"""Sentences of a made-up language, and the stand-in for treebanks: trees drawn from a seeded grammar.

The grammar is always the same: the rules below, with probabilities drawn once for each head and its
parent, so that what a noun phrase looks like depends on where it stands, as in real trees. A grammar without
parents can learn the average only.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from structmargin.problems.grammar.trees import Tree, leaves
from structmargin_suite.datasets._treebanks import CLAUSES, PREPARE, VIEW, score, tree_arrays, view

__all__ = ["FILES", "PREPARE", "VIEW", "score", "synthesize", "view"]

FILES = ()
RULES = """
S: NP VP . | NP VP | VP . | PP NP VP . | ADVP NP VP . | NP ADVP VP . | S CC S | NP NP VP . | VP
SQ: VBZ NP VP . | VBZ NP NP .
NP: DT NN | NN | NNP NN | NN NN | NNP | DT NP | JJ NN | NP PP | NP CC NP | QP | NP VP | NP NP | NN PP | JJ NP
VP: VBZ | VBZ NP | VBD NP | VBD NP PP | VP PP | MD VP | VBZ NP NP | VBZ ADJP | VBD S | TO VP | VP CC VP | VBD
PP: IN NP | TO NP | IN S | PP PP
ADJP: JJ | RB JJ | JJ PP | ADJP CC ADJP
ADVP: RB | RB RB | ADVP PP
QP: CD NN | RB CD NN
"""
CONCENTRATION = 3.0  # of the Dirichlet distribution; small values make parents matter more
MAX_NODES = 40  # larger trees are given up and drawn again
SEED = 1998


@cache
def grammar() -> dict[str, tuple[list[list[str]], dict[str, np.ndarray]]]:
    """By head: its right-hand sides, and their probabilities under every parent ('' at the root)."""
    rng = np.random.default_rng(SEED)
    lines = [line.split(": ", 1) for line in RULES.strip().splitlines()]
    heads = ["", *(head for head, _ in lines)]
    rules = {}
    for head, text in lines:
        sides = [side.split() for side in text.split(" | ")]
        base = rng.dirichlet(np.full(len(sides), 3.0))
        rules[head] = (
            sides,
            {above: rng.dirichlet(CONCENTRATION * len(sides) * base + 0.05) for above in heads},
        )
    return rules


def draw(rng: np.random.Generator) -> Tree | None:
    """A random tree, or None if it grew too large or a chain of single children has a label twice."""
    rules, size = grammar(), 0

    def grow(head: str, above: str, chain: frozenset[str]) -> Tree | None:
        nonlocal size
        size += 1
        if size > MAX_NODES or head in chain:
            return None
        sides, p = rules[head]
        side = sides[int(rng.choice(len(sides), p=p[above]))]
        below = chain | {head} if len(side) == 1 else frozenset()
        children = [grow(child, head, below) if child in rules else child for child in side]
        whole = tuple(child for child in children if child is not None)
        tree: Tree = (head, *whole)
        return tree if len(whole) == len(children) else None

    return grow("S" if rng.random() < 0.95 else "SQ", "", frozenset())


def synthesize(
    seed: int, *, longest: int, punctuation: str = "kept", roots: str = "any", at_most: int = 3000,
    repetition: int = 0,
) -> dict[str, np.ndarray]:  # fmt: skip
    """`at_most` trees of at most `longest` tags, the last fifth of them to test on; all roots are clauses."""
    rng = np.random.default_rng(seed)
    trees: list[Tree] = []
    while len(trees) < at_most:
        tree = draw(rng)
        if tree is not None and tree[0] in CLAUSES and len(leaves(tree)) <= longest:
            trees.append(tree)
    subset = (np.arange(at_most) >= at_most - at_most // 5).astype(np.int64)
    return tree_arrays(trees, subset.tolist(), seed, None)
