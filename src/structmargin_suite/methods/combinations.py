"""Which settings of a library method go together, asked of the library before anything is trained."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from structmargin_suite.methods.models import kernel_of
from structmargin_suite.storage.files import plain


def combination(spec: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """(what is unknown in a library method's settings, why known things do not go together), or Nones."""
    keys = ("model", "formulation", "solver", "solver_options", "trainer", "problem", "kernel")
    return _combination(json.dumps(plain({key: spec.get(key) for key in keys}), sort_keys=True))


@functools.cache
def _combination(text: str) -> tuple[str | None, str | None]:
    from structmargin import registry
    from structmargin.jkse.trainers import trainer

    spec = json.loads(text)
    try:
        named = dict(spec["problem"])
        name = named.pop("name")
        make: Any = registry.PROBLEMS.get(name)
        if make is None:
            registry.problem(name)
        for one in fields(make):
            if one.init and one.name.startswith("n_") and one.name not in named:
                named[one.name] = 2  # only the data know; any number will do to ask what goes together
        problem, kernel = registry.problem(name, **named), kernel_of(spec["kernel"])
        space = registry.space(kernel)
        if spec["formulation"] is None:
            trainer(spec["trainer"] or "one_class")
            return None, registry.check_space(problem, space)
        formulation = registry.formulation(spec["formulation"])
        solver = registry.solver(spec.get("solver") or "n_slack", **(spec.get("solver_options") or {}))
    except (TypeError, ValueError) as error:
        return str(error), None
    return None, registry.check(problem, formulation, solver, space)
