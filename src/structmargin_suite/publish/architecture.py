"""The drawing of the two packages in docs/architecture.md, made from the imports in the source.

    <!-- structmargin --> rooms and arrows <!-- /structmargin -->
A room is a folder or a module right below a package. An arrow says that one imports another; where a longer
path leads there too, the direct arrow is left out, so that the drawing can be read.
"""

from __future__ import annotations

import ast
from pathlib import Path

from structmargin_suite.rerun.sources import OUR_PACKAGES, imports_of, source_of

Graph = dict[str, set[str]]


def architecture(root: Path) -> str | None:
    """docs/architecture.md with its drawings up to date; None where there is no such page."""
    path = root / "docs" / "architecture.md"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    for package in OUR_PACKAGES:
        begin, end = f"<!-- {package} -->", f"<!-- /{package} -->"
        before, rest = text.split(begin, 1)
        text = "\n".join([before + begin, *drawn(package), end + rest.split(end, 1)[1]])
    return text


def drawn(package: str) -> list[str]:
    """A package as a Mermaid flow chart, and a table of what its rooms hold."""
    arrows = imports(package)
    lines = ["", "```mermaid", "flowchart TD"]
    lines += [f"    {room}[{room}]" for room in arrows]
    lines += [
        f"    {room} --> {other}" for room, others in reduced(arrows).items() for other in sorted(others)
    ]
    lines += ["```", "", "| room | holds |", "|---|---|"]
    for room in arrows:
        path, text = source_of(f"{package}.{room}")
        first = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
        name = f"{room}/" if path.name == "__init__.py" else path.name
        lines.append(f"| `{name}` | {' '.join(first.split()).replace('|', '&#124;')} |")
    return [*lines, ""]


def rooms(package: str) -> list[str]:
    """The folders and modules right below a package."""
    folder = source_of(package)[0].parent
    files = [path.stem for path in folder.glob("*.py") if path.name != "__init__.py"]
    return sorted([*files, *(path.parent.name for path in folder.glob("*/__init__.py"))])


def modules(package: str, room: str) -> list[str]:
    """The modules of a room, at any depth."""
    path, _ = source_of(f"{package}.{room}")
    if path.name != "__init__.py":
        return [f"{package}.{room}"]
    top = path.parents[1].parent
    names = [file.relative_to(top).with_suffix("").parts for file in path.parent.rglob("*.py")]
    return sorted(".".join(step for step in name if step != "__init__") for name in names)


def imports(package: str) -> Graph:
    """For each room of a package the other rooms that it imports; rooms that import none come last."""
    known = rooms(package)
    graph: Graph = {room: set() for room in known}
    for room in known:
        for module in modules(package, room):
            names = [name.split(".") for name in imports_of(module)]
            graph[room] |= {name[1] for name in names if name[0] == package and len(name) > 1} - {room}
    return {room: graph[room] for room in sorted(known, key=lambda room: (-_depth(graph, room), room))}


def reduced(graph: Graph) -> Graph:
    """The same graph without arrows whose end can be reached by a longer way."""
    return {
        room: {o for o in others if not any(o in _reached(graph, via) for via in others - {o})}
        for room, others in graph.items()
    }


def _reached(graph: Graph, room: str) -> set[str]:
    reached: set[str] = set()
    for other in graph[room]:
        reached |= {other} | _reached(graph, other)
    return reached


def _depth(graph: Graph, room: str) -> int:
    """The length of the longest way down from a room."""
    return max((1 + _depth(graph, other) for other in graph[room]), default=0)
