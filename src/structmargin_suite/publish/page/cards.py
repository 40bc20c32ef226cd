"""Statements as cards: verdict, a plain sentence, and a dot with its interval beside δ and the paper's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from structmargin_suite.storage.statements_file import STATED_KINDS, Statement

UNDER = re.compile(
    r"(?:(?<=reproduced under )|(?<=inconclusive under ))(.*?)(?=, (?:also with|not with|and no) |;|$)"
)
"""The readings that a cause names."""
WIDTH, MARGIN = 300.0, 12.0
"""Of the drawing of an interval, in its own units."""


def card(one: dict[str, Any]) -> dict[str, Any]:
    """What the template shows of a statement, from an entry of `verdicts.by_paper`."""
    statement, row = one["statement"], one["row"]
    return {
        **one,
        "sentence": sentence(statement, row),
        "drawing": drawing(statement, row),
        "volatile": row["volatile"],
    }


def with_labels(row: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """A verdict with its readings as people call them, where the file has the names that configs have."""

    def named(found: re.Match[str]) -> str:
        return ", ".join(labels.get(name, name) for name in found[0].split(", "))

    cause = UNDER.sub(named, row["cause"]) if row["cause"] else row["cause"]
    return {**row, "reading": labels.get(row["reading"], row["reading"]), "cause": cause}


def sentence(statement: Statement, row: dict[str, Any]) -> str:
    """What was found, in one plain sentence."""
    if row["effect"] is None:
        return _closed(row["evidence"] or "Nothing was measured here")
    if statement.kind == "bound" and row["effect"] == row["low"] == row["high"] == 0.0:
        return _closed(_verdict(statement, row))
    found = f"We find {_number(row['effect'])}"
    if row["low"] is not None and row["high"] is not None:
        found += f" ({_number(row['low'])} to {_number(row['high'])})"
    if statement.published is not None:
        found += f", the paper {_number(statement.published)}{_outside(statement.published, row)}"
    return f"{found}: {_verdict(statement, row)}"


def _outside(published: float, row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None or row["low"] <= published <= row["high"]:
        return ""
    return ", outside this interval"


def _verdict(statement: Statement, row: dict[str, Any]) -> str:
    verdict, kind = row["verdict"], statement.kind
    if verdict == "reproduced":
        return {
            "order": "the interval lies on the claimed side.",
            "equivalence": "the difference is within what counts as none."
            if statement.side == "both"
            else "what speaks against it is too small to matter.",
            "bound": "no run breaks it.",
        }.get(kind, "the interval lies where the paper says.")
    cause, _, said = row["cause"].partition(": ") if row["cause"] else ("", "", "")
    if verdict == "contradicted":
        found = {
            "equivalence": "the difference is larger than what counts as none."
            if statement.side == "both"
            else "what speaks against it is large enough to matter.",
            "bound": "there are runs that break it.",
        }.get(kind, "the interval lies on the other side.")
        reasons = {
            "reading": f"It depends on how the paper is read: {said}.",
            "baseline": f"It depends on the rival: {said}.",
            "engineering": f"Our program is faster: {said}.",
            "data": f"It depends on the data: {said}.",
            "claim": "" if kind == "bound" else f"It is so {said.removeprefix('contradicted ')}.",
            "open": "No cause that was tested explains it.",
        }
        return f"{found} {reasons.get(cause, '')}".rstrip()
    if verdict == "inconclusive":
        reasons = {
            "power": "the interval holds both outcomes; more repetitions or a larger test set would tell.",
            "reading": f"it depends on how the paper is read ({said}).",
            "data": f"it depends on the data ({said}).",
        }
        return reasons.get(cause, "the interval holds both outcomes.")
    return {
        "used": "its number was evidence for how the paper is read, so that it is not judged.",
    }.get(verdict, "made-up data or this scale cannot tell.")


def _closed(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _number(value: float) -> str:
    text = f"{value:.3g}"
    text = f"{value:.0f}" if "e" in text and abs(value) >= 1 else text
    return text.replace("-", "−")


def drawing(statement: Statement, row: dict[str, Any]) -> dict[str, Any] | None:
    """Where an effect, its interval, the marks it is judged by and the paper's value stand on a line."""
    if row["effect"] is None or row["low"] is None or row["high"] is None:
        return None
    marks = _marks(statement)
    shown = [row["effect"], row["low"], row["high"], *(value for value, _ in marks)]
    shown += [statement.published] if statement.published is not None else []
    low, high = min(shown), max(shown)
    if not low < high < float("inf") or low == float("-inf"):
        return None

    def place(value: float) -> float:
        return round(MARGIN + (value - low) / (high - low) * (WIDTH - 2 * MARGIN), 1)

    return {
        "low": place(row["low"]),
        "high": place(row["high"]),
        "effect": place(row["effect"]),
        "paper": None if statement.published is None else place(statement.published),
        "marks": [(place(value), name) for value, name in marks],
    }


def _marks(statement: Statement) -> list[tuple[float, str]]:
    """The values that decide: 0 and δ, or the stated ones."""
    if statement.kind in STATED_KINDS:
        given = {"above": statement.above, "below": statement.below}
        return [(value, f"{_number(value)}") for value in given.values() if value is not None]
    if statement.kind == "equivalence":
        both = [(-statement.delta, "−δ")]
        return [*both, (statement.delta, "δ")] if statement.side == "both" else both
    return [(0.0, "0"), *([(statement.delta, "δ")] if statement.delta else [])]


def by_reading(rows: Iterable[dict[str, Any]], verdicts: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many statements have which verdict under each reading; clocks do not count."""
    counted: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["reading"] and not row["volatile"]:
            found = counted.setdefault(row["reading"], dict.fromkeys(verdicts, 0))
            found[row["verdict"]] = found.get(row["verdict"], 0) + 1
    return counted
