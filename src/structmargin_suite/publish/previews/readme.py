"""The first screen of the README: what the committed run found, between two marks in the text.

    <!-- snapshot --> every table and figure of the papers with its verdicts <!-- /snapshot -->
Every number there is one of results/snapshot; `structmargin docs` rewrites it, and a test compares it with
the snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structmargin_suite.publish.escapes import markdown, markdown_cell
from structmargin_suite.publish.page.contents import Item, contents, numbers_in
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.verdicts import CAUSES, causes, counts, score
from structmargin_suite.results import Results
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.layout import SENTENCES_FILE, Layout

BEGIN, END = "<!-- snapshot -->", "<!-- /snapshot -->"
SHOWN = {"reproduced": "✓", "inconclusive": "?", "contradicted": "✗", "not testable": "–"}


def front(root: Path) -> str | None:
    """The README with its section on the snapshot up to date; None without such a section or a snapshot."""
    path = root / "README.md"
    snapshot = Results(root, Layout(root).snapshot)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not snapshot or BEGIN not in text or END not in text:
        return None
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    rows = records(snapshot.statements())
    parts = [*_score(snapshot, rows), "", *_table(snapshot, rows), *_contradicted(rows)]
    return "\n".join([before + BEGIN, *parts, END + after])


def _score(snapshot: Results, rows: Sequence[dict[str, Any]]) -> list[str]:
    """How many statements have which verdict, and on what that rests."""
    record = read_json(snapshot.folder / "record.json", ("experiments", "scale"))
    kinds = Counter(
        kind for experiment in record["experiments"].values() for kind in experiment["data"].values()
    )
    real = sum(count for kind, count in kinds.items() if kind != "synthetic")
    return [
        f"**Of {sum(counts(rows).values())} statements of the papers: {score(rows)}** in the committed run "
        f"(`SCALE={record['scale']}`, {real} real data sets and {kinds['synthetic']} synthetic ones). By "
        "table and figure, each linked to our numbers beside the paper's and to its notebook "
        "(" + ", ".join(f"{mark} {verdict}" for verdict, mark in SHOWN.items()) + "):"
    ]


def _table(snapshot: Results, rows: Sequence[dict[str, Any]]) -> list[str]:
    """A row for each table and figure that statements rest on: its verdicts, and why some are not better."""
    lines = [
        f"| our numbers | notebook | {' | '.join(SHOWN.values())} | each sentence, and why not |",
        "|---|---|" + "--:|" * len(SHOWN) + "---|",
    ]
    for paper, items in contents([snapshot[name] for name in snapshot], rows).items():
        for item in items:
            if any(item.counts.get(verdict) for verdict in SHOWN):
                lines.append(_line(paper, item, rows))
    return lines


def _contradicted(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every statement that the numbers contradict, with its cause, below a line that opens the list."""
    found = [row for row in rows if row["primary"] and row["verdict"] == "contradicted"]
    if not found:
        return []
    lines = ["", "<details>", f"<summary>All that is contradicted ({len(found)}), and why</summary>", ""]
    for row in found:
        paper = PAPERS[row["paper"]]
        cause, _, why = row["cause"].partition(": ")
        said = f"{paper.short_venue} {paper.year}, {row['where']}: {row['statement']}"
        lines.append(f"- {markdown(said)} *{markdown(CAUSES.get(cause, cause))}: {markdown(why)}.*")
    return [*lines, "", "</details>"]


def _line(paper: str, item: Item, rows: Sequence[Mapping[str, Any]]) -> str:
    """One row: the paper's table, linked to ours, its counts and causes, and its notebook."""
    own = [
        dict(row) for row in rows
        if row["experiment"] == item.experiment and row["paper"] == paper
        and not row["volatile"] and item.label in numbers_in(row["where"])
    ]  # fmt: skip
    why = ", ".join(f"{CAUSES.get(name, name)} {n}" for name, n in causes(own).items()) or "sentences"
    label = f"{PAPERS[paper].short_venue} {PAPERS[paper].year}, {item.label}".replace(" ", "&nbsp;")
    cells = [
        f"[{label}](results/snapshot/{_ours(item)})",
        f"[{markdown_cell(item.title)}](notebooks/{item.experiment}.ipynb)",
        *(str(item.counts.get(verdict, "")) for verdict in SHOWN),
        f"[{markdown_cell(why)}](results/snapshot/{item.experiment}/{SENTENCES_FILE})",
    ]
    return f"| {' | '.join(cells)} |"


def _ours(item: Item) -> str:
    """The file of our table or figure that can be read on the web, below the snapshot; else the page."""
    kind, _, name = item.address.partition("#")[2].partition("-")
    if kind == "table":
        return f"{item.experiment}/{name}.md"
    return f"{item.experiment}/figures/{name}.svg" if kind == "figure" else item.address
