"""What is given in place of an object gets one sentence with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.every_problem import example, points
from structmargin import JKSE, StructuredSVM
from structmargin.jkse.trainers import OneClass
from structmargin.kernels import RBF, Polynomial, Product
from structmargin.problems import Multiclass
from structmargin.problems.sequence.kernel import SequenceKernel
from structmargin.solvers.n_slack import NSlack

NEEDED = "but a joint kernel on pairs (x, y) is needed: "
ON_INPUTS = "but a kernel on inputs is needed: "
OBJECT = "give an object of it, such as"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"problem": Multiclass},
            f"problem is the class Multiclass: {OBJECT} Multiclass(...)",
        ),
        ({"solver": NSlack}, f"solver is the class NSlack: {OBJECT} NSlack(...)"),
        ({"kernel": "rbf"}, f"kernel is the string 'rbf', {NEEDED}give Product(RBF())"),
        (
            {"kernel": "gauss"},
            f"kernel is the string 'gauss', {NEEDED}give an object from structmargin.kernels",
        ),
        (
            {"kernel": "product"},
            f"kernel is the string 'product', {NEEDED}give an object, such as",
        ),
        ({"kernel": RBF}, f"kernel is the class RBF, {NEEDED}give Product(RBF())"),
        ({"kernel": Product}, f"kernel is the class Product, {NEEDED}give an object, such as Product(...)"),
        ({"kernel": RBF(0.5)}, f"kernel is RBF(gamma=0.5), {NEEDED}give Product(RBF(gamma=0.5))"),
        (
            {"kernel": Product("rbf")},
            f"kx of Product is the string 'rbf', {ON_INPUTS}give RBF()",
        ),
        (
            {"kernel": Product("gauss")},
            f"kx of Product is the string 'gauss', {ON_INPUTS}give an",
        ),
        (
            {"kernel": Product(RBF)},
            f"kx of Product is the class RBF, {ON_INPUTS}give RBF()",
        ),
        ({"kernel": 3}, f"kernel is 3, {NEEDED}give an object from structmargin"),
        ({"solver": ["n_slack"]}, "unknown solver ['n_slack']"),
        ({"formulation": ["SVM1"]}, "unknown formulation ['SVM1']"),
    ],
)
def test_one_sentence_with_the_remedy(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        StructuredSVM(**{"problem": Multiclass(), **settings}).fit(*points())
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)
    if "kernel" in settings or "problem" in settings:
        with pytest.raises(ValueError) as caught:
            JKSE(**{"problem": Multiclass(), **settings}).fit(*points())
        assert str(caught.value).startswith(sentence)


def test_the_remedy_is_that_of_the_problem() -> None:
    problem, X, Y, _ = example("Sequence")
    with pytest.raises(
        ValueError, match=r"give SequenceKernel\(Polynomial\(degree=3, gamma=1.0, coef0=1.0\)\)"
    ):
        StructuredSVM(problem, kernel=Polynomial(3)).fit(X, Y)
    model = StructuredSVM(problem, kernel=SequenceKernel(Polynomial(3))).fit(X, Y)  # and it works
    assert model.w_ is None and model.score(X, Y) > -1.0
    problem, X, Y, _ = example("Taxonomy")
    with pytest.raises(ValueError, match=r"give Product\(RBF\(gamma=1.0\), L=problem\.L\)"):
        StructuredSVM(problem, kernel=RBF()).fit(X, Y)
    model = StructuredSVM(problem, kernel=Product(RBF(), L=problem.L)).fit(X, Y)
    assert model.w_ is None and model.score(X, Y) > -1.0
    problem, X, Y, _ = example("Localization")
    with pytest.raises(ValueError, match=r"give one with a method gram\(X, Y, X2, Y2\)"):
        StructuredSVM(problem, kernel=RBF()).fit(X, Y)


def test_a_trainer_class() -> None:
    with pytest.raises(ValueError, match=r"trainer is the class OneClass: give an object of it"):
        JKSE(Multiclass(), trainer=OneClass).fit(*points())
