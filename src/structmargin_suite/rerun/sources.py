"""What a result depends on, as short text: digests of settings and of the source files behind them.

Handed to the workflow as parameters, they make a job run again when, and only when, a value it uses
or a module it uses has changed. A comment in a config changes no value; other experiments' modules
are not among a run's own.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path

from structmargin_suite.storage.files import digest

OUR_PACKAGES = ("structmargin", "structmargin_suite")
LISTING_MODULES = ("structmargin", "structmargin.registry", "structmargin.problems", "structmargin.solvers")
"""Modules that only list others: what a run uses of the library is counted without them."""
IMPORT = re.compile(
    r"(?:^|[:;])[ ]*"
    r"(?:import[ ](?P<modules>[^\n;]+)|from[ ](?P<base>[.\w]+)[ ]import[ ](?P<names>\([^)]*\)|[^\n;]+))",
    re.MULTILINE,
)
"""An import statement, as the formatter leaves it. Every job looks for those of some hundred files: a syntax
tree of each would take longer than most jobs of a small experiment."""
COMMENT = re.compile(r"#[^\n]*")
ALIAS = re.compile(r"[ ]as[ ]\w+")


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
    for statement in IMPORT.finditer(COMMENT.sub("", text.decode())):
        listed = ALIAS.sub("", statement["modules"] or statement["names"])
        members = [name for name in re.split(r"[(),\s]+", listed) if name]
        if statement["modules"]:
            names.update(members)
        else:
            base = _absolute(statement["base"], package)
            names.update([base, *(f"{base}.{name}" for name in members)])
    return tuple(
        sorted(name for name in names if name.split(".")[0] in OUR_PACKAGES and _path(name) is not None)
    )


def _absolute(base: str, package: str) -> str:
    """A module's name, from one that may begin with a dot for the package and one more for each above it."""
    name = base.lstrip(".")
    level = len(base) - len(name)
    if not level:
        return name
    steps = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*steps, name] if name else steps)


@functools.cache
def _path(module: str) -> Path | None:
    """The file of a module of ours, found without importing anything but the top package."""
    top, *rest = module.split(".")
    folder = _folder(top) if top in OUR_PACKAGES else None
    if folder is None:
        return None
    folder = folder.joinpath(*rest)
    if (folder / "__init__.py").is_file():
        return folder / "__init__.py"
    file = folder.with_suffix(".py")
    return file if rest and file.is_file() else None


@functools.cache
def _folder(package: str) -> Path | None:
    """Where a package of ours lies."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
