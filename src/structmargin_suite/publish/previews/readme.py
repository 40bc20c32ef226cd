"""The first screen of the README: what the committed run found, between two marks in the text.

    <!-- snapshot --> how many statements have which verdict, Table 4 and its figure <!-- /snapshot -->
Every number there is one of results/snapshot; `structmargin docs` rewrites it, and a test compares it with
the snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from structmargin_suite.publish.escapes import markdown_cell
from structmargin_suite.publish.verdicts import counts, score
from structmargin_suite.results import ExperimentResults, Results, with_readings
from structmargin_suite.storage.files import read_json
from structmargin_suite.storage.frames import records

BEGIN, END = "<!-- snapshot -->", "<!-- /snapshot -->"
SHOWN, TABLE, FIGURE = "alignment", "alignment", "learning_curve"
STUDY = "sizes"
SIZES = (4, 10, 20, 40, 80)


def front(root: Path) -> str | None:
    """The README with its section on the snapshot up to date; None without such a section or a snapshot."""
    path = root / "README.md"
    snapshot = Results(root, root / "results" / "snapshot")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if SHOWN not in snapshot or BEGIN not in text or END not in text:
        return None
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return "\n".join(
        [before + BEGIN, *_score(snapshot), "", *_table(snapshot[SHOWN]), "", *_figure(snapshot), END + after]
    )


def _score(snapshot: Results) -> list[str]:
    """How many statements have which verdict, and on what that rests."""
    statements, record = (
        snapshot.statements(),
        read_json(snapshot.folder / "record.json", ("experiments", "scale")),
    )
    judged = records(statements)
    kinds = Counter(
        kind for experiment in record["experiments"].values() for kind in experiment["data"].values()
    )
    real = sum(count for kind, count in kinds.items() if kind != "synthetic")
    return [
        f"**Of {sum(counts(judged).values())} statements of the papers: {score(judged)}** "
        f"in the committed run (`SCALE={record['scale']}`, {real} real "
        f"data sets and {kinds['synthetic']} synthetic ones): [the page](results/snapshot/index.html), "
        f"[each verdict with its evidence](results/snapshot/statements.csv). "
        "One of its tables, and its figure:",
    ]


def _table(experiment: ExperimentResults) -> list[str]:
    """A few rows of Table 4: ours, and the paper's in brackets."""
    table = records(with_readings(experiment.table(TABLE)))
    by_key = {(row["n_train"], row["method"], row["reading"] or "", row["measure"]): row for row in table}
    columns = list(_columns(experiment))
    head = " | ".join(label for *_, label in columns)
    lines = [f"| examples | {head} |", "|---" * (1 + len(columns)) + "|"]
    for size in SIZES:
        cells = []
        for method, reading, measure, _ in columns:
            row = by_key[size, method, reading, measure]
            paper = "" if row["published"] is None else f" ({row['published']:.1f})"
            cells.append(f"{row['value']:.1f}{paper}")
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        "Errors in percent on test pairs, and constraints added; the paper's numbers in brackets.",
    ]


def _columns(experiment: ExperimentResults) -> Iterator[tuple[str, str, str, str]]:
    """(method, reading, measure, header) of each column.

    Test errors of the baseline's primary reading and of all readings of the others, and the constraints of
    the primary one.
    """
    learnt = [pair for pair in experiment.pairs(STUDY) if experiment.methods[pair[0]].library is not None]
    for name, reading in experiment.pairs(STUDY):
        if (name, reading) in learnt or reading == experiment.primary(name):
            shown = experiment.label(name, reading if (name, reading) in learnt else "")
            yield name, reading, "test_error", shown
    name, reading = next(pair for pair in learnt if pair[1] == experiment.primary(pair[0]))
    yield name, reading, "constraints", f"{experiment.label(name, reading)}: constraints"


def _figure(snapshot: Results) -> list[str]:
    caption = snapshot[SHOWN].config["figures"][FIGURE]["caption"]
    return [f"![{markdown_cell(caption)}](results/snapshot/{SHOWN}/figures/{FIGURE}.svg)"]
