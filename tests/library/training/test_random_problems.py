"""Hundreds of random small problems, in units from 1e-150 to 1e150: dual <= optimum <= primal, always.

`make test-long` tries ten thousand (STRUCTMARGIN_CASES says how many).
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from helpers import references
from helpers.tables import Drawn, Table, drawn
from structmargin.dual.working_set import NotSeparableError
from structmargin.fit import Fit
from structmargin.formulation import FORMULATIONS
from structmargin.solvers.bcfw import BCFW
from structmargin.solvers.n_slack import NSlack
from structmargin.solvers.olarank import OLaRank
from structmargin.solvers.one_slack import OneSlack
from structmargin.training.trainable import Trainable

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "420"))
GROUPS = 14
ALL: list[Trainable] = [NSlack(), NSlack("a"), NSlack("b")]
LINEAR: list[Trainable] = [*ALL, OneSlack(), BCFW(), OLaRank(passes=300)]
CLOSE = 1e-6
"""How far the reference itself may be off, and 10^x is not exact: relative."""


def optimum(problem: Drawn, name: str) -> float | None:
    """The optimum in the problem's own units; None if a hard margin cannot be had."""
    listed = problem.constraints()
    counting = [c for c in listed if problem.weights is None or problem.weights[c.i] > 0.0]
    if name == "SVM0" and not any(c.delta > 0.0 for c in counting):
        return 0.0
    if name == "SVM0" and not references.separable(counting):
        return None
    return references.primal(name, problem.C, listed, len(problem.Y), problem.weights).value * problem.factor


def train(problem: Drawn, name: str, solver: Trainable) -> Fit:
    return solver.train(
        Table(), (problem.scaled_X, problem.Y), FORMULATIONS[name], C=problem.scaled_C, gap_tol=1e-3,
        sample_weight=problem.weights, max_iter=1000,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:training left a duality gap:structmargin.fit.ConvergenceWarning")
@pytest.mark.parametrize("group", range(GROUPS))
def test_the_certificate_encloses_the_optimum_of_the_problem_with_all_constraints(group: int) -> None:
    rng = np.random.default_rng([2026, group])
    tried = 0
    while tried < CASES // GROUPS:
        name = str(rng.choice(references.NAMES))
        solvers = LINEAR if name.startswith("SVM1") else ALL
        solver = solvers[rng.integers(len(solvers))]
        state = rng.bit_generator.state["state"]["state"]
        problem = drawn(rng, name)
        try:
            best = optimum(problem, name)
        except (ArithmeticError, ValueError):  # cvxopt cannot solve it: no reference, another one is drawn
            continue
        tried += 1
        told = f"{name}, {solver}, state {state}, C {problem.C}, weights {problem.weights}"
        if best is None:
            with pytest.raises(NotSeparableError):
                train(problem, name, solver)
            continue
        fit = train(problem, name, solver)
        assert fit.dual is not None and fit.primal is not None and fit.gap is not None
        assert fit.dual <= best * (1 + CLOSE), told
        assert best <= fit.primal * (1 + CLOSE), told
        if not isinstance(solver, (BCFW, OLaRank)):  # these may need more passes where C is large
            assert fit.converged and fit.gap <= 1e-3 * fit.primal, told
        assert fit.converged == (fit.gap <= 1e-3 * fit.primal), told
