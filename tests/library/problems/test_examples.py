"""The examples in the docstrings of problems, kernels and formulations say what really happens."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from structmargin import problems

MODULES = [
    "structmargin.formulation",
    "structmargin.kernels",
    "structmargin.problems.localization.kernel",
    "structmargin.problems.sequence.kernel",
    *sorted({getattr(problems, name).__module__ for name in problems.__all__}),
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
