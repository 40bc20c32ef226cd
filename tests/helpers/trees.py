"""Trees of random grammars, listed one by one as the definition reads."""

from __future__ import annotations

from collections import Counter
from itertools import islice, product

import numpy as np
from hypothesis import strategies as st

LABELS, TAGS = ("A", "B", "C"), ("x", "y")


def all_trees(rules, symbol, x, chain=frozenset()):
    """Every tree of a symbol over the tags x, as the definition reads; labels of `chain` are barred."""
    if symbol[0] in chain:
        return
    for head, *children in rules:
        if head != symbol:
            continue
        below = chain | {symbol[0]} if len(children) == 1 else frozenset()
        for cuts in splits(len(x), len(children)):
            parts = [x[a:b] for a, b in zip((0, *cuts), (*cuts, len(x)), strict=True)]
            options = [
                ([child] if part == (child,) else [])
                if isinstance(child, str)
                else list(all_trees(rules, child, part, below))
                for child, part in zip(children, parts, strict=True)
            ]
            for chosen in product(*options):
                yield (symbol[0], *chosen)


def splits(n, k):
    """All ways to cut n places into k parts, none empty."""
    if k == 1:
        if n > 0:
            yield ()
        return
    for first in range(1, n - k + 2):
        for rest in splits(n - first, k - 1):
            yield (first, *(first + at for at in rest))


def spans(tree, lo=0):
    """(a Counter of labelled brackets, where the tree ends)."""
    if isinstance(tree, str):
        return Counter(), lo + 1
    found, hi = Counter(), lo
    for child in tree[1:]:
        more, hi = spans(child, hi)
        found += more
    found[tree[0], lo, hi] += 1
    return found, hi


def one_minus_f1(y, ybar):
    a, b = spans(y)[0], spans(ybar)[0]
    return 1.0 - 2.0 * sum((a & b).values()) / (sum(a.values()) + sum(b.values()))


def used(tree, above="", parents=False):
    """The rules of a tree, as `Grammar.rules` has them."""
    if isinstance(tree, str):
        return []
    mark, below = ((above,), (tree[0],)) if parents else ((), ())
    mine = ((tree[0], *mark), *(c if isinstance(c, str) else (c[0], *below) for c in tree[1:]))
    return [mine] + [rule for child in tree[1:] for rule in used(child, tree[0], parents)]


def random_rules(rng):
    """Rules over three labels and two tags; unary cycles are frequent."""
    symbols = [(label,) for label in LABELS]
    rules = {}
    for label in symbols[: rng.integers(1, 4)]:
        rules[label, str(rng.choice(TAGS))] = None
        for _ in range(rng.integers(1, 4)):
            size = int(rng.choice([1, 2, 2, 3]))
            pick = [symbols[k] if k < 3 else TAGS[k - 3] for k in rng.integers(0, 5, size)]
            if size > 1 or pick[0] != label:
                rules[(label, *pick)] = None
    return tuple(rules)


def example(seed, longest=6, least=0, most=400):
    """(rng, rules, start, x, all its trees); drawn until there are from `least` to `most` trees."""
    rng = np.random.default_rng(seed)
    while True:
        rules = random_rules(rng)
        start = tuple(str(s) for s in rng.permutation(LABELS)[: rng.integers(1, 3)])
        x = tuple(str(t) for t in rng.choice(TAGS, rng.integers(1, longest + 1)))
        found = (tree for label in start for tree in all_trees(rules, (label,), x))
        trees = list(islice(found, most + 1))
        if least <= len(trees) <= most:
            return rng, rules, start, x, trees


def weights(rng, n):
    """Random weights; every other time whole numbers, so that trees tie and cycles have positive weight."""
    return rng.normal(size=n) if rng.random() < 0.5 else rng.integers(-1, 2, n).astype(float)


seeds = st.integers(0, 2**40)
