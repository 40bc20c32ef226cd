"""What the page of one experiment shows, from its result files and the verdicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from structmargin_suite.publish.escapes import from_markdown
from structmargin_suite.publish.page.cards import by_reading, card, with_labels
from structmargin_suite.publish.page.contents import number_of, numbers_in
from structmargin_suite.publish.page.facts import choices, clocks, data_sentence, method
from structmargin_suite.publish.page.pictures import picture, shown_figures
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.tables.deviations import deviations
from structmargin_suite.publish.tables.layout import Tab, tabs
from structmargin_suite.publish.verdicts import VERDICTS, by_paper, counts
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.frames import records
from structmargin_suite.storage.statements_file import Claim

FITS_A_PHONE = 4
"""Columns of numbers that a phone shows side by side."""
LETTERS_FIT_A_PHONE = 32
"""Letters of the longest words of their headings, all together, that it shows beside each other."""
USED = "the paper's numbers showed how it is read, so they are not judged"
BECAUSE = {
    "power": "what is inconclusive needs more repetitions or larger test sets",
    "reading": "some of it depends on how the paper is read",
    "data": "some of it depends on the data",
    "claim": "what is contradicted is so on the paper's own data, or has counterexamples",
    "engineering": "some of it is true in counts, while our program is faster",
    "baseline": "some of it depends on how well the rival is trained",
    "open": "for some no cause that was tested explains it",
}


def section(
    results: ExperimentResults,
    claims: Sequence[Claim],
    rows: Sequence[dict[str, Any]],
    stale: bool,
    limit: int,
) -> dict[str, Any]:
    """What the template shows of one experiment; figures as vectors up to `limit` bytes."""
    config, summary = results.config, results.summary
    labels = {name: reading.label for name, reading in results.readings.items()}
    own = [with_labels(row, labels) for row in rows if row["experiment"] == results.name]
    figures = [
        picture(results, name, given["caption"], limit) for name, given in shown_figures(config).items()
    ]
    shown = [table(results, name, spec) for name, spec in config["tables"].items()]
    _name(shown)
    _beside(shown, [figure for figure in figures if not figure["volatile"]])
    main = [each for each in shown if each["number"]] or shown[:1]
    paired = {each["figure"]["name"] for each in shown if each["figure"]}
    listed = [entry for entries in by_paper(claims, own).values() for entry in entries]
    asked = main_claims(listed, config["paper"], [each["number"] for each in main])
    questions = [(each["claim"], holds([one["row"] for one in each["statements"]])) for each in asked]
    for entry in listed:
        entry["statements"] = [card(one) for one in entry["statements"]]
    return {
        "name": results.name,
        "stale": stale,
        "config": config,
        "summary": summary,
        "paper": PAPERS[config["paper"]],
        "stands_in": config.get("stands_in", ""),
        "questions": questions,
        "in_all": answer(own) + other_data(results),
        "counts": counts(own),
        "claims": listed,
        "tables": main,
        "more_tables": [each for each in shown if each not in main],
        "figures": [each for each in figures if each["name"] not in paired and not each["volatile"]],
        "clock_figures": [each for each in figures if each["volatile"]],
        "deviations": _without_repeats([each for each in shown if each["deviations"]]),
        "readings": _readings(results, own),
        "verdicts": VERDICTS,
        "notes": config.get("notes", []),
        "methods": [method(results, each) for each in results.methods.values()],
        "choices": choices(results),
        "troubles": records(results.runs[results.runs["status"] != "done"]),
        "data": [(corpus, data_sentence(results, corpus)) for corpus in summary["data"]],
        "clocks": clocks(results),
        "command": f'make reproduce SCALE={summary["scale"]} ONLY="{results.name}"',
    }


def main_claims(
    listed: Sequence[dict[str, Any]], paper: str, numbers: Sequence[str]
) -> Sequence[dict[str, Any]]:
    """The claims that a page asks about: those on its own paper's tables, else the first of all."""
    own = [
        entry for entry in listed
        if entry["claim"].paper == paper and set(numbers_in(entry["claim"].where)) & set(numbers)
    ]  # fmt: skip
    return own or listed[:1]


def holds(rows: Sequence[dict[str, Any]]) -> str:
    """Whether a claim holds, in one sentence, by the verdicts on its statements."""
    found = {verdict: n for verdict, n in counts(rows).items() if n}
    judged = set(found) & set(VERDICTS[:3])
    heads = {
        frozenset({"reproduced"}): "Yes",
        frozenset({"contradicted"}): "No",
        frozenset({"inconclusive"}): "These runs cannot tell",
        frozenset(): "It was not judged",
    }
    partly = "In part" if "reproduced" in judged else "Not as far as it could be told"
    total = sum(found.values())
    if len(found) == 1:
        (verdict,) = found
        said = f"{'its one statement is' if total == 1 else f'all its {total} statements are'} {verdict}"
    else:
        (first, n), *others = found.items()
        score = [f"{n} {'is' if n == 1 else 'are'} {first}", *(f"{m} {verdict}" for verdict, m in others)]
        said = f"of its {total} statements {', '.join(score)}"
    return f"{heads.get(frozenset(judged), partly)}: {said}."


def answer(rows: Sequence[dict[str, Any]]) -> str:
    """What was found, in one sentence: how many statements have which verdict, and why some are not better.

    Of what is inconclusive and of what is contradicted, the most frequent cause is named.
    """
    primary = [row for row in rows if row["primary"]]
    if not primary:
        return "No statement of the papers rests on it."
    found = {verdict: n for verdict, n in counts(primary).items() if n}
    usual = {}
    for verdict in ("inconclusive", "contradicted"):
        such = [row["cause"] for row in primary if row["verdict"] == verdict and row["cause"]]
        named = [cause.partition(":")[0] for cause in such]
        usual[max(dict.fromkeys(named), key=named.count, default="")] = verdict
    because = "".join(f"; {BECAUSE[cause]}" for cause in usual if cause in BECAUSE)
    if len(found) == 1:
        (verdict,) = found
        head = "Its one statement is" if len(primary) == 1 else f"All {len(primary)} statements are"
        kept = f": {USED}" if verdict == "used" else ""
        return f"{head} {verdict}{kept}{because}."
    (first, n), *others = found.items()
    score = ", ".join([f"{n} {'is' if n == 1 else 'are'} {first}", *(f"{m} {name}" for name, m in others)])
    return f"Of {len(primary)} statements {score}{because}."


def other_data(results: ExperimentResults) -> str:
    """A sentence where the paper prints numbers and none of the data are its own; nothing elsewhere."""
    prints = any(spec.get("published") for spec in results.config["tables"].values())
    own = any(results.papers_own(corpus["corpus"]) for corpus in results.summary["data"])
    return " None of the data are the paper's own." if prints and not own else ""


def table(results: ExperimentResults, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A table ready to show, in the paper's form."""
    shown = tabs(spec, results.table(name), results.methods, results.readings)
    text = (results.folder / f"{name}.md").read_text(encoding="utf-8")
    keys = list(dict.fromkeys(key for tab in shown for key in tab.chosen))
    cells = [cell for tab in shown for line in tab.lines for cell in line.cells if cell is not None]
    return {
        "name": name,
        "number": number_of(spec["caption"]),
        "heading": first_words(spec["caption"]),
        "caption": from_markdown(text.split("\n")[0]),
        "tabs": shown,
        "choices": [
            (key, list(dict.fromkeys(tab.chosen[key] for tab in shown if key in tab.chosen))) for key in keys
        ],
        "wide": any(_wide(tab) for tab in shown),
        "labels": [tab.labels for tab in shown],
        "has_paper": any(cell.paper for cell in cells),
        "has_tint": any(cell.tint for cell in cells),
        "figure": None,
        "deviations": deviations(results.config, name),
    }


def _wide(tab: Tab) -> bool:
    """Whether a phone has no room for a table's columns side by side."""
    headings = [re.split(r"[ ,]+", label) for label in tab.labels]
    letters = sum(max(map(len, words)) for words in headings)
    return tab.width > FITS_A_PHONE or letters > LETTERS_FIT_A_PHONE


def first_words(caption: str) -> str:
    """What a table is called where it has no number of a paper's: how its caption begins.

    Examples
    --------
    >>> first_words("Cost of training: searches for boxes, constraints added.")
    'Cost of training'
    >>> first_words("Error by C (one draw).")
    'Error by C'
    """
    return re.split(r"[:;]|\.(?:\s|$)| \(", caption, maxsplit=1)[0].strip()


def _name(shown: Sequence[dict[str, Any]]) -> None:
    """Head each table by its number; the second of a number, and those without, by how its caption begins."""
    known: set[str] = set()
    for each in shown:
        if each["number"] and each["number"] not in known:
            known.add(each["number"])
            each["heading"] = each["number"]


def _without_repeats(shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """(heading, deviations, whether others are as above) of tables, each deviation once."""
    known: set[Any] = set()
    found = []
    for each in shown:
        new = [one for one in each["deviations"] if one not in known]
        known.update(each["deviations"])
        repeats = len(new) < len(each["deviations"])
        found.append({"heading": each["heading"], "deviations": new, "repeats": repeats})
    return found


def _beside(shown: list[dict[str, Any]], figures: list[dict[str, Any]]) -> None:
    """Give each numbered table the figure of its number or name; the first table another, if it has none."""
    free = list(figures)
    for each in shown:
        wanted = (each["number"], each["number"].lower().replace(" ", "_"))
        found = next((f for f in free if each["number"] and wanted[0] == number_of(f["caption"])), None)
        found = found or next((f for f in free if each["number"] and f["name"] == wanted[1]), None)
        if found is None and each is shown[0] and free:
            found = next((f for f in free if not number_of(f["caption"])), None)
        if found is not None:
            each["figure"] = found
            free.remove(found)


def _readings(results: ExperimentResults, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The readings with what each means, and how statements stand under it."""
    counted = by_reading(rows, VERDICTS)
    return [
        {"reading": reading, "counts": counted.get(name, counted.get(reading.label, {}))}
        for name, reading in results.readings.items()
    ]
