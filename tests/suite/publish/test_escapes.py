"""Text in LaTeX, Markdown, HTML and CSV: read as those read it, every character is shown and none obeyed.

Small readers of the languages (helpers/markup.py) give back the text.
"""

from __future__ import annotations

import csv
import io
import os
import re

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.markup import PageReader, in_one_line, read_latex, read_markdown
from structmargin_suite.publish import escapes
from structmargin_suite.publish.tables import printed
from structmargin_suite.publish.tables.cells import Cell
from structmargin_suite.publish.tables.layout import Heading, Line, Tab
from structmargin_suite.storage import csv_text
from structmargin_suite.storage.csv_files import read_csv, write_csv
from structmargin_suite.storage.csv_text import FORMULA_STARTS

CASES = int(os.environ.get("STRUCTMARGIN_CASES", "200"))
ASCII = [chr(code) for code in range(32, 127)]
UNICODE = ["é", "±", "−", "χ", "²", "Δ", "中", "\U0001f600", "\u00a0", "＝", "\u2028", "\u200b"]
TEXTS = st.text(st.one_of(st.sampled_from(ASCII), st.sampled_from(UNICODE), st.characters()), max_size=12)


@pytest.mark.parametrize("first", [*ASCII, *UNICODE])
def test_every_character_alone_first_last_and_in_the_middle(first):
    for text in (
        first,
        f"{first}a",
        f"a{first}",
        f"a{first}b",
        f"{first}{first}",
        f"{first} a",
        f"1{first} b",
    ):
        assert read_latex(escapes.latex(text)) == in_one_line(text)
        assert read_markdown(escapes.markdown(text)) == in_one_line(text)
        assert escapes.from_markdown(escapes.markdown(text)) == in_one_line(text)


def test_every_pair_of_characters():
    for first in ASCII:
        for second in ASCII:
            text = f"{first}{second}x{first}"
            assert read_latex(escapes.latex(text)) == in_one_line(text)
            assert read_markdown(escapes.markdown(text)) == in_one_line(text)


@settings(max_examples=CASES, database=None)
@given(TEXTS)
def test_any_text(text):
    assert read_latex(escapes.latex(text)) == in_one_line(text)
    assert read_markdown(escapes.markdown(text)) == in_one_line(text)
    assert escapes.from_markdown(escapes.markdown(text)) == in_one_line(text)


def test_code_stays_code_and_nothing_else():
    assert escapes.markdown_with_code("use `a_b*` and *not* `") == r"use `a_b*` and \*not\* \`"
    assert escapes.markdown_with_code("- `x`") == r"\- `x`"


@settings(max_examples=CASES // 4, database=None)
@given(
    st.lists(TEXTS, min_size=2, max_size=2),
    st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=3),
    TEXTS,
)
def test_a_table_keeps_its_rows_and_columns(header, cells, caption):
    """The first text of each line is its name, the second a cell; both are shown as they are."""
    lines_of = tuple(Line("", name, (Cell(cell),)) for name, cell in cells)
    tab = Tab({}, "", header[0], ((Heading(header[1], 1),),), lines_of)
    lines = printed.markdown(caption, [tab]).split("\n")
    assert len(lines) == 7 + len(cells) and lines[2] == printed.TO_VERDICTS and lines[-1] == ""
    for line, texts in zip([lines[4], *lines[6:-1]], [header, *cells], strict=True):
        shown = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]
        assert [escapes.from_markdown(each.strip()) for each in shown] == [
            in_one_line(text).strip() for text in texts
        ]
    latex = printed.latex(caption, "t", [tab]).split("\n")
    assert latex[3] == "\\caption{" + escapes.latex(caption) + "}" and read_latex(
        latex[3][9:-1]
    ) == in_one_line(caption)
    for line, texts in zip([latex[7], *latex[9:-4]], [header, *cells], strict=True):
        assert line.endswith(r" \\")
        shown = re.split(r"(?<!\\)&", line[:-3])
        assert [read_latex(each.strip()) for each in shown] == [in_one_line(text).strip() for text in texts]


@settings(max_examples=CASES, database=None)
@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20))
def test_html_shows_any_text_in_words_and_in_attributes(text):
    template = jinja2.Environment(autoescape=True).from_string('<p title="{{ text }}">{{ text }}</p>')
    reader = PageReader(template.render(text=text))
    assert reader.text == text and reader.tags == [("p", {"title": text})] and not reader.comments


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")', "-", "+", "＝1"]
)
def test_no_cell_is_a_formula(tmp_path, text):
    write_csv(tmp_path / "x.csv", [{"a": text, "b": f"a{text}"}], ["a", "b"])
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as handle:
        (row,) = csv.DictReader(handle)
    assert row["a"] == f"'{text}" and row["b"] == f"a{text}"
    assert read_csv(tmp_path / "x.csv") == [{"a": text, "b": f"a{text}"}]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (-1, "-1"),
        (-0.25, "-0.25"),
        (1e-30, "1e-30"),
        (float("-inf"), "-inf"),
        ("-1.5e-3", "-1.5e-3"),
        ("+2", "+2"),
    ],
)
def test_numbers_stay_numbers(tmp_path, value, written):
    write_csv(tmp_path / "x.csv", [{"a": value}], ["a"])
    assert (tmp_path / "x.csv").read_text() == f"a\n{written}\n" and float(written) == float(value)
    assert read_csv(tmp_path / "x.csv") == [{"a": written}]


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
STARTS = st.sampled_from([*FORMULA_STARTS, "'", "''", "\n", '"', ","])


@settings(max_examples=CASES, database=None)
@given(
    st.lists(
        st.lists(st.one_of(CELLS, st.builds(str.__add__, STARTS, CELLS)), min_size=2, max_size=2), max_size=3
    )
)
def test_any_cells_come_back_and_none_begins_as_a_formula(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write_csv(path, [dict(zip("ab", row, strict=True)) for row in rows], ["a", "b"])
    assert [list(row.values()) for row in read_csv(path)] == rows
    with open(path, newline="", encoding="utf-8") as handle:
        seen = [each for row in csv.reader(handle) for each in row]
    for each in seen:
        number = re.fullmatch(r"[-+](\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+](inf|nan)", each, re.ASCII)
        assert each[:1] not in FORMULA_STARTS or each == "" or number, each


@settings(max_examples=CASES, database=None)
@given(st.lists(st.text(st.sampled_from("ab1 ,\"\n'"), max_size=6), min_size=1, max_size=4))
def test_lines_are_those_of_the_standard_writer(cells):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    shielded = any(each[:1] == "'" and each[1:2] == "'" for each in cells)
    assert csv_text.line(cells) == text.getvalue() or shielded
