"""Our side of a comparison: which solvers take part, and their training to a certified relative gap."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fresh import measured
from peers import Data
from tasks import Task

LEFT_OUT = {
    "perceptron": "it has no objective",
    "n_slack_cvxopt": "a reference for tests",
}
AS_IN_THE_PAPERS = ("n_slack_a", "n_slack_b", "staged", "olarank")
"""Kept as the papers have them; in the races against the clock, not in those against a peer."""
MAX_PASSES = 100_000
ENOUGH = 2.0
"""A training is repeated, up to three times, until its runs have taken so many seconds."""


class OutOfTime(Exception):
    """A training was ended after the seconds it was given."""


@contextmanager
def within(limit: float | None) -> Iterator[None]:
    """Raise OutOfTime after `limit` CPU seconds of this process, also in the midst of a pass.

    Where the signal meets compiled code, another exception may come of it, such as SystemError: whatever ends
    a training once its time is over counts as ours. Where nothing comes of it, there is a next signal.
    """
    over = []

    def end(*_: Any) -> None:
        over.append(True)
        raise OutOfTime

    if limit is None:
        yield
        return
    former = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, limit, 1.0)
    try:
        yield
    except Exception as error:
        if over:
            raise OutOfTime from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, former)


def solvers(problem: Any, formulation: str, every: bool = False) -> list[str]:
    """Names of the registry that can train this; with `every` also those kept as the papers have them."""
    from structmargin import registry

    out = {*LEFT_OUT, *(() if every else AS_IN_THE_PAPERS)}
    goal = registry.formulation(formulation)
    return [
        name
        for name in registry.SOLVERS
        if name not in out and registry.check(problem, goal, registry.solver(name), registry.space()) is None
    ]


def solver_of(name: str) -> Any:
    """A solver that goes on until the gap is reached."""
    from structmargin import registry

    make, _ = registry.SOLVERS[name]
    options = {"passes": MAX_PASSES} if "passes" in getattr(make, "__dataclass_fields__", {}) else {}
    return registry.solver(name, **options)


def trained(
    data: Data, task: Task, solver: str, gap_tol: float, n: int | None = None, limit: float | None = None
) -> dict[str, Any]:
    """Train on the first n examples; after `limit` CPU seconds training is ended, and `gap` is None."""
    from structmargin import StructuredSVM

    trace: list[dict[str, float]] = []

    def note(row: dict[str, float]) -> None:
        trace.append({k: row[k] for k in ("seconds", "oracle_calls", "primal", "dual", "gap") if k in row})

    model = StructuredSVM(
        data.problem, task.formulation, solver_of(solver), C_per_example=task.C_per_example,
        gap_tol=gap_tol, max_iter=MAX_PASSES, progress=note,
    )  # fmt: skip
    try:
        with within(limit):
            model.fit(data.X[:n], data.Y[:n])
    except OutOfTime:
        return {"gap": None, "dual": max((row["dual"] for row in trace if "dual" in row), default=None),
                "passes": None, "trace": trace, "model": None}  # fmt: skip
    fit = model.fit_
    examples = len(fit.xi)
    return {
        "objective": fit.primal, "dual": fit.dual, "gap": fit.relative_gap, "trace": trace,
        "passes": fit.oracle_calls / examples, "model": model,
    }  # fmt: skip


def small(data: Data) -> int:
    """How many examples compile everything: few, but of a binary problem enough to have both classes."""
    return 400 if data.problem.__class__.__name__ == "Measure" else 40


def gaps_of(data: Data, task: Task, solver: str, gaps: list[float], limit: float) -> list[dict[str, Any]]:
    """One training for each gap, the largest first: CPU seconds, the best of up to three.

    Memory is that of the smallest gap, which is trained to before the others: a peak does not go down.
    """
    rows = []
    for gap_tol in sorted(gaps):
        warm = (lambda: trained(data, task, solver, 0.3, small(data), limit)) if not rows else lambda: None
        run = lambda g=gap_tol: trained(data, task, solver, g, limit=limit)  # noqa: E731
        figures = measured(warm, run, repeats=3, enough=ENOUGH)
        model = figures.pop("model")
        if data.test is not None and model is not None:
            figures["error"] = error(data, model.w_)
        figures.pop("trace")
        if rows:
            del figures["mb"], figures["grew_mb"]
        rows.append({"asked": gap_tol, **figures})
    return rows[::-1]


def error(data: Data, w: Any, yhat: Any = None) -> float:
    """Per cent of wrong labels in the test data, of our prediction with w or of given ones."""
    import numpy as np

    from structmargin.scorer import LinearScorer

    assert data.test is not None
    X, Y = data.test
    if yhat is None:
        yhat = data.problem.batch(X, None).argmax(LinearScorer(data.problem, w))
    return 100.0 * float(np.mean(np.concatenate(Y) != np.concatenate(list(yhat))))


def primal(data: Data, task: Task, w: Any) -> float:
    """Our primal objective at somebody's weights, by a full search over the training data."""
    from structmargin import certify, registry
    from structmargin.adapted import adapt
    from structmargin.scorer import LinearScorer

    bound = adapt(data.problem).bind(data.X, data.Y)
    X, Y = adapt(bound).wrap(data.X, data.Y)
    formulation = registry.formulation(task.formulation)
    return certify(bound, X, Y, LinearScorer(bound, w), formulation, task.C_per_example * len(Y)).primal
