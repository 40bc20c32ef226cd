"""The config of an experiment, or of a variant of one: a file with `extends` says only what differs.

    extends: alignment      # configs/alignment.yaml, and over it what this file says
    methods:
      margin: {C: 10}       # mappings are merged key by key, everything else is replaced
      hmm: null             # null takes an entry out

A variant is an experiment of its own, with its own results. Its runs draw the random numbers of the runs of
the same names in the experiment that it extends, so that the two differ in nothing but what the file says.
A variant of a variant is refused: two files are as many as a reader can hold side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structmargin_suite.planning.config import Document, Faults, merged, read, short, unknown
from structmargin_suite.storage.names import file_name_fault

EXTENDS = "extends"


def read_experiment(root: Path, name: str, faults: Faults) -> Document:
    """The config of an experiment; a variant with what it inherits. Not `whole` where that cannot be."""
    folder = root / "configs"
    own = read(folder / f"{name}.yaml", faults)
    if not own.whole or EXTENDS not in own.values:
        return own
    other = own.values[EXTENDS]
    fault = _fault(folder, name, other)
    if fault is None:
        base = read(folder / f"{other}.yaml", faults)
        if base.whole and EXTENDS in base.values:
            fault = _chain(name, str(other), base.values[EXTENDS])
        elif base.whole:
            return _joined(name, own, base)
    if fault is not None:
        faults.add(own, (EXTENDS,), fault)
    return Document(own.path)


def _fault(folder: Path, name: str, other: object) -> str | None:
    """What is wrong with the name of the experiment that is extended."""
    if not isinstance(other, str):
        return f"is {short(other)}, but must be the name of an experiment"
    if other == name:
        return "an experiment cannot extend itself; name another, or remove the key"
    known = sorted(path.stem for path in folder.glob("*.yaml") if path.stem not in ("suite", name))
    if file_name_fault(other) is not None or other not in known:
        return unknown(other, known, "experiment")
    return None


def _chain(name: str, other: str, third: object) -> str:
    if third == name:
        return f"{other!r} extends {name!r} in turn; one of the two must stand on its own"
    return f"{other!r} is itself a variant, of {short(third)}; extend that one, and say all that differs"


def _joined(name: str, own: Document, base: Document) -> Document:
    """A variant's file over the file that it extends."""
    values = _without_nulls(merged(base.values, own.values), own.values)
    if "title" not in own.values:
        values["title"] = f"{base.values.get('title', own.values[EXTENDS])} (variant {name})"
    return Document(
        path=own.path,
        values=values,
        lines={**base.lines, **own.lines},
        refused=base.refused | own.refused,
        whole=True,
        base=base.path,
        inherited=frozenset(base.lines.keys() - own.lines.keys()),
    )


def _without_nulls(values: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The values without the entries that the variant's own file sets to null."""
    return {
        key: _without_nulls(value, own[key])
        if isinstance(value, dict) and isinstance(own.get(key), dict)
        else value
        for key, value in values.items()
        if own.get(key, value) is not None
    }
