"""A path over C: the cuts do not depend on C, so each model starts from the cuts of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.problem import Problem
from structmargin.training.trainable import Trainable


def c_path(
    solver: Trainable,
    problem: Problem,
    data: tuple[Sequence[Any], Sequence[Any]],
    formulation: Formulation,
    space: Any = None,
    *,
    Cs: Iterable[float],
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
        Inputs and outputs.
    formulation : Formulation
        Such as `FORMULATIONS["SVM1 margin"]`.
    space : Linear or Joint, optional
        Explicit features (the default), or the space of a joint kernel.
    Cs : iterable of float
        In this order; small to large is usually fastest.
    **options
        Those of `Trainable.train`: eps, gap_tol, max_iter, random_state, progress, n_jobs.

    Returns
    -------
    list of Fit
        One for each C. Each owns its weights and support; the growing set of cuts is handed on from one to
        the next.

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
    fits: list[Fit] = []
    for C in Cs:
        former = fits[-1] if fits else None
        fits.append(solver.train(problem, data, formulation, space, C=C, warm_start=former, **options))
        if former is not None:
            former.state = None
    return fits
