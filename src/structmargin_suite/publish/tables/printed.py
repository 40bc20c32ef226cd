"""Tables in the papers' own form as Markdown and LaTeX: tab after tab, the paper's numbers with ours.

In Markdown the paper's number stands in brackets behind ours, in LaTeX beneath it in grey. The best of ours
and the best of the paper's are bold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from structmargin_suite.publish import escapes
from structmargin_suite.publish.tables.cells import Cell
from structmargin_suite.publish.tables.layout import Tab
from structmargin_suite.storage.layout import SENTENCES_FILE

TO_VERDICTS = f"[What the paper states, and what came out]({SENTENCES_FILE}), sentence by sentence."
PACKAGES = "% needs the packages booktabs and xcolor"


def markdown(caption: str, tabs: Sequence[Tab]) -> str:
    """A table in Markdown, its caption and a way to the verdicts above."""
    lines = [escapes.markdown(caption), *_legend(tabs), "", TO_VERDICTS]
    for tab in tabs:
        lines += ["", *([f"**{escapes.markdown_cell(tab.title)}**", ""] if tab.title else [])]
        lines += [_row([tab.corner, *tab.labels]), "|---" + "|--:" * tab.width + "|"]
        section = ""
        for line in tab.lines:
            if line.section != section:
                section = line.section
                lines.append(f"| *{escapes.markdown_cell(section)}* |" + " |" * tab.width)
            cells = " | ".join(_markdown_cell(cell) for cell in line.cells)
            lines.append(f"| {escapes.markdown_cell(line.name)} | {cells} |")
        if tab.under:
            lines += ["", escapes.markdown(tab.under + ".")]
    return "\n".join(lines) + "\n"


def _legend(tabs: Sequence[Tab]) -> Iterator[str]:
    """How cells are to be read, where there is something to say."""
    cells = [cell for tab in tabs for line in tab.lines for cell in line.cells if cell is not None]
    said = []
    if any(cell.paper for cell in cells):
        said.append("the paper's numbers stand in brackets")
    if any(cell.best or cell.paper_best for cell in cells):
        said.append("the best are bold")
    if said:
        yield from ("", f"*In cells: {', '.join(said)}.*")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escapes.markdown_cell(text) for text in cells) + " |"


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours, rest = escapes.markdown_cell(cell.ours), escapes.markdown_cell(cell.plain[len(cell.ours) :])
    paper = escapes.markdown_cell(cell.paper)
    paper = f"**{paper}**" if cell.paper_best else paper
    text = (f"**{ours}**" if cell.best else ours) + (f" {rest}" if rest else "")
    return text + (f" ({paper})" if paper else "")


def latex(caption: str, label: str, tabs: Sequence[Tab]) -> str:
    """A table in LaTeX: one tabular per tab (needs the packages booktabs and xcolor)."""
    lines = [
        PACKAGES,
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{escapes.latex(caption)}}}",
        f"\\label{{tab:{label}}}",
    ]
    for tab in tabs:
        if tab.title:
            lines.append(f"\\par\\medskip\\textbf{{{escapes.latex(tab.title)}}}\\par\\smallskip")
        lines += ["\\begin{tabular}{l" + "r" * tab.width + "}", "\\toprule", *_latex_header(tab), "\\midrule"]
        lines += [*_latex_body(tab), "\\bottomrule", "\\end{tabular}"]
        if tab.under:
            lines.append(f"\\par{{\\footnotesize {escapes.latex(tab.under + '.')}}}")
    return "\n".join([*lines, "\\end{table}"]) + "\n"


def _latex_header(tab: Tab) -> Iterator[str]:
    last = len(tab.header) - 1
    for level, line in enumerate(tab.header):
        first = escapes.latex(tab.corner) if level == last else ""
        texts = [
            escapes.latex(heading.text)
            if level == last
            else f"\\multicolumn{{{heading.span}}}{{c}}{{{escapes.latex(heading.text)}}}"
            for heading in line
        ]
        yield " & ".join([first, *texts]) + " \\\\"
        if level < last:
            place, rules = 2, []
            for heading in line:
                rules.append(f"\\cmidrule(lr){{{place}-{place + heading.span - 1}}}")
                place += heading.span
            yield "".join(rules)


def _latex_body(tab: Tab) -> Iterator[str]:
    section = ""
    for line in tab.lines:
        if line.section != section:
            section = line.section
            yield f"\\multicolumn{{{tab.width + 1}}}{{l}}{{\\textit{{{escapes.latex(section)}}}}} \\\\"
        yield " & ".join([escapes.latex(line.name), *(_latex_ours(cell) for cell in line.cells)]) + " \\\\"
        if any(cell is not None and cell.paper for cell in line.cells):
            yield " & ".join(["", *(_latex_paper(cell) for cell in line.cells)]) + " \\\\"


def _latex_ours(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours, rest = escapes.latex(cell.ours), escapes.latex(cell.plain[len(cell.ours) :])
    return (f"\\textbf{{{ours}}}" if cell.best else ours) + (f" {rest}" if rest else "")


def _latex_paper(cell: Cell | None) -> str:
    if cell is None or not cell.paper:
        return ""
    paper = escapes.latex(cell.paper)
    shown = f"\\textbf{{{paper}}}" if cell.paper_best else paper
    return f"\\textcolor{{gray}}{{\\footnotesize {shown}}}"
