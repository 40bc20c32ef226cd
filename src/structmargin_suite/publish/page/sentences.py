"""What the papers state, sentence by sentence, as Markdown: verdicts for those who read on the web.

The page of an experiment opens from a disk; sites that hold repositories show Markdown only. What a clock
decides stands between the marks of page/marks.py here too, never at the beginning of a line, where Markdown
would take the rest of it as HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structmargin_suite.publish.escapes import markdown, markdown_cell
from structmargin_suite.publish.page.marks import VOLATILE_BEGIN, VOLATILE_END
from structmargin_suite.publish.papers import PAPERS

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
