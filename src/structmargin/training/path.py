"""A path over C: the cuts do not depend on C, so each model starts from the cuts of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from structmargin.fit import Fit
from structmargin.formulation import Formulation
from structmargin.problem import Problem
from structmargin.training.task import Trainable


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
    """One certified `Fit` for each C, in the order given; small to large is usually fastest.

    `options` are those of `Trainable.train`. Each fit owns its weights and support; the growing set
    of cuts is handed on from one to the next.
    """
    fits: list[Fit] = []
    for C in Cs:
        former = fits[-1] if fits else None
        fits.append(solver.train(problem, data, formulation, space, C=C, warm_start=former, **options))
        if former is not None:
            former.state = None
    return fits
