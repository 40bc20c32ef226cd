"""Parse forests: every tree of a grammar over a sentence, packed once so that searches only walk edges.

A context-free grammar is read as three small machines over symbols (tags, which are the words, come first):

    states   read the children of a node from left to right. `first` reads the first child, `step` the next
             one, `end` completes a node of two children or more.
    chains   unary rules over one span, bottom first: chain c < n_symbols is symbol c alone, `up` puts one
             more symbol on top. No label stands twice in a chain, so chains are finite in number even where
             unary rules form a cycle, and a cycle of positive weight can be used only once.
    start    the symbols a tree may have at its root.

`forest` is the chart of CKY (Younger 1967; jmlr05 Section 4.5.2) for one sentence, O(T^3) in its length T:
nodes are (machine's item, lo, hi), edges are ways to derive a node from one or two others, and only what
belongs to some whole tree is kept. One derivation is one tree: binarisation never shows outside, and no tree
is found twice. Weights have no part in this, so a forest serves every search over its sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structmargin.compiled import compiled


class Rules(NamedTuple):
    """The machines as arrays (int64), lists by state, symbol or chain as offsets `_at` and entries.

    `_rule` names what a step is worth: an index into the scores that searches take, or -1 for nothing.
    """

    n_tags: int  # symbols below this are tags
    first_at: np.ndarray  # (n_symbols + 1,)
    first_state: np.ndarray  # never one that `step` reaches; of a single symbol where the rule is -1
    first_rule: np.ndarray
    step_at: np.ndarray  # (n_states + 1,)
    step_symbol: np.ndarray
    step_state: np.ndarray
    step_rule: np.ndarray
    end_at: np.ndarray  # (n_states + 1,)
    end_symbol: np.ndarray
    end_rule: np.ndarray
    up_at: np.ndarray  # (n_chains + 1,), a tree of chains
    up_chain: np.ndarray  # above the chain it is listed for, in number too
    up_rule: np.ndarray
    symbol: np.ndarray  # (n_chains,) the symbol on top
    label: np.ndarray  # (n_chains,) the label of that symbol's bracket, -1 for tags
    start: np.ndarray  # (n_symbols,) bool


class Forests(NamedTuple):
    """Forests of n sentences, packed. Nodes of a sentence are in an order in which edges come from earlier
    nodes; its last node is the goal. A sentence without a tree has no nodes."""

    start: np.ndarray  # (n + 1,) int64, first node of each sentence
    item: np.ndarray  # (N,) int32: chains, then tops (by symbol), then states, then the goal
    label: np.ndarray  # (N,) int32, the label of the node's bracket, -1 for none
    lo: np.ndarray  # (N,) int32
    hi: np.ndarray  # (N,) int32
    edge_start: np.ndarray  # (N + 1,) int64, first edge of each node; leaves have none
    left: np.ndarray  # (E,) int32, a node of the same sentence, counted from its first one
    right: np.ndarray  # (E,) int32, -1 for an edge from one node
    rule: np.ndarray  # (E,) int32, -1 for an edge worth nothing


def forests(rules: Rules, sentences: Sequence[np.ndarray]) -> Forests:
    """The forests of sentences, each an int64 array of tags; a tag outside 0 .. n_tags - 1 has no tree."""
    parts = [_forest(rules, words) for words in sentences]
    starts, edges = (_offsets([len(part[k]) for part in parts]) for k in (0, 5))
    item, label, lo, hi, edge_start, left, right, rule = (
        np.concatenate([np.zeros(0, np.int32), *(part[k] for part in parts)]) for k in range(8)
    )
    edge_start = np.concatenate(
        [[0], *(part[4][1:] + first for part, first in zip(parts, edges[:-1], strict=True))]
    ).astype(np.int64)
    return Forests(starts, item, label, lo, hi, edge_start, left, right, rule)


def _offsets(lengths: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# Plain loops instead of slice assignments, and int64 throughout: compiled in a fraction of the time.


@compiled
def _room(array, used):  # type: ignore[no-untyped-def]
    """The array, or one twice as long if all its rows are used."""
    if used < array.shape[0]:
        return array
    larger = np.empty((2 * used, array.shape[1]), np.int64)
    for k in range(used):
        for t in range(array.shape[1]):
            larger[k, t] = array[k, t]
    return larger


@compiled
def _put(array, k, a, b, c, d):  # type: ignore[no-untyped-def]
    """The array, grown if need be, with row k set."""
    array = _room(array, k)
    array[k, 0] = a
    array[k, 1] = b
    array[k, 2] = c
    array[k, 3] = d
    return array


@compiled
def _clear(array):  # type: ignore[no-untyped-def]
    for k in range(array.shape[0]):
        array[k] = -1


class Chart(NamedTuple):
    """Which node stands for an item over a span, -1 where none does; spans are numbered by `_cell`.

    States that span c has are listed in the order in which they were reached, listed[begin[c]:begin[c + 1]].
    """

    states: np.ndarray  # (spans * n_states,) int64
    tops: np.ndarray  # (spans * n_symbols,) int64: a finished symbol
    begin: np.ndarray  # (spans + 1,) int64
    chains: np.ndarray  # (n_chains,) int64, of the span at hand alone
    times: np.ndarray  # (n_symbols,) int64: how many chains of the span at hand have the symbol on top


class Growth(NamedTuple):
    """Arrays that grow while a forest is built, each with its length in use."""

    nodes: np.ndarray  # (., 4) int64: item, label, lo, hi
    n: np.int64
    edges: np.ndarray  # (., 4) int64: head, left, right, rule
    m: np.int64
    listed: np.ndarray  # (., 1) int64: states
    used: np.int64


class Span(NamedTuple):
    """The tags lo .. hi - 1 and the span's number."""

    lo: int
    hi: int
    cell: np.int64


@compiled
def _forest(rules, words):  # type: ignore[no-untyped-def]
    """(item, label, lo, hi, at, left, right, rule) of one sentence's forest, empty if it has no tree."""
    T, V = words.shape[0], rules.first_at.shape[0] - 1
    Q, K = rules.step_at.shape[0] - 1, rules.symbol.shape[0]
    cells = T * (T + 1) // 2
    states, tops = np.empty(cells * Q, np.int64), np.empty(cells * V, np.int64)
    _clear(states)
    _clear(tops)
    begin = np.zeros(cells + 1, np.int64)
    chart = Chart(states, tops, begin, np.empty(K, np.int64), np.empty(V, np.int64))
    nodes, edges, listed = (
        np.empty((512, 4), np.int64),
        np.empty((1024, 4), np.int64),
        np.empty((1024, 1), np.int64),
    )
    zero = np.int64(0)  # typed: literals would compile anew
    growth = Growth(nodes, zero, edges, zero, listed, zero)
    cell = zero
    for length in range(1, T + 1):
        for lo in range(T - length + 1):
            span = Span(lo, lo + length, cell)
            _clear(chart.chains)
            if length == 1:
                growth = _read_tag(rules, words, chart, span, growth)
            else:
                growth = _read_next_children(rules, T, chart, span, growth)
                growth = _complete_nodes(rules, chart, span, growth)
            growth = _stack_unary_rules(rules, chart, span, growth)
            growth = _finish_symbols(rules, chart, span, growth)
            growth = _read_first_children(rules, chart, span, growth)
            cell += 1
            begin[cell] = growth.used
    nodes, n, edges, m, _, _ = _reach_goal(rules, T, chart, growth)
    return _swept(nodes, n, edges, m)


@compiled
def _read_tag(rules, words, chart, span, growth):  # type: ignore[no-untyped-def]
    """The node of the tag itself, for a span of one known tag."""
    nodes, n, edges, m, listed, used = growth
    if 0 <= words[span.lo] < rules.n_tags:
        nodes = _put(nodes, n, words[span.lo], np.int64(-1), span.lo, span.hi)
        chart.chains[words[span.lo]] = n
        n += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _read_next_children(rules, T, chart, span, growth):  # type: ignore[no-untyped-def]
    """States that a state over lo .. mid reaches by reading a finished symbol over mid .. hi."""
    nodes, n, edges, m, listed, used = growth
    V, Q = chart.times.shape[0], rules.step_at.shape[0] - 1
    K = chart.chains.shape[0]
    states, tops, begin = chart.states, chart.tops, chart.begin
    for mid in range(span.lo + 1, span.hi):
        left, right = _cell(T, span.lo, mid), _cell(T, mid, span.hi)
        for k in range(begin[left], begin[left + 1]):
            p = listed[k, 0]
            for s in range(rules.step_at[p], rules.step_at[p + 1]):
                child = tops[right * V + rules.step_symbol[s]]
                if child < 0:
                    continue
                place = span.cell * Q + rules.step_state[s]
                if states[place] < 0:
                    nodes = _put(nodes, n, K + V + rules.step_state[s], np.int64(-1), span.lo, span.hi)
                    states[place] = n
                    n += 1
                    listed = _room(listed, used)
                    listed[used, 0] = rules.step_state[s]
                    used += 1
                edges = _put(edges, m, states[place], states[left * Q + p], child, rules.step_rule[s])
                m += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _complete_nodes(rules, chart, span, growth):  # type: ignore[no-untyped-def]
    """Symbols over the span whose last child a state has read."""
    nodes, n, edges, m, listed, used = growth
    Q, chains, states = rules.step_at.shape[0] - 1, chart.chains, chart.states
    for k in range(chart.begin[span.cell], used):
        q = listed[k, 0]
        for s in range(rules.end_at[q], rules.end_at[q + 1]):
            c = rules.end_symbol[s]
            if chains[c] < 0:
                nodes = _put(nodes, n, c, rules.label[c], span.lo, span.hi)
                chains[c] = n
                n += 1
            edges = _put(edges, m, chains[c], states[span.cell * Q + q], np.int64(-1), rules.end_rule[s])
            m += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _stack_unary_rules(rules, chart, span, growth):  # type: ignore[no-untyped-def]
    """Longer chains over the span, shorter ones first; counts how many have each symbol on top."""
    nodes, n, edges, m, listed, used = growth
    chains, times = chart.chains, chart.times
    for c in range(times.shape[0]):
        times[c] = 0
    for c in range(chains.shape[0]):
        if chains[c] < 0:
            continue
        times[rules.symbol[c]] += 1
        for s in range(rules.up_at[c], rules.up_at[c + 1]):
            above = rules.up_chain[s]
            nodes = _put(nodes, n, above, rules.label[above], span.lo, span.hi)
            chains[above] = n
            edges = _put(edges, m, n, chains[c], np.int64(-1), rules.up_rule[s])
            n += 1
            m += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _finish_symbols(rules, chart, span, growth):  # type: ignore[no-untyped-def]
    """One node per symbol over the span, from all chains that have it on top."""
    nodes, n, edges, m, listed, used = growth
    K, V = chart.chains.shape[0], chart.times.shape[0]
    chains, tops, times = chart.chains, chart.tops, chart.times
    for c in range(K):
        if chains[c] < 0:
            continue
        place = span.cell * V + rules.symbol[c]
        if times[rules.symbol[c]] == 1:  # one chain only: it stands for the symbol itself
            tops[place] = chains[c]
            continue
        if tops[place] < 0:
            nodes = _put(nodes, n, K + rules.symbol[c], np.int64(-1), span.lo, span.hi)
            tops[place] = n
            n += 1
        edges = _put(edges, m, tops[place], chains[c], np.int64(-1), np.int64(-1))
        m += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _read_first_children(rules, chart, span, growth):  # type: ignore[no-untyped-def]
    """States that have read a symbol over the span as their first child."""
    nodes, n, edges, m, listed, used = growth
    K, V = chart.chains.shape[0], chart.times.shape[0]
    Q, states, tops = rules.step_at.shape[0] - 1, chart.states, chart.tops
    for c in range(V):
        top = tops[span.cell * V + c]
        if top < 0:
            continue
        for s in range(rules.first_at[c], rules.first_at[c + 1]):
            place = span.cell * Q + rules.first_state[s]
            if states[place] < 0:
                states[place] = top  # worth nothing: the child stands for the state
                if rules.first_rule[s] >= 0:
                    nodes = _put(nodes, n, K + V + rules.first_state[s], np.int64(-1), span.lo, span.hi)
                    states[place] = n
                    n += 1
                listed = _room(listed, used)
                listed[used, 0] = rules.first_state[s]
                used += 1
            if rules.first_rule[s] >= 0:
                edges = _put(edges, m, states[place], top, np.int64(-1), rules.first_rule[s])
                m += 1
    return Growth(nodes, n, edges, m, listed, used)


@compiled
def _reach_goal(rules, T, chart, growth):  # type: ignore[no-untyped-def]
    """The goal, after all other nodes: a start symbol over the whole sentence."""
    nodes, n, edges, m, listed, used = growth
    V, Q, K = chart.times.shape[0], rules.step_at.shape[0] - 1, chart.chains.shape[0]
    none, last = np.int64(-1), chart.begin.shape[0] - 2
    nodes = _put(nodes, n, K + V + Q, none, np.int64(0), T)
    for c in range(V):
        if T > 0 and rules.start[c] and chart.tops[last * V + c] >= 0:
            edges = _put(edges, m, n, chart.tops[last * V + c], none, none)
            m += 1
    return Growth(nodes, n + 1, edges, m, listed, used)


@compiled
def _cell(T, lo, hi):  # type: ignore[no-untyped-def]
    """The number of a span among all, short ones first."""
    shorter = hi - lo - 1
    return shorter * T - shorter * (shorter - 1) // 2 + lo


@compiled
def _swept(nodes, n, edges, m):  # type: ignore[no-untyped-def]
    """What of n nodes and m edges belongs to a whole tree, edges by heads; node n - 1 is the goal."""
    first_edge = np.zeros(n + 1, np.int64)
    for e in range(m):
        first_edge[edges[e, 0] + 1] += 1
    for u in range(n):
        first_edge[u + 1] += first_edge[u]
    order, fill = np.empty(m, np.int64), np.empty(n, np.int64)
    for u in range(n):
        fill[u] = first_edge[u]
    for e in range(m):
        order[fill[edges[e, 0]]] = e
        fill[edges[e, 0]] += 1
    wanted = np.zeros(n, np.bool_)
    wanted[n - 1] = first_edge[n] > first_edge[n - 1]
    n_nodes_used, n_edges_used = 0, 0
    for u in range(n - 1, -1, -1):
        if wanted[u]:
            n_nodes_used += 1
            n_edges_used += first_edge[u + 1] - first_edge[u]
            for k in range(first_edge[u], first_edge[u + 1]):
                e = order[k]
                wanted[edges[e, 1]] = True
                if edges[e, 2] >= 0:
                    wanted[edges[e, 2]] = True
    item, label = np.empty(n_nodes_used, np.int32), np.empty(n_nodes_used, np.int32)
    lo, hi = np.empty(n_nodes_used, np.int32), np.empty(n_nodes_used, np.int32)
    begin = np.zeros(n_nodes_used + 1, np.int64)
    left, right, rule = (
        np.empty(n_edges_used, np.int32),
        np.empty(n_edges_used, np.int32),
        np.empty(n_edges_used, np.int32),
    )
    place = np.empty(n, np.int64)
    i, j = 0, 0
    for u in range(n):
        if not wanted[u]:
            continue
        place[u] = i
        item[i], label[i], lo[i], hi[i] = nodes[u, 0], nodes[u, 1], nodes[u, 2], nodes[u, 3]
        for k in range(first_edge[u], first_edge[u + 1]):
            e = order[k]
            left[j], rule[j] = place[edges[e, 1]], edges[e, 3]
            right[j] = place[edges[e, 2]] if edges[e, 2] >= 0 else -1
            j += 1
        i += 1
        begin[i] = j
    return item, label, lo, hi, begin, left, right, rule
