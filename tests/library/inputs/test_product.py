"""Problem x formulation x solver x data kind: the model is that of plain arrays, and its certificate true.

`make test` goes through a covering design: every problem with every kind of data, every problem under every
solver, every formulation under every solver. `make test-long` goes through the whole product
(STRUCTMARGIN_CASES is set), and draws more.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from functools import cache
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import references
from helpers.all_outputs import constraints
from helpers.data_kinds import KINDS, Brought, plain, plain_form
from helpers.every_problem import EVERY, Example, example
from structmargin import ConvergenceWarning, NotSeparableError, StructuredSVM, registry
from structmargin.adapted import adapt
from structmargin.formulation import FORMULATIONS
from structmargin.inputs import gate

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "0"))
C, GAP = 10.0, 1e-2
CLOSE = 1e-6
"""How far the reference itself may be off, relative."""


class Solver(NamedTuple):
    """A solver by name, with explicit features or in the space of the problem's joint kernel."""

    name: str
    kernel: bool = False


class Case(NamedTuple):
    problem: str
    kind: str
    formulation: str
    solver: Solver


def combinations(problem: str) -> list[tuple[str, Solver]]:
    """Every formulation and solver that go with a problem."""
    given, _, _, kernel = example(problem)
    return [
        (formulation, Solver(solver, in_space))
        for formulation in FORMULATIONS
        for solver in registry.SOLVERS
        for in_space in ((False,) if kernel is None else (False, True))
        if registry.check(
            given,
            registry.formulation(formulation),
            registry.solver(solver),
            registry.space(kernel if in_space else None),
        )
        is None
    ]


COMBINATIONS = {problem: combinations(problem) for problem in EVERY}


def whole_product() -> list[Case]:
    return [Case(p, kind, *both) for p in EVERY for kind in KINDS[p] for both in COMBINATIONS[p]]


def covering_design() -> list[Case]:
    """Each problem with each of its kinds, under what was used least so far: for the problem, then at all."""
    design = []
    used: Counter[Any] = Counter()
    for problem in EVERY:
        n_solvers = len({solver for _, solver in COMBINATIONS[problem]})
        for _, kind in zip(range(max(n_solvers, len(KINDS[problem]))), cycle(KINDS[problem])):
            formulation, solver = min(
                COMBINATIONS[problem], key=lambda both: (used[problem, both[1]], used[both])
            )
            used.update([(problem, solver), (formulation, solver)])
            design.append(Case(problem, kind, formulation, solver))
    return design


PRODUCT = whole_product()
DESIGN = PRODUCT if CASES else covering_design()


def test_every_pair_occurs() -> None:
    """Also in a run that does not go through the whole product."""
    assert {case.problem for case in DESIGN} == set(registry.PROBLEMS)
    assert {case.formulation for case in DESIGN} == set(FORMULATIONS)
    assert {case.solver.name for case in DESIGN} == set(registry.SOLVERS)
    design = covering_design()
    for one, two in (("problem", "kind"), ("problem", "solver"), ("formulation", "solver")):
        pairs = [{(getattr(c, one), getattr(c, two)) for c in cases} for cases in (design, PRODUCT)]
        assert pairs[0] == pairs[1], (one, two)


class Outcome(NamedTuple):
    """What a training gave: all of it must be the same to the byte, whatever form the data had."""

    scores: bytes  # the weights, or in a kernel's space the scores of the examples
    primal: float | None
    dual: float | None
    n_constraints: int
    predictions: Any
    score: float


def trained(case: Case, brought: Brought, kernel: Any) -> StructuredSVM | str:
    """On examples in some form; or that a hard margin cannot be had."""
    model = StructuredSVM(
        brought.problem,
        case.formulation,
        case.solver.name,
        C=C,
        gap_tol=GAP,
        kernel=kernel if case.solver.kernel else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one pass of olarank is seldom enough
        try:
            return model.fit(brought.X, brought.Y)
        except NotSeparableError:
            return "not separable"


def outcome(model: StructuredSVM | str, brought: Brought) -> Outcome | str:
    """What a model is, and does with examples in some form."""
    if isinstance(model, str):
        return model
    _, X, Y, number_of = brought
    if model.w_ is None:
        inputs, outputs = gate.scored(adapt(model.problem_), X, Y)
        scores = np.array([model.scorer_(inputs[i], outputs[i]) for i in range(len(outputs))])
    else:
        scores = model.w_
    fit, predictions = model.fit_, plain(model.predict(X), number_of)
    return Outcome(scores.tobytes(), fit.primal, fit.dual, fit.n_constraints, predictions, model.score(X, Y))


@cache
def from_plain_arrays(case: Case, form: str, seed: int) -> tuple[StructuredSVM | str, Outcome | str]:
    """Model and outcome; the kind of the case is not looked at."""
    examples = plain_form(example(case.problem, seed), form)
    brought = Brought(*examples[:3])
    model = trained(case, brought, examples.kernel)
    return model, outcome(model, brought)


@cache
def every_constraint(problem: str, form: str, seed: int) -> list[references.Constraint]:
    dense = {"sparse": "dense", "sparse ones": "zeros and ones"}.get(form, form)
    return constraints(problem, *plain_form(example(problem, seed), dense)[:3])


@cache
def optimum(problem: str, formulation: str, form: str, seed: int) -> float | str | None:
    """Of the problem with all constraints; None where cvxopt finds none."""
    listed = every_constraint(problem, form, seed)
    if formulation == "SVM0" and not references.separable(listed):
        return "not separable"
    try:
        return references.primal(formulation, C, listed, 1 + max(c.i for c in listed)).value
    except (ArithmeticError, ValueError):
        return None


def require_true(case: Case, got: Outcome | str, form: str, seed: int) -> None:
    """dual <= optimum of the problem with all constraints <= primal."""
    best = optimum(case.problem, case.formulation, form, seed)
    if isinstance(got, str) or best == "not separable":
        assert got == best or case.solver.name == "perceptron"  # which asks for no margin
    elif got.primal is not None and got.dual is not None and isinstance(best, float):
        assert got.dual <= best * (1 + CLOSE) and best <= got.primal * (1 + CLOSE)


def compare(case: Case, examples: Example, seed: int, folder: Path) -> None:
    kind = KINDS[case.problem][case.kind]
    brought = kind.bring(examples, folder)
    got = outcome(trained(case, brought, examples.kernel), brought)
    model, want = from_plain_arrays(case._replace(kind=""), kind.plain, seed)
    if kind.same_sums:
        assert got == want
        if brought.number_of is None and brought.problem is examples.problem:
            assert outcome(model, brought) == want  # trained on plain arrays, used on another form
    elif isinstance(got, str) or isinstance(want, str):
        assert got == want
    elif got.primal is not None and want.primal is not None:  # both enclose the same optimum
        assert got.dual <= want.primal * (1 + CLOSE) and want.dual <= got.primal * (1 + CLOSE)
    if not case.solver.kernel:
        require_true(case, got, kind.plain, seed)


GROUPS = sorted({(case.problem, case.solver) for case in PRODUCT})


@pytest.mark.parametrize(
    ("problem", "solver"), GROUPS, ids=[f"{p}-{s.name}{'-kernel' * s.kernel}" for p, s in GROUPS]
)
def test_the_model_is_that_of_plain_arrays(problem: str, solver: Solver, tmp_path: Path) -> None:
    cases = [case for case in DESIGN if (case.problem, case.solver) == (problem, solver)]
    assert cases
    for case in cases:
        try:
            compare(case, example(problem), 0, tmp_path)
        except Exception as error:
            error.add_note(str(case))
            raise


@given(case=st.sampled_from(PRODUCT), seed=st.integers(1, 10**6))
@settings(max_examples=CASES // 8 or 100)
def test_and_so_it_is_for_any_data(case: Case, seed: int) -> None:
    with TemporaryDirectory() as folder:
        compare(case, example(case.problem, seed), seed, Path(folder))
