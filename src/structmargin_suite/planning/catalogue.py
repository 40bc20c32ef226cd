"""What configs may name: data sets, baselines, figures, statements, and what the library offers.

Data sets and baselines are found by the name of their module, which declares its own parameters as
JSON schemas, so a new one needs no entry anywhere; a leading underscore marks a helper that several share:
    datasets/<name>       a module, or a folder with readers and drawings of its own: PREPARE and VIEW, the
                          parameters of `synthesize`/`parse` and of `view`; optionally
                          refuse(prepare, view), a reason why values do not go together
    baselines/<name>.py   OPTIONS, the parameters of `train`
Figures are functions under a decorator; their names are read from the source, so that nobody has to import a
plotting library to check a config.
"""

from __future__ import annotations

import ast
import functools
import pkgutil
from pathlib import Path
from types import ModuleType

from structmargin_suite import baselines, datasets
from structmargin_suite.methods.kinds import LibraryModel
from structmargin_suite.storage.statements_file import (
    STATEMENTS_FILE,
    Statement,
    read_statements,
    statements_of,
)

FIGURES = Path(__file__).parent.parent / "figures"


class Catalogue:
    """The names that configs may use: of installed modules and, if `library`, of what the library offers."""

    def __init__(self, root: Path, library: bool = True) -> None:
        self.root = root
        self.library = library

    @functools.cached_property
    def statements(self) -> dict[str, Statement]:
        """What the papers state, by id."""
        claims = read_statements(self.root / "data" / "published" / STATEMENTS_FILE)
        return {statement.id: statement for statement in statements_of(claims)}

    @functools.cached_property
    def datasets(self) -> list[str]:
        return _modules(datasets)

    @functools.cached_property
    def baselines(self) -> list[str]:
        return _modules(baselines)

    def figures(self, experiment: str) -> list[str]:
        """The figures that structmargin_suite/figures/<experiment>.py draws."""
        return declared(FIGURES / f"{experiment}.py", "figure")

    def refusal(self, model: LibraryModel) -> tuple[str | None, str | None]:
        """(fault, reason to skip) of a library model: an unknown name, or an impossible combination."""
        if not self.library:
            return None, None
        from structmargin_suite.methods.combinations import refusal

        return refusal(model)


def _modules(package: ModuleType) -> list[str]:
    """The modules and folders of a package; a leading underscore marks what they share."""
    return sorted(
        module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")
    )


def declared(file: Path, decorator: str) -> list[str]:
    """The names under which functions of a module stand below @decorator("name"); none if no such file."""
    if not file.is_file():
        return []
    names = []
    for node in ast.parse(file.read_bytes()).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == decorator:
                names.append(str(ast.literal_eval(mark.args[0])))
    return names
