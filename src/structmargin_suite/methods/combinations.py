"""Which settings of a model of the library go together, asked of the library before anything is trained."""

from __future__ import annotations

import functools
import json
from dataclasses import fields
from typing import Any, NamedTuple

from structmargin_suite.methods.kinds import LibraryModel, kernel_of
from structmargin_suite.storage.files import plain


class Refusal(NamedTuple):
    """What is unknown in a model's settings, and why known settings cannot be combined; None if nothing."""

    unknown: str | None = None
    reason: str | None = None


def refusal(model: LibraryModel) -> Refusal:
    """Why a model of the library cannot be trained, if so."""
    given = {setting.name: getattr(model, setting.name) for setting in fields(model)}
    decisive = {**given, "C": None, "C_per_example": None, "price": None, "training": {}}
    return _refusal(json.dumps(plain(decisive), sort_keys=True))


@functools.cache
def _refusal(text: str) -> Refusal:
    from structmargin import registry
    from structmargin.jkse.trainers import trainer

    model = LibraryModel(**json.loads(text))
    try:
        params = _filled(dict(model.problem))
        problem = registry.problem(params.pop("name"), **params)
        space = registry.space(kernel_of(model.kernel, params))
        if model.formulation is None:
            trainer(model.trainer or "one_class")
            return Refusal(reason=registry.check_space(problem, space))
        formulation = registry.formulation(model.formulation)
        solver = registry.solver(model.solver, **model.solver_options)
    except (TypeError, ValueError) as error:
        return Refusal(unknown=str(error))
    return Refusal(reason=registry.check(problem, formulation, solver, space))


def _filled(params: dict[str, Any]) -> dict[str, Any]:
    """A problem's parameters, with any number for those that only the data know: combinations do not
    depend on them."""
    from structmargin import registry

    make: Any = registry.PROBLEMS.get(params["name"])
    if make is not None:  # the registry refuses unknown names
        for parameter in fields(make):
            if parameter.init and parameter.name.startswith("n_") and parameter.name not in params:
                params[parameter.name] = 2
    return params
