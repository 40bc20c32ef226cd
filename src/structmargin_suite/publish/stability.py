"""Verdicts of this run beside the committed run's, and beside those under other seeds: which differ, and why.

A smaller scale may leave open what a larger one decides; a verdict that turns into its opposite is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DECIDED = ("reproduced", "contradicted")


@dataclass(frozen=True)
class Change:
    """A statement whose verdict is another one in the other run."""

    id: str
    here: str
    there: str
    why: str
    volatile: bool

    @property
    def opposite(self) -> bool:
        """Whether both runs decide, and differ."""
        return self.here in DECIDED and self.there in DECIDED


@dataclass(frozen=True)
class Reseeded:
    """The primary verdicts under another seed: of which experiments, how many, and those that differ."""

    seed: int
    experiments: tuple[str, ...]
    compared: int
    changed: tuple[Change, ...]


def reseeded(
    rows: Sequence[Mapping[str, Any]], again: Mapping[tuple[str, str, str], Mapping[int, str]]
) -> list[Reseeded]:
    """What other seeds say of the primary verdicts.

    Parameters
    ----------
    rows : sequence of mapping
        The rows of statements.csv.
    again : mapping
        By statement, reading and data: the verdict under each other seed.
    """
    primary = [row for row in rows if row["primary"]]
    under = [(row, again.get((row["id"], row["reading"] or "", row["data"] or ""), {})) for row in primary]
    result = []
    for seed in sorted({seed for _, verdicts in under for seed in verdicts}):
        compared = [(row, verdicts[seed]) for row, verdicts in under if seed in verdicts]
        changed = [
            Change(row["id"], row["verdict"], verdict, f"under the seed {seed}", bool(row["volatile"]))
            for row, verdict in compared
            if verdict != row["verdict"]
        ]
        names = tuple(dict.fromkeys(row["experiment"] for row, _ in compared))
        result.append(Reseeded(seed, names, len(compared), tuple(changed)))
    return result


@dataclass(frozen=True)
class Scattered:
    """The primary verdicts of a scale under several seeds: how many, and those that are not all the same."""

    scale: str
    seeds: tuple[int, ...]
    compared: int
    changed: Mapping[str, Mapping[int, str]]  # by statement: the verdict under each seed

    @property
    def opposite(self) -> list[str]:
        """Statements that one seed reproduces and another contradicts."""
        return [name for name, verdicts in self.changed.items() if set(DECIDED) <= set(verdicts.values())]


def scattered(found: Mapping[str, Mapping[tuple[str, str, str], Mapping[int, str]]]) -> list[Scattered]:
    """What the seeds of each scale say of the statements that all of them judge; not of a single seed.

    Parameters
    ----------
    found : mapping
        By scale, then by statement, reading and data, primary ones only: the verdict under each seed.
    """
    result = []
    for scale, under in found.items():
        seeds = tuple(sorted({seed for verdicts in under.values() for seed in verdicts}))
        judged = {name: verdicts for (name, _, _), verdicts in under.items() if len(verdicts) == len(seeds)}
        changed = {name: verdicts for name, verdicts in judged.items() if len(set(verdicts.values())) > 1}
        if len(seeds) > 1:
            result.append(Scattered(scale, seeds, len(judged), changed))
    return result


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
