"""The documents that follow from the project itself: what each paper leaves open, and the API reference.

    docs/readings.md       every experiment's readings and notes, from its config
    docs/api.md            every public name of the library with its docstring, read without importing it
    docs/data.md           where each corpus comes from, from the records of the data sets
    docs/architecture.md   its two drawings (`structmargin_suite.publish.architecture`)
    README.md              its section on the snapshot (`structmargin_suite.publish.previews.readme`)
`structmargin docs` writes them; a test compares them with the configs and the modules.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structmargin_suite.datasets import DataSet, dataset
from structmargin_suite.fetching.fetch import Remote
from structmargin_suite.fetching.originals import Original
from structmargin_suite.methods.method import Method
from structmargin_suite.methods.reading import readings_of
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.config import Faults, read
from structmargin_suite.publish.architecture import architecture
from structmargin_suite.publish.escapes import markdown, markdown_cell, markdown_with_code
from structmargin_suite.publish.papers import PAPERS
from structmargin_suite.publish.previews.readme import front

LIBRARY = "structmargin"
Named = ast.FunctionDef | ast.ClassDef
DATA_INTRODUCTION = """# Where the data come from

`structmargin docs` generates this page from the records of the data sets (`HOME` and `FILES` in
`structmargin_suite/datasets`).

Files are looked for in `data/raw/<data set>`, then in the folder that `STRUCTMARGIN_DATA` names, in the
sub-folder given below, then at their public addresses; `structmargin fetch` does the same without a run,
shows how far it is, and goes on where a download broke off. Originals may be put into the same folders by
hand, under the names below. Every file is verified before it is read: by its SHA-256 sum, or where it was
packed by somebody else, by a digest over its contents (`sha256sum` of the members, sorted by name, and the
SHA-256 sum of that list). Archives with members that point elsewhere are refused, and nothing that was
downloaded is unpickled. Data that are not available have a synthetic stand-in, and every table says so;
`structmargin check` says of each corpus whether it is here, can be fetched, or is replaced.
"""


def documents(root: Path) -> dict[Path, str]:
    """What each generated document should say, by its path."""
    texts = {
        root / "docs" / "readings.md": readings(root),
        root / "docs" / "api.md": api(root / "src" / LIBRARY),
        root / "docs" / "architecture.md": architecture(root),
        root / "docs" / "data.md": data_page(root),
        root / "README.md": front(root),
    }
    return {path: text for path, text in texts.items() if text is not None}


def readings(root: Path) -> str:
    """What the papers leave open, experiment by experiment, as the configs say it."""
    lines = [
        "# How the papers were read",
        "",
        "What the papers leave open, and how it is read here. Where several readings are open, all are run "
        "and stand side by side in the tables; statements about a method are judged by its primary reading. "
        "A reading that was chosen after a first look at results says so. "
        "`structmargin docs` generates this page from the configs. Numbers are those of the paper's scale; "
        "`structmargin explain <experiment>` lists what is smaller at another.",
    ]
    for name, config in _configs(root):
        lines += [
            "",
            f"## {markdown_cell(config['title'])} (`{name}`)",
            "",
            f"{PAPERS[config['paper']].short}: {markdown_cell(config['where'])}.",
        ]
        lines += [*_readings_table(config), "", *(f"- {markdown_with_code(text)}" for text in _open(config))]
        notes = {
            method.label: method.note
            for method in (Method.parse(key, given) for key, given in config["methods"].items())
            if method.note
        }
        if notes:
            lines += [
                "",
                "Notes on single methods:",
                "",
                *(f"- {markdown(key)}: {markdown_with_code(text)}" for key, text in notes.items()),
            ]
    return "\n".join(lines) + "\n"


def _open(config: dict[str, Any]) -> list[str]:
    """What stands in for a paper's data and a config's notes, or that there is nothing to note."""
    notes: list[str] = [*filter(None, [config.get("stands_in")]), *config.get("notes", [])]
    return notes or ([] if config.get("readings") else ["Nothing was left open."])


def _readings_table(config: dict[str, Any]) -> list[str]:
    """A row for each reading: what it is, of which methods, where it comes from and when it was chosen."""
    readings = readings_of(config)
    if not readings:
        return []
    lines = ["", "| reading | of | taken to mean | sets | evidence | chosen |", "|---|---|---|---|---|---|"]
    for reading in readings.values():
        of = [
            name for name, method in config["methods"].items() if reading.name in method.get("readings", [])
        ]
        cells = [
            f"{reading.label} (primary)" if reading.primary else reading.label, "; ".join(of), reading.about,
            reading.describe_sets(), reading.evidence, reading.chosen,
        ]  # fmt: skip
        lines.append("| " + " | ".join(markdown_cell(text) for text in cells) + " |")
    return lines


def _configs(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The experiments in the suite's order."""
    faults = Faults()
    suite = read(root / "configs" / "suite.yaml", faults)
    for name in suite.values["experiments"]:
        yield name, read(root / "configs" / f"{name}.yaml", faults).values
    faults.done()


def data_page(root: Path) -> str:
    """The page: a table of all corpora, then the files of each, then what has to be done by hand."""
    modules = {name: dataset(name) for name in Catalogue(root, library=False).datasets}
    known = {name: module for name, module in modules.items() if module.HOME.title}
    lines = [
        DATA_INTRODUCTION,
        "| data set | corpus | version | download | terms |",
        "|---|---|---|---|---|",
    ]
    for name, module in known.items():
        home = module.HOME
        size = (home.size or "not known") if module.FILES else "by hand"
        title = f"[{markdown_cell(home.title)}]({home.page})"
        cells = [f"`{name}`", title, *(markdown_cell(text) for text in (home.version, size, home.terms))]
        lines.append(f"| {' | '.join(cells)} |")
    for name, module in known.items():
        lines += ["", f"## {markdown_cell(module.HOME.title)}", ""]
        if module.FILES:
            lines += [f"In a mirror: the folder `{module.HOME.folder}`; here: `data/raw/{name}`.", ""]
        lines += [f"- {_origin(file, module)}" for file in module.FILES]
        if module.HOME.by_hand:
            lines += [*([""] if module.FILES else []), f"By hand: {markdown_with_code(module.HOME.by_hand)}."]
    return "\n".join(lines) + "\n"


def _origin(file: Remote, module: DataSet) -> str:
    """Where a file comes from, in one line."""
    makers = module.HOME.makers(file)
    if file.url is not None:
        return f"`{file.name}` from <{file.url}>"
    if not makers:
        return f"`{file.name}` has no public address"
    return f"`{file.name}`, made from {'; or, if it is put there by hand, from '.join(map(_place, makers))}"


def _place(original: Original) -> str:
    """The name of an original, its addresses and its sum."""
    places = ", or ".join(f"<{url}>" for url in original.urls)
    known = f", SHA-256 `{original.sha256}`" if original.sha256 else ""
    return f"`{original.name}` ({places}{known})"


def api(package: Path) -> str:
    """The API reference of a package: module by module, the public classes and functions."""
    modules = []
    for path in sorted(package.rglob("*.py")):
        steps = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(step for step in steps if step != "__init__")
        if not any(step.startswith("_") for step in name.split(".")):
            modules.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    lines = [
        "# API reference",
        "",
        "Every public name of the library with its docstring. "
        "Made by `structmargin docs`; edit the docstrings.",
        "",
        "| module | holds |",
        "|---|---|",
    ]
    for name, tree in modules:
        first = (ast.get_docstring(tree) or "").split("\n\n")[0]
        lines.append(f"| [`{name}`](#{name.replace('.', '')}) | {_line(first).replace('|', '&#124;')} |")
    for name, tree in modules:
        lines += ["", f"## {name}", *_fenced_docstring(tree)]
        for node in _public(tree):
            lines += ["", f"### `{_signature(node)}`", *_fenced_docstring(node)]
            if isinstance(node, ast.ClassDef):
                for method in _public(node):
                    lines += ["", f"#### `{node.name}.{_signature(method)}`", *_fenced_docstring(method)]
    return "\n".join(lines) + "\n"


def _public(tree: ast.Module | ast.ClassDef) -> list[Named]:
    """Documented classes and functions whose names do not begin with an underscore."""
    kinds = (ast.FunctionDef, ast.ClassDef) if isinstance(tree, ast.Module) else (ast.FunctionDef,)
    return [
        node
        for node in tree.body
        if isinstance(node, kinds) and not node.name.startswith("_") and ast.get_docstring(node)
    ]


def _signature(node: Named) -> str:
    """A function as it is called; a class as it is made, from its __init__ or its fields."""
    if isinstance(node, ast.FunctionDef):
        return f"{node.name}({_arguments(node.args)})"
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return f"{node.name}({_arguments(inner.args)})"
    fields = [
        ast.unparse(inner)
        for inner in node.body
        if isinstance(inner, ast.AnnAssign) and not ast.unparse(inner.target).startswith("_")
    ]
    return f"{node.name}({', '.join(fields)})" if fields else node.name


def _arguments(arguments: ast.arguments) -> str:
    text = ast.unparse(arguments)
    for own in ("self", "cls"):
        text = text.removeprefix(f"{own}, ").removeprefix(own) if text.split(",")[0] == own else text
    return text


def _fenced_docstring(node: ast.Module | Named) -> list[str]:
    """A docstring as it stands, between fences: formulas keep their shape."""
    text = ast.get_docstring(node, clean=False)
    return ["", "```text", inspect.cleandoc(text), "```"] if text else []


def _line(text: str) -> str:
    return " ".join(text.split())
