"""What a training that starts from former cuts knows of them before its first search."""

from __future__ import annotations

from helpers.every_problem import example
from structmargin.fit import Fit
from structmargin.formulation import FORMULATIONS
from structmargin.solvers.n_slack import NSlack
from structmargin.training.task import Task


def test_the_unit_of_slacks_is_that_of_the_cuts_held() -> None:
    """Else the rounding error of a held cut, 1e-16, would count as an output that the search missed."""
    units: list[float] = []

    class Watched(NSlack):
        def solve(self, task: Task) -> Fit:
            task.dual(task.n)
            units.append(task.separation.largest_b)
            return super().solve(task)

    problem, X, Y, _ = example("Taxonomy")
    formulation = FORMULATIONS["SVM1 margin"]
    first = Watched().train(problem, (X, Y), formulation, C=5.0)
    Watched().train(problem, (X, Y), formulation, C=5.0, warm_start=first)
    assert units == [0.0, 2.0]  # the largest loss of the taxonomy
