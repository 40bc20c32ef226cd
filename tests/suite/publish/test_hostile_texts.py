"""Texts of a config with everything that some language obeys: shown as they are wherever they appear."""

from __future__ import annotations

import copy

import pytest

from helpers.markup import PageReader, in_one_line, read_latex, read_markdown
from helpers.toy_project import TOY, project, run_all
from structmargin_suite.cli import main
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.publish.documents import readings
from structmargin_suite.publish.escapes import markdown
from structmargin_suite.publish.snapshot import snapshot
from structmargin_suite.storage.csv_files import read_csv, write_csv

TEXT = (
    """=1+1 <script>alert("x")</script> <!-- volatile --> </style> {{ 7 * 7 }} {% raw %} """
    """& | \\ % # _a_ ~ ^ ` * [b](c) 'q'"""
)
LABEL = TEXT.replace("=1", "@1")


def with_texts(root, text, label):
    """The toy with these texts everywhere, and all that is made from it."""
    config = copy.deepcopy(TOY)
    config |= {"title": text, "where": text, "about": text, "stands_in": text, "notes": [text]}
    read = {"label": label, "about": text, "evidence": text, "chosen": "before", "primary": True}
    config["readings"] = {"one": read}
    config["methods"]["margin"] |= {"label": label, "note": text, "readings": ["one"]}
    config["tables"]["toy"]["caption"] = text
    config["studies"]["sizes"]["about"] = text
    run_all(project(root, config), "smoke")
    return root


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the toy with plain texts, the toy with hostile ones)"""
    plain, hostile = (tmp_path_factory.mktemp(name) for name in ("plain", "hostile"))
    return with_texts(plain, "Plain words.", "plain"), with_texts(hostile, TEXT, LABEL)


def page(root):
    return PageReader((root / "results" / "toy" / "index.html").read_text(encoding="utf-8"))


def test_the_page_has_the_same_tags_whatever_the_texts(made):
    plain, hostile = (page(root) for root in made)
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert hostile.comments == plain.comments and set(hostile.comments) == {" volatile ", " /volatile "}
    assert hostile.text.count(TEXT) >= 6 and in_one_line(LABEL) in hostile.text


def test_the_page_says_first_what_stands_in_for_the_papers_data(made):
    text = page(made[1]).text
    assert 0 < text.index(f"On which data?{TEXT}") < text.index("In all")


def test_tables_show_the_caption_and_the_label(made):
    root = made[1]
    for kind, reader in (("md", read_markdown), ("tex", read_latex)):
        text = (root / "results" / "toy" / f"toy.{kind}").read_text(encoding="utf-8")
        lines = text.split("\n")
        caption = lines[0] if kind == "md" else lines[3].removeprefix("\\caption{").removesuffix("}")
        assert reader(caption).startswith(f"{in_one_line(TEXT)} One run each. ")
        assert sum(in_one_line(LABEL) in shown(line, kind) for line in lines) == 2  # a line for each size
    caption = next(
        each for each in page(root).text.split("\n") if each.startswith("=1+1") and "One run" in each
    )
    assert "\\<" not in caption


def test_the_statements_show_it(made):
    lines = (made[1] / "results" / "toy" / "statements.md").read_text(encoding="utf-8").split("\n")
    head = in_one_line(TEXT) + ": what the papers state, and what came out"
    assert read_markdown(lines[0].removeprefix("# ")) == head
    data = next(line for line in lines if line.startswith("**On which data?** "))
    assert read_markdown(data.removeprefix("**On which data?** ")) == in_one_line(TEXT)


def shown(line, kind):
    """A line of a table as its reader shows it, without the lines that are no text."""
    if kind == "md":
        return (
            read_markdown(line[2:-2].replace(" | ", " "))
            if line.startswith("| ") and "| *" not in line
            else ""
        )
    plain = line.endswith(" \\\\") and "\\textcolor" not in line and "\\multicolumn" not in line
    return read_latex(line.removesuffix(" \\\\").replace(" & ", " ")) if plain else ""


def test_documents_and_the_command_show_it(made, capsys):
    plain, text = readings(made[0]), readings(made[1])
    assert f"## {markdown(TEXT)[1:]} (`toy`)" in text and "\\`" not in plain
    assert text.count("`") == plain.count("`") + text.count("\\`")
    assert main(["--root", str(made[1]), "explain", "toy"]) == 0
    assert TEXT in capsys.readouterr().out


def test_a_label_that_figures_would_compute_is_refused(made):
    root = made[0]
    path = root / "configs" / "toy.yaml"
    whole = path.read_text()
    path.write_text(whole.replace("label: Any of them", "label: costs $5 or $6"))
    with pytest.raises(
        ConfigError, match=r"methods\.any\.label: .* has a '\$', which figures take for mathematics"
    ):
        load(root)
    path.write_text(whole)


def test_a_snapshot_of_a_statement_that_nobody_lists_is_a_sentence(made):
    path = made[0] / "results" / "statements.csv"
    rows = read_csv(path)
    write_csv(path, [*rows, {**rows[0], "id": "strange"}], list(rows[0]))
    with pytest.raises(
        ConfigError, match=r"judges strange, which data/published/statements.yaml does not list"
    ):
        snapshot(made[0])
    write_csv(path, rows, list(rows[0]))


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("results/toy/summary.json", '{"scale": ', "summary.json: this is no JSON file of ours"),
        ("results/toy/summary.json", "[]", "the file has no scale: it is of another kind"),
        ("results/toy/toy.csv", "measure,value,spread,spread_kind,runs\ne,x,1,se,1\n", "must be numbers"),
        ("results/toy/toy.csv", "a,b\n1\n", "row 1 has 1 cells, but there are 2 columns"),
        ("results/statements.csv", "a,b\n1,2\n", "the file has no columns id, reading, data and verdict"),
    ],
)
def test_comparing_damaged_results_is_a_sentence(made, file, text, said, capsys):
    root = made[0]
    path = root / file
    whole = path.read_bytes()
    path.write_text(text)
    assert main(["--root", str(root), "compare", str(root / "results"), str(made[1] / "results")]) == 1
    output = capsys.readouterr().err
    assert said in output and str(path) in output and output.count("\n") == 1
    path.write_bytes(whole)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("configs/schema/experiment.yaml", "not valid YAML"),
        ("configs/schema/suite.yaml", "not valid YAML"),
        ("data/published/statements.yaml", "not valid YAML"),
    ],
)
def test_files_that_come_with_the_project_and_are_damaged_are_a_sentence(made, tmp_path, file, said, capsys):
    root = project(tmp_path)
    (root / file).write_text("a: [1,\nb: {")
    assert main(["--root", str(root), "check"]) == 1
    output = capsys.readouterr().err
    assert said in output and file in output and "line" in output
    (root / file).unlink()
    assert main(["--root", str(root), "check"]) == 1
    output = capsys.readouterr().err
    assert file in output and "cannot be read (No such file or directory)" in output
