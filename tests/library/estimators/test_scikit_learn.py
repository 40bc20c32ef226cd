"""Among scikit-learn's tools: its own checks, grids, folds, pipelines, names of columns, weights, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from helpers.every_problem import example, points
from helpers.toy_chain import ToyChain, chains
from structmargin import JKSE, SearchError, StructuredSVM
from structmargin.kernels import RBF, Product
from structmargin.problems import Measure, Multiclass, Sequence, Taxonomy

BY_KEYWORD = "the right outputs are the argument Y, and the check gives them by the keyword y"
CANNOT_APPLY = {
    "check_n_features_in_after_fitting": BY_KEYWORD,
    "check_sample_weight_equivalence_on_dense_data": BY_KEYWORD,
    "check_sample_weight_equivalence_on_sparse_data": BY_KEYWORD,
}
"""Checks of scikit-learn that cannot apply, with the reason of each."""


class SmallY(StructuredSVM):
    """The same with another letter, so that every check applies; C per example, as weights are copies."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y, sample_weight)

    def score(self, X: Any, y: Any) -> float:
        return super().score(X, y)


@pytest.mark.parametrize(
    ("model", "cannot_apply"),
    [
        (StructuredSVM(Multiclass()), CANNOT_APPLY),
        (StructuredSVM(Multiclass(), solver="perceptron"), CANNOT_APPLY),
        (SmallY(Multiclass(), C_per_example=1.0, gap_tol=1e-10), {}),
    ],
    ids=["n_slack", "perceptron", "another letter"],
)
@pytest.mark.filterwarnings("ignore::structmargin.ConvergenceWarning")
def test_scikit_learns_own_checks(model: Any, cannot_apply: dict[str, str]) -> None:
    results = check_estimator(model, expected_failed_checks=cannot_apply, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(cannot_apply)  # none is listed that would pass
    assert sum(result["status"] == "passed" for result in results) > 40


def test_tags() -> None:
    for problem, rows in (
        (Multiclass(), True),
        (Taxonomy(), True),
        (Measure(), True),
        (Sequence(2, 2), False),
    ):
        tags = get_tags(StructuredSVM(problem))
        assert tags.estimator_type is None and tags.target_tags.required
        assert tags.input_tags.two_d_array is rows and tags.input_tags.sparse is rows
        assert get_tags(JKSE(problem)).input_tags.two_d_array is rows


def test_a_pipeline_is_scaling_by_hand() -> None:
    X, Y = points(60)
    X = X * np.array([1.0, 100.0, 0.01, 1.0]) + 5.0
    piped = make_pipeline(StandardScaler(), StructuredSVM(Multiclass(), C_per_example=1.0)).fit(X, Y)
    scaler = StandardScaler().fit(X)
    by_hand = StructuredSVM(Multiclass(), C_per_example=1.0).fit(scaler.transform(X), Y)
    np.testing.assert_array_equal(piped[-1].w_, by_hand.w_)
    np.testing.assert_array_equal(piped.predict(X), by_hand.predict(scaler.transform(X)))
    assert piped.score(X, Y) == by_hand.score(scaler.transform(X), Y) > -0.3
    grid = {
        "structuredsvm__C_per_example": [0.01, 1.0],
        "structuredsvm__problem__loss": [None, 2 - 2 * np.eye(3)],
    }
    search = GridSearchCV(piped, grid, cv=KFold(3)).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > -0.5


def test_folds_of_any_size_with_a_price_per_example() -> None:
    """C_per_example * n is the C of every fold, so that scores are those of C set by hand."""
    X, Y = points(50)
    scores = cross_val_score(StructuredSVM(Multiclass(), C_per_example=0.2), X, Y, cv=KFold(4))
    for score, (train, test) in zip(scores, KFold(4).split(X)):
        by_hand = StructuredSVM(Multiclass(), C=0.2 * len(train)).fit(X[train], Y[train])
        assert by_hand.score(X[test], Y[test]) == score
    fit = StructuredSVM(Multiclass(), C_per_example=0.2, gap_tol=1e-6).fit(X, Y).fit_
    assert fit.C == pytest.approx(10.0)
    twice = StructuredSVM(Multiclass(), C_per_example=0.2, gap_tol=1e-6).fit(np.vstack([X, X]), [*Y, *Y]).fit_
    # twice the data at the same price each is the same data at twice the price
    double = StructuredSVM(Multiclass(), C_per_example=0.4, gap_tol=1e-6).fit(X, Y).fit_
    assert twice.primal == pytest.approx(double.primal, rel=1e-5)


def test_a_price_of_both_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"C = 2.0 and C_per_example = 0.1 were both given: keep one"):
        StructuredSVM(Multiclass(), C=2.0, C_per_example=0.1).fit(*points())
    with pytest.raises(ValueError, match="C_per_example must be a finite number above 0, but it is -1"):
        StructuredSVM(Multiclass(), C_per_example=-1).fit(*points())


def test_weights_count_as_copies() -> None:
    X, Y = points(30)
    weights = np.random.default_rng(0).integers(0, 4, size=30)
    repeated = np.repeat(np.arange(30), weights)
    problem = Multiclass(3, 4)
    weighted = StructuredSVM(problem, C_per_example=0.5, gap_tol=1e-7).fit(X, Y, sample_weight=weights)
    copied = StructuredSVM(problem, C_per_example=0.5, gap_tol=1e-7).fit(X[repeated], Y[repeated])
    assert weighted.fit_.primal == pytest.approx(copied.fit_.primal, rel=1e-6)
    np.testing.assert_allclose(weighted.w_, copied.w_, atol=1e-2)
    plain = StructuredSVM(problem, C_per_example=0.5, gap_tol=1e-7).fit(X, Y)
    assert abs(plain.fit_.primal - weighted.fit_.primal) > 0.1
    with pytest.raises(ValueError, match="Measure makes one example of all rows"):
        StructuredSVM(Measure()).fit(X, np.where(Y > 0, 1, -1), sample_weight=weights)


def test_a_warm_start_with_other_weights() -> None:
    X, Y = points(30)
    weights = 1.0 + np.arange(30) % 3
    model = StructuredSVM(Multiclass(), C=5.0, gap_tol=1e-6, warm_start=True).fit(X, Y)
    cold = StructuredSVM(Multiclass(), C=5.0, gap_tol=1e-6).fit(X, Y, weights)
    assert model.fit(X, Y, weights).fit_.primal == pytest.approx(cold.fit_.primal, rel=1e-5)
    assert model.fit(X, Y, weights.copy()).fit_.n_constraints == 0


def test_columns_of_a_table_are_known_by_name() -> None:
    X, Y = points()
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=np.arange(100, 124))
    for model in (StructuredSVM(Multiclass()), JKSE(Multiclass(), nu=0.5)):
        model.fit(table, Y)
        assert model.n_features_in_ == 4 and model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(model.predict(table), clone(model).fit(X, Y).predict(X))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(table[["b", "a", "c", "d"]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
            clone(model).fit(X, Y).predict(X[:, :3])
    problem, X, Y, _ = example("Sequence")
    assert not hasattr(StructuredSVM(problem).fit(X, Y), "n_features_in_")


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_as_random_state(make: Any) -> None:
    X, Y = points()
    settings: dict[str, Any] = {"solver": "perceptron", "kernel": Product(RBF(0.1))}

    def scores(random_state: Any) -> list[float]:
        model = StructuredSVM(Multiclass(), random_state=random_state, **settings).fit(X, Y)
        return [model.scorer_(x, 0) for x in X]

    assert scores(make(3)) == scores(make(3)) != scores(make(4))
    one = make(3)
    assert scores(one) != scores(one)  # it moves on
    assert scores(5) == scores(np.int64(5))
    assert len(JKSE(Multiclass(), nu=0.5, random_state=make(3), trainer="online").fit(X, Y).fit_.alpha) == 24
    for wrong in ("seed", -1, 1.5, True):
        with pytest.raises(ValueError, match="random_state must be an int of at least 0"):
            StructuredSVM(Multiclass(), random_state=wrong).fit(X, Y)


def test_a_search_that_fails_leaves_the_model_so_far() -> None:
    class Fails(ToyChain):
        calls = 0

        def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
            Fails.calls += 1
            if Fails.calls == 31:  # once: an interrupted training is searched once more
                raise self.stop
            return super().augmented_argmax(f, x, y, H)

    X, Y = chains(8, noise=0.3)
    for stop in (SearchError("broken"), KeyboardInterrupt()):
        Fails.calls, Fails.stop = 0, stop
        model = StructuredSVM(Fails(), C=50.0, gap_tol=1e-9)
        with pytest.raises(type(stop)):
            model.fit(X, Y)
        assert model.fit_.converged is False and model.fit_.w is model.w_ and np.any(model.w_)
        assert model.problem_ is model.problem and len(model.predict(X)) == 8
        assert (model.fit_.gap is None) == isinstance(stop, SearchError)  # the interrupted one is certified
