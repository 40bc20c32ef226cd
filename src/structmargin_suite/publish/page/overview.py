"""What the overview shows: for each paper what was found; verdicts, causes and data; what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structmargin_suite.analysis.published_numbers import Finding
from structmargin_suite.planning.plan import Suite
from structmargin_suite.publish.page.contents import numbers_in
from structmargin_suite.publish.page.facts import data_sentence
from structmargin_suite.publish.page.pictures import inline
from structmargin_suite.publish.page.section import answer, holds
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.stability import Change, Reseeded, Scattered
from structmargin_suite.publish.tables.words import in_words
from structmargin_suite.publish.verdicts import CAUSES, VERDICTS, by_paper, causes, counts
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.statements_file import Claim

EACH_ITS_OWN = "each for a reason of its own"


def overview(
    experiments: Sequence[ExperimentResults],
    claims: Sequence[Claim],
    rows: Sequence[dict[str, Any]],
    suite: Suite,
    distances: bytes,
    misfits: Sequence[Finding],
    stale: Sequence[str],
    changed: Sequence[Change] | None,
    reseeded: Sequence[Reseeded],
    scattered: Sequence[Scattered],
) -> dict[str, Any]:
    """What the template of the overview needs beyond what all pages share."""
    return {
        "counts": counts(rows),
        "bars": [(paper, shares(counts([row for row in rows if row["paper"] == paper]))) for paper in PAPERS],
        "cause_shares": shares({CAUSES.get(cause, cause): n for cause, n in causes(rows).items()}),
        "found": {paper: _found(paper, experiments, rows, claims) for paper in PAPERS},
        "unshown": _unshown(experiments, rows, claims),
        "data": [
            (
                results,
                [(corpus["label"], data_sentence(results, corpus)) for corpus in results.summary["data"]],
            )
            for results in experiments
        ],
        "missing": [name for name in suite.experiments if name not in {each.name for each in experiments}],
        "untestable": untestable(rows),
        "changed": changed,
        "reseeded": reseeded,
        "scattered": scattered,
        "misfits": [
            (f"{in_words(each.file.removesuffix('.csv'))}, {in_words(each.cell)}", each.sentence)
            for each in misfits
        ],
        "stale": stale,
        "runs": {
            status: sum(results.summary["runs"].get(status, 0) for results in experiments)
            for status in ("done", "skipped", "failed")
        },
        "distances": inline(distances, "distances"),
        "verdicts": VERDICTS,
    }


def shares(found: Mapping[str, int]) -> list[tuple[str, int, float]]:
    """(name, number, percent of all) for a stacked bar, without empty parts."""
    total = sum(found.values())
    return [(name, n, round(100.0 * n / total, 2)) for name, n in found.items() if n]


def _found(
    paper: str,
    experiments: Sequence[ExperimentResults],
    rows: Sequence[dict[str, Any]],
    claims: Sequence[Claim],
) -> list[dict[str, Any]]:
    """The experiments on a paper, or on a statement of it, each with its first claim on a table or figure
    and whether it holds, and with what was found in all in one sentence.
    """
    found = []
    for results in experiments:
        own = [row for row in rows if row["experiment"] == results.name and row["paper"] == paper]
        if results.config["paper"] == paper or own:
            listed = by_paper(claims, own).get(paper, [])
            of_tables = [entry for entry in listed if numbers_in(entry["claim"].where)]
            asked = (of_tables or listed)[:1]
            found.append({
                "name": results.name, "title": results.config["title"], "answer": answer(own),
                "asked": [
                    (entry["claim"], holds([one["row"] for one in entry["statements"]]).partition(":")[0])
                    for entry in asked
                ],
            })  # fmt: skip
    return found


def _unshown(
    experiments: Sequence[ExperimentResults], rows: Sequence[dict[str, Any]], claims: Sequence[Claim]
) -> list[tuple[Claim, list[dict[str, Any]]]]:
    """Claims about experiments that have no results here, with their primary rows."""
    shown = {results.name for results in experiments}
    first = {row["id"]: row for row in rows if row["primary"]}
    found = []
    for claim in claims:
        lost = [first[s.id] for s in claim.statements if s.id in first and s.experiment not in shown]
        if lost:
            found.append((claim, lost))
    return found


def untestable(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """(why, statements) for what cannot be tested here; what a clock decides is left out.

    A reason that only one statement has stands with that statement, under one heading for all of these.
    """
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["primary"] and row["verdict"] == "not testable" and not row["volatile"]:
            paper = PAPERS[row["paper"]]
            sentence = f"{paper.short_venue} {paper.year}, {row['where']}: {row['statement']}"
            reasons.setdefault(_why(row["evidence"]), []).append(sentence)
    shared = {why: listed for why, listed in reasons.items() if len(listed) > 1}
    single = [f"{listed[0]} ({why.rstrip('.')})" for why, listed in reasons.items() if len(listed) == 1]
    found = sorted(shared.items(), key=lambda item: -len(item[1]))
    return [*found, (EACH_ITS_OWN, single)] if single else found


def _why(evidence: str | None) -> str:
    """The reason in a row's evidence, without its numbers."""
    text = evidence or "nothing was measured"
    return text.rpartition("; ")[2] if text.startswith("effect ") else text
