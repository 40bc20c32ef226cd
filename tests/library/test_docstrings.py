"""The examples in the docstrings of what is public run as they stand, and say what is printed."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "structmargin",
    "structmargin.estimators.structured_svm",
    "structmargin.fit",
    "structmargin.adapted",
    "structmargin.problem",
    "structmargin.jkse.estimator",
    "structmargin.training.certificate",
    "structmargin.training.path",
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_run(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried and not failed


def test_every_public_name_is_documented() -> None:
    """Parameters or Attributes of everything with any, so that `help` serves who has never seen the code."""
    import structmargin

    for name in ("StructuredSVM", "JKSE", "Fit", "certify", "c_path"):
        text = getattr(structmargin, name).__doc__
        assert "Parameters\n" in text or "Attributes\n" in text, name
        assert "Examples\n" in text, name
    for kind in (structmargin.StructuredSVM, structmargin.JKSE):
        for parameter in kind(None).get_params(deep=False):
            assert f"\n    {parameter} : " in kind.__doc__, (kind, parameter)
