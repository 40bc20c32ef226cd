"""Records put together from parts that must not share a name."""

from __future__ import annotations

from collections.abc import Mapping


class NameClash(ValueError):
    """Two parts of a record have a value of the same name."""


def joined(parts: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The parts of a record as one flat mapping, in their order.

    Parameters
    ----------
    parts : mapping
        Values by name, for each part by what to call it in an error.

    Raises
    ------
    NameClash
        If a name stands in two parts; nothing takes precedence.
    """
    record: dict[str, object] = {}
    owner: dict[str, str] = {}
    for part, values in parts.items():
        for name, value in values.items():
            if name in owner:
                raise NameClash(f"{name!r} is a name in both {owner[name]} and {part}; rename one of them")
            record[name], owner[name] = value, part
    return record
