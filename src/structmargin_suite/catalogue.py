"""What configs may name: data sets, baselines, figures, claims, and what the library offers.

Data sets and baselines are found by the name of their module, which declares its own parameters as
JSON schemas, so a new one needs no entry anywhere:
    datasets/<name>.py    PREPARE and VIEW, the parameters of `synthesize`/`parse` and of `view`;
                          optionally refuse(prepare, view), a reason why values do not go together
    baselines/<name>.py   OPTIONS, the parameters of `train`
Figures and claims are functions under a decorator; their names are read from the source, so that
nobody has to import a plotting library to check a config.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from structmargin_suite import baselines, datasets
from structmargin_suite.digests import source_of
from structmargin_suite.files import read_yaml

Schema = Mapping[str, Any]


class Catalogue:
    """Look-ups over the installed modules, and over the library unless told to leave it alone."""

    def __init__(self, root: Path, library: bool = True) -> None:
        self.root = root
        self.library = library

    @functools.cached_property
    def claims(self) -> dict[str, dict[str, Any]]:
        """What the papers assert, by id."""
        return {claim["id"]: claim for claim in read_yaml(self.root / "data" / "published" / "claims.yaml")}

    @functools.cached_property
    def datasets(self) -> list[str]:
        return _modules(datasets)

    @functools.cached_property
    def baselines(self) -> list[str]:
        return _modules(baselines)

    def figures(self, experiment: str) -> list[str]:
        """The figures that structmargin_suite/figures/<experiment>.py draws."""
        return declared(f"structmargin_suite.figures.{experiment}", "figure")

    def refusal(self, model: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """(fault, reason to skip) of a library method: an unknown name, or a combination that cannot be."""
        if not self.library:
            return None, None
        from structmargin_suite.models import combination

        return combination(model)


def dataset(name: str) -> ModuleType:
    """The module of a data set."""
    return importlib.import_module(f"structmargin_suite.datasets.{name}")


def baseline(name: str) -> ModuleType:
    """The module of a baseline."""
    return importlib.import_module(f"structmargin_suite.baselines.{name}")


def _modules(package: ModuleType) -> list[str]:
    return sorted(found.name for found in pkgutil.iter_modules(package.__path__))


def declared(module: str, decorator: str) -> list[str]:
    """The names under which functions of a module stand below @decorator("name"); none if no such module."""
    try:
        _, text = source_of(module)
    except ModuleNotFoundError:
        return []
    found = []
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == decorator:
                found.append(str(ast.literal_eval(mark.args[0])))
    return found
