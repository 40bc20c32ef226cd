"""Whatever is public is documented in numpydoc's form, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any

import pytest
from numpydoc.validate import validate

from structmargin import registry

PUBLIC = [
    "structmargin.StructuredSVM",
    "structmargin.JKSE",
    "structmargin.Fit",
    "structmargin.Formulation",
    "structmargin.c_path",
    "structmargin.certify",
    "structmargin.problem.Problem",
    "structmargin.problem.best_of",
    "structmargin.problem.top_of",
    "structmargin.NoParseWarning",
    "structmargin.scoring.spans",
    "structmargin.scoring.span_matches",
    "structmargin.scoring.span_f1",
    "structmargin.scoring.token_error",
    "structmargin.scoring.bracket_matches",
    "structmargin.scoring.bracket_f1",
    "structmargin_suite.results.Results",
    "structmargin_suite.results.ExperimentResults",
    *(f"structmargin.problems.{name}" for name in registry.PROBLEMS),
    *(f"{kind.__module__}.{kind.__qualname__}" for kind in registry.KERNELS.values()),
]
IN_FULL = {
    "structmargin.StructuredSVM", "structmargin.JKSE", "structmargin_suite.results.Results",
    "structmargin_suite.results.ExperimentResults",
}  # fmt: skip
"""Their methods are called by users, and documented as fully; those of a problem are called by solvers, and
`structmargin.problem.Problem` says once for all what each takes and returns."""
STYLE = {
    "ES01", "EX01", "SA01", "GL01", "GL03", "GL08", "PR06", "PR08", "PR09", "RT02", "RT03", "RT04", "RT05",
    "SS05", "SS06", "YD01",
}  # fmt: skip
"""Not asked for: an extended summary, examples and references of every method, and matters of punctuation.

What remains: a summary line that ends with a full stop, sections in order and spelt right, every parameter
there, documented, in order and with a type, and what is returned."""


def documented(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def methods(name: str) -> list[str]:
    """The public methods that a class defines itself and documents."""
    kind = documented(name)
    return [
        f"{name}.{attribute}"
        for attribute, value in vars(kind).items()
        if not attribute.startswith("_") and inspect.isfunction(inspect.unwrap(value)) and value.__doc__
    ]


NOT_MADE_BY_USERS = {"structmargin.Fit", "structmargin.problem.Problem"}
"""A fit comes out of a training and documents its attributes; a protocol has no parameters."""


def faults(name: str) -> list[str]:
    return [
        f"{code} {text}"
        for code, text in validate(name)["errors"]
        if code not in STYLE and not (code == "PR01" and name in NOT_MADE_BY_USERS)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_documented(name: str) -> None:
    assert {
        place: wrong
        for place in (name, *(methods(name) if name in IN_FULL else ()))
        if (wrong := faults(place))
    } == {}


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(documented(name))])
def test_a_class_has_an_example(name: str) -> None:
    assert ">>>" in (documented(name).__doc__ or "")


@pytest.mark.parametrize("module", sorted({inspect.getmodule(documented(name)).__name__ for name in PUBLIC}))
def test_examples_run(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0
