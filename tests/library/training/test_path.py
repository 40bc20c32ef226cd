"""A path over C whose gap is certified everywhere between its models."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from helpers.every_problem import points, sequences
from structmargin.formulation import FORMULATIONS
from structmargin.kernels import RBF, Product
from structmargin.problems import Multiclass, Sequence
from structmargin.registry import solver as solver_of
from structmargin.solvers.n_slack import NSlack
from structmargin.training.certificate import certify
from structmargin.training.path import c_path, model_on_path
from structmargin.training.space import Joint

PATH_TOL = 0.02
CLASSES = Multiclass(3, 4), points()
CHAINS = Sequence(3, 4), sequences()


def optimum(sample: Any, formulation: Any, C: float, weights: Any = None) -> tuple[float, float]:
    """(dual, primal) near the optimum of a training that starts anew."""
    fit = NSlack().train(sample[0], sample[1], formulation, C=C, gap_tol=1e-7, sample_weight=weights)
    return fit.dual, fit.primal


@pytest.mark.parametrize(
    ("sample", "formulation", "solver"),
    [
        (CLASSES, "SVM1 margin", "n_slack"),
        (CLASSES, "SVM1 slack", "bcfw"),
        (CLASSES, "SVM2 margin", "n_slack"),
        (CHAINS, "SVM1 margin", "one_slack"),
        (CHAINS, "SVM2 slack", "n_slack"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gap_is_certified_at_every_C_between(
    sample: Any, formulation: str, solver: str, weighted: bool
) -> None:
    """The primal found by a full search at random C, held against the optimum of a training at that C."""
    (problem, data), margin = sample, FORMULATIONS[formulation]
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, size=len(data[1])) if weighted else None
    made = solver_of(solver)
    fits = c_path(made, problem, data, margin, Cs=[0.1, 20.0], path_tol=PATH_TOL, sample_weight=weights)
    assert (fits[0].C, fits[-1].C) == (0.1, 20.0)
    assert all(left.C < right.C for left, right in pairwise(fits))
    for C in np.exp(rng.uniform(np.log(0.1), np.log(20.0), size=8)):
        fit, gap = model_on_path(fits, C, weights)
        primal = certify(problem, *data, fit.scorer, margin, C, sample_weight=weights).primal
        low, high = optimum(sample, margin, C, weights)
        assert gap <= PATH_TOL
        assert primal * (1.0 - gap) <= high * (1.0 + 1e-9)  # what is certified is a lower bound
        assert primal - low <= (PATH_TOL + 1e-6) * primal  # and the model is as near as promised
    meeting = [model_on_path(fits, float(np.sqrt(a.C * b.C)), weights)[1] for a, b in pairwise(fits)]
    assert max(meeting) > 0.25 * PATH_TOL  # there are no more models than it takes, roughly


def test_values_are_added_only_where_they_are_needed() -> None:
    problem, data = CLASSES
    margin = FORMULATIONS["SVM1 margin"]
    numbers = [
        len(c_path(NSlack(), problem, data, margin, Cs=[0.1, 1.0, 20.0], path_tol=tol))
        for tol in (0.9, 0.1, 0.01)
    ]
    assert numbers[0] == 3 and numbers[0] < numbers[1] < numbers[2] < 60


def test_a_path_may_fall_and_live_in_a_kernel_space() -> None:
    problem, data = CLASSES
    space, margin = Joint(Product(RBF(0.1))), FORMULATIONS["SVM1 margin"]
    fits = c_path(NSlack(), problem, data, margin, space, Cs=[20.0, 0.5], path_tol=0.05)
    assert all(left.C > right.C for left, right in pairwise(fits))
    fit, gap = model_on_path(fits, 3.0)
    again = NSlack().train(problem, data, margin, space, C=3.0, gap_tol=1e-7)
    norm2 = 2.0 * (fit.primal - margin.price(fit.xi, fit.C, len(fit.xi)))
    primal = certify(problem, *data, fit.scorer, margin, 3.0, norm2).primal
    assert primal * (1.0 - gap) <= again.primal * (1.0 + 1e-9) and again.dual * (1.0 - 1e-9) <= primal


def test_hard_margins_do_not_depend_on_C() -> None:
    X, Y = np.eye(3), np.arange(3)
    fits = c_path(NSlack(), Multiclass(3, 3), (X, Y), FORMULATIONS["SVM0"], Cs=[1.0, 100.0], path_tol=0.1)
    assert len(fits) == 2 and model_on_path(fits, 10.0)[1] <= 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"path_tol": 0.01, "gap_tol": 0.01}, "gap_tol = 0.01 must be smaller than path_tol = 0.01"),
        ({"path_tol": 0.0}, "path_tol must be a finite number above 0"),
    ],
)
def test_what_cannot_be_asked_for(options: Any, words: str) -> None:
    problem, data = CLASSES
    with pytest.raises(ValueError, match=re.escape(words)):
        c_path(NSlack(), problem, data, FORMULATIONS["SVM1 margin"], Cs=[1.0, 2.0], **options)


def test_a_training_without_a_gap_is_refused() -> None:
    problem, data = CLASSES
    options: dict[str, Any] = {"Cs": [1.0, 2.0], "max_iter": 2}
    perceptron = solver_of("perceptron")
    with pytest.raises(ValueError, match="path_tol and model_on_path need certified gaps"):
        c_path(perceptron, problem, data, FORMULATIONS["SVM1 margin"], path_tol=0.1, **options)
    fits = c_path(perceptron, problem, data, FORMULATIONS["SVM1 margin"], **options)
    with pytest.raises(ValueError, match="path_tol and model_on_path need certified gaps"):
        model_on_path(fits, 1.5)


def test_a_C_beyond_the_path_is_refused() -> None:
    problem, data = CLASSES
    fits = c_path(NSlack(), problem, data, FORMULATIONS["SVM1 margin"], Cs=[1.0, 2.0])
    with pytest.raises(ValueError, match="C = 3 is not on the path"):
        model_on_path(fits, 3.0)
