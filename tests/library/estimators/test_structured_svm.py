"""`StructuredSVM` as scikit-learn uses it, and what a fitted one holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from helpers.toy_chain import ToyChain, chains
from structmargin import FORMULATIONS, StructuredSVM, certify, registry
from structmargin.kernels import LinearKernel, Polynomial, Product
from structmargin.problems import Multiclass
from structmargin.solvers.n_slack import NSlack

LOSS = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])


def iris() -> tuple[np.ndarray, np.ndarray]:
    X, Y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(Y))[:90]
    return np.hstack([X[order], np.ones((90, 1))]), Y[order]


def test_clone_keeps_every_parameter_and_forgets_the_fit() -> None:
    X, Y = iris()
    model = StructuredSVM(
        Multiclass(3, 5, loss=LOSS),
        "SVM2 slack",
        "n_slack_b",
        C=3.0,
        eps=0.05,
        kernel=Product(Polynomial(3)),
        random_state=4,
    ).fit(X, Y)
    copy = clone(model)
    assert not any(name.endswith("_") for name in vars(copy))
    before, after = model.get_params(), copy.get_params()
    assert (
        set(before)
        == set(after)
        >= {"problem__n_classes", "problem__n_features", "problem__loss", "C", "eps"}
    )
    for name in ("formulation", "solver", "C", "eps", "gap_tol", "max_iter", "kernel", "random_state"):
        assert before[name] == after[name]
    np.testing.assert_array_equal(after["problem__loss"], LOSS)
    assert copy.fit(X, Y).fit_.primal == model.fit_.primal


def test_parameters_are_stored_untouched() -> None:
    problem, solver = Multiclass(3, 5), NSlack(variant="b")
    model = StructuredSVM(problem, FORMULATIONS["SVM1"], solver)
    assert model.problem is problem
    assert model.solver is solver
    assert model.formulation is FORMULATIONS["SVM1"]


def test_nested_parameters_make_a_changed_copy() -> None:
    problem = Multiclass(3, 5)
    model = StructuredSVM(problem).set_params(problem__loss=LOSS, C=7.0)
    assert model.C == 7.0
    assert model.problem.loss is LOSS
    assert problem.loss is None
    model.set_params(problem=Multiclass(4, 5), problem__n_features=6)
    assert (model.problem.n_classes, model.problem.n_features) == (4, 6)


def test_grid_over_C_and_the_problem() -> None:
    X, Y = iris()
    grid = {"C": [0.01, 50.0], "problem__loss": [None, LOSS]}
    search = GridSearchCV(StructuredSVM(Multiclass(3, 5), "SVM1 margin"), grid, cv=KFold(3)).fit(X, Y)
    assert search.best_params_["C"] == 50.0
    assert set(map(str, search.cv_results_["param_problem__loss"])) == {"None", str(LOSS)}
    assert search.best_score_ > -0.2
    assert search.best_estimator_.fit_.C == 50.0
    # by hand: the mean over folds of minus the mean loss
    by_hand = []
    for train, test in KFold(3).split(X):
        model = StructuredSVM(Multiclass(3, 5, loss=LOSS), "SVM1 margin", C=50.0).fit(X[train], Y[train])
        by_hand.append(-np.mean([LOSS[y, yhat] for y, yhat in zip(Y[test], model.predict(X[test]))]))
    chosen = [
        params["C"] == 50.0 and params["problem__loss"] is not None for params in search.cv_results_["params"]
    ]
    assert search.cv_results_["mean_test_score"][chosen][0] == pytest.approx(np.mean(by_hand))


def test_cross_validation_over_structured_outputs() -> None:
    X, Y = chains(12, noise=0.2)
    scores = cross_val_score(StructuredSVM(ToyChain(), C=20.0), X, Y, cv=KFold(3))
    for score, (train, test) in zip(scores, KFold(3).split(X)):
        model = StructuredSVM(ToyChain(), C=20.0).fit([X[i] for i in train], [Y[i] for i in train])
        want = -np.mean([ToyChain().delta(Y[i], model.predict([X[i]])[0]) for i in test])
        assert score == pytest.approx(want)
    assert scores.mean() > -1.0


@pytest.mark.parametrize("solver", ["n_slack", "n_slack_b", "staged", "one_slack", "bcfw", "perceptron"])
def test_a_fitted_model_certifies_and_predicts(solver: str) -> None:
    X, Y = iris()
    model = StructuredSVM(Multiclass(3, 5), "SVM1 margin", solver, C=90.0).fit(X, Y)
    W = model.w_.reshape(5, 3)
    np.testing.assert_array_equal(model.predict(X), np.argmax(X @ W, axis=1))
    np.testing.assert_array_equal(model.predict(sp.csr_matrix(X)), np.argmax(X @ W, axis=1))
    assert model.score(X, Y) == -np.mean(np.argmax(X @ W, axis=1) != Y)
    assert model.score(X, Y) > -0.15
    if solver == "perceptron":
        return
    fit = model.fit_
    assert fit.exact
    assert 0 <= fit.gap == pytest.approx(fit.primal - fit.dual)
    again = certify(model.problem_, X, Y, model.scorer_, FORMULATIONS["SVM1 margin"], 90.0)
    assert again.primal == pytest.approx(fit.primal, rel=1e-12)
    np.testing.assert_allclose(again.xi, fit.xi, atol=1e-12)


def test_a_kernel_model_needs_its_norm_to_be_certified() -> None:
    X, Y = iris()
    model = StructuredSVM(Multiclass(3, 5), "SVM2", kernel=Product(LinearKernel()), C=9.0).fit(X, Y)
    assert model.w_ is None
    assert len(model.predict(X)) == 90
    with pytest.raises(ValueError, match="norm2"):
        certify(model.problem_, X, Y, model.scorer_, FORMULATIONS["SVM2"], 9.0)
    f = model.scorer_
    norm2 = float(np.sum(f.coef * f.potentials(f.X)))
    again = certify(model.problem_, X, Y, model.scorer_, FORMULATIONS["SVM2"], 9.0, norm2)
    assert again.primal == pytest.approx(model.fit_.primal, rel=1e-8)


def test_warm_start_goes_on_from_the_former_cuts() -> None:
    X, Y = iris()
    settings: dict[str, Any] = {"C": 10.0, "eps": 1e-9, "gap_tol": 1e-5, "warm_start": True}
    model = StructuredSVM(Multiclass(3, 5), "SVM1", **settings).fit(X, Y)
    first = model.fit_
    again = model.fit(X, Y).fit_
    assert again.oracle_calls <= first.oracle_calls
    assert again.n_constraints == 0 < first.n_constraints
    model.set_params(C=20.0).fit(X, Y)
    cold = StructuredSVM(Multiclass(3, 5), "SVM1", **{**settings, "C": 20.0}).fit(X, Y)
    assert model.fit_.primal == pytest.approx(cold.fit_.primal, rel=2e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"problem__loss": 4 * LOSS},
        {"kernel": Product(Polynomial(2))},
        {"formulation": "SVM2 margin"},
        {"solver": "one_slack"},
    ],
    ids=["problem", "kernel", "formulation", "solver"],
)
def test_warm_start_after_a_change_that_makes_old_cuts_wrong(change: dict[str, Any]) -> None:
    X, Y = iris()
    settings: dict[str, Any] = {"C": 10.0, "eps": 1e-9, "gap_tol": 1e-5}
    model = StructuredSVM(Multiclass(3, 5), "SVM1 margin", warm_start=True, **settings).fit(X, Y)
    model.set_params(**change).fit(X, Y)
    cold = StructuredSVM(Multiclass(3, 5), "SVM1 margin", **settings).set_params(**change).fit(X, Y)
    assert model.fit_.primal == pytest.approx(cold.fit_.primal, rel=2e-5)
    assert (model.w_ is None) == ("kernel" in change)


def test_warm_start_on_other_data_is_a_cold_start() -> None:
    X, Y = iris()
    settings: dict[str, Any] = {"C": 10.0, "eps": 1e-9, "gap_tol": 1e-5}
    model = StructuredSVM(Multiclass(3, 5), "SVM1 margin", warm_start=True, **settings).fit(X[:45], Y[:45])
    cold = StructuredSVM(Multiclass(3, 5), "SVM1 margin", **settings).fit(X[45:], Y[45:])
    assert model.fit(X[45:], Y[45:]).fit_.primal == pytest.approx(cold.fit_.primal, rel=2e-5)


class Learns(ToyChain):
    """A problem that takes something from its training data: labels never seen are left out."""

    seen: tuple[int, ...] = ()

    def bind(self, X: Any, Y: Any) -> Any:
        bound = Learns(self.n_labels, self.n_features)
        object.__setattr__(bound, "seen", tuple(sorted({label for y in Y for label in y})))
        return bound

    def outputs(self, x: Any) -> Any:
        return [y for y in super().outputs(x) if set(y) <= set(self.seen)]


def test_bind_sees_training_data_only() -> None:
    problem = Learns(n_labels=3)
    X, Y = chains(6, n_labels=2)
    model = StructuredSVM(problem, C=10.0).fit(X, Y)
    assert problem.seen == ()
    assert model.problem is problem
    assert model.problem_.seen == (0, 1)
    assert all(set(yhat) <= {0, 1} for yhat in model.predict(X))


def test_every_name_in_the_registry_makes_what_it_says() -> None:
    for name in registry.SOLVERS:
        assert name.startswith(registry.solver(name).name)
    for name, kind in registry.PROBLEMS.items():
        assert kind.__name__ == name
    for name in FORMULATIONS:
        assert registry.formulation(name).name == name
