"""Statements and verdicts as the page shows them: by paper, then by claim, the primary row of each first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from structmargin_suite.storage.statements_file import Claim

VERDICTS = ("reproduced", "inconclusive", "contradicted", "not testable", "used")
"""In the order in which they are counted."""
CAUSES = {
    "power": "too few data",
    "open": "not known",
    "reading": "another reading holds",
    "claim": "the claim itself",
    "data": "other or more data",
    "engineering": "faster programs",
    "baseline": "the rival's training",
}
"""What people call the causes; `statements.csv` has them in full."""


def counts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many statements have which verdict, by their primary rows."""
    found = Counter(row["verdict"] for row in rows if row["primary"])
    return {verdict: found[verdict] for verdict in VERDICTS}


def score(rows: Sequence[dict[str, Any]]) -> str:
    """The counts as one line, without verdicts that do not occur."""
    return ", ".join(f"{n} {verdict}" for verdict, n in counts(rows).items() if n)


def causes(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many statements that are not reproduced have which cause, by their primary rows."""
    found = Counter(row["cause"].partition(":")[0] for row in rows if row["primary"] and row["cause"])
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def by_paper(claims: Sequence[Claim], rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """For each paper its claims, each with its counts and its statements: the primary row, and the others."""
    of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of.setdefault(row["id"], []).append(row)
    papers: dict[str, list[dict[str, Any]]] = {}
    for claim in claims:
        statements: list[dict[str, Any]] = []
        for statement in claim.statements:
            found = of.get(statement.id, [])
            first = next((row for row in found if row["primary"]), None)
            if first is not None:
                others = [row for row in found if row is not first]
                statements.append({"statement": statement, "row": first, "others": others})
        if statements:
            first_rows = [statement["row"] for statement in statements]
            papers.setdefault(claim.paper, []).append(
                {
                    "claim": claim,
                    "statements": statements,
                    "counts": {verdict: n for verdict, n in counts(first_rows).items() if n},
                    "volatile": any(row["volatile"] for row in first_rows),
                }
            )
    return papers
