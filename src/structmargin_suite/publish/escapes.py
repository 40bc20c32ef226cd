"""Text from configs, data and errors as part of a LaTeX or Markdown document: shown as it is, never obeyed.

HTML is escaped by jinja2 (publish/page), CSV by storage/csv_text.py. White space of any kind becomes one
space, and other characters that are not printable are left out, so that a text stays within its line.
"""

from __future__ import annotations

import re

TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line's end a bracket or a star would be an option of that line
    "]": "{]}",
    "*": "{*}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "ν": r"$\nu$",
    "ξ": r"$\xi$",
    "χ": r"$\chi$",
    "Ψ": r"$\Psi$",
    "²": r"$^2$",
}
"""LaTeX's own characters, and those of the papers that pdflatex does not know."""
_TEX = str.maketrans(TEX)
MARKDOWN = r"\`*[]<>&|~$"
"""Characters that mean something anywhere in a line of Markdown; `_` does beside a word's end."""


def printable_line(text: str) -> str:
    """Text in one line of printable characters."""
    return " ".join("".join(each for each in text if each.isprintable() or each.isspace()).split())


def latex(text: str) -> str:
    """Text that LaTeX shows as it is."""
    return printable_line(text).translate(_TEX)


def markdown(text: str) -> str:
    """Text that Markdown shows as it is, at the beginning of a line too."""
    return _not_a_block(markdown_cell(text))


def markdown_cell(text: str) -> str:
    """Text that Markdown shows as it is inside a line, such as a cell of a table."""
    return _not_marked(printable_line(text))


def markdown_with_code(text: str) -> str:
    """As `markdown`, but what stands between two backticks stays code."""
    pieces = re.split(r"(`[^`]+`)", printable_line(text))
    return _not_a_block("".join(piece if k % 2 else _not_marked(piece) for k, piece in enumerate(pieces)))


def _not_marked(line: str) -> str:
    line = re.sub(f"[{re.escape(MARKDOWN)}]", r"\\\g<0>", line)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", line)


def _not_a_block(line: str) -> str:
    """A line that begins no heading, rule or item of a list."""
    return re.sub(r"^([0-9]*)([#+=.)-])", r"\1\\\2", line)


def from_markdown(line: str) -> str:
    """The text that `markdown` or `markdown_cell` was given, in one line."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line)
