"""Notebooks with their outputs, made from the committed run.

    notebooks/*.ipynb    text, cells and, once executed, what the cells show
`structmargin notebooks` executes them and writes the outputs into the same files; a test executes them again
and compares. One kernel runs all of them, each in an empty namespace and in a folder that has only configs,
the papers' numbers and the snapshot beside it, so that results which were made here do not show. Outputs
hold no times, no paths and no numbers of execution that depend on the order.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

from structmargin_suite.rerun.machine import THREAD_VARIABLES
from structmargin_suite.storage.errors import DataError
from structmargin_suite.storage.files import write_text

SECONDS = 120
"""The longest that one cell may take."""
LARGEST = 300_000
"""Bytes of a notebook with its outputs: larger ones are not shown on the web."""
BESIDE = ("configs", "data/published", "results/snapshot")
PRINTED_TOLERANCE = 0.02
"""By which share a printed number may differ on another processor, where sums are added in another order."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def notebooks_of(root: Path, names: Sequence[str] = ()) -> list[Path]:
    """The notebooks of these names, or all of them, sorted."""
    known = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    for name in names:
        if name not in known:
            raise DataError(f"there is no notebooks/{name}.ipynb; there are: {', '.join(known)}")
    return [known[name] for name in names or known]


def executed(root: Path, paths: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Each notebook with the outputs that its cells have on the snapshot; the files stay as they are."""
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ModuleNotFoundError as error:
        raise DataError(
            f"notebooks need a package that is not installed ({error.name} is missing): "
            "pip install 'structmargin[notebooks]'"
        ) from None
    with tempfile.TemporaryDirectory(prefix="notebooks") as place:
        folder = _project_with_the_snapshot(root, Path(place) / "project")
        settings = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1"), "PYTHONHASHSEED": "0"}
        settings |= {"IPYTHONDIR": str(Path(place) / "ipython"), "MPLCONFIGDIR": str(Path(place) / "mpl")}
        client = NotebookClient(
            nbformat.v4.new_notebook(), timeout=SECONDS, kernel_name="python3", record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )  # fmt: skip
        with client.setup_kernel(env=settings, stderr=subprocess.DEVNULL):
            for path in paths:
                notebook = nbformat.read(path, as_version=4)
                client.nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%reset -f")])
                client.execute_cell(client.nb.cells[0], 0)
                client.nb = notebook
                try:
                    for count, (index, cell) in enumerate(_code_cells(notebook), start=1):
                        cell.outputs = []
                        client.execute_cell(cell, index)
                        cell.execution_count = count
                        cell.outputs = _settled(cell.outputs, count)
                except CellExecutionError as error:
                    last = f"{error.ename}: {error.evalue}"
                    raise DataError(f"notebooks/{path.name}, cell {count} of code fails: {last}") from None
                yield path, notebook


def _code_cells(notebook: Any) -> list[tuple[int, Any]]:
    """(place among all cells, cell) of the cells with code."""
    return [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]


def _project_with_the_snapshot(root: Path, folder: Path) -> Path:
    """A folder `notebooks` in a project that has nothing but what notebooks read."""
    for name in BESIDE:
        source = root / name
        if not source.is_dir():
            raise DataError(f"there is no {name} in {root}: notebooks read it")
        shutil.copytree(source, folder / name)
    (folder / "notebooks").mkdir()
    return folder / "notebooks"


def _settled(outputs: Sequence[Any], count: int) -> list[Any]:
    """Outputs without what differs from run to run: pieces of one text are joined, warnings left out."""
    settled: list[Any] = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name != "stdout":
                continue
            if settled and settled[-1].output_type == "stream":
                settled[-1].text += output.text
                continue
        elif output.output_type == "execute_result":
            output.execution_count = count
        settled.append(output)
    return settled


def renew(root: Path, names: Sequence[str] = ()) -> Iterator[tuple[Path, int]]:
    """Execute notebooks and write their outputs; yields each with its size in bytes."""
    import nbformat

    for path, notebook in executed(root, notebooks_of(root, names)):
        text = nbformat.writes(notebook) + "\n"
        size = len(text.encode())
        if size > LARGEST:
            raise DataError(
                f"notebooks/{path.name} would have {size:,} bytes, more than {LARGEST:,}: show fewer rows or "
                "smaller figures"
            )
        write_text(path, text)
        yield path, size


def differences(committed: Any, made: Any) -> list[str]:
    """How the outputs of a notebook differ from those that are committed: a sentence for each cell that does.

    Tables must be the same to the last digit, as they are read from files. Numbers that a cell prints come
    from trainings: they may differ by `PRINTED_TOLERANCE`, or by one in the last digit. Of figures only
    their number is compared.
    """
    found = []
    pairs = zip(committed.cells, made.cells, strict=True)
    for index, (old, new) in enumerate(pairs):
        if old.cell_type != "code":
            continue
        was, now = _said(old), _said(new)
        for kind in was:
            same = was[kind] == now[kind] if kind != "printed" else close(was[kind], now[kind])
            if not same:
                found.append(f"cell {index}: {kind} was {was[kind]!r} and is {now[kind]!r}")
    return found


def _said(cell: Any) -> dict[str, Any]:
    """What a cell prints, which tables it shows, and how many figures."""
    data = [output.data for output in cell.outputs if "data" in output]
    texts = [one["text/plain"] for one in data if "image/png" not in one and "text/html" not in one]
    tables = [
        unescape(re.sub(r"(?s)<style.*?</style>|<[^>]+>", " ", one.get("text/html", ""))) for one in data
    ]
    return {
        "printed": "".join(o.text for o in cell.outputs if o.output_type == "stream") + "\n".join(texts),
        "tables": [" ".join(table.split()) for table in tables if table.strip()],
        "figures": sum("image/png" in one for one in data),
    }


def close(first: str, second: str) -> bool:
    """Whether two texts say the same, except for numbers that differ by little."""
    if NUMBER.sub("#", first) != NUMBER.sub("#", second):
        return False
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    return all(_near(a, b) for a, b in pairs)


def _near(first: str, second: str) -> bool:
    a, b = float(first), float(second)
    last_place = 10.0 ** -len(first.partition("e")[0].partition(".")[2])
    unit = 1.001 * last_place if "." in first and "e" not in first else 0.0
    return abs(a - b) <= max(unit, PRINTED_TOLERANCE * max(abs(a), abs(b)))
