"""The tutorials' Python examples run as they stand, and print what the text shows."""

from __future__ import annotations

import re

import pytest

from helpers.toy_project import HERE

TEXT = (HERE / "docs" / "tutorial_entities.md").read_text(encoding="utf-8")
PROGRAM, SHOWN = re.findall(r"```(?:python)?\n(.*?)```", TEXT, re.DOTALL)


def test_entities(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(PROGRAM, "tutorial_entities.md", "exec"), names)
    assert capsys.readouterr().out == SHOWN
    model, X, Y = names["model"], names["X"], names["Y"]
    assert model.predict(X) == Y and model.classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
