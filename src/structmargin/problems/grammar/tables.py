"""A grammar's rules as the machines of `structmargin.oracles.cky`, and trees as derivations of them.

Without Markovisation states are prefixes of right-hand sides, shared by all heads, and each rule is one
weight, paid when a node is complete; weight r is rule r. With `horizontal = h` children are generated one
by one, each known by the head and the h children before it (Klein and Manning 2003): weights are then first
children, steps and stops, and rules never seen become possible; unary rules stay whole.
`group` says what a weight is conditional on in a probabilistic grammar: the head, or the state left.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structmargin.oracles.cky import Rules
from structmargin.problems.grammar.trees import Node, Rule, Symbol, Tree, rule_text

MAX_CHAINS = 100_000


class Step(NamedTuple):
    """One edge of a derivation: an item over a span, from earlier steps (-1: none), and its rule."""

    item: int
    lo: int
    hi: int
    left: int
    right: int
    rule: int


class Tables:
    """Numbers for everything in a list of rules; `rules` are the arrays for the oracle."""

    def __init__(self, learnt: Sequence[Rule], start: Sequence[Symbol], horizontal: int | None) -> None:
        tags = dict.fromkeys(c for rule in learnt for c in rule[1:] if isinstance(c, str))
        heads = dict.fromkeys(c for rule in learnt for c in rule if not isinstance(c, str))
        self.tags = {tag: k for k, tag in enumerate(tags)}
        self.symbols: dict[Symbol | str, int] = dict(self.tags.items())
        self.symbols.update({s: len(tags) + k for k, s in enumerate(heads)})
        self.labels = {name: k for k, name in enumerate(dict.fromkeys(s[0] for s in heads))}
        self.horizontal = horizontal
        self.names: list[str] = []
        self._weights: dict[Hashable, int] = {}
        self._groups: dict[Hashable, int] = {}
        self._group: list[int] = []
        self._states: dict[Hashable, int] = {}
        self._first: dict[tuple[int, int], int] = {}  # (symbol, state): weight
        self._step: dict[tuple[int, int], tuple[int, int]] = {}  # (state, symbol): (state, weight)
        self._end: dict[tuple[int, int], int] = {}  # (state, symbol): weight
        unary: dict[int, list[tuple[int, int]]] = {}
        for rule in learnt:
            if len(rule) == 2:
                weight = self._weight(rule, rule_text(rule), rule[0])
                unary.setdefault(self.symbols[rule[1]], []).append((self.symbols[rule[0]], weight))
            else:
                self._read(rule)
        self.group = np.array(self._group, dtype=np.int64)
        self._chains(unary)
        self.rules = self._packed(start)

    @property
    def n_rules(self) -> int:
        return len(self.names)

    def _weight(self, key: Hashable, name: str, given: Hashable) -> int:
        if key not in self._weights:
            self._weights[key] = len(self.names)
            self.names.append(name)
            self._group.append(self._groups.setdefault(given, len(self._groups)))
        return self._weights[key]

    def _state(self, key: Hashable) -> int:
        return self._states.setdefault(key, len(self._states))

    def _path(self, head: Symbol, children: Sequence[Symbol | str]) -> list[Hashable]:
        """The states that read these children, one after each."""
        h = self.horizontal
        if h is None:
            return [tuple(children[: k + 1]) for k in range(len(children))]
        return [(head, k == 0, tuple(children[max(0, k + 1 - h) : k + 1])) for k in range(len(children))]

    def _read(self, rule: Rule) -> None:
        head, children = rule[0], list(rule[1:])
        path = self._path(head, children)
        symbols = [self.symbols[c] for c in children]
        whole = self.horizontal is None
        weights = [-1] * len(children)
        if not whole:
            before: list[Hashable] = [None, *path[:-1]]
            weights = [
                self._weight((head, state, c), step_text(head, state, c), (head, state) if state else head)
                for state, c in zip(before, children, strict=True)
            ]
        self._first[symbols[0], self._state(path[0])] = weights[0]
        for k in range(1, len(children)):
            self._step[self._state(path[k - 1]), symbols[k]] = self._state(path[k]), weights[k]
        end = (
            self._weight(rule, rule_text(rule), head)
            if whole
            else self._weight((head, path[-1]), step_text(head, path[-1], "stop"), (head, path[-1]))
        )
        self._end[self._state(path[-1]), self.symbols[head]] = end

    def _chains(self, unary: dict[int, list[tuple[int, int]]]) -> None:
        """All chains of unary rules in which no label stands twice, shorter before longer."""
        names = list(self.symbols)
        label = [-1 if isinstance(s, str) else self.labels[s[0]] for s in names]
        self.top = list(range(len(names)))  # the symbol on top of each chain
        within: list[frozenset[int]] = [frozenset({label[s]}) for s in self.top]
        self._up: dict[tuple[int, int], tuple[int, int]] = {}  # (chain, symbol): (chain, weight)
        chain = 0
        while chain < len(self.top):
            for symbol, weight in unary.get(self.top[chain], []):
                if label[symbol] not in within[chain]:
                    self._up[chain, symbol] = len(self.top), weight
                    self.top.append(symbol)
                    within.append(within[chain] | {label[symbol]})
            chain += 1
            if len(self.top) > MAX_CHAINS:
                raise ValueError(
                    f"the unary rules form more than {MAX_CHAINS} chains without a repeated label; "
                    "leave out the rarest unary rules"
                )
        self.chain_label = [label[s] for s in self.top]

    def _packed(self, start: Sequence[Symbol]) -> Rules:
        V, Q, K = len(self.symbols), len(self._states), len(self.top)
        first = _listed(V, [(s, (q, w)) for (s, q), w in self._first.items()], 2)
        step = _listed(Q, [(p, (c, q, w)) for (p, c), (q, w) in self._step.items()], 3)
        end = _listed(Q, [(q, (a, w)) for (q, a), w in self._end.items()], 2)
        up = _listed(K, [(c, (d, w)) for (c, _), (d, w) in self._up.items()], 2)
        starts = np.zeros(V, dtype=np.bool_)
        starts[[self.symbols[s] for s in start if s in self.symbols]] = True
        top, label = (np.array(a, dtype=np.int64) for a in (self.top, self.chain_label))
        arrays: list[Any] = [*first, *step, *end, *up, top, label, starts]
        return Rules._make([len(self.tags), *arrays])

    def words(self, x: Sequence[str]) -> np.ndarray:
        """Tags as numbers, -1 for one that no rule has."""
        return np.array([self.tags.get(str(tag), -1) for tag in x], dtype=np.int64)

    def derivation(self, tree: Node, parents: bool) -> list[Step]:
        """The steps that derive a tree, children first, the goal last; KeyError names a rule there is not."""
        V, K = len(self.symbols), len(self.top)
        steps: list[Step] = []

        def add(item: int, lo: int, hi: int, left: int = -1, right: int = -1, rule: int = -1) -> int:
            steps.append(Step(item, lo, hi, left, right, rule))
            return len(steps) - 1

        def head_of(node: Node, above: str) -> Symbol:
            return (node[0], above) if parents else (node[0],)

        def symbol(node: Tree, above: str) -> Symbol | str:
            return node if isinstance(node, str) else head_of(node, above)

        def top(node: Tree, above: str, lo: int) -> tuple[int, int]:
            """(step of the finished node, hi)."""
            if isinstance(node, str):
                return add(self.tags[node], lo, lo + 1), lo + 1
            chain, step, hi = below(node, above, lo)
            return add(K + self.top[chain], lo, hi, step), hi

        def below(node: Node, above: str, lo: int) -> tuple[int, int, int]:
            """(chain, its step, hi)."""
            head = head_of(node, above)
            if len(node) == 2:
                child = node[1]
                if isinstance(child, str):
                    chain, hi = self.tags.get(child, -1), lo + 1
                    step = add(chain, lo, hi)
                else:
                    chain, step, hi = below(child, node[0], lo)
                up = self._up.get((chain, self.symbols.get(head, -1)))
                if up is None:
                    raise KeyError(rule_text((head, symbol(child, node[0]))))
                return up[0], add(up[0], lo, hi, step, -1, up[1]), hi
            parts = node[1:]
            children = [symbol(child, node[0]) for child in parts]
            try:
                path = [self._states[state] for state in self._path(head, children)]
                inner = [self.symbols[c] for c in children]
                chain = self.symbols[head]
                weights = [self._first[inner[0], path[0]]]
                weights += [self._step[p, c][1] for p, c in zip(path, inner[1:], strict=False)]
                end = self._end[path[-1], chain]
            except KeyError:
                raise KeyError(rule_text((head, *children))) from None
            step, hi = top(parts[0], node[0], lo)
            step = add(K + V + path[0], lo, hi, step, -1, weights[0])
            for child, state, weight in zip(parts[1:], path[1:], weights[1:], strict=True):
                right, hi = top(child, node[0], hi)
                step = add(K + V + state, lo, hi, step, right, weight)
            return chain, add(chain, lo, hi, step, -1, end), hi

        root, hi = top(tree, "", 0)
        if not self.rules.start[self.symbols[head_of(tree, "")]]:
            raise KeyError(f"the root {tree[0]!r}, which is no start symbol")
        add(K + V + len(self._states), 0, hi, root)
        return steps


def step_text(head: Symbol, state: Any, child: Any) -> str:
    """A step as text: NP: DT JJ + NN is NN after DT and JJ within an NP; with h = 0, before is nothing."""
    seen = [] if state is None else state[-1] or ["..."]
    texts = ["^".join(symbol) if isinstance(symbol, tuple) else symbol for symbol in (head, *seen, child)]
    return f"{texts[0]}: {' '.join([*texts[1:-1], '+', texts[-1]])}"


def _listed(n: int, entries: list[tuple[int, tuple[int, ...]]], width: int) -> list[np.ndarray]:
    """Entries by key 0 .. n - 1, in the order given: offsets (n + 1,), then one array per column."""
    entries = sorted(entries, key=lambda entry: entry[0])
    offsets = np.zeros(n + 1, dtype=np.int64)
    for key, _ in entries:
        offsets[key + 1] += 1
    offsets = np.cumsum(offsets)
    columns = np.array([values for _, values in entries], dtype=np.int64).reshape(-1, width)
    return [offsets, *(np.ascontiguousarray(columns[:, k]) for k in range(width))]
