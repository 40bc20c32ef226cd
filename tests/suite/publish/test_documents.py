"""The documents say what the project does: generated ones are up to date, others name what exists."""

from __future__ import annotations

import re

from helpers.toy_project import HERE, TOY, project
from structmargin_suite.cli import main
from structmargin_suite.publish.architecture import reduced
from structmargin_suite.publish.documents import api, documents, readings
from structmargin_suite.publish.previews.readme import BEGIN, END, front
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import write_json

SYMBOLS = HERE / "docs" / "symbols.md"


def test_generated_documents_are_up_to_date():
    for path, text in documents(HERE).items():
        assert path.is_file() and path.read_text(encoding="utf-8") == text, (
            f"run structmargin docs: {path.name} is old"
        )


def test_readings_tell_what_a_config_says(tmp_path):
    read = {"label": "C | n", "about": "As printed.", "evidence": "its words", "chosen": "before"}
    config = {**TOY, "stands_in": "Toys stand in.", "notes": ["One thing\n  is left   open."]}
    config["readings"] = {"printed": {**read, "primary": True, "sets": {"price": 2.0}}}
    hard = {**TOY["methods"]["hard"], "note": "No slack."}
    any_of_them = {**TOY["methods"]["any"], "readings": ["printed"]}
    config["methods"] = {**TOY["methods"], "hard": hard, "any": any_of_them}
    text = readings(project(tmp_path, config))
    cells = "| C \\| n (primary) | any | As printed. | price 2.0 | its words | before |"
    assert cells in text, text
    assert (
        "## A toy (`toy`)" in text
        and "\n- Toys stand in.\n- One thing is left open.\n" in text
        and "\n- hard: No slack.\n" in text
    )
    assert "(JMLR): nowhere." in text
    assert main(["--root", str(tmp_path), "docs"]) == 0
    assert (tmp_path / "docs" / "readings.md").read_text(encoding="utf-8") == text


def test_the_reference_holds_what_is_public_and_nothing_else(tmp_path):
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The package."""\n')
    (package / "_hidden.py").write_text('"""Hidden."""\n')
    (package / "inner" / "part.py").write_text(
        '"""A part | of it.\n\nMore."""\n'
        "class Shown:\n"
        '    """Shown."""\n'
        "    a: int\n    b: float = 1.0\n    _c: int = 2\n"
        "    def told(self, x: int, *, y=2):\n"
        '        """Told."""\n'
        "    def untold(self):\n        pass\n"
        "class Made:\n"
        '    """Made."""\n'
        "    def __init__(self, size: int = 3) -> None:\n        pass\n"
        "def _inner():\n"
        '    """Inner."""\n'
        "def outer(*args):\n"
        '    """Outer:\n\n        x = 1\n    and more.\n    """\n'
    )
    text = api(package)
    heads = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert heads == [
        "# API reference", "## package", "## package.inner.part", "### `Shown(a: int, b: float = 1.0)`",
        "#### `Shown.told(x: int, *, y=2)`", "### `Made(size: int=3)`", "### `outer(*args)`",
    ]  # fmt: skip
    assert "| [`package.inner.part`](#packageinnerpart) | A part &#124; of it. |" in text
    assert (
        "```text\nOuter:\n\n    x = 1\nand more.\n```" in text and "idden" not in text and "Inner" not in text
    )


def test_every_symbol_has_its_name_in_its_file():
    rows = [
        line.split("|")[2:4]
        for line in SYMBOLS.read_text(encoding="utf-8").splitlines()
        if "`" in line and "|" in line
    ]
    assert len(rows) > 30
    for names, files in rows:
        text = "".join(
            (HERE / "src" / "structmargin" / path).read_text() for path in re.findall(r"`(.+?)`", files)
        )
        for name in re.findall(r"`(.+?)`", names):
            assert re.search(rf"\b{re.escape(name)}\b", text), (name, files)


def test_the_architecture_names_files_that_exist():
    text = (HERE / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = set(re.findall(r"(?:\w+/)*\w+\.py\b|(?:\w+/)+(?![\w.])", text))
    bases = [HERE, HERE / "src", *(HERE / "src" / name for name in ("structmargin", "structmargin_suite"))]
    assert len(places) > 30
    assert {name for name in places if not any((base / name).exists() for base in bases)} == set()


def test_the_drawing_leaves_out_what_a_longer_way_says():
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set(), "e": {"a", "d"}}
    assert reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set(), "e": {"a"}}


def test_links_between_documents_lead_somewhere():
    for document in (HERE / "README.md", HERE / "CONTRIBUTING.md", *(HERE / "docs").glob("*.md")):
        text = document.read_text(encoding="utf-8")
        anchors = {
            re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
            for head in re.findall(r"^#+ (.*)$", text, re.M)
        }
        for address in re.findall(r"\]\(([^)\s]+)\)", text):
            if address.startswith("#"):
                assert address[1:] in anchors, (document.name, address)
            elif not address.startswith("http"):
                assert (document.parent / address.partition("#")[0]).exists(), (document.name, address)


def test_the_readme_tells_the_snapshots_own_numbers(tmp_path):
    folder = tmp_path / "results" / "snapshot"
    said = {"paper": "jmlr05", "experiment": "one", "primary": True, "volatile": False, "cause": ""}
    said["statement"] = "A < B."
    rows = [
        {**said, "id": "a", "where": "Table 1", "verdict": "reproduced"},
        {
            **said,
            "id": "a",
            "where": "Table 1",
            "verdict": "contradicted",
            "primary": False,
            "cause": "open: x",
        },
        {**said, "id": "b", "where": "Table 1, Figure 2", "verdict": "reproduced"},
        {**said, "id": "c", "where": "Table 1", "verdict": "inconclusive", "cause": "power: more"},
        {
            **said,
            "id": "d",
            "where": "Table 1",
            "verdict": "contradicted",
            "volatile": True,
            "cause": "open: y",
        },
        {**said, "id": "e", "where": "Figure 3", "verdict": "not testable"},
        {**said, "id": "f", "where": "Table 9", "verdict": "used", "paper": "cacm09"},
    ]
    write_csv(folder / "statements.csv", rows, list(rows[0]))
    data = {"one": {"data": {"x": "real", "y": "synthetic"}}, "two": {"data": {"z": "real"}}}
    write_json(folder / "record.json", {"scale": "paper", "experiments": data})
    config = {
        "paper": "jmlr05", "title": "A | title", "methods": {},
        "tables": {"mine": {"caption": "Table 1: numbers."}},
        "figures": {"curve": {"caption": "Figure 2: a curve."}},
    }  # fmt: skip
    write_json(folder / "one" / "summary.json", {"config": config})
    write_csv(folder / "one" / "runs.csv", [], ["run", "method", "reading", "studies"])
    assert front(tmp_path) is None
    (tmp_path / "README.md").write_text(f"Before.\n{BEGIN}\nstale\n{END}\nAfter.\n")
    text = str(front(tmp_path))
    assert text.startswith(
        f"Before.\n{BEGIN}\n**Of 6 statements of the papers: 2 reproduced, 1 inconclusive,"
    )
    assert text.endswith(f"\n{END}\nAfter.\n") and "stale" not in text
    contradicted = "- JMLR 2005, Table 1: A \\< B. *not known: y.*"
    assert (
        "contradicted (1), and why</summary>" in text and text.count("\n- ") == text.count(contradicted) == 1
    )
    assert "2 real data sets and 1 synthetic" in text
    title = "[A \\| title](notebooks/one.ipynb)"
    first = "[JMLR&nbsp;2005,&nbsp;Table&nbsp;1](results/snapshot/one/mine.md)"
    each = "results/snapshot/one/statements.md"
    assert f"| {first} | {title} | 2 | 1 |  |  | [too few data 1]({each}) |\n" in text
    second = "[JMLR&nbsp;2005,&nbsp;Figure&nbsp;2](results/snapshot/one/figures/curve.svg)"
    assert f"| {second} | {title} | 1 |  |  |  | [sentences]({each}) |\n" in text
    assert "Figure&nbsp;3](results/snapshot/one/index.html#statements) |" in text
    assert "Table&nbsp;9" not in text, "nothing was tested there"
    (tmp_path / "README.md").write_text(text)
    assert front(tmp_path) == text
