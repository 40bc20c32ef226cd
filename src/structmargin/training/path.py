"""A path over C: the cuts do not depend on C, so each model starts from the cuts of the one before.

A model trained at one C also bounds the optimum at others, without a search. With R(w) what the slacks cost
at C = 1, the primal 1/2 |w|^2 + C R(w) of a fixed w is a line in C. So the optimum, as the smallest of all
such lines, is concave in C: between two values of C it lies above the chord of their duals, and below the
lines of both models. The upper bound over the lower is largest at one of the two, or where the lines cross:
so that one value of C certifies the gap everywhere between. Training there, where the gap is too large, makes
an eps-approximate path (Osokin et al. 2016, Section 5, with another lower bound).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from structmargin.fit import Fit, relative
from structmargin.formulation import Formulation
from structmargin.problem import Problem
from structmargin.training.trainable import Trainable, require_number, require_weights

MIN_RATIO = 1.0 + 1e-6
"""Two values of C are never nearer than this: what separates them is rounding."""


def c_path(
    solver: Trainable,
    problem: Problem,
    data: tuple[Sequence[Any], Sequence[Any]],
    formulation: Formulation,
    space: Any = None,
    *,
    Cs: Iterable[float],
    path_tol: float | None = None,
    **options: Any,
) -> list[Fit]:
    """Train for several values of C, each starting from the cuts of the one before.

    Parameters
    ----------
    solver : Trainable
        A solver object, such as `structmargin.solvers.n_slack.NSlack()`.
    problem : Problem
        Bound to the data already, where it learns from them.
    data : tuple (X, Y)
        Inputs and outputs; for a problem that wraps its data, the wrapped ones.
    formulation : Formulation
        Such as `FORMULATIONS["SVM1 margin"]`.
    space : Linear or Joint, optional
        Explicit features (the default), or the space of a joint kernel.
    Cs : iterable of float
        In this order; small to large is usually fastest.
    path_tol : float, optional
        The relative gap to certify at every C between two neighbours of `Cs`, for the better of the models
        next to it (see `model_on_path`). Further values of C are trained between them where this is needed.
        gap_tol, at the values that are trained, must be smaller; by default it is half of it.
    **options
        Those of `Trainable.train`: eps, gap_tol, max_iter, random_state, progress, n_jobs.

    Returns
    -------
    list of Fit
        One for each C, and those between where `path_tol` is given, in the order of the path. Each owns its
        weights and support; the growing set of cuts is handed on from one to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import FORMULATIONS, c_path
    >>> from structmargin.problems import Multiclass
    >>> from structmargin.solvers.n_slack import NSlack
    >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), np.array([0, 1, 0])
    >>> fits = c_path(NSlack(), Multiclass(2, 2), (X, Y), FORMULATIONS["SVM1 margin"], Cs=[0.1, 1.0, 10.0])
    >>> [fit.C for fit in fits]
    [0.1, 1.0, 10.0]
    """
    if path_tol is not None:
        require_number("path_tol", path_tol)
        options = {**options, "gap_tol": _smaller_gap(path_tol, options.get("gap_tol"))}
    last: Fit | None = None

    def trained(C: float) -> Fit:
        nonlocal last
        former = last
        last = solver.train(problem, data, formulation, space, C=C, warm_start=former, **options)
        if former is not None:
            former.state = None
        if path_tol is not None:
            _require_gap(last)
        return last

    weights = options.get("sample_weight")
    fits: list[Fit] = []
    for C in Cs:
        ahead = [trained(C)]  # models to the right of fits[-1], the next one last
        while ahead:
            if path_tol is not None and fits:
                meeting = _crossing(fits[-1], ahead[-1], weights)
                if _gap_between(fits[-1], ahead[-1], meeting, weights) > path_tol and _apart(
                    fits[-1].C, meeting, ahead[-1].C
                ):
                    ahead.append(trained(meeting))
                    continue
            fits.append(ahead.pop())
    return fits


def model_on_path(fits: Sequence[Fit], C: float, sample_weight: Any = None) -> tuple[Fit, float]:
    """The better model for a C on a path, and the relative gap that is certified for it there.

    Parameters
    ----------
    fits : sequence of Fit
        Of `c_path`, with certified gaps; values of C that only rise, or only fall.
    C : float
        Between the first and the last of theirs.
    sample_weight : array of float, shape (n,), optional
        The weights of the examples, as in training.

    Returns
    -------
    fit : Fit
        The one whose primal at C is smallest of the two next to C.
    gap : float
        By what share of that primal it may exceed the optimum at C.

    Examples
    --------
    >>> import numpy as np
    >>> from structmargin import FORMULATIONS, c_path
    >>> from structmargin.problems import Multiclass
    >>> from structmargin.solvers.n_slack import NSlack
    >>> from structmargin.training.path import model_on_path
    >>> X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2]]), np.array([0, 1, 0])
    >>> margin = FORMULATIONS["SVM1 margin"]
    >>> fits = c_path(NSlack(), Multiclass(2, 2), (X, Y), margin, Cs=[0.1, 10.0], path_tol=0.05)
    >>> fit, gap = model_on_path(fits, 3.0)
    >>> gap <= 0.05
    True
    """
    for fit in fits:
        _require_gap(fit)
    for left, right in pairwise(fits):
        if min(left.C, right.C) <= C <= max(left.C, right.C):
            better = min(left, right, key=lambda fit: _upper(fit, C, sample_weight))
            return better, _gap_between(left, right, C, sample_weight)
    raise ValueError(
        f"C = {C:g} is not on the path: its models are for C from {fits[0].C:g} to {fits[-1].C:g}"
    )


def _require_gap(fit: Fit) -> None:
    """Raise unless the fit has a gap: without one nothing is known between two values of C."""
    if fit.gap is None:
        raise ValueError(
            "path_tol and model_on_path need certified gaps, and this training certifies none (a perceptron, "
            "an approximate search, or a training that broke off): use an exact search and, say, NSlack()"
        )


def _smaller_gap(path_tol: float, gap_tol: float | None) -> float:
    if gap_tol is None:
        return path_tol / 2.0
    if gap_tol >= path_tol:
        raise ValueError(
            f"gap_tol = {gap_tol:g} must be smaller than path_tol = {path_tol:g}: between two models the gap "
            "is larger than at either"
        )
    return gap_tol


def _price(fit: Fit, sample_weight: Any) -> float:
    """R(w): what the slacks of a certified fit cost at C = 1, 0 for hard margins, where C does not matter."""
    if fit.formulation.p == 0:
        return 0.0
    assert fit.primal is not None and fit.primal_high is not None and fit.xi is not None
    weights = require_weights(sample_weight, len(fit.xi))
    price = fit.formulation.price(fit.xi, fit.C, len(fit.xi), weights)
    return (price + fit.primal_high - fit.primal) / fit.C


def _upper(fit: Fit, C: float, sample_weight: Any) -> float:
    """The primal of the fit's w at another C."""
    assert fit.primal_high is not None
    return fit.primal_high + (C - fit.C) * _price(fit, sample_weight)


def _gap_between(left: Fit, right: Fit, C: float, sample_weight: Any) -> float:
    """The relative gap of the better of two fits at a C between theirs."""
    assert left.dual is not None and right.dual is not None
    share = 0.0 if right.C == left.C else (C - left.C) / (right.C - left.C)
    lower = (1.0 - share) * left.dual + share * right.dual
    upper = min(_upper(left, C, sample_weight), _upper(right, C, sample_weight))
    return relative(upper - lower, upper)


def _crossing(left: Fit, right: Fit, sample_weight: Any) -> float:
    """The C between two fits at which their primals are equal; that of the left one if there is none."""
    steeper = _price(left, sample_weight) - _price(right, sample_weight)
    ahead = _upper(right, left.C, sample_weight) - _upper(left, left.C, sample_weight)
    if steeper == 0.0 or not math.isfinite(ahead / steeper):
        return left.C
    low, high = sorted((left.C, right.C))
    return min(max(left.C + ahead / steeper, low), high)


def _apart(left: float, C: float, right: float) -> bool:
    """Whether C lies clearly between two others."""
    low, high = sorted((left, right))
    return low * MIN_RATIO < C < high / MIN_RATIO
