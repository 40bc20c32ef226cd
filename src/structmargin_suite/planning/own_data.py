"""The files of a corpus with `source: file`: those that the user's `path` names."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from structmargin_suite.datasets import dataset
from structmargin_suite.fetching.fetch import own_files
from structmargin_suite.planning.runs import Part


def own_files_of(part: Part, root: Path) -> dict[str, Path]:
    """The user's files that a part reads, by name; DataError says what is missing."""
    module = dataset(part.module)
    own_folder = None if module.own_folder is None else partial(module.own_folder, **part.params)
    return own_files(part.path, module.FILES, root, own_folder)
