"""Weighted context-free grammars: the tree of a sentence of part-of-speech tags (jmlr05 Section 4.5).

No label stands twice in a chain of single children. So scores are finite whatever the weights (a cycle of
unary rules cannot be gone round), and brackets form a set. F1 counts every node but tags, as evalb does once
TOP and pre-terminals are left out: the outermost label of a tree here is that of the sentence, and counts.
`bind` learns the rules: all that occur in the training trees, and their roots as start symbols. Parsing by
any H is in `structmargin.oracles.cky_f1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from structmargin.formulation import Cost
from structmargin.inputs.containers import by_position, is_listed
from structmargin.inputs.gate import require_equal
from structmargin.oracles.cky import Forests
from structmargin.oracles.cky_best import best
from structmargin.problem import Scorer
from structmargin.problems._params import Params
from structmargin.problems.grammar.batch import GrammarBatch, PackedForests
from structmargin.problems.grammar.tables import Step, Tables
from structmargin.problems.grammar.trees import Node, Rule, Tree, brackets, fault, leaves, rules_of

LOSSES = ("f1", "zero_one")
MAX_SPAN = 10
"""Spans of this length and beyond share their weights."""


@dataclass(frozen=True, eq=False)
class Grammar(Params):
    """Parsing with a weighted context-free grammar: the tree of a sentence of part-of-speech tags.

    An input x is a sequence of tags, an output y a tree over it as nested tuples (label, child, ...) whose
    leaves are the tags:

        x = ("DT", "NN", "VBZ")        y = ("S", ("NP", "DT", "NN"), ("VP", "VBZ"))

        Psi(x, y)       how often the tree uses each rule, or with `horizontal` each step of a Markov chain of
                        children; with `spans`, besides, for each bracket its label with its length, with the
                        tag before it and with the tag after it
        Delta(y, ybar)  1 - F1 of labelled brackets, or whether the trees differ

    Outputs are all trees that the rules allow in which no label stands twice in a chain of single children. A
    sentence without such a tree has the prediction None, with Delta(y, None) = 1, and `predict` tells of such
    sentences by a `NoParseWarning`; see the notes. Parsing is exact for every formulation.

    Parameters
    ----------
    loss : {"f1", "zero_one"}, default="f1"
        Delta: 1 - F1 of the brackets (label, first, last) of all nodes but tags, or 1 if the trees differ.
    parents : bool, default=False
        Whether labels are annotated with their parent's inside the grammar. Outputs do not show it.
    horizontal : int, default=None
        The number of preceding children that a child depends on, besides the head. None: whole rules.
    spans : bool, default=False
        Whether brackets have weights for their length and for the tags around them.
    start : sequence of str, default=None
        The labels that a tree may have at its root. None: those of the training trees.
    rules : sequence of tuples, default=None
        Rules (head, child, ...): tags are strings, other symbols tuples (label,), with `parents` (label,
        label of the parent), '' at the root. None: those of the training trees.

    Attributes
    ----------
    n_weights : int
        The number of rules or steps, and of weights of spans.
    weight_names : list of str
        What each weight is for.

    Notes
    -----
    In training, a tree that given `rules` or `start` do not derive is an error that names the first such
    example. In prediction a sentence has no parse where it needs a rule or has a tag that no training tree
    had. The whole rules of a small treebank leave sentences out. `horizontal=1` lets children follow each
    other as they did in any rule of the same head: sentences with known tags then seldom lack a parse, and F1
    can be higher by several points. More training trees help either way, and rare tags can be replaced by a
    common one, in training as in prediction.

    References
    ----------
    .. [1] Tsochantaridis, Joachims, Hofmann and Altun, "Large margin methods for structured and
       interdependent output variables", JMLR 6, 2005, Sections 4.5 and 5.4.
    .. [2] Johnson, "PCFG models of linguistic tree representations", Computational Linguistics 24, 1998.
    .. [3] Klein and Manning, "Accurate unlexicalized parsing", ACL 2003.

    Examples
    --------
    >>> from structmargin import StructuredSVM
    >>> from structmargin.problems import Grammar
    >>> X = [("DT", "NN", "VBZ"), ("NN", "VBZ", "DT", "NN")]
    >>> Y = [
    ...     ("S", ("NP", "DT", "NN"), ("VP", "VBZ")),
    ...     ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", "DT", "NN"))),
    ... ]
    >>> problem = Grammar().bind(X, Y)
    >>> problem.weight_names[:3]
    ['S -> NP VP', 'NP -> DT NN', 'VP -> VBZ']
    >>> problem.psi(X[1], Y[1]).tolist()
    [1.0, 1.0, 0.0, 1.0, 1.0]
    >>> StructuredSVM(Grammar(), C=100.0).fit(X, Y).predict([("DT", "NN", "VBZ", "NN")])[0]
    ('S', ('NP', 'DT', 'NN'), ('VP', 'VBZ', ('NP', 'NN')))
    """

    loss: str = "f1"
    parents: bool = False
    horizontal: int | None = None
    spans: bool = False
    start: Sequence[str] | None = None
    rules: Sequence[Rule] | None = None

    explicit_only: ClassVar[str] = "its search needs a weight for every rule"

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, but it is {self.loss!r}")
        h = self.horizontal
        if h is not None and (not isinstance(h, int) or isinstance(h, bool) or h < 0):
            raise ValueError(f"horizontal must be None or a number of children from 0 on, but it is {h!r}")

    def check_params(self) -> None:
        """Raise unless rules and start symbols are texts and tuples of texts that make a grammar."""
        for name, values in (("rules", self.rules), ("start", self.start)):
            if not isinstance(values, (list, tuple)) or not len(values):
                raise ValueError(f"{name} must be a list with at least one entry, but are {values!r}")
        if not all(isinstance(label, str) for label in self.start or ()):
            raise ValueError("start must be labels, which are texts")
        n = 2 if self.parents else 1
        for k, rule in enumerate(self.rules or ()):
            parts = rule if isinstance(rule, (list, tuple)) else ()
            symbols = [part for part in parts if isinstance(part, (list, tuple))]
            texts = all(len(s) == n and all(isinstance(t, str) for t in s) for s in symbols)
            if len(symbols) + sum(isinstance(part, str) for part in parts) != len(parts) or not texts:
                raise ValueError(f"rule {k} is {rule!r}, but a rule has texts and tuples of {n} texts alone")
        self.tables  # noqa: B018 - says what else is wrong with the rules

    def bind(self, X: Sequence[Sequence[str]], Y: Sequence[Node]) -> Self:
        """The grammar of all rules that occur in the trees Y; rules and start symbols given stay."""
        X, _ = self.wrap(X, None)
        self.check_inputs(X)
        check_trees(X, Y)
        rules, start = self.rules, self.start
        if rules is None:
            rules = tuple(dict.fromkeys(rule for y in Y for rule in rules_of(y, self.parents)))
        if start is None:
            start = tuple(dict.fromkeys(y[0] for y in Y))
        return replace(self, rules=rules, start=start)

    @cached_property
    def tables(self) -> Tables:
        """Rules and start symbols as numbers."""
        if self.rules is None:
            raise ValueError("this Grammar has no rules yet: call bind(X, Y), or give rules and start")
        rules = [tuple(tuple(c) if not isinstance(c, str) else c for c in rule) for rule in self.rules]
        for k, rule in enumerate(rules):
            if len(rule) < 2 or isinstance(rule[0], str):
                raise ValueError(
                    f"rule {k} is {self.rules[k]!r}, but a rule is (head, child, ...) with a tuple as head"
                )
        roots = [(label, "") if self.parents else (label,) for label in self.start or ()]
        return Tables(cast("list[Rule]", rules), roots, self.horizontal)

    @cached_property
    def label_names(self) -> list[str]:
        """Labels by number."""
        return list(self.tables.labels)

    @property
    def n_weights(self) -> int:
        """The length of w and of Psi(x, y)."""
        return self.tables.n_rules + self.spans * self._per_label * len(self.label_names)

    @property
    def _per_label(self) -> int:
        return MAX_SPAN + 2 * (len(self.tables.tags) + 1)

    @property
    def weight_names(self) -> list[str]:
        """What each weight is for."""
        names = list(self.tables.names)
        if self.spans:
            tags = [*self.tables.tags, "the end"]
            for label in self.label_names:
                names += [f"{label} of length {k}" for k in range(1, MAX_SPAN)]
                names += [f"{label} of length {MAX_SPAN} or more"]
                names += [f"{label} {side} {tag}" for side in ("after", "before") for tag in tags]
        return names

    def span_columns(self, forest: Forests, words: Sequence[np.ndarray]) -> np.ndarray:
        """Three weights a node, of its bracket (N, 3), n_weights where it has none; (0, 3) without spans."""
        if not self.spans:
            return np.zeros((0, 3), dtype=np.int32)
        T, sizes = len(self.tables.tags), np.diff(forest.start)
        padded = np.concatenate([np.zeros(0, np.int32), *(np.array([T, *x, T], np.int32) for x in words)])
        first = np.cumsum([0, *(len(x) + 2 for x in words)])[:-1]  # of each sentence, its end's place
        sentence_start = np.repeat(first, sizes)
        columns = np.stack(
            [
                np.minimum(forest.hi - forest.lo, MAX_SPAN) - 1,
                MAX_SPAN + padded[sentence_start + forest.lo],
                MAX_SPAN + T + 1 + padded[sentence_start + forest.hi + 1],
            ],
            axis=1,
        )
        columns += (self.tables.n_rules + forest.label * self._per_label)[:, None]
        columns[forest.label < 0] = self.n_weights
        return columns.astype(np.int32)

    def psi(self, x: Sequence[str], y: Node) -> np.ndarray:
        """Psi(x, y), an array of shape (n_weights,)."""
        self.check([x], [y])
        counts = np.zeros(self.n_weights)
        for step in self.tables.derivation(y, self.parents):
            if step.rule >= 0:
                counts[step.rule] += 1.0
        if self.spans:
            T, words = len(self.tables.tags), self.tables.words(x)
            tags = [T, *words.tolist(), T]
            for label, lo, hi in brackets(y):
                base = self.tables.n_rules + self.tables.labels[label] * self._per_label
                counts[base + min(hi - lo, MAX_SPAN) - 1] += 1.0
                counts[base + MAX_SPAN + tags[lo]] += 1.0
                counts[base + MAX_SPAN + T + 1 + tags[hi + 1]] += 1.0
        return counts

    def delta(self, y: Node, ybar: Tree | None) -> float:
        """Delta(y, ybar): the loss of predicting ybar where y is right."""
        if self.loss == "zero_one":
            return float(y != ybar)
        if ybar is None:
            return 1.0
        if y == ybar:
            return 0.0
        gold, predicted = brackets(y), brackets(ybar)
        return 1.0 - 2.0 * len(set(gold) & set(predicted)) / (len(gold) + len(predicted))

    def potentials(self, w: np.ndarray, x: Sequence[str] | None = None) -> np.ndarray:
        """The weights themselves; the same for every x."""
        return w

    def argmax(self, f: Scorer, x: Sequence[str]) -> Tree | None:
        """The best-scoring output of x under the scorer f; None where the grammar has none."""
        self.check_inputs([x])
        return PackedForests(self, [x]).argmax(f)[0]

    def augmented_argmax(self, f: Scorer, x: Sequence[str], y: Node, H: Cost) -> Tree | None:
        """The output that maximises H(Delta(y, .), f(x, y) - f(x, .))."""
        ybar: Tree | None = self.batch([x], [y]).search(f, np.array([0]), H).outputs[0]
        return ybar

    def draw(self, x: Sequence[str], y: Node, rng: np.random.Generator) -> Tree | None:
        """A random tree of the grammar; every one can be drawn, small ones are more likely."""
        return PackedForests(self, [x]).draw(0, rng)

    def batch(self, X: Sequence[Sequence[str]], Y: Sequence[Node] | None) -> GrammarBatch:
        """The sentences' forests for both searches, or for `argmax` alone where Y is None."""
        return GrammarBatch(self, X, Y)

    def radius(self, x: Sequence[str]) -> float:
        """sqrt(2) m, where m is the most that the counts of a tree over x can add up to.

        Counts are not negative, so |Psi - Psi'|^2 <= |Psi|^2 + |Psi'|^2 <= 2 m^2: Section 4.5.3's bound for
        trees whose nodes need not branch in two.
        """
        packed = PackedForests(self, [x])
        extra = 3.0 * (packed.forest.label >= 0) if self.spans else np.zeros(0)
        max_count = best(packed.forest, packed.all, np.ones(self.tables.n_rules), extra)[0][0]
        return float(np.sqrt(2.0) * max(max_count, 0.0))

    def max_delta(self, y: Node) -> float:
        """An upper bound on Delta(y, .)."""
        return 1.0

    def wrap(self, X: Any, Y: Any) -> tuple[list[Any], Any]:
        """Tags by position, whatever holds them."""
        sentences = [
            x if isinstance(x, str) else by_position(x, f"x of example {i}") for i, x in enumerate(X)
        ]
        return [x.tolist() if isinstance(x, np.ndarray) else x for x in sentences], Y

    def check_inputs(self, X: Sequence[Sequence[str]]) -> None:
        """Raise unless every x is a sequence of tags, at least one."""
        for i, x in enumerate(X):
            if not is_listed(x) or len(x) == 0 or not all(isinstance(tag, str) for tag in x):
                raise ValueError(f"x of example {i} must be a sequence of one tag or more, but it is {x!r}")

    def check(self, X: Sequence[Sequence[str]], Y: Sequence[Node] | None) -> None:
        """Raise ValueError for the first example whose tree is none, does not fit, or is not derivable."""
        self.check_inputs(X)
        if Y is not None:
            self.derivations(X, Y)

    def check_outputs(self, X: Sequence[Sequence[str]], Y: Sequence[Node]) -> None:
        """Raise unless every y is a tree over the tags of its x, derivable or not."""
        check_trees(X, Y)

    def derivations(self, X: Sequence[Sequence[str]], Y: Sequence[Node]) -> list[list[Step]]:
        """How the grammar derives each tree; ValueError where `check` says so."""
        check_trees(X, Y)
        all_steps = []
        for i, y in enumerate(Y):
            try:
                all_steps.append(self.tables.derivation(y, self.parents))
            except KeyError as missing:
                raise ValueError(
                    f"the grammar cannot derive the tree of example {i}: it lacks {missing.args[0]}; bind "
                    "the problem to trees that have it, or leave the example out"
                ) from None
        return all_steps


def check_trees(X: Sequence[Sequence[str]], Y: Sequence[Node]) -> None:
    """Raise unless every y is a tree whose leaves are the tags of its x."""
    require_equal(X, Y)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        wrong = fault(y)
        if wrong:
            raise ValueError(f"the tree of example {i}: {wrong}")
        tags = leaves(y)
        if tags != [str(tag) for tag in x]:
            raise ValueError(
                f"the leaves of the tree of example {i} are {' '.join(tags)}, but its tags are "
                f"{' '.join(map(str, x))}; let them agree"
            )
