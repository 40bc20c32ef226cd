"""What a result depends on, as short text: digests of settings and of the source files behind them.

Handed to the workflow as parameters, they make a job run again when, and only when, a value it uses
or a module it uses has changed. A comment in a config changes no value; other experiments' modules
are not among a run's own.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path

from structmargin_suite.storage.files import digest

OUR_PACKAGES = ("structmargin", "structmargin_suite")
LISTING_MODULES = ("structmargin", "structmargin.registry", "structmargin.problems", "structmargin.solvers")
"""Modules that only list others: what a run uses of the library is counted without them."""
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where the syntax tree keeps the statements inside a statement."""


def source_digest(modules: Iterable[str], without: Iterable[str] = ()) -> str:
    """A digest of the source of modules and of all that they import of ours.

    Parameters
    ----------
    modules : iterable of str
        Where to begin.
    without : iterable of str
        Modules that do not count, and whose imports are not followed: those that only list others, say.

    Returns
    -------
    str
        Equal for equal source.
    """
    return _source_digest(tuple(sorted(set(modules))), frozenset(without))


@functools.cache
def _source_digest(modules: tuple[str, ...], barred: frozenset[str]) -> str:
    seen: set[str] = set()
    todo = [name for name in modules if name not in barred]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [other for other in imports_of(name) if other not in barred]
    sources = [(name, source_of(name)[1]) for name in sorted(seen)]
    return digest([(name, hashlib.sha256(text).hexdigest()) for name, text in sources])


@functools.cache
def source_of(module: str) -> tuple[Path, bytes]:
    """The file of a module of ours and its bytes."""
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(f"no module {module!r} in {' or '.join(OUR_PACKAGES)}")
    return path, path.read_bytes()


def modules_in(package: str) -> list[str]:
    """The modules of a package of ours, found without importing it."""
    folder = source_of(package)[0].parent
    return [f"{package}.{path.stem}" for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


@functools.cache
def imports_of(module: str) -> tuple[str, ...]:
    """The modules of ours that a module's import statements name, at any depth of the file."""
    path, text = source_of(module)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                steps = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*steps, base] if base else steps)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return tuple(
        sorted(name for name in names if name.split(".")[0] in OUR_PACKAGES and _path(name) is not None)
    )


def _statements(block: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a block and of the blocks inside them, without the many expressions."""
    for statement in block:
        yield statement
        for name in BLOCKS:
            yield from _statements(getattr(statement, name, ()))


@functools.cache
def _path(module: str) -> Path | None:
    """The file of a module of ours, found without importing anything but the top package."""
    top, *rest = module.split(".")
    if top not in OUR_PACKAGES:
        return None
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    for step in rest:
        folder = folder / step
    if (folder / "__init__.py").is_file():
        return folder / "__init__.py"
    file = folder.with_suffix(".py")
    return file if rest and file.is_file() else None
