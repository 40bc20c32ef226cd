"""Records joined from groups of values that must not share a name; the papers' claims, one record each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import read_yaml


class NameClash(ValueError):
    """Two groups of a record have a value of the same name."""


def joined(groups: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The groups of a record as one flat mapping, in their order.

    Parameters
    ----------
    groups : mapping
        Values by name, for each group by what to call it in an error.

    Raises
    ------
    NameClash
        If a name stands in two groups; nothing takes precedence.
    """
    record: dict[str, object] = {}
    owner: dict[str, str] = {}
    for group, values in groups.items():
        for name, value in values.items():
            if name in owner:
                raise NameClash(f"{name!r} is a name in both {owner[name]} and {group}; rename one of them")
            record[name], owner[name] = value, group
    return record


CLAIM_KEYS = ("id", "claim", "paper", "where")


def read_claims(path: Path) -> list[dict[str, Any]]:
    """The claims of the papers from data/published/claims.yaml, each with at least `CLAIM_KEYS`."""
    claims = read_yaml(path)
    for number, claim in enumerate(claims if isinstance(claims, list) else [None], 1):
        if not isinstance(claim, dict) or not all(isinstance(claim.get(key), str) for key in CLAIM_KEYS):
            what = f"entry {number} is no claim with {', '.join(CLAIM_KEYS)} as texts"
            raise DamagedFile(path, what, "correct the file")
    return list(claims)
