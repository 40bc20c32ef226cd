"""Verdicts of this run beside those of the committed run: how many differ, which, and why.

A smaller scale may leave open what a larger one decides; a verdict that turns into its opposite is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DECIDED = ("reproduced", "contradicted")


@dataclass(frozen=True)
class Change:
    """A statement whose verdict is not the committed run's."""

    id: str
    here: str
    committed: str
    why: str
    volatile: bool

    @property
    def opposite(self) -> bool:
        """Whether both runs decide, and differ."""
        return self.here in DECIDED and self.committed in DECIDED


def changes(rows: Sequence[dict[str, Any]], committed: Sequence[dict[str, Any]]) -> list[Change]:
    """The statements whose primary verdicts differ; those that only one of the runs knows are left out."""
    before = {row["id"]: row for row in committed if row["primary"]}
    result = []
    for row in rows:
        twin = before.get(row["id"]) if row["primary"] else None
        if twin is not None and twin["verdict"] != row["verdict"]:
            result.append(
                Change(row["id"], row["verdict"], twin["verdict"], _why(row, twin), bool(row["volatile"]))
            )
    return result


def _why(row: dict[str, Any], twin: dict[str, Any]) -> str:
    """What the rows themselves show of the reason."""
    here, there = row["n"], twin["n"]
    if here is None:
        return row["evidence"] or "nothing was measured here"
    if there is None:
        return "the committed run measured nothing"
    for key, what in (("reading", "another reading is primary"), ("data", "other data decide")):
        if (row[key] or "") != (twin[key] or ""):
            return f"{what}: {row[key]} where the committed run has {twin[key]}"
    if here != there:
        return (
            f"{'fewer' if here < there else 'more'} observations: {here} where the committed run has {there}"
        )
    return "as many observations, other numbers"
