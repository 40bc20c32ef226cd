"""The files that the suite needs in a folder to run there: configs, the workflow, the papers' numbers.

They have one source, the checkout. A wheel has a copy of them inside the package, which setup.py makes when
the wheel is built; installed from a checkout to be edited, the package has none, and they are the checkout's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from structmargin_suite.storage.errors import DataError

PARTS = ("Snakefile", "configs", "workflow", "profiles", "data/published")
"""What a project consists of; setup.py reads this line."""
PACKAGE = Path(__file__).resolve().parents[1]


def is_project(root: Path) -> bool:
    """Whether a folder holds the configs of a suite."""
    return (root / "configs" / "suite.yaml").is_file()


def project_files(package: Path = PACKAGE) -> tuple[Path, list[str]]:
    """(folder, names from there on) of the files of a project: in the package, or in its checkout."""
    for folder in (package / "project", package.parents[1]):
        if (folder / "Snakefile").is_file() and (folder / "configs" / "suite.yaml").is_file():
            return folder, sorted(_listed(folder))
    raise DataError(
        f"{package} was installed without the files of a project; install structmargin from a wheel again"
    )


def _listed(folder: Path) -> Iterator[str]:
    for part in PARTS:
        paths = [folder / part] if (folder / part).is_file() else (folder / part).rglob("*")
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(folder).as_posix()


def copy_project(target: Path, package: Path = PACKAGE) -> int:
    """Copy the files of a project into a folder; returns how many. None is overwritten."""
    folder, names = project_files(package)
    there = [name for name in names if (target / name).exists()]
    if there:
        raise DataError(f"{target / there[0]} is already there; name an empty folder")
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target / name)
    return len(names)
