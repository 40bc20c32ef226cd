"""The README's Python examples run as they stand, and say what the text claims."""

from __future__ import annotations

import re

from helpers.toy_project import HERE

README = HERE / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_digits_example(capsys):
    exec(compile(BLOCKS[0], "README.md", "exec"), {})
    certificate, accuracy = capsys.readouterr().out.split("\n")[:2]
    primal, gap = map(float, certificate.split())
    assert 0 <= gap <= 1e-2 * primal
    assert float(accuracy) > 0.9


def test_own_problem_example(capsys):
    exec(compile(BLOCKS[1], "README.md", "exec"), {})
    lines = capsys.readouterr().out.strip().split("\n")
    assert len(lines) == 3
    for line in lines:
        primal, gap, loss = (float(line.split(word)[1].split()[0]) for word in ("primal", "gap", "loss"))
        assert 0 <= gap <= 0.05 * primal
        assert loss < 0.5  # four tags, each right by chance half the time, would give 2


def test_own_problem_has_at_most_forty_lines():
    assert len(BLOCKS[1].strip().split("\n")) <= 40
