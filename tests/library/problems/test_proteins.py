"""ProteinAlignment: features counted by hand, and its searches against every chain of short pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers import references
from helpers.all_outputs import constraints
from helpers.protein_chains import chains, score
from helpers.protein_pairs import random_pair
from structmargin import StructuredSVM, registry
from structmargin.formulation import FORMULATIONS
from structmargin.oracles.chains import best_chain
from structmargin.problem import Problem
from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import MODELS, Pair
from structmargin.scorer import LinearScorer

MARGIN = FORMULATIONS["SVM1 margin"]
GREASY = set("ACFILMVWY")
LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def around(values, i, beyond):
    return tuple(values[k] if 0 <= k < len(values) else beyond for k in range(i - 2, i + 3))


def features(x, chain, model, gaps):
    """Psi as a dict from what a feature says to its count, written apart from the library's codes."""
    r, s, a, t = (list(map(int, part)) for part in x[:4])
    unknown = x.target_state is None
    ts, ta = (
        [0] * len(t) if part is None else list(map(int, part)) for part in (x.target_state, x.target_access)
    )
    counts = {}

    def add(*what, by=1.0):
        counts[what] = counts.get(what, 0.0) + by

    level = MODELS.index(model)
    for k, (i, j) in enumerate(chain):
        A, B = {"r": r[i], "s": s[i], "a": a[i]}, t[j]
        other_place = {"r": t[j], "s": ts[j], "a": ta[j]}
        for size in range(1, min(level + 1, 3) + 1):
            for names, others in itertools.product(itertools.combinations("rsa", size), repeat=2):
                add(names, others, *(A[c] for c in names), *(other_place[c] for c in others))
        if level >= 3:
            states = around(s, i, 2)
            wet = around([LETTERS[c] in GREASY for c in r], i, False)
            other = around([LETTERS[c] in GREASY for c in t], j, False)
            add("states", states, B)
            add("wet", wet, B)
            add("wet wet", wet, other)
            add("states wet", states, other)
            add("place wet", s[i], a[i], other)
            add("all wet", states, wet, other)
            add("neighbours", states, B, other)
            theirs = "unknown" if unknown else around(ts, j, 2)
            add("states states", states, theirs)
            add("wet states", wet, theirs)
            add("place states", s[i], a[i], theirs)
            add("residue states", r[i], theirs)
        if level >= 4:
            add("template's", s[i], a[i], by=x.template_profile[i][B])
            add("target's", s[i], a[i], by=x.target_profile[j][r[i]])
        if k:
            left, below = chain[k - 1]
            for step, place in enumerate(range(left + 1, i)):
                add("out of template", gaps == "affine" and step > 0, s[place], a[place])
            for step in range(j - below - 1):
                add("out of target", gaps == "affine" and step > 0, s[i - 1], a[i - 1])
    return {what: value for what, value in counts.items() if value}


def q4(y, ybar, tolerance=4):
    wrong = 0
    for i, j in y:
        wrong += not any(jj == j and abs(ii - i) <= tolerance for ii, jj in ybar)
    return wrong / len(y)


def random_chain(rng, n, m):
    k = rng.integers(1, min(n, m) + 1)
    rows = [np.sort(rng.choice(size, k, replace=False)) for size in (n, m)]
    return np.column_stack(rows)


def products(dicts):
    return np.array([[sum(a[what] * b.get(what, 0.0) for what in a) for b in dicts] for a in dicts])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(MODELS), st.sampled_from(["linear", "affine"]), st.booleans()
)
def test_psi_has_the_features_it_should(seed, model, gaps, known):
    """Chains of several pairs have the inner products that features counted by hand have."""
    rng = np.random.default_rng(seed)
    problem = ProteinAlignment(model, gaps)
    X = [random_pair(rng, int(n), int(m), 4, known) for n, m in rng.integers(1, 14, size=(4, 2))]
    Y = [random_chain(rng, len(x.residue), len(x.target)) for x in X]
    rows = np.vstack([problem.psi(x, y).toarray() for x, y in zip(X, Y, strict=True)])
    assert rows.shape[1] == problem.n_weights
    by_hand = [features(x, y.tolist(), model, gaps) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(rows @ rows.T, products(by_hand), atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(MODELS),
    st.sampled_from(["linear", "affine"]),
    st.integers(0, 2),
)
def test_searches_find_the_best_of_all_chains(seed, model, gaps, tolerance):
    """Both searches, alone and in a batch, whatever the weights' signs; losses and rows are the chain's."""
    rng = np.random.default_rng(seed)
    problem = ProteinAlignment(model, gaps, tolerance)
    X = [random_pair(rng, int(n), int(m)) for n, m in rng.integers(1, 5, size=(3, 2))]
    Y = [random_chain(rng, len(x.residue), len(x.target)) for x in X]
    w = rng.normal(size=problem.n_weights) * rng.choice([0.02, 0.3])
    w[problem.first_gap :] = rng.normal(-0.2, 0.5, size=problem.n_weights - problem.first_gap)
    f = LinearScorer(problem, w)
    indices = rng.integers(0, len(X), size=4)
    found = problem.batch(X, Y).search(f, indices, MARGIN.H)
    best = problem.batch(X, None).argmax(f)
    for e, (x, y) in enumerate(zip(X, Y, strict=True)):
        every = [np.array(c, int).reshape(-1, 2) for c in chains(len(x.residue), len(x.target))]
        S, prices = problem.potentials(w, x)
        scores = [score(c.tolist(), S, prices) for c in every]
        for k in rng.integers(1, len(every), size=2):
            assert f(x, every[k]) == pytest.approx(scores[k], abs=1e-9)
        assert best_chain(S, prices)[0] == pytest.approx(max(scores), abs=1e-9)
        assert (f(x, best[e]) if len(best[e]) else 0.0) == pytest.approx(max(scores), abs=1e-9)
        np.testing.assert_array_equal(problem.argmax(f, x), best[e])
        largest = max(MARGIN.H(q4(y, c, tolerance), f(x, y) - s) for c, s in zip(every, scores, strict=True))
        for r in np.flatnonzero(indices == e):
            ybar = found.outputs[r]
            assert found.losses[r] == pytest.approx(q4(y, ybar, tolerance), abs=1e-12)
            assert problem.delta(y, ybar) == pytest.approx(found.losses[r], abs=1e-12)
            at = f(x, ybar) if len(ybar) else 0.0
            assert MARGIN.H(found.losses[r], f(x, y) - at) == pytest.approx(largest, abs=1e-9)
            assert float((found.rows[r] @ w)[0]) == pytest.approx(f(x, y) - at, abs=1e-9)
            np.testing.assert_array_equal(problem.augmented_argmax(f, x, y, MARGIN.H), ybar)


def test_q4_loss_by_hand():
    problem = ProteinAlignment()
    y = np.array([[0, 0], [1, 1], [2, 2], [9, 9]])
    assert problem.delta(y, y) == 0.0
    assert problem.delta(y, y[:0]) == 1.0
    assert problem.delta(y, np.array([[4, 0], [6, 1]])) == 0.75  # 4 away is near enough, 5 is not
    assert problem.delta(y, np.array([[0, 1], [2, 9]])) == 0.75  # 1 is near; 7 away is not; 0, 2 unmatched
    assert ProteinAlignment(tolerance=0).delta(y, y + np.array([1, 0])) == 1.0


def test_numbers_of_weights():
    single, double = 20 + 3 + 5, 60 + 100 + 15
    windows = 20 * (243 + 32) + 32 * (32 + 243 + 15 + 7776) + 243 * 320 + 243 * (243 + 32 + 15 + 20)
    expected = np.cumsum([single**2, double**2, 300**2, windows, 30]) + 60
    assert [ProteinAlignment(model).n_weights for model in MODELS] == expected.tolist()
    assert ProteinAlignment("simple", "linear").n_weights == single**2 + 30


def test_the_papers_example_has_a_weight_of_its_own():
    """'M' in a helix with 'V' in a loop region: a weight of anova2, and of no other match."""
    problem = ProteinAlignment("anova2")
    start = problem.terms.table("residue x state", "residue x state")
    met, val, ala = (LETTERS.index(letter) for letter in "MVA")
    w = np.zeros(problem.n_weights)
    w[start + (3 * met + 0) * 60 + 3 * val + 2] = 1.0

    def score(residue, state, target, target_state):
        x = Pair(*(np.array([c]) for c in (residue, state, 1, target)), None, None,
                 np.array([target_state]), np.array([3]))  # fmt: skip
        return LinearScorer(problem, w)(x, np.array([[0, 0]]))

    assert score(met, 0, val, 2) == 1.0
    assert score(met, 0, val, 1) == score(met, 2, val, 2) == score(ala, 0, val, 2) == 0.0
    assert score(met, 0, ala, 2) == 0.0
    with pytest.raises(ValueError, match="no term of kinds for 'states'"):
        problem.terms.table("states", "residue")


@pytest.mark.parametrize("name", FORMULATIONS)
def test_only_margin_rescaling_with_linear_slacks(name):
    problem, formulation = ProteinAlignment("simple"), FORMULATIONS[name]
    reason = registry.check(problem, formulation, registry.solver("n_slack"), registry.space())
    if name == "SVM1 margin":
        assert reason is None
        return
    assert f"'ProteinAlignment' cannot be trained with '{name}'" in reason
    assert "folds the Q4-loss" in reason
    rng = np.random.default_rng(0)
    x = random_pair(rng, 3, 3)
    with pytest.raises(ValueError, match="folds the Q4-loss"):
        problem.augmented_argmax(
            LinearScorer(problem, np.zeros(problem.n_weights)), x, random_chain(rng, 3, 3), formulation.H
        )


@pytest.mark.parametrize("solver", ["n_slack", "one_slack", "bcfw"])
def test_the_optimum_of_the_problem_with_all_its_constraints(solver):
    rng = np.random.default_rng(3)
    problem = ProteinAlignment("simple", tolerance=0)
    X = [random_pair(rng, 3, 3, 3) for _ in range(4)]
    Y = [random_chain(rng, 3, 3) for _ in X]

    listed = constraints("ProteinAlignment", problem, X, Y)
    best = references.primal("SVM1 margin", 2.0, listed, len(Y)).value
    fit = registry.solver(solver).train(problem, (X, Y), MARGIN, C=2.0, eps=1e-9, gap_tol=1e-5, max_iter=3000)
    assert fit.exact
    assert fit.primal == pytest.approx(best, rel=1e-4)
    assert fit.dual <= best * (1 + 1e-8)


def test_learning_finds_a_planted_rule():
    """Residue c of the template stands for c + 1 in the target: no identity would find it."""
    rng = np.random.default_rng(1)
    X, Y = [], []
    for _ in range(30):
        x = random_pair(rng, 24, 20)
        chain = np.column_stack([np.r_[2:10, 13:21], np.r_[1:9, 9:17]])
        x.target[chain[:, 1]] = (x.residue[chain[:, 0]] + 1) % 20
        X.append(x)
        Y.append(chain)
    model = StructuredSVM(ProteinAlignment("simple"), "SVM1 margin", "n_slack", C=300.0, gap_tol=0.02)
    model.fit(X[:20], Y[:20])
    assert -model.score(X[20:], Y[20:]) < 0.05
    again = StructuredSVM.from_arrays(model.to_arrays())
    for x in X[20:]:
        np.testing.assert_array_equal(again.predict([x])[0], model.predict([x])[0])


def test_problem_is_one_that_scikit_learn_can_search():
    problem = ProteinAlignment("window", "linear", 2)
    assert isinstance(problem, Problem)
    assert clone(StructuredSVM(problem)).set_params(problem__model="simple").problem.gaps == "linear"
    assert problem.max_delta(None) == 1.0


GOOD = Pair(np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([0, 4, 2]), np.array([3, 4]))
CHAIN = np.array([[0, 0], [2, 1]])


@pytest.mark.parametrize(
    ("change", "y", "words"),
    [
        ({"state": np.array([0, 1])}, CHAIN, ["example 1", "2 values of state", "template of 3 residues"]),
        ({"access": np.array([0])}, CHAIN, ["example 1", "1 values of access"]),
        ({"target": np.array([3, 20])}, CHAIN, ["target of example 1", "code 20 at place 1", "go to 19"]),
        ({"residue": np.array([-1, 1, 2])}, CHAIN, ["residue of example 1", "code -1 at place 0"]),
        ({"state": np.array([0, 3, 0])}, CHAIN, ["state of example 1", "code 3 at place 1", "go to 2"]),
        ({"target": np.array([1.5, 2.0])}, CHAIN, ["target of example 1", "integers"]),
        ({"target": np.array([], int)}, CHAIN, ["target of example 1", "not empty"]),
        ({"target_state": np.array([0])}, CHAIN, ["example 1", "1 values of target_state", "target of 2"]),
        ({"target_access": np.array([0, 5])}, CHAIN, ["target_access of example 1", "code 5 at place 1"]),
        ({"state": None}, CHAIN, ["state of example 1 is None"]),
        ({}, CHAIN[:0], ["output of example 1", "k >= 1"]),
        ({}, [[0, 0], [2, 2]], ["output of example 1", "outside its pair of lengths 3 and 2"]),
        ({}, [[1, 0], [0, 1]], ["match 1 of the output of example 1", "rise"]),
        ({}, [[0, 1], [2, 1]], ["match 1 of the output of example 1", "rise"]),
    ],
)
def test_an_error_names_the_example(change, y, words):
    with pytest.raises(ValueError) as caught:
        ProteinAlignment("simple").batch([GOOD, GOOD._replace(**change)], [CHAIN, y])
    for word in words:
        assert word in str(caught.value)


def test_errors_about_the_problem_and_about_profiles():
    with pytest.raises(ValueError, match="model is 'tensors', but must be one of simple"):
        ProteinAlignment("tensors")
    with pytest.raises(ValueError, match="gaps is 'convex'"):
        ProteinAlignment(gaps="convex")
    with pytest.raises(ValueError, match="tolerance must be a whole number"):
        ProteinAlignment(tolerance=-1)
    with pytest.raises(ValueError, match=r"template profile of example 0 has the shape None.*\(3, 20\)"):
        ProteinAlignment("profile").batch([GOOD], [CHAIN])
    bad = GOOD._replace(template_profile=np.zeros((3, 20)), target_profile=np.full((2, 20), np.nan))
    with pytest.raises(ValueError, match="target profile of example 0 is not finite"):
        ProteinAlignment("profile").batch([bad], [CHAIN])
    with pytest.raises(ValueError, match="X has 1 examples but Y has 2"):
        ProteinAlignment("simple").batch([GOOD], [CHAIN, CHAIN])
