"""The Grammar problem: what it learns, its features and losses, its options, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.trees import all_trees, example, one_minus_f1, seeds, used, weights
from structmargin import NoParseWarning, StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Grammar
from structmargin.scorer import LinearScorer

Y = [
    ("S", ("NP", "DT", "NN"), ("VP", "VBZ", ("NP", "DT", "JJ", "NN"))),
    ("S", ("NP", "NN"), ("VP", "VBZ", ("NP", ("NP", "NN"), ("PP", "IN", ("NP", "NN"))))),
    ("S", ("VP", ("VP", "VBZ", ("NP", "NN")), ("PP", "IN", ("NP", "DT", "NN")))),
]
X = [
    ("DT", "NN", "VBZ", "DT", "JJ", "NN"),
    ("NN", "VBZ", "NN", "IN", "NN"),
    ("VBZ", "NN", "IN", "DT", "NN"),
]


def test_bind_learns_every_rule_of_training_and_nothing_else():
    problem = Grammar().bind(X, Y)
    assert set(problem.rules) == {rule for y in Y for rule in used(y)}
    assert problem.start == ("S",)
    assert problem.n_weights == len(problem.rules) == len(set(problem.rules))
    assert "NP -> DT JJ NN" in problem.weight_names
    psi = problem.psi(X[1], Y[1])
    assert {n: c for n, c in zip(problem.weight_names, psi, strict=True) if c} == {
        "S -> NP VP": 1, "NP -> NN": 3, "VP -> VBZ NP": 1, "NP -> NP PP": 1, "PP -> IN NP": 1,
    }  # fmt: skip
    assert Grammar().rules is None


def test_a_loss_known_by_hand():
    y = ("S", ("NP", "a"), ("VP", "b", ("NP", "c")))
    ybar = ("S", ("NP", "a", "b"), ("NP", "c"))
    # given: S 0-3, NP 0-1, VP 1-3, NP 2-3; found: S 0-3, NP 0-2, NP 2-3; two are right
    assert Grammar().delta(y, ybar) == pytest.approx(1 - 2 * 2 / (4 + 3))
    assert Grammar().delta(y, None) == Grammar(loss="zero_one").delta(y, None) == 1.0
    assert Grammar(loss="zero_one").delta(y, ybar) == 1.0
    assert Grammar().delta(y, y) == Grammar(loss="zero_one").delta(y, y) == 0.0


@pytest.mark.parametrize("cycle", [5.0, -5.0])
def test_a_cycle_of_unary_rules_is_gone_round_at_most_once(cycle):
    rules = ((("A",), ("B",)), (("B",), ("A",)), (("A",), "x"), (("B",), "x"))
    problem = Grammar(rules=rules, start=("A",))
    f = LinearScorer(problem, np.array([cycle, cycle, 1.0, 0.0]))
    assert problem.argmax(f, ("x",)) == (("A", ("B", "x")) if cycle > 0 else ("A", "x"))


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_parents_and_spans_against_all_trees(seed):
    """Rules annotated by hand from a few listed trees; spans counted by their definition."""
    rng, _, _, x, trees = example(seed, longest=5, least=2)
    given_trees = [trees[k] for k in rng.integers(0, len(trees), 3)]
    problem = Grammar(parents=True, spans=True).bind([x] * 3, given_trees)
    annotated = list({rule: None for y in given_trees for rule in used(y, parents=True)})
    assert list(problem.rules) == annotated
    outputs = {t for label in {y[0] for y in given_trees} for t in all_trees(annotated, (label, ""), x)}
    assume(len(outputs) <= 300)
    assert outputs >= set(given_trees)
    f = LinearScorer(problem, weights(rng, problem.n_weights))
    value = {t: by_hand(problem, f.w, x, t) for t in outputs}
    y = given_trees[0]
    assert value[problem.argmax(f, x)] == pytest.approx(max(value.values()))
    batch = problem.batch([x], [y])
    for formulation in FORMULATIONS.values():
        found = batch.search(f, np.array([0]), formulation.H)
        ybar = found.outputs[0]
        assert (found.rows @ f.w)[0] == pytest.approx(value[y] - value[ybar])
        H = {t: float(formulation.H(one_minus_f1(y, t), value[y] - value[t])) for t in outputs}
        assert max(H[ybar], 0.0) == pytest.approx(max(0.0, *H.values()), abs=1e-9)


def by_hand(problem, w, x, tree):
    """The score of a tree by names of weights."""
    place = {name: k for k, name in enumerate(problem.weight_names)}
    names = ["^".join(r[0]) + " -> " + " ".join(c if isinstance(c, str) else "^".join(c) for c in r[1:])
             for r in used(tree, parents=True)]  # fmt: skip

    def walk(node, lo):
        if isinstance(node, str):
            return lo + 1
        hi = lo
        for child in node[1:]:
            hi = walk(child, hi)
        before = x[lo - 1] if lo > 0 else "the end"
        after = x[hi] if hi < len(x) else "the end"
        names.extend(
            [f"{node[0]} of length {hi - lo}", f"{node[0]} after {before}", f"{node[0]} before {after}"]
        )
        return hi

    walk(tree, 0)
    return sum(w[place[name]] for name in names)


def test_relative_frequencies_of_any_option_sum_to_one_over_short_trees():
    """Groups are what a weight is conditional on: with probabilities within them, the trees that the Markov
    grammar of one head generates have total probability one (here at most 3 children; h = 1 can go on)."""
    problem = Grammar(horizontal=1).bind([("a", "b"), ("a",)], [("S", "a", "b"), ("S", "a")])
    counts = problem.psi(("a", "b"), ("S", "a", "b")) + problem.psi(("a",), ("S", "a"))
    group = problem.tables.group
    p = counts / np.bincount(group, counts)[group]
    total = sum(
        np.exp(problem.psi(x, y) @ np.log(p))
        for x, y in [(("a",), ("S", "a")), (("a", "b"), ("S", "a", "b"))]
    )
    assert total == pytest.approx(1.0)


def test_a_model_is_trained_saved_and_loaded(tmp_path):
    """Plain rules cannot tell the two attachments of Y apart (as many rules of each kind), spans can."""
    for problem, right in ((Grammar(), 2), (Grammar(parents=True, horizontal=1, spans=True), 3)):
        model = StructuredSVM(problem, "SVM2 margin", C=100.0, eps=1e-3).fit(X, Y)
        assert sum(yhat == y for yhat, y in zip(model.predict(X), Y, strict=True)) == right
        assert -model.score(X, Y) <= np.mean(model.fit_.xi**2)
        assert model.fit_.gap <= 1e-2 * model.fit_.primal
        model.save(tmp_path / "model.npz")
        again = StructuredSVM.load(tmp_path / "model.npz")
        new = [*X, ("DT", "NN", "VBZ", "NN")]
        assert again.predict(new) == model.predict(new)
        assert again.problem_.weight_names == model.problem_.weight_names


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_radius_bounds_every_pair_of_trees(seed):
    _, rules, start, x, trees = example(seed, longest=4, least=2, most=60)
    for spans in (False, True):
        problem = Grammar(rules=rules, start=start, spans=spans)
        rows = np.array([problem.psi(x, t) for t in trees])
        apart = max(np.linalg.norm(a - b) for a in rows for b in rows)
        most = max(row.sum() for row in rows)
        assert apart <= problem.radius(x) == pytest.approx(np.sqrt(2) * most)


def test_what_cannot_be_parsed_is_none_and_costs_all():
    problem = Grammar().bind(X, Y)
    f = LinearScorer(problem, np.zeros(problem.n_weights))
    for x in (("DT",), ("UH", "NN"), ("DT", "NN", "never")):
        assert problem.argmax(f, x) is None
        assert problem.radius(x) == 0.0
    model = StructuredSVM(Grammar(), "SVM2", eps=0.01).fit(X, Y)
    with pytest.warns(NoParseWarning):
        assert model.predict([("UH",)]) == [None]
    with pytest.warns(NoParseWarning):
        assert model.score([("UH",)], [("S", ("INTJ", "UH"))]) == -1.0


def test_a_warning_says_which_sentences_have_no_parse_and_what_to_do():
    model = StructuredSVM(Grammar(), eps=0.01).fit(X, Y)
    with pytest.warns(NoParseWarning) as caught:
        yhat = model.predict([X[0], ("DT",), X[1], ("NN", "NN", "VBZ")])
    assert [tree is None for tree in yhat] == [False, True, False, True]
    message = str(caught.pop().message)
    assert message.startswith("2 of 4 sentences have no parse") and "(number 1, 3, counted from 0)" in message
    assert message.endswith("Grammar(horizontal=1), or 0, or give more training trees")
    assert caught.list == []  # one warning for all
    with pytest.warns(
        NoParseWarning, match="7 of 7 sentences.*number 0, 1, 2, 3, 4, .... counted.*'UH', 'FW'"
    ) as at:
        model.predict([("UH", "NN", "FW")] * 7)
    assert at[0].filename == __file__


def test_a_markov_order_parses_what_whole_rules_do_not():
    x, y = ("DT", "JJ", "JJ", "NN", "VBZ"), ("S", ("NP", "DT", "JJ", "JJ", "NN"), ("VP", "VBZ"))
    longer = ("DT", "JJ", "JJ", "JJ", "NN", "VBZ")
    with pytest.warns(NoParseWarning, match="1 of 2 sentences have no parse.*number 1,"):
        assert StructuredSVM(Grammar()).fit([x], [y]).predict([x, longer]) == [y, None]
    yhat = StructuredSVM(Grammar(horizontal=1)).fit([x], [y]).predict([x, longer])
    assert yhat == [y, ("S", ("NP", "DT", "JJ", "JJ", "JJ", "NN"), ("VP", "VBZ"))]


CASES = [
    ([("a",)], ["a"], "tree of example 0: 'a' is no tree"),
    ([("a",)], [("S",)], r"tree of example 0: the node \('S',\) is not \(label, child"),
    ([("a",)], [("S", ("A", ("B", ("A", "a"))))], "'A' stands twice in a chain"),
    ([("a", "b")], [("S", "a")], "leaves of the tree of example 0 are a, but its tags are a b"),
    ([("a",), ("b",)], [("S", "a")], "X has 2 examples but Y has 1"),
]


@pytest.mark.parametrize(("X", "Y", "message"), CASES)
def test_bad_trees_are_refused_by_example(X, Y, message):
    with pytest.raises(ValueError, match=message):
        Grammar().bind(X, Y)


def test_bad_sentences_rules_and_options_are_refused():
    problem = Grammar().bind(X, Y)
    f = LinearScorer(problem, np.zeros(problem.n_weights))
    with pytest.raises(ValueError, match="x of example 1 must be a sequence of one tag or more"):
        problem.batch([("DT",), ()], None)
    with pytest.raises(ValueError, match="cannot derive the tree of example 0: it lacks S -> NN"):
        problem.check([("NN",)], [("S", "NN")])
    with pytest.raises(ValueError, match="it lacks the root 'NP', which is no start symbol"):
        problem.psi(("NN",), ("NP", "NN"))
    with pytest.raises(ValueError, match="lacks VP -> NN VBZ"):
        problem.augmented_argmax(f, ("NN", "VBZ"), ("S", ("VP", "NN", "VBZ")), FORMULATIONS["SVM1"].H)
    with pytest.raises(ValueError, match="no rules yet: call bind"):
        Grammar().psi(X[0], Y[0])
    with pytest.raises(ValueError, match=r"rule 0 is .* but a rule is"):
        _ = Grammar(rules=(("S", "a"),), start=("S",)).tables
    with pytest.raises(ValueError, match="loss must be one of f1, zero_one, but it is 'hamming'"):
        Grammar(loss="hamming")
    with pytest.raises(ValueError, match="horizontal must be None or a number of children from 0 on"):
        Grammar(horizontal=-1)
    with pytest.raises(ValueError, match="takes no joint kernel"):
        StructuredSVM(Grammar(), kernel=object()).fit(X, Y)
    labels = [f"L{k}" for k in range(12)]
    cyclic = tuple(((a,), (b,)) for a in labels for b in labels if a != b)
    with pytest.raises(ValueError, match="unary rules form more than 100000 chains"):
        Grammar(rules=(*cyclic, (("L0",), "x")), start=("L0",)).argmax(f, ("x",))


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from(sorted(FORMULATIONS)))
def test_one_search_does_not_depend_on_its_neighbours(seed, name):
    rng, rules, start, x, trees = example(seed, longest=5, least=2)
    ys = [trees[k] for k in rng.integers(0, len(trees), 4)]
    problem = Grammar(rules=rules, start=start)
    f = LinearScorer(problem, weights(rng, len(rules)))
    together = problem.batch([x] * 4, ys).search(f, np.arange(4), FORMULATIONS[name].H)
    alone = [problem.augmented_argmax(f, x, y, FORMULATIONS[name].H) for y in ys]
    assert list(together.outputs) == alone
    assert together.outputs[1:3] == alone[1:3]
