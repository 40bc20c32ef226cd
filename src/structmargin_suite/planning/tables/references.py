"""Values of a config that a text names in braces, so that the text cannot say something else than was run.

{methods.SVM2.C}                       the value under these keys, at the scale that is run
{number of studies.sizes.vary.n_train} how many values a list has; as in `vary`, a number N stands for N
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from structmargin_suite.planning.config import short, unknown
from structmargin_suite.storage.files import cell

SECTIONS = ("data", "problem", "repetitions", "readings", "methods", "studies")
"""The sections whose values a text may name: those that decide what is run."""
_REFERENCE = re.compile(r"\{(number of )?([^{}]*)\}")


def filled(text: str, config: Mapping[str, Any]) -> str:
    """A text with the config's values in place of the paths that it names; it must have no faults."""
    values = _values(config)
    return _REFERENCE.sub(lambda match: _shown(values[match[2]], counted=bool(match[1])), text)


def reference_faults(text: str, config: Mapping[str, Any]) -> list[str]:
    """What is wrong with the paths that a text names, one sentence for each."""
    values = _values(config)
    faults = []
    for count, path in _REFERENCE.findall(text):
        if path not in values:
            faults.append(unknown(path, list(values), "path"))
        elif count and not _countable(values[path]):
            value = short(values[path])
            faults.append(
                f"{path} is {value}, which cannot be counted; leave out 'number of', or name a list"
            )
    return faults


def _values(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a config that are no mappings, by their keys with dots between."""
    return {
        path: value
        for section in SECTIONS
        if section in config
        for path, value in _below(section, config[section])
    }


def _below(path: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, inner in value.items():
        yield from _below(f"{path}.{key}", inner)


def _countable(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, int) and not isinstance(value, bool))


def _shown(value: Any, counted: bool) -> str:
    if counted:
        return str(len(value) if isinstance(value, list) else value)
    return ", ".join(map(cell, value)) if isinstance(value, list) else cell(value)
