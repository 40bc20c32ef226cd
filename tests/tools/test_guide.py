"""The user guide's Python examples run in order, in one program, and print what the page shows."""

from __future__ import annotations

import re

import pytest

from helpers.toy_project import HERE

TEXT = (HERE / "docs" / "guide.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    assert len(EXAMPLES) == TEXT.count("```python\n") >= 6
    for number, (program, shown) in enumerate(EXAMPLES):
        exec(compile(program, f"guide.md, example {number}", "exec"), names)
        assert capsys.readouterr().out == shown, f"example {number}"


def test_mistakes_that_the_page_counts_are_those_that_are_tested() -> None:
    from helpers.broken_problems import DETECTED, UNDETECTED

    assert f"plant {len(DETECTED)} kinds of mistakes" in TEXT
    part = TEXT.split("What cannot be detected")[1].split("Compare your search")[0]
    assert part.count("\n- ") == len(UNDETECTED) + 1  # and that no certificate is about new data
