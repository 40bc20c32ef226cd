"""Trees as nested tuples: a node is (label, child, ...), a leaf the tag of the word at its place.

    ("S", ("NP", "DT", "NN"), ("VP", "VBZ"))

Words stay outside: part-of-speech tags are the terminals (jmlr05 Section 5.4, Johnson 1998).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

Node: TypeAlias = "tuple[str, *tuple[Tree, ...]]"
"""(label, child, ...), the children being trees."""
Tree: TypeAlias = "str | Node"
"""A node, or a tag: a tree of one leaf."""
Symbol = tuple[str, ...]
"""A nonterminal: (label,), or (label, label of the parent) with parent annotation ('' at the root)."""
Rule: TypeAlias = "tuple[Symbol, *tuple[Symbol | str, ...]]"
"""(head, child, ...): the head and nonterminal children are Symbols, tags are strings."""
Bracket = tuple[str, int, int]


def leaves(tree: Tree) -> list[str]:
    """The tags at a tree's leaves, from left to right."""
    if isinstance(tree, str):
        return [tree]
    return [tag for child in tree[1:] for tag in leaves(child)]


def brackets(tree: Tree) -> list[Bracket]:
    """(label, lo, hi) of every node, parents before children; tags have no brackets."""
    result: list[Bracket] = []

    def walk(node: Tree, lo: int) -> int:
        if isinstance(node, str):
            return lo + 1
        place = len(result)
        result.append((node[0], lo, lo))
        hi = lo
        for child in node[1:]:
            hi = walk(child, hi)
        result[place] = (node[0], lo, hi)
        return hi

    walk(tree, 0)
    return result


def from_brackets(spans: list[Bracket], tags: Sequence[str]) -> Tree:
    """The tree with these brackets, in the order of `brackets`, over these tags."""
    place = 0

    def build(lo: int, hi: int) -> list[Tree]:
        nonlocal place
        children: list[Tree] = []
        position = lo
        while position < hi:
            if place < len(spans) and spans[place][1] == position and spans[place][2] <= hi:
                label, _, end = spans[place]
                place += 1
                children.append((label, *build(position, end)))
                position = end
            else:
                children.append(str(tags[position]))
                position += 1
        return children

    return build(0, len(tags))[0]


def rules_of(tree: Node, parents: bool, above: str = "") -> Iterator[Rule]:
    """The rule of every node, parents before children; `above` is the label over the root."""
    mark = (above,) if parents else ()
    below = (tree[0],) if parents else ()
    children = [child if isinstance(child, str) else (child[0], *below) for child in tree[1:]]
    yield ((tree[0], *mark), *children)
    for child in tree[1:]:
        if not isinstance(child, str):
            yield from rules_of(child, parents, tree[0])


def rule_text(rule: Rule) -> str:
    """A rule as text: NP -> DT NN, with parents NP^S -> DT NN."""
    head, *children = ["^".join(symbol) if isinstance(symbol, tuple) else symbol for symbol in rule]
    return f"{head} -> {' '.join(children)}"


def fault(tree: object) -> str | None:
    """What keeps a value from being a tree that a grammar can learn from, or None."""
    if not isinstance(tree, tuple):
        return f"{tree!r} is no tree; write a node as a tuple (label, child, ...) and a leaf as its tag"
    stack: list[tuple[object, frozenset[str]]] = [(tree, frozenset())]
    while stack:
        node, chain = stack.pop()
        if isinstance(node, str):
            continue
        if not isinstance(node, tuple) or len(node) < 2 or not isinstance(node[0], str):
            return f"the node {node!r} is not (label, child, ...) with a text as label and at least one child"
        if node[0] in chain:
            return f"{node[0]!r} stands twice in a chain of single children; collapse the chain"
        below = chain | {node[0]} if len(node) == 2 else frozenset()
        stack += [(child, below) for child in node[1:]]
    return None
