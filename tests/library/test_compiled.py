"""What compiled code may depend on: files that the mark of the cache covers, and nothing else."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import structmargin

PACKAGE = Path(structmargin.__file__).parent


def covered(path: Path) -> bool:
    """Whether a change of this file makes all code be compiled anew; as `compiled.stamp` has it."""
    return "numba" in path.read_text() or "structmargin.compiled" in path.read_text()


def file_of(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def compiled_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions under a decorator that compiles them, and the implementations that an overload returns."""
    marks = {"compiled", "overload", "register_jitable", "njit", "intrinsic"}

    def name(decorator: ast.expr) -> str:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if any(name(decorator) in marks for decorator in f.decorator_list)]


def taken_from_elsewhere(path: Path) -> dict[str, str]:
    """Names that compiled functions of this file use, and the files of the package they come from."""
    tree = ast.parse(path.read_text())
    source = {
        (alias.asname or alias.name): node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("structmargin.")
        for alias in node.names
    }
    used = {node.id for f in compiled_functions(tree) for node in ast.walk(f) if isinstance(node, ast.Name)}
    return {name: str(source[name]) for name in used & source.keys() if name != "compiled"}


def test_compiled_functions_use_nothing_from_files_that_can_change_without_compiling_anew() -> None:
    uses = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, module in taken_from_elsewhere(path).items():
            uses += 1
            assert covered(file_of(module)), f"compiled code of {path.name} uses {name} of {module}"
    assert uses > 20  # the walk sees the calls between files that are there


def test_the_check_sees_a_constant_from_another_file(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from structmargin.compiled import compiled\nfrom structmargin.names import LIMIT\n\n"
        "@compiled\ndef f(x):\n    return x + LIMIT\n"
    )
    assert taken_from_elsewhere(planted) == {"LIMIT": "structmargin.names"}
    assert not covered(file_of("structmargin.names"))


HALF = """
import numpy as np
from structmargin.compiled import compiled

@compiled
def half(x):
    return x / 2.0

print(half(3.0), len(half.dispatcher.stats.cache_hits))
"""


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_kept_code_that_is_damaged_is_compiled_again_and_kept(suffix: str, tmp_path: Path) -> None:
    script, cache = tmp_path / "half.py", tmp_path / "cache"
    script.write_text(HALF)

    def run() -> str:
        settings = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, str(script)]
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout

    assert run() == "1.5 0\n" and run() == "1.5 1\n"
    (kept,) = cache.rglob(f"*{suffix}")
    kept.write_bytes(bytes(100))
    assert run() == "1.5 0\n"
    assert run() == "1.5 1\n"
