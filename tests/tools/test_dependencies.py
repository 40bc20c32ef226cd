"""What is declared is used, and what is imported is declared, package by package."""

from __future__ import annotations

import ast
import re
import sys
import tomllib

from helpers.toy_project import HERE

PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MODULE = {
    "biopython": "Bio", "pillow": "PIL", "python-crfsuite": "pycrfsuite",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}  # fmt: skip
"""Import names that differ from the distribution's."""
TOOLS = {
    "ipykernel", "jupyterlab", "mkdocs-material", "mypy", "pygments", "pytest-xdist", "ruff", "snakefmt",
    "types-jsonschema", "types-pyyaml",
}  # fmt: skip
"""Used by being there: by commands, by make, by pytest, by mypy, by notebooks, by Snakemake's report."""
PEERS = ["dlib", "pystruct"]
"""Run by benchmarks, in a Python of their own, where somebody has built them."""
OURS = {"structmargin", "structmargin_suite", "helpers", "peers"} | {
    path.stem for path in (HERE / "benchmarks").glob("*.py")
}


def declared(*lists: list[str]) -> set[str]:
    """Names of distributions, without versions and extras; the project's own extras are followed."""
    names: set[str] = set()
    for entry in (entry for group in lists for entry in group):
        name, extras = re.fullmatch(r"([\w-]+)(?:\[([\w,]+)\])?.*", entry).groups()  # type: ignore[union-attr]
        if name == PROJECT["name"]:
            names |= declared(*(EXTRAS[extra] for extra in extras.split(",")))
        else:
            names.add(name.lower())
    return names


def imported(*folders: str) -> dict[str, str]:
    """Top names that Python files import, each with a file that does."""
    found: dict[str, str] = {}
    for path in sorted(path for folder in folders for path in (HERE / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                found.setdefault(name.split(".")[0], str(path.relative_to(HERE)))
    return {name: file for name, file in found.items() if name not in {*sys.stdlib_module_names, *OURS}}


def modules(names: set[str]) -> set[str]:
    return {MODULE.get(name, name.replace("-", "_")) for name in names}


def undeclared(found: dict[str, str], *lists: list[str]) -> dict[str, str]:
    return {name: file for name, file in found.items() if name not in modules(declared(*lists))}


def test_what_is_imported_is_declared() -> None:
    core = PROJECT["dependencies"]
    # The reference QP is optional, as its docstring says: whoever asks for it installs cvxopt.
    assert undeclared(imported("src/structmargin"), core, ["cvxopt"]) == {}
    # What executes notebooks is looked for when it is needed, and an error names the extra.
    notebooks = "structmargin_suite/publish/previews/notebooks.py"
    suite = undeclared(imported("src/structmargin_suite"), core, EXTRAS["suite"])
    assert set(suite.values()) <= {f"src/{notebooks}"}, suite
    assert undeclared(suite, EXTRAS["notebooks"]) == {}
    assert undeclared(imported("tests"), core, EXTRAS["test"]) == {}
    assert undeclared(imported("benchmarks"), core, EXTRAS["test"], EXTRAS["bench"], PEERS) == {}


def test_what_is_declared_is_used() -> None:
    used = set(imported("src", "tests", "benchmarks"))
    names = declared(PROJECT["dependencies"], *EXTRAS.values()) - TOOLS
    assert modules(names) - used == set()


def test_the_checks_see_what_is_missing() -> None:
    assert undeclared({"numpy": "a.py", "torch": "b.py"}, PROJECT["dependencies"]) == {"torch": "b.py"}
    assert {"numba", "pillow", "nbclient"} <= declared(PROJECT["dependencies"], EXTRAS["test"])
