"""The one gate for examples: `fit`, `predict`, `score` and `JKSE.add` let nothing in but through here.

Whatever the container, examples are taken by position. Then the problem says what they stand for (`wrap`) and
what is wrong with them (`check`, `check_inputs`, `check_outputs`), before any search sees them.
"""

from __future__ import annotations

from typing import Any

from structmargin.adapted import AdaptedProblem
from structmargin.inputs.containers import by_position, count


def pairs(X: Any, Y: Any, what: str = "training set") -> tuple[Any, Any]:
    """Inputs and outputs by position; they must be equally many, and at least one."""
    X = by_position(X, "X")
    if Y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None: give one output per input"
        )
    Y = by_position(Y, "Y")
    require_equal(X, Y, what)
    return X, Y


def require_equal(X: Any, Y: Any, what: str = "training set") -> None:
    """Raise unless X and Y are equally many, at least one."""
    if count(X) != count(Y):
        raise ValueError(f"X has {count(X)} examples but Y has {count(Y)}: each input needs one output")
    if count(Y) == 0:
        raise ValueError(f"the {what} is empty: X and Y must hold at least one example")


def inputs_of(problem: AdaptedProblem, X: Any) -> Any:
    """The inputs to predict for, as the problem's searches take them, checked."""
    X = by_position(X, "X")
    if count(X) == 0:
        raise ValueError("X is empty: give at least one input to predict for")
    X, _ = problem.wrap(X, None)
    problem.check_inputs(X)
    return X


def scored(problem: AdaptedProblem, X: Any, Y: Any) -> tuple[Any, Any]:
    """Inputs and right outputs to be scored on, as the problem's searches and its loss take them, checked."""
    X, Y = problem.wrap(*pairs(X, Y, "test set"))
    problem.check_inputs(X)
    problem.check_outputs(X, Y)
    return X, Y
