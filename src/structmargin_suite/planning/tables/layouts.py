"""What is wrong with the layout of a table in a config: keys, values and measures that the table has not.

The layout is what a table's `rows`, `columns`, `names` and `cells` say (publish/tables/layout.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from structmargin_suite.planning.config import unknown
from structmargin_suite.storage.yaml_text import Key

MADE_KEYS = ("measure", "data", "reading")
"""Columns that every table may have besides its own keys; with `splits` also split."""
MOST_VALUES = 10_000
"""Of a key that are listed: a study with more of them is refused for its number of runs."""
Fault = tuple[Key, str]


def layout_faults(config: Mapping[str, Any], name: str, paper: Mapping[str, Any]) -> Iterator[Fault]:
    """(key below the table, sentence) for everything that a table's layout names and the table has not.

    Parameters
    ----------
    config : mapping
        The config of an experiment at one scale.
    name : str
        The name of the table.
    paper : mapping
        The studies of the config as it is written for all scales: a smaller scale may leave out values that
        the table has names for.
    """
    spec = config["tables"][name]
    keys = [*spec["keys"], *MADE_KEYS, *(["split"] if "splits" in spec else [])]
    values = _values(config, spec, paper)
    across = spec.get("columns", [])
    yield from _unknown_keys(spec.get("rows", []), keys, ("rows",))
    if isinstance(across, Mapping):
        named = list(dict.fromkeys(key for group in across.values() for key in group))
        for title, group in across.items():
            for key, given in group.items():
                if key not in keys:
                    yield ("columns", title, key), unknown(key, keys, "key", given)
                else:
                    for value in given if isinstance(given, list) else [given]:
                        yield from _unknown_value(key, value, values, ("columns", title, key))
    else:
        named = list(across)
        yield from _unknown_keys(across, keys, ("columns",))
    for place, key in enumerate(spec.get("rows", [])):
        if key in named:
            yield ("rows", str(place)), f"{key!r} runs across already, under columns; name it once"
    yield from _unknown_names(spec.get("names", {}), keys, values)
    for measure in spec.get("cells", {}):
        if measure not in spec["measures"]:
            yield ("cells", measure), unknown(measure, spec["measures"], "measure")


def _values(
    config: Mapping[str, Any], spec: Mapping[str, Any], paper: Mapping[str, Any]
) -> dict[str, list[str]]:
    """The values that keys of a table can have, as far as its config tells, as they are written."""
    known: dict[str, list[str]] = {
        "measure": list(spec["measures"]),
        "split": list(spec.get("splits", [])),
        "method": list(config.get("methods", {})),
        "reading": list(config.get("readings", {})),
        "data": list(config.get("data", {})),
        "corpus": list(config.get("data", {})),
    }
    studies = [spec["study"]] if isinstance(spec["study"], str) else spec["study"]
    for given in (each.get(study, {}) for study in studies for each in (config.get("studies", {}), paper)):
        for key, listed in given.get("vary", {}).items():
            several = range(min(listed, MOST_VALUES)) if isinstance(listed, int) else listed
            known.setdefault(key, []).extend(_written(value) for value in several)
        for key, value in given.get("fixed", {}).items():
            known.setdefault(key, []).append(_written(value))
    for key, source in spec.get("found_as", {}).items():
        if source in known and key not in known:
            known[key] = known[source]
    return known


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _unknown_keys(given: Sequence[str], keys: Sequence[str], where: Key) -> Iterator[Fault]:
    for place, key in enumerate(given):
        if key not in keys:
            yield (*where, str(place)), unknown(key, keys, "key of the table")


def _unknown_value(key: str, value: Any, values: Mapping[str, list[str]], where: Key) -> Iterator[Fault]:
    if key in values and _written(value) not in values[key]:
        yield where, unknown(_written(value), values[key], "value")


def _unknown_names(
    names: Mapping[str, str], keys: Sequence[str], values: Mapping[str, list[str]]
) -> Iterator[Fault]:
    """A name is of a key, of a value of any key, or of the value of one key (key=value)."""
    anything = list(dict.fromkeys([*keys, *(value for key in values for value in values[key])]))
    for name in names:
        key, _, value = name.partition("=")
        if name not in anything and not (key in values and value in values[key]):
            yield ("names", name), unknown(name, anything, "name")
