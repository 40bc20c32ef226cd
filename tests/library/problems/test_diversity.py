"""`Diversity`: Psi and the loss by definition, both searches against all subsets, training, bad input."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from helpers import references
from structmargin import StructuredSVM
from structmargin.formulation import FORMULATIONS
from structmargin.problems import Diversity
from structmargin.problems.diversity.problem import Candidates, Selection, best_selection, missed
from structmargin.scorer import LinearScorer

MARGIN = FORMULATIONS["SVM1 margin"].H
D = 3


def query(rng: np.random.Generator, n: int = 6, m: int = 8, T: int = 4) -> tuple[Candidates, np.ndarray]:
    has = rng.random((n, m)) < 0.4
    subtopics = rng.random((n, T)) < 0.3
    subtopics[rng.integers(n)] = True
    return candidates(has, rng.integers(0, 3, size=(m, D)).astype(float)), subtopics


def candidates(has: np.ndarray, phi: np.ndarray) -> Candidates:
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int64)
    return Candidates(indptr, np.nonzero(has)[1].astype(np.int64), phi)


def words(x: Candidates, documents: Any) -> set[int]:
    return {int(v) for d in documents for v in x.items[x.indptr[d] : x.indptr[d + 1]]}


def lost(subtopics: np.ndarray, documents: Any) -> float:
    weights = subtopics.sum(axis=0) / subtopics.sum()
    return float(sum(weights[t] for t in range(len(weights)) if not any(subtopics[d, t] for d in documents)))


@given(seed=st.integers(0, 10**6), K=st.integers(1, 4), scale=st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=60, deadline=None)
def test_exact_searches_agree_with_all_subsets(seed: int, K: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x, subtopics = query(rng)
    y = best_selection(x, subtopics, K)
    w = scale * rng.integers(-3, 4, size=D).astype(float)
    psi = {s: sum((x.phi[v] for v in words(x, s)), np.zeros(D)) for s in combinations(range(6), K)}
    here = psi[tuple(sorted(y.documents.tolist()))]
    delta = {s: max(0.0, lost(subtopics, s) - lost(subtopics, y.documents)) for s in psi}
    best = max(delta[s] - w @ (here - psi[s]) for s in psi)
    for exact in (True, False):
        problem = Diversity(D, K, exact)
        f = LinearScorer(problem, w)
        ybar, yhat = problem.augmented_argmax(f, x, y, MARGIN), problem.argmax(f, x)
        chosen = tuple(sorted(ybar.documents.tolist()))
        value = delta[chosen] - w @ (here - psi[chosen])
        assert problem.delta(y, ybar) == pytest.approx(delta[chosen], abs=1e-12)
        assert MARGIN(problem.delta(y, ybar), f(x, y) - f(x, ybar)) == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(problem.psi(x, ybar), psi[chosen])
        found = problem.batch([x], [y]).search(f, np.array([0]), MARGIN)
        assert tuple(sorted(found.outputs[0].documents.tolist())) == chosen
        assert found.losses[0] == pytest.approx(delta[chosen], abs=1e-12)
        np.testing.assert_allclose(found.rows.toarray()[0], here - psi[chosen])
        assert value <= best + 1e-12 and f(x, yhat) <= max(w @ p for p in psi.values()) + 1e-12
        assert problem.max_delta(y) >= max(delta.values()) - 1e-12
        far = max(np.linalg.norm(p - q) for p in psi.values() for q in psi.values())
        assert far <= problem.radius(x) + 1e-12
        if exact:
            assert value == pytest.approx(best, abs=1e-12)
            assert f(x, yhat) == pytest.approx(max(w @ p for p in psi.values()), abs=1e-12)


@given(seed=st.integers(0, 10**6), K=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_the_right_selection_misses_what_greedy_must_and_breaks_ties_by_shared_words(
    seed: int, K: int
) -> None:
    x, subtopics = query(np.random.default_rng(seed))
    y = best_selection(x, subtopics, K)
    chosen: list[int] = []
    often = np.bincount(x.items, minlength=8)
    for _ in range(K):  # by subtopics, then by words of two documents or more, then by place
        rank = {
            d: (
                round(lost(subtopics, [*chosen, d]), 9),
                -sum(often[v] > 1 for v in words(x, [*chosen, d])),
                d,
            )
            for d in range(6)
            if d not in chosen
        }
        chosen.append(min(rank, key=lambda d: rank[d]))
    assert y.documents.tolist() == chosen
    assert missed(y, y.documents) == pytest.approx(lost(subtopics, chosen), abs=1e-12)
    assert y.weights is not None and y.weights.sum() == pytest.approx(1.0)


def test_popular_subtopics_weigh_more_unless_told() -> None:
    subtopics = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=bool)
    x = candidates(np.eye(4, dtype=bool), np.ones((4, D)))
    assert missed(best_selection(x, subtopics, 1), [3]) == 0.75
    even = best_selection(x, subtopics, 1, np.array([1.0, 2.0]))
    assert even.documents.tolist() == [3] and missed(even, [0]) == pytest.approx(2 / 3)


def made(n: int = 12, seed: int = 0) -> tuple[list[Candidates], list[Selection]]:
    """Each subtopic has a word of its own, whose first feature is how often it is; other words are noise."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        subtopics = np.eye(5, dtype=bool)[rng.integers(0, 5, size=10)]
        subtopics = subtopics[:, subtopics.any(axis=0)]
        noise = rng.random((10, 12)) < rng.uniform(0.1, 0.9, size=(10, 1))
        has = np.hstack([subtopics, noise])
        phi = np.zeros((has.shape[1], D))
        phi[: subtopics.shape[1], 0] = subtopics.mean(axis=0)
        phi[subtopics.shape[1] :, 1] = 1.0
        phi[:, 2] = 0.1
        X.append(candidates(has, phi))
        Y.append(best_selection(X[-1], subtopics, 3))
    return X, Y


def test_training_learns_which_words_tell_subtopics() -> None:
    X, Y = made()
    for solver in ("n_slack", "one_slack"):
        model = StructuredSVM(Diversity(D, 3), solver=solver, C=100.0, eps=1e-3).fit(X, Y)
        assert not model.fit_.exact and model.fit_.gap is None
        assert model.w_[0] > abs(model.w_[1])
        assert model.score(X, Y) == 0.0
        test = made(seed=1)
        assert np.mean(
            [missed(y, s.documents) for y, s in zip(test[1], model.predict(test[0]))]
        ) == pytest.approx(np.mean([missed(y, y.documents) for y in test[1]]))


def test_with_the_exact_search_the_optimum_is_that_of_all_constraints() -> None:
    X, Y = made(4)
    problem = Diversity(D, 3, exact=True)
    model = StructuredSVM(problem, C=2.0, eps=1e-7, gap_tol=1e-7).fit(X, Y)
    sets = [Selection(np.array(s)) for s in combinations(range(10), 3)]
    listed = [
        references.Constraint(i, problem.delta(y, s), problem.psi(x, y) - problem.psi(x, s))
        for i, (x, y) in enumerate(zip(X, Y))
        for s in sets
    ]
    assert model.fit_.exact and model.fit_.primal == pytest.approx(
        references.primal("SVM1 margin", 2.0, listed, 4).value, rel=1e-5
    )


def test_a_model_survives_saving(tmp_path: Any) -> None:
    X, Y = made()
    model = StructuredSVM(Diversity(D, 3), C=10.0).fit(X, Y)
    model.save(tmp_path / "model.npz")
    again = StructuredSVM.load(tmp_path / "model.npz")
    assert [s.documents.tolist() for s in again.predict(X)] == [
        s.documents.tolist() for s in model.predict(X)
    ]


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if name != "SVM1 margin"])
def test_other_formulations_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="'SVM1 margin' only"):
        StructuredSVM(Diversity(D, 3), name).fit(*made(2))


X1, Y1 = made(1)


@pytest.mark.parametrize(
    ("problem", "y", "words"),
    [
        (Diversity(D, 11), Y1[0], "example 1 has 10 documents, fewer than K=11"),
        (Diversity(D + 1, 3), Y1[0], r"example 1: phi has shape .* must have 4 columns"),
        (Diversity(D, 3), Selection(Y1[0].documents), "example 1 has no subtopic that a candidate covers"),
        (Diversity(D, 3), Y1[0]._replace(subtopics=np.zeros((10, 5), bool)), "example 1 has no subtopic"),
        (Diversity(D, 3), Y1[0]._replace(documents=np.array([1])), "the selection has 1 documents, not K=3"),
        (Diversity(D, 3), Y1[0]._replace(weights=np.ones(9)), r"subtopics have shape \(10, .*9 weights"),
    ],
)  # fmt: skip
def test_bad_input_is_named(problem: Diversity, y: Selection, words: str) -> None:
    first = Diversity(problem.n_features, problem.K)
    X = [candidates(np.ones((problem.K, 2), bool), np.ones((2, problem.n_features))), X1[0]]
    Y = [best_selection(X[0], np.ones((problem.K, 1), bool), problem.K), y]
    first.check(X[:1], Y[:1])
    with pytest.raises(ValueError, match=words):
        StructuredSVM(problem).fit(X, Y)


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match="K must be at least 1"):
        StructuredSVM(Diversity(D, 0)).fit(X1, Y1)
    model = StructuredSVM(Diversity(D, 3)).fit(X1, Y1)
    small = candidates(np.ones((2, 2), bool), np.ones((2, D)))
    with pytest.raises(ValueError, match="example 0 has 2 documents, fewer than K=3"):
        model.predict([small])
    with pytest.raises(ValueError, match="items have 1 features, but the weights are for 3"):
        model.predict([candidates(np.ones((4, 2), bool), np.ones((2, 1)))])
