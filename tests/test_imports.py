"""Imports run one way, and the library does no files, YAML, plotting or printing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
LIBRARY = sorted((SRC / "structmargin").rglob("*.py"))

BELOW = {
    "compiled": set(),
    "formulation": {"compiled"},
    "problem": {"formulation"},
    "rows": set(),
    "qp_blocks": {"compiled", "rows"},
    "qp_stride": {"compiled", "rows"},
    "qp": {"compiled", "qp_blocks", "qp_stride", "rows"},
    "qp_cvxopt": set(),
    "kernels": set(),
    "polynomial": set(),
    "sequence_kernel": {"compiled", "kernels", "polynomial"},
    "scorer": set(),
    "store": {"compiled", "qp_blocks", "rows", "scorer"},
    "tensor_store": {"compiled", "qp_blocks", "rows", "scorer", "store"},
    "space": {"problem", "scorer", "store", "tensor_store"},
    "archive": set(),
    "dual": {"qp", "qp_blocks", "qp_cvxopt", "formulation", "store"},
    "separation": {"formulation", "problem", "scorer", "store"},
    "fit": {"formulation", "separation"},
    "task": {"dual", "fit", "formulation", "separation", "space"},
    "path": {"fit", "formulation", "task"},
}
"""What each module of the core may import of the library."""

FOLDERS = {
    "oracles": {"compiled", "formulation", "oracles"},
    "problems": {"compiled", "formulation", "problem", "kernels", "oracles", "problems", "scorer"},
    "solvers": {
        "compiled",
        "formulation",
        "rows",
        "qp_blocks",
        "dual",
        "fit",
        "separation",
        "space",
        "store",
        "scorer",
        "task",
        "solvers",
    },
}
FOREIGN = {
    "yaml",
    "matplotlib",
    "pandas",
    "snakemake",
    "nltk",
    "requests",
    "urllib",
    "structmargin_suite",
    "pickle",
}


def imported(path: Path) -> set[str]:
    """Full names of everything a module imports, anywhere in it, with the names taken from modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where they lead"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def parts_of_library(path: Path) -> set[str]:
    """Modules or folders of structmargin that a module imports, by their first name below the package."""
    tops = {p.stem if p.suffix == ".py" else p.name for p in (SRC / "structmargin").iterdir()}
    found = set()
    for name in imported(path):
        first, _, rest = name.partition(".")
        if first == "structmargin":
            below = rest.split(".")[0]
            found.add(below if below in tops else "__init__")
    return found


def part(path: Path) -> str:
    inside = path.relative_to(SRC / "structmargin").parts
    return inside[0] if len(inside) > 1 else path.stem


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_run_one_way(path: Path) -> None:
    """A module that is not listed (registry, estimators) stands above the rest: it may import any of it, and
    what is listed may not import it."""
    here = part(path)
    used = parts_of_library(path)
    allowed = FOLDERS.get(here, BELOW.get(here))
    if allowed is None:
        return
    assert used <= allowed, f"{path.name} imports {sorted(used - allowed)}, which it must not"


def test_the_order_has_no_cycle() -> None:
    order: list[str] = []
    left = dict(BELOW)
    while left:
        ready = [name for name, below in left.items() if below <= set(order)]
        assert ready, f"a cycle among {sorted(left)}"
        order += ready
        left = {name: below for name, below in left.items() if name not in ready}
    for name, below in FOLDERS.items():
        assert below - {name} <= set(order) | {"oracles"}
    assert "solvers" not in FOLDERS["problems"]
    assert not FOLDERS["solvers"] & {"problems", "oracles"}


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SRC)))
def test_the_library_prints_nothing_and_reads_no_formats(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & FOREIGN
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "open", "input", "eval", "exec"), (
                f"{path.name}:{node.lineno}"
            )


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SRC)))
def test_no_solver_or_problem_asks_a_formulation_for_its_name(path: Path) -> None:
    """Only the registry compares names; formulation.py defines them, and an error may name one as advice."""
    names = {"SVM0", "SVM1", "SVM2", "SVM1 slack", "SVM1 margin", "SVM2 slack", "SVM2 margin"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = {
                side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)
            }
            assert not words & names, f"{path.name}:{node.lineno} compares with a formulation's name"


def test_the_check_itself_sees_a_wrong_import(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "def f():\n    from structmargin.solvers.bcfw import BCFW\n"
        "    import structmargin.dual\n    return BCFW\n"
    )
    assert parts_of_library(wrong) == {"solvers", "dual"}


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(SRC)))
def test_compiled_code_does_not_argsort(path):
    """See `structmargin.compiled`: in numba's cache it can be taken for a sort."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and any(
            "compiled" in ast.unparse(d) for d in node.decorator_list
        ):
            called = {
                ast.unparse(one.func).rpartition(".")[2]
                for one in ast.walk(node)
                if isinstance(one, ast.Call)
            }
            assert "argsort" not in called, f"{node.name} calls argsort"
