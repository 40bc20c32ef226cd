"""The tutorials' examples run as they stand: programs print what is shown, configs give their tables."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
import yaml

from helpers.toy_project import HERE, TOY, project, run_all
from structmargin_suite.planning.plan import load

FENCED = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def blocks(page: str, kind: str) -> list[str]:
    """The fenced parts of a page that are of one kind; "" is what a program prints."""
    text = (HERE / "docs" / page).read_text(encoding="utf-8")
    return [body for given, body in FENCED.findall(text) if given == kind]


def test_entities(capsys: pytest.CaptureFixture[str]) -> None:
    (program,), (shown,) = blocks("tutorial_entities.md", "python"), blocks("tutorial_entities.md", "")
    names: dict[str, object] = {}
    exec(compile(program, "tutorial_entities.md", "exec"), names)
    assert capsys.readouterr().out == shown
    model, X, Y = names["model"], names["X"], names["Y"]
    assert model.predict(X) == Y and model.classes_.tolist() == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def test_own_problem(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("tutorial_problem.md", "python")
    assert len(program.strip().split("\n")) <= 40
    exec(compile(program, "tutorial_problem.md", "exec"), {})
    lines = capsys.readouterr().out.strip().split("\n")
    assert len(lines) == 3
    for line in lines:
        primal, gap, loss = (float(line.split(word)[1].split()[0]) for word in ("primal", "gap", "loss"))
        assert 0 <= gap <= 0.05 * primal
        assert loss < 0.5  # four tags, each right by chance half the time, would give 2


def test_own_data_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    (program,), (shown,) = blocks("tutorial_data.md", "python"), blocks("tutorial_data.md", "")
    exec(compile(program, "tutorial_data.md", "exec"), {})
    assert capsys.readouterr().out == shown


def letters(path: Path) -> None:
    """Twenty words of three letters in the form that the tutorial describes, two words in each fold."""
    lines = []
    for word in range(20):
        for place, letter in enumerate("abc"):
            number = 3 * word + place
            pixels = [int((7 * k + ord(letter)) % 5 == 0) for k in range(128)]
            following = number + 1 if place < 2 else -1
            lines.append([number, letter, following, word, place + 1, word % 10, *pixels])
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("".join("\t".join(map(str, line)) + "\n" for line in lines).encode()))


def test_own_data_in_a_config(tmp_path: Path) -> None:
    (given,) = (yaml.safe_load(block) for block in blocks("tutorial_data.md", "yaml"))
    config = {
        **{key: TOY[key] for key in ("title", "paper", "where", "about")},
        **given,
        "problem": {"name": "Sequence"},
        "methods": {"S-SVM": {"formulation": "SVM1 margin", "solver": "n_slack", "C_per_example": 1.0}},
        "studies": {"words": {"methods": ["S-SVM"], "data": ["mine"], "vary": {"rotation": [0]}}},
        "tables": {
            "letters": {
                "caption": "Letters.", "study": "words", "keys": ["method"],
                "measures": ["test_letter_error"],
            },
        },
        "scales": {"smoke": {}, "standard": {}, "paper": {}},
    }  # fmt: skip
    root = project(tmp_path, config)
    letters(root / given["data"]["mine"]["path"])
    run_all(root)
    table = (root / "results" / "toy" / "letters.csv").read_text(encoding="utf-8").splitlines()
    assert "own file" in table[1] and ",0," in table[1], "three letters that never vary are learnt"


def test_own_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    (text,), (program,) = (blocks("tutorial_experiment.md", kind) for kind in ("yaml", "python"))
    shown = blocks("tutorial_experiment.md", "")[-1]
    root = project(tmp_path, yaml.safe_load(text), "clusters_by_size")
    assert len(load(root, "smoke").experiments["clusters_by_size"].runs) == 6
    run_all(root)
    monkeypatch.chdir(root)
    capsys.readouterr()
    exec(compile(program, "tutorial_experiment.md", "exec"), {})
    assert capsys.readouterr().out == shown
    assert "tree loss" in (root / "results" / "clusters_by_size" / "by_size.md").read_text(encoding="utf-8")
