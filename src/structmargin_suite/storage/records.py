"""Records joined from groups of values that must not share a name."""

from __future__ import annotations

from collections.abc import Mapping


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
