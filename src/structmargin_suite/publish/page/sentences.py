"""What the papers state, sentence by sentence, as Markdown: verdicts for those who read on the web.

The page of an experiment opens from a disk; sites that hold repositories show Markdown only. What a clock
decides stands between the marks of page/marks.py here too, never at the beginning of a line, where Markdown
would take the rest of it as HTML. Published tables say in the same way how many statements about them have
which verdict: the tables themselves are made before anything is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structmargin_suite.publish.escapes import markdown, markdown_cell
from structmargin_suite.publish.page.contents import number_of, numbers_in
from structmargin_suite.publish.page.marks import VOLATILE_BEGIN, VOLATILE_END
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.tables.printed import TO_VERDICTS
from structmargin_suite.publish.verdicts import CAUSES, causes, score

MARKS = {"reproduced": "✓", "inconclusive": "?", "contradicted": "✗", "not testable": "–", "used": "·"}


def sentences(one: Mapping[str, Any]) -> str:
    """The statements of one experiment as Markdown, from what its page shows (`section`)."""
    lines = [f"# {markdown(one['config']['title'])}: what the papers state, and what came out", ""]
    lines.append(f"**In short:** {VOLATILE_BEGIN}{markdown_cell(one['in_all'])}{VOLATILE_END}")
    if one["stands_in"]:
        lines += ["", f"**On which data?** {markdown(one['stands_in'])}"]
    tables = [
        f"[{markdown_cell(each['heading'])}]({each['name']}.md)"
        for each in one["tables"] + one["more_tables"]
    ]
    if tables:
        lines += ["", f"Our numbers beside the paper's: {', '.join(tables)}."]
    place = ""
    for entry in one["claims"]:
        for card in entry["statements"]:
            paper = PAPERS[entry["claim"].paper]
            where = f"{paper.short_venue} {paper.year}, {card['statement'].where}"
            if where != place:
                place = where
                lines += ["", f"## {markdown_cell(where)}", ""]
            lines += _item(card)
    if not one["claims"]:
        lines += ["", "No statement of the papers rests on this experiment."]
    return "\n".join(lines) + "\n"


def without_results(title: str, name: str) -> str:
    """The same for an experiment that has no results yet."""
    return f"# {markdown(title)}\n\nNo results yet: `make reproduce ONLY={name}` makes them.\n"


def with_verdicts(
    text: str, caption: str, paper: str, experiment: str, rows: Sequence[Mapping[str, Any]]
) -> str:
    """A table in Markdown with its verdicts behind the way to them.

    Parameters
    ----------
    text, caption : str
        The table as `tables.printed.markdown` writes it, and its caption in the config.
    paper, experiment : str
        Of which paper the numbered tables are, and whose statements are counted.
    rows : sequence of dict
        The rows of statements.csv.
    """
    said = _verdicts_on(number_of(caption), paper, [dict(r) for r in rows if r["experiment"] == experiment])
    return text.replace(TO_VERDICTS, f"{TO_VERDICTS}{VOLATILE_BEGIN} {markdown(said)}{VOLATILE_END}", 1)


def _verdicts_on(number: str, paper: str, rows: Sequence[dict[str, Any]]) -> str:
    """How many statements on a numbered table have which verdict, and why not; else on all of the experiment.

    As on the overview, what a clock decides is not among those on a table, but counted beside them.
    """
    primary = [row for row in rows if row["primary"]]
    if not number:
        heading = "Statements that rest on this experiment"
        return f"{heading}: {score(primary)}." if primary else f"{heading}: none."
    about = [row for row in primary if row["paper"] == paper and number in numbers_in(row["where"])]
    counted = [row for row in about if not row["volatile"]]
    why = ", ".join(f"{CAUSES.get(name, name)} {n}" for name, n in causes(counted).items())
    said = f"{score(counted) or 'none'}{f' ({why})' if why else ''}"
    clocked = score([row for row in about if row["volatile"]])
    return f"Statements on {number}: {said}{f'; on its times: {clocked}' if clocked else ''}."


def _item(card: Mapping[str, Any]) -> list[str]:
    """One statement: the sentence, its verdict with what was found, and the other readings and data."""
    said = f"**{_marked(card['row']['verdict'])}.** {markdown_cell(card['sentence'])}"
    others = _others(card["others"])
    if others:
        said += f" Otherwise: {others}."
    if card["volatile"]:
        said = f"{VOLATILE_BEGIN}{said}{VOLATILE_END}"
    return [f"- {markdown(card['statement'].says)}<br>{said}"]


def _others(rows: Sequence[Mapping[str, Any]]) -> str:
    """The verdicts under other readings and on other data, in a few words each."""
    named = []
    for row in rows:
        words = [row["reading"] or "as it stands", *([f"on {row['data']}"] if row["data"] else [])]
        named.append(f"{markdown_cell(' '.join(words))} *{row['verdict']}*")
    return "; ".join(named)


def _marked(verdict: str) -> str:
    return f"{MARKS[verdict]} {verdict}"
