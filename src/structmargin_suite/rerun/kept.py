"""The run before: its tables are kept when a changed config, code or corpus is about to replace them.

    .cache/before/<scale>/<experiment>/    summary.json, runs.csv and the tables, as `compare` reads them

Like every cache it may be deleted, or be impossible to write, at any time.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import write_bytes
from structmargin_suite.storage.layout import ScaleLayout
from structmargin_suite.storage.seal import verified

KEPT = (".csv", ".json")


def keep_tables(layout: ScaleLayout, name: str) -> bool:
    """Keep the tables of an experiment at a scale, if they are whole; whether it was done."""
    folder, kept = layout.experiment(name), layout.before(name)
    with contextlib.suppress(OSError, DamagedFile):
        verified(folder)
        if kept.exists():
            shutil.rmtree(kept)
        for path in sorted(folder.iterdir()):
            if path.suffix in KEPT and path.is_file():
                write_bytes(kept / path.name, path.read_bytes())
        return True
    return False


def replaced(paths: Iterable[Path], layout: ScaleLayout, names: Iterable[str]) -> list[str]:
    """The experiments that have data or runs among files that are about to be made again."""
    bundles = [path for path in paths if path.suffix == ".zip"]
    ready = layout.root / "data" / "ready" / layout.name
    return [
        name
        for name in names
        if any(
            path.is_relative_to(folder)
            for path in bundles
            for folder in (layout.experiment(name), ready / name)
        )
    ]
