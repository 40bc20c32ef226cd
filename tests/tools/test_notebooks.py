"""Notebooks run again on the snapshot give the tables, texts and figures that are committed with them.

All are executed by one kernel, as `structmargin notebooks` does it: a kernel for each would cost seconds.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml

from helpers.toy_project import HERE
from structmargin_suite.cli import main
from structmargin_suite.publish.previews.notebooks import (
    LARGEST,
    close,
    differences,
    executed,
    notebooks_of,
)
from structmargin_suite.results import Results
from structmargin_suite.storage.errors import DataError

SUITE = yaml.safe_load((HERE / "configs" / "suite.yaml").read_text())
SNAPSHOT = Results(HERE, HERE / "results" / "snapshot")
OTHERS = ("own_problem", "twenty_minutes")
TUTORIALS = {name: HERE / "notebooks" / f"{name}.ipynb" for name in (*SUITE["experiments"], *OTHERS)}


def read(path: Path):
    return nbformat.read(path, as_version=4)


def outputs(notebook) -> list:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_every_notebook_gives_its_committed_outputs_again():
    """Those of experiments that the snapshot does not have yet are left out: they have no outputs to keep."""
    paths = [path for path in notebooks_of(HERE) if path.stem in SNAPSHOT or path.stem in OTHERS]
    assert len(paths) >= len(OTHERS) + 1
    found = {}
    for path, notebook in executed(HERE, paths):
        found |= {path.name: lines} if (lines := differences(read(path), notebook)) else {}
    assert not found, f"run structmargin notebooks: outputs are old: {found}"


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_explains_shows_and_asks(name):
    notebook = read(TUTORIALS[name])
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "$$" in text and "StructuredSVM(" in code
    assert TUTORIALS[name].stat().st_size <= LARGEST
    nbformat.validate(notebook)
    if name != "own_problem":
        assert re.search(r"^## Exercise$", text, re.M) and "def plot(" in code and "A plot to change" in text
        solution = next(cell for cell in notebook.cells if "solution" in cell.metadata.get("tags", []))
        assert solution.metadata["jupyter"]["source_hidden"]
    if name in SUITE["experiments"]:
        assert f'{name}.table("{name}' in code and ".pivot_table(" in code and "## By hand" in text
    if name not in SUITE["experiments"] or name in SNAPSHOT:
        shown = outputs(notebook)
        assert sum("image/png" in output.get("data", {}) for output in shown) >= (name != "own_problem") * 2
        for text in (str(output) for output in shown if "image/png" not in output.get("data", {})):
            assert not re.search(r"/(?:tmp|home|root|work|Users)\b", text), text


def test_links_of_notebooks_lead_somewhere():
    for path in notebooks_of(HERE):
        for cell in read(path).cells:
            if cell.cell_type == "markdown":
                for address in re.findall(r"\]\(([^)\s]+)\)", cell.source):
                    target = path.parent / address.partition("#")[0]
                    assert address.startswith("http") or target.exists(), (path.name, address)
                for name in re.findall(r"`((?:docs|configs|src)/[\w/.]+)`", cell.source):
                    assert (HERE / name).exists(), (path.name, name)


def with_outputs(*outputs):
    cell = nbformat.v4.new_code_cell("1", outputs=list(outputs))
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("text"), cell])


def shown(**data):
    return nbformat.v4.new_output("execute_result", data={k.replace("_", "/"): v for k, v in data.items()})


def test_changed_outputs_are_seen():
    table = "<style>\nth {}\n</style><table><td>32.5</td></table>"
    printed = nbformat.v4.new_output("stream", text="gap 0.12, 40 cuts\n")
    whole = (
        printed,
        shown(text_html=table, text_plain="32.5"),
        shown(image_png="abc", text_plain="<Figure>"),
    )
    committed = with_outputs(*whole)
    assert differences(committed, with_outputs(*whole)) == []
    other = shown(text_html=table.replace("32.5", "32.6"), text_plain="32.5")
    (line,) = differences(committed, with_outputs(printed, other, whole[2]))
    assert "tables was ['32.5'] and is ['32.6']" in line
    (line,) = differences(committed, with_outputs(*whole[:2]))
    assert "figures was 1 and is 0" in line
    more = nbformat.v4.new_output("stream", text="gap 0.12, 48 cuts\n")
    (line,) = differences(committed, with_outputs(more, *whole[1:]))
    assert "48 cuts" in line
    assert differences(committed, with_outputs(printed, whole[1], shown(image_png="other"))) == []


def test_printed_numbers_may_differ_a_little():
    assert close("loss 0.12 of 1000", "loss 0.13 of 1010") and not close("loss 0.12", "loss 0.14")
    assert not close("1000 cuts", "1030 cuts") and not close("a 1", "b 1") and not close("1", "1 2")


def test_a_cell_that_fails_is_named_and_nothing_is_written(tmp_path, capsys):
    for folder in ("configs", "data/published", "results/snapshot/theory"):
        shutil.copytree(HERE / folder, tmp_path / folder)
    (tmp_path / "notebooks").mkdir()
    cells = [nbformat.v4.new_code_cell("print(1)"), nbformat.v4.new_code_cell("1 / 0")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / "wrong.ipynb")
    before = (tmp_path / "notebooks" / "wrong.ipynb").read_bytes()
    assert main(["--root", str(tmp_path), "notebooks"]) == 1
    assert "wrong.ipynb, cell 2 of code fails: ZeroDivisionError" in capsys.readouterr().err
    assert (tmp_path / "notebooks" / "wrong.ipynb").read_bytes() == before
    with pytest.raises(DataError, match=r"no notebooks/nothing\.ipynb; there are: wrong"):
        notebooks_of(tmp_path, ["nothing"])


def test_an_experiment_not_run_here_is_read_from_the_snapshot(tmp_path, monkeypatch):
    shutil.copytree(HERE / "configs", tmp_path / "configs")
    first, second = list(SNAPSHOT)[:2]
    shutil.copytree(SNAPSHOT[first].folder, tmp_path / "results" / first)
    shutil.copytree(SNAPSHOT[second].folder, tmp_path / "results" / "snapshot" / second)
    assert Results.latest(tmp_path, first).folder == tmp_path / "results"
    assert Results.latest(tmp_path, second).folder == tmp_path / "results" / "snapshot"
    with pytest.raises(FileNotFoundError, match=r"'nothing'.*make reproduce ONLY=nothing"):
        Results.latest(tmp_path, "nothing")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert Results.latest(experiment=second).folder == tmp_path / "results" / "snapshot"
    shutil.rmtree(tmp_path / "configs")
    with pytest.raises(FileNotFoundError, match=r"nor a folder above it has configs/suite\.yaml"):
        Results.latest()


def test_a_table_under_primary_readings_has_one_row_per_cell():
    for experiment in SNAPSHOT.values():
        for name in experiment.config["tables"]:
            table, whole = experiment.table(name, primary=True), experiment.table(name)
            keys = [key for key in ("method", "data", "measure", "split") if key in table]
            assert set(map(tuple, table[keys].to_numpy())) == set(map(tuple, whole[keys].to_numpy())) or (
                "reading" in whole
            ), (experiment.name, name)
            if "reading" in table and "method" in table:
                assert set(table["method"]) == set(whole["method"])
                for method, readings in table.groupby("method")["reading"].unique().items():
                    available = whole.loc[whole["method"] == method, "reading"].tolist()
                    primary = experiment.primary(str(method))
                    assert list(readings) == [primary if primary in available else available[0]]
