"""`adapt` fills in every optional member of a problem, once; four bare functions are enough."""

from __future__ import annotations

import ast
import pickle
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import structmargin
from structmargin import FORMULATIONS, StructuredSVM
from structmargin.adapted import AdaptedBatch, AdaptedProblem, adapt
from structmargin.problem import REQUIRED, SEARCH_COST
from structmargin.problems import Measure, Multiclass

H = FORMULATIONS["SVM1 margin"].H


class Sign:
    """The sign of a number: the four functions and nothing else."""

    def psi(self, x, y):
        return np.array([x * y, 0.0, float(y)])

    def delta(self, y, ybar):
        return float(y != ybar)

    def argmax(self, f, x):
        return max((-1, 1), key=lambda y: f(x, y))

    def augmented_argmax(self, f, x, y, H):
        return max((-1, 1), key=lambda ybar: H(self.delta(y, ybar), f(x, y) - f(x, ybar)))


class Rich(Sign):
    """Every member that a problem may offer, each unlike its default, and one that nobody knows."""

    n_weights = 3
    explicit_only = "it says so"
    matrix_inputs = True
    exact = 0
    colour = "blue"
    whole_sample = True

    def potentials(self, w, x):
        return w * x

    def bind(self, X, Y):
        return Rich()

    def wrap(self, X, Y):
        return [X], [Y]

    def unwrap(self, Y):
        return Y[0]

    def batch(self, X, Y):
        return Packed()

    def refuse(self, H):
        return "not this one"

    def check(self, X, Y):
        raise ValueError("example 0")

    def check_inputs(self, X):
        raise ValueError("x of example 0")

    def check_outputs(self, X, Y):
        raise ValueError("y of example 0")

    def check_loaded(self, n_weights):
        raise ValueError("too many weights")

    def class_labels(self):
        return np.array([-1, 1])

    def factors(self, X):
        return np.eye(2), np.eye(2)

    def class_losses(self):
        return 1.0 - np.eye(2)

    def independent_rows(self, x, y):
        return None

    def radius(self, x):
        return 2.0

    def max_delta(self, y):
        return 1.0

    def draw(self, x, y, rng):
        return -y

    def k_best(self, f, x, k):
        return [(0.0, 1)]

    def with_params(self, **params):
        return params


class Packed:
    """The two functions that a batch must have."""

    def search(self, f, indices, H):
        return "found", f, indices, H

    def argmax(self, f):
        return "best"


def test_four_functions_get_every_default() -> None:
    problem = Sign()
    adapted = adapt(problem)
    assert adapted.given is problem and adapted.lacks == () and adapted.name == "Sign"
    assert adapted.psi(2.0, -1).tolist() == [-2.0, 0.0, -1.0] and adapted.delta(1, -1) == 1.0
    X, Y = [1.0, -2.0], [1, -1]
    assert adapted.n_weights(X, Y) == 3
    assert adapted.bind(X, Y) is problem
    assert adapted.wrap(X, Y) == (X, Y) and adapted.wrap(X, None) == (X, None)
    assert adapted.unwrap(Y) is Y and adapted.whole_sample is False and adapted.matrix_inputs is False
    assert adapted.batch(X, Y) is None
    assert adapted.refuse(H) is None and adapted.explicit_only is None
    adapted.check(X, Y)
    adapted.check_inputs(X)
    adapted.check_outputs(X, Y)
    adapted.check_loaded(7)
    assert adapted.class_labels is None
    assert adapted.factors is None and adapted.class_losses is None
    assert adapted.independent_rows(1.0, 1) is None
    assert adapted.radius is None and adapted.max_delta is None
    assert adapted.draw is None and adapted.k_best is None and adapted.exact is True
    assert adapted.delta_takes_x is False and adapted.loss("anything", 1, -1) == 1.0


def test_a_loss_takes_the_input_if_it_has_three_required_arguments() -> None:
    class Weighted(Sign):
        def delta(self, x, y, ybar):
            return abs(x) * float(y != ybar)

    class Optional(Sign):
        def delta(self, y, ybar, weight=2.0):
            return weight * float(y != ybar)

    adapted = adapt(Weighted())
    assert adapted.delta_takes_x is True and adapted.loss(-3.0, 1, -1) == 3.0
    assert adapted.losses([1.0, -2.0], [1, 1], [-1, -1]).tolist() == [1.0, 2.0]
    adapted = adapt(Optional())
    assert adapted.delta_takes_x is False and adapted.losses(None, [1, 1], [-1, 1]).tolist() == [2.0, 0.0]


WORKED_OUT = ("given", "lacks", "n_weights", "batch", "exact", "reaches_truth", "delta_takes_x")


def test_what_a_problem_offers_is_taken_from_it() -> None:
    problem = Rich()
    adapted = adapt(problem)
    for field in fields(AdaptedProblem):
        if field.name not in WORKED_OUT:
            assert getattr(adapted, field.name) == getattr(problem, field.name), field.name
    assert adapted.n_weights([], []) == 3 and adapted.exact is False
    assert adapted.class_losses is not None and adapted.class_losses().tolist() == [[0, 1], [1, 0]]
    assert adapted.factors is not None and adapted.with_params(a=1) == {"a": 1}


def test_a_batch_gets_its_defaults_too() -> None:
    batch = adapt(Rich()).batch([], [])
    assert isinstance(batch, AdaptedBatch)
    assert batch.argmax(None) == "best" and batch.takes_kernels is False and batch.psi is None
    assert batch.search_many("f", "indices", H, 5) == batch.search("f", "indices", H)
    assert batch.makes_rows is False and batch.search_cost == SEARCH_COST
    with pytest.raises(TypeError, match=r"'Packed'.*'rows'"):
        batch.rows(np.arange(1), [0])
    multiclass = adapt(Multiclass(3, 2)).batch(np.eye(2), [0, 1])
    assert multiclass is not None and multiclass.takes_kernels is True and multiclass.psi is None
    assert sp.issparse(multiclass.rows(np.array([0]), np.array([2])))
    assert multiclass.makes_rows is True and multiclass.search_cost == 1


def test_members_that_nobody_knows_stay_with_the_problem() -> None:
    adapted = adapt(Rich())
    assert not hasattr(adapted, "colour") and adapted.given.colour == "blue"


def test_adapting_twice_is_adapting_once() -> None:
    adapted = adapt(Sign())
    assert adapt(adapted) is adapted


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_missing_function_is_named_when_it_is_needed(missing: str) -> None:
    members = {name: getattr(Sign, name) for name in REQUIRED if name != missing}
    problem = type("Half", (), members)()
    adapted = adapt(problem)
    assert adapted.lacks == (missing,)
    with pytest.raises(TypeError, match=f"'Half'.*'{missing}'"):
        getattr(adapted, missing)()
    with pytest.raises(ValueError, match=f"'Half' lacks {missing}"):
        StructuredSVM(problem).fit([1.0], [1])


def test_parameters_of_a_problem_without_any_cannot_be_set() -> None:
    with pytest.raises(TypeError, match=r"'Sign'.*'with_params'"):
        StructuredSVM(Sign()).set_params(problem__eta=1.0)


def test_an_adapted_problem_can_be_pickled() -> None:
    for problem in (Sign(), Multiclass(2, 2), Measure("f1")):
        again = pickle.loads(pickle.dumps(adapt(problem)))
        assert type(again.given) is type(problem) and again.whole_sample == adapt(problem).whole_sample


def test_nobody_else_asks_a_problem_what_it_has() -> None:
    """getattr and hasattr of a problem or batch stand in adapted.py alone."""
    root = Path(structmargin.__file__).parent
    asking = []
    for path in [*root.rglob("*.py"), *(root.parent / "structmargin_suite").rglob("*.py")]:
        if path == root / "adapted.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
                whom = ast.unparse(node.args[0])
                if whom.split(".")[-1].rstrip("_") in ("problem", "batch", "packed"):
                    asking.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert asking == []


class Counting(Multiclass):
    """Classes whose losses note which pairs they were asked for."""

    def delta(self, y, ybar):
        asked.append((int(y), int(ybar)))
        if y == 3:
            raise ZeroDivisionError
        return 10.0 * y + ybar


asked: list[tuple[int, int]] = []


def test_the_loss_of_two_classes_is_asked_for_once() -> None:
    problem = adapt(Counting(5, 2))
    rng = np.random.default_rng(0)
    Y, outputs = rng.integers(0, 3, 200), rng.integers(-1, 3, 200)  # -1: a class that nobody knows
    asked.clear()
    np.testing.assert_array_equal(problem.losses(None, Y, outputs), 10.0 * Y + outputs)
    assert sorted(asked) == sorted({(int(y), int(ybar)) for y, ybar in zip(Y, outputs, strict=True)})
    far = np.array([2**40, 0, 2**40])  # no number for each pair
    np.testing.assert_array_equal(problem.losses(None, far, far), 11.0 * far)
    assert problem.losses(None, Y[:0], outputs[:0]).shape == (0,)
    with pytest.raises(ZeroDivisionError) as error:
        problem.losses(None, np.array([1, 2, 3, 1, 3]), np.zeros(5, dtype=int))
    assert error.value.__notes__ == ["delta was asked for the loss of example 2"]
