"""Where an experiment differs from the paper's, table by table, with the values that were really run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from structmargin_suite.planning.tables.references import filled


class Deviation(NamedTuple):
    """One difference: what differs, theirs, ours, and the direction in which it should push the numbers."""

    what: str
    paper: str
    ours: str
    pushes: str


def deviations(config: Mapping[str, Any], table: str) -> list[Deviation]:
    """The differences that a config lists under a table, perhaps none; `ours` is filled in from the config.

    Parameters
    ----------
    config : mapping
        The config of an experiment at the scale that was run.
    table : str
    """
    return [
        Deviation(given["what"], given["paper"], filled(given["ours"], config), given["pushes"])
        for given in config["tables"][table].get("deviations", [])
    ]
