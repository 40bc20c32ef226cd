"""The folders say the design: a room for every module, imports one way, one kind of thing in a folder.

The order of the rooms is the rule. A room may import those named beside it, all of which stand above it in
the table; nothing else. What a table cannot say is checked module by module: no cycles, no helpers of another
folder, and in the library no files, formats, printing or names of formulations.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from helpers.toy_project import HERE

SRC = HERE / "src"

LIBRARY = {
    "compiled": "",
    "kernels": "",
    "names": "",
    "formulation": "compiled",
    "cuts": "formulation",
    "parts": "",
    "problem": "formulation cuts",
    "adapted": "formulation cuts parts problem",
    "inputs": "adapted",
    "archive": "inputs",
    "scorer": "problem adapted",
    "fit": "formulation cuts problem",
    "oracles": "compiled formulation",
    "problems": "compiled formulation cuts parts problem inputs kernels oracles",
    "scoring": "problems",
    "dual": "compiled formulation cuts parts problem adapted kernels scorer",
    "hinge": "compiled kernels inputs fit dual",
    "training": "formulation cuts parts problem adapted inputs scorer fit dual hinge",
    "solvers": "compiled cuts fit dual training",
    "registry": "formulation cuts parts kernels names problem adapted problems training solvers",
    "estimators": "compiled archive formulation cuts parts problem adapted inputs scorer fit training "
    "registry",
    "jkse": "compiled problem adapted inputs scorer fit dual training registry estimators",
    "warm": "compiled formulation fit kernels problems registry estimators jkse",
}
SUITE = {
    "storage": "",
    "fetching": "storage",
    "datasets": "storage fetching structmargin",
    "baselines": "structmargin",
    "methods": "storage datasets baselines structmargin",
    "planning": "storage fetching datasets baselines methods structmargin",
    "rerun": "storage fetching datasets methods planning",
    "results": "storage datasets methods",
    "analysis": "storage datasets results structmargin",
    "figures": "storage datasets results analysis structmargin",
    "statements": "storage datasets baselines results analysis structmargin",
    "publish": "storage fetching datasets methods planning rerun results analysis",
    "stages": "storage fetching datasets methods planning rerun results analysis figures statements publish",
    "terminal": "",
    "workflow": "storage planning rerun terminal structmargin",
    "cli": "storage fetching datasets methods planning rerun results publish terminal structmargin",
}
ROOMS = {
    package: {room: set(allowed.split()) for room, allowed in rooms.items()}
    for package, rooms in (("structmargin", LIBRARY), ("structmargin_suite", SUITE))
}

MOST = 12
"""A folder with more modules than this holds one kind of thing, by `KIND`."""


def path_of(module: str) -> Path | None:
    """The file of a module of ours."""
    place = SRC.joinpath(*module.split("."))
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def name_of(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = sorted(name_of(path) for package in ROOMS for path in (SRC / package).rglob("*.py"))
FOLDERS = [m for m in MODULES if path_of(m) == SRC.joinpath(*m.split("."), "__init__.py")]
OF_LIBRARY = [module for module in MODULES if module.split(".")[0] == "structmargin"]


@functools.cache
def tree_of(module: str) -> ast.Module:
    path = path_of(module)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module, types_too: bool = True) -> set[str]:
    """Full names of everything that a module imports, anywhere in it: modules, or names taken from modules.

    Without `types_too`, imports under `if TYPE_CHECKING` do not count: they never run.
    """
    names = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types_too:
            todo += node.orelse
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def ours(names: set[str]) -> set[str]:
    """The modules of ours among imported names; a name taken from a module stands for that module."""
    found = set()
    for name in names:
        if name.split(".")[0] in ROOMS:
            found.add(name if path_of(name) else name.rpartition(".")[0])
    return found


def room(module: str) -> tuple[str, str]:
    """(package, room): the folder or the module right below the package; a package itself is its own room."""
    package, _, rest = module.partition(".")
    return package, rest.split(".")[0]


def wrong_imports(module: str, names: set[str]) -> list[str]:
    """What a module imports against the tables."""
    package, here = room(module)
    found = []
    for other in sorted(ours(names)):
        its_package, its_room = room(other)
        if its_package != package:
            ok = package == "structmargin_suite" and "structmargin" in ROOMS[package].get(here, ())
        else:
            ok = its_room == here or its_room in ROOMS[package].get(here, ())
        if not ok:
            found.append(other)
    return found


def test_every_module_has_its_room() -> None:
    places = {room(module) for module in MODULES if "." in module}
    homeless = [f"{package}.{here}" for package, here in places if here not in ROOMS[package]]
    assert not homeless, f"{homeless} stand in no room of the tables: give each one"
    silent = [folder for folder in FOLDERS if not ast.get_docstring(tree_of(folder))]
    assert not silent, f"{silent} do not say what they hold"


def test_every_room_is_there() -> None:
    for package, rooms in ROOMS.items():
        assert {name for name in rooms if not path_of(f"{package}.{name}")} == set()


def test_the_tables_run_one_way() -> None:
    for rooms in ROOMS.values():
        above = {"structmargin"}
        for name, allowed in rooms.items():
            assert allowed <= above, f"{name} may import {allowed - above}, which stand below it"
            above.add(name)
    library = ROOMS["structmargin"]
    assert "solvers" not in library["problems"] and not library["solvers"] & {"problems", "oracles"}
    assert not ROOMS["structmargin_suite"]["figures"] & {"statements"}


def test_imports_run_one_way() -> None:
    """The front page of each package stands above all: it offers names, and imports them when asked."""
    wrong = {m: wrong_imports(m, imported(tree_of(m))) for m in MODULES if "." in m}
    wrong |= {m: sorted(ours(imported(tree_of(m), types_too=False))) for m in MODULES if "." not in m}
    assert {module: others for module, others in wrong.items() if others} == {}


def test_every_import_that_the_tables_allow_is_made() -> None:
    """What is allowed and not used would be a door left open."""
    made: dict[tuple[str, str], set[str]] = {}
    for module in MODULES:
        package, here = room(module)
        for other in ours(imported(tree_of(module))):
            its_package, its_room = room(other)
            made.setdefault((package, here), set()).add(its_room if its_package == package else its_package)
    for package, rooms in ROOMS.items():
        for name, allowed in rooms.items():
            assert allowed <= made.get((package, name), set()), f"{package}.{name} does without some of these"


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of a cycle, or none."""
    done: set[str] = set()
    for start in graph:
        way: list[str] = []

        def walk(module: str, way: list[str] = way) -> list[str]:
            if module in way:
                return [*way[way.index(module) :], module]
            if module in done:
                return []
            way.append(module)
            for other in sorted(graph.get(module, ())):
                found = walk(other, way)
                if found:
                    return found
            way.pop()
            done.add(module)
            return []

        found = walk(start)
        if found:
            return found
    return []


def test_no_modules_import_each_other() -> None:
    graph = {module: ours(imported(tree_of(module), types_too=False)) - {module} for module in MODULES}
    assert cycle(graph) == []


def marked(module: str, decorator: str) -> bool:
    """Whether a function of a module stands under this decorator."""
    return any(
        ast.unparse(mark).split("(")[0] == decorator
        for node in tree_of(module).body
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
    )


def calls(module: str, function: str) -> bool:
    """Whether a module calls this function somewhere."""
    nodes = (node.func for node in ast.walk(tree_of(module)) if isinstance(node, ast.Call))
    return any(isinstance(node, ast.Name) and node.id == function for node in nodes)


def defines(module: str, *names: str) -> bool:
    """Whether a module has all these names at its top, its own or imported."""
    have: set[str] = set()
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            have.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            have |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            have |= {name for target in targets for name in ast.unparse(target).strip("()").split(", ")}
    return have.issuperset(names)


DATA_SET = ("FILES", "PREPARE", "VIEW", "synthesize", "view", "score")
KIND = {
    "structmargin.oracles": lambda m: marked(m, "compiled"),
    "structmargin_suite.datasets": lambda m: defines(m, *DATA_SET),
    "structmargin_suite.baselines": lambda m: defines(m, "OPTIONS", "train", "from_arrays"),
    "structmargin_suite.figures": lambda m: marked(m, "figure") or m.endswith(".suite"),
    "structmargin_suite.statements.effects": lambda m: calls(m, "effect"),
}
"""Folders of one kind of thing, and how one tells; a leading underscore marks what the others share."""


def members(folder: str) -> list[str]:
    """The modules and folders right below a package."""
    return [m for m in MODULES if m.startswith(f"{folder}.") and "." not in m[len(folder) + 1 :]]


def test_a_folder_holds_one_kind_of_thing_or_few() -> None:
    for folder in FOLDERS:
        inside = members(folder)
        if folder in KIND:
            odd = [m for m in inside if not m.rpartition(".")[2].startswith("_") and not KIND[folder](m)]
            assert not odd, f"{odd} are not of the kind that {folder} holds"
        else:  # of a package, what lies beside its rooms
            inside = [m for m in inside if folder not in ROOMS or m not in FOLDERS]
            assert len(inside) <= MOST, f"{folder} holds {len(inside)} modules: would two be clearer?"


READERS = (
    "structmargin_suite.analysis",
    "structmargin_suite.figures",
    "structmargin_suite.statements.effects",
)
"""They show what the data sets share: counts of brackets, topics, levels of coverage."""


def test_what_a_folder_shares_stays_in_it() -> None:
    """A module with a leading underscore serves the folder that it lies in."""
    strange = []
    for module in MODULES:
        for other in ours(imported(tree_of(module))):
            folder, _, name = other.rpartition(".")
            shown = folder == "structmargin_suite.datasets" and module.startswith(READERS)
            if name.startswith("_") and not f"{module}.".startswith(f"{folder}.") and not shown:
                strange.append(f"{module} imports {other}, a helper of another folder")
    assert strange == []


FOREIGN = {
    "yaml", "matplotlib", "pandas", "snakemake", "nltk", "requests", "urllib", "structmargin_suite", "pickle",
}  # fmt: skip


FORBIDDEN = ("print", "open", "input", "eval", "exec")


def test_the_library_prints_nothing_and_reads_no_formats() -> None:
    for module in OF_LIBRARY:
        assert not {name.split(".")[0] for name in imported(tree_of(module))} & FOREIGN
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN, f"{module}:{node.lineno}"


def test_no_solver_or_problem_asks_a_formulation_for_its_name() -> None:
    """Only the registry compares names; formulation.py defines them, and an error may name one as advice."""
    for module in OF_LIBRARY:
        names = {"SVM0", "SVM1", "SVM2", "SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"}
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                words = {side.value for side in sides if isinstance(side, ast.Constant)}
                assert not words & names, f"{module}:{node.lineno}"


def test_compiled_code_does_not_argsort() -> None:
    """See `structmargin.compiled`: in numba's cache it can be taken for a sort."""
    for module in OF_LIBRARY:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.FunctionDef) and any(
                "compiled" in ast.unparse(d) for d in node.decorator_list
            ):
                called = {
                    ast.unparse(inner.func).rpartition(".")[2]
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Call)
                }
                assert "argsort" not in called, f"{node.name} calls argsort"


def test_the_checks_themselves_see_what_is_wrong() -> None:
    source = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from structmargin.fit import Fit\n"
        "def f():\n    from structmargin.solvers.bcfw import BCFW\n"
        "    import structmargin.dual.stores\n    return BCFW\n"
    )
    names = imported(ast.parse(source))
    assert ours(names) == {"structmargin.fit", "structmargin.solvers.bcfw", "structmargin.dual.stores"}
    assert ours(imported(ast.parse(source), types_too=False)) == ours(names) - {"structmargin.fit"}
    assert wrong_imports("structmargin.problems.multiclass.problem", names) == sorted(ours(names))
    assert wrong_imports("structmargin.training.task", names) == ["structmargin.solvers.bcfw"]
    assert wrong_imports("structmargin_suite.rerun.job_keys", names) == sorted(ours(names))
    assert wrong_imports("structmargin_suite.methods.training", names) == []
    figures = {
        "structmargin_suite.statements.ocr.kernel_terms",
        "structmargin_suite.analysis.experiments.ocr.kernel_terms",
    }
    assert wrong_imports("structmargin_suite.figures.ocr", figures) == ["structmargin_suite.statements.ocr"]
    assert (
        cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
        and cycle({"a": {"b"}, "b": set()}) == []
    )
    assert not defines("structmargin_suite.datasets._treebanks", "FILES", "synthesize")
    assert not KIND["structmargin.oracles"]("structmargin.fit")
