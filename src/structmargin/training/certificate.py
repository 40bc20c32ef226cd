"""The certificate: the primal objective at a scorer, found anew by a full search, and Theorem 18's bound.

primal >= optimum >= dual, so primal - dual bounds the distance to the optimum of the all-constraints problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structmargin.adapted import AdaptedProblem, adapt
from structmargin.formulation import Formulation
from structmargin.problem import Problem, Scorer
from structmargin.training.parallel.jobs import Jobs
from structmargin.training.separation import Separation


class Certificate(NamedTuple):
    """What a full search finds at a scorer: the primal objective, every slack, and each output's loss."""

    primal: float
    xi: np.ndarray
    losses: np.ndarray


def primal_of(
    formulation: Formulation, C: float, norm2: float, H: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """(primal objective, slacks) given |w|^2, and the largest H and the weight of every example.

    For the hard margin, with m = 1 - max H the smallest margin: |w / m|^2 / 2 if m > 0, else infinity.
    """
    xi = np.maximum(H, 0.0)
    if formulation.p == 0:
        m = 1.0 - float(H[weights > 0.0].max(initial=-np.inf))
        if math.isinf(m):
            return 0.5 * norm2, xi
        return (0.5 * (math.sqrt(norm2) / m) ** 2 if m > 0 else math.inf), xi
    return 0.5 * norm2 + formulation.price(xi, C, len(H), weights), xi


def certify(
    problem: Problem,
    X: Sequence[Any],
    Y: Sequence[Any],
    f: Scorer,
    formulation: Formulation,
    C: float,
    norm2: float | None = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> Certificate:
    """Recompute the primal objective of a scorer by a full search over the data.

    Nothing that training reported is used, so this checks a `Fit` from outside.

    Parameters
    ----------
    problem : Problem
        Bound to its training data, as in `StructuredSVM.problem_`.
    X, Y : sequences
        Inputs and outputs; for a problem that wraps its data, the wrapped ones.
    f : Scorer
        Such as `StructuredSVM.scorer_`.
    formulation : Formulation
        Such as `FORMULATIONS["SVM1 margin"]`.
    C : float
        The price of slack, as in training.
    norm2 : float, optional
        |w|^2; it may be left out where f.w is explicit.
    sample_weight : array of float, shape (n,), optional
        The weights of the examples, as in training.
    n_jobs : int, optional
        How many searches run side by side, as in training.

    Returns
    -------
    Certificate
        The primal objective, the slack of every example, and the loss of the output found for each.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import StructuredSVM, certify
    >>> from structmargin.problems import Multiclass
    >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), [0, 1, 0]
    >>> model = StructuredSVM(Multiclass(2, 2), C=5.0).fit(X, Y)
    >>> certificate = certify(model.problem_, X, Y, model.scorer_, model.fit_.formulation, C=5.0)
    >>> bool(np.isclose(certificate.primal, model.fit_.primal))
    True
    """
    if norm2 is None:
        if f.w is None:
            raise ValueError("a kernel scorer needs its norm2 to be certified")
        norm2 = float(f.w @ f.w)
    with Jobs(n_jobs) as jobs:
        search = Separation(adapt(problem), X, Y, formulation.H, f.w is not None, jobs)
        H, losses = map(np.concatenate, zip(*((found.H, found.losses) for found in search.shares(f))))
    weights = np.ones(search.n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    primal, xi = primal_of(formulation, C, norm2, H, weights)
    return Certificate(primal, xi, losses)


def theorem18(
    problem: AdaptedProblem,
    X: Sequence[Any],
    Y: Sequence[Any],
    formulation: Formulation,
    C: float,
    eps: float,
) -> float | None:
    """Theorem 18's bound for this problem's data, if the problem bounds its radius and loss."""
    if problem.radius is None or problem.max_delta is None:
        return None
    R = max(float(problem.radius(X[i])) for i in range(len(Y)))
    D = max(float(problem.max_delta(y)) for y in Y)
    return formulation.max_constraints(C, len(Y), eps, R, D)
