"""Every notebook runs from its first cell to its last, on the snapshot or on results made up from the config.

The cells run in this process, one notebook after the other: a kernel for each would cost seconds, and one
test of the workflow starts a real one.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path

import IPython.display
import pytest
import yaml

from helpers.made_up_results import frame
from helpers.toy_project import HERE
from structmargin_suite.planning.plan import load
from structmargin_suite.publish import tables
from structmargin_suite.publish.tables.layout import tabs
from structmargin_suite.publish.tables.printed import markdown
from structmargin_suite.results import Results
from structmargin_suite.statements.judging import COLUMNS, judge
from structmargin_suite.storage.csv_files import write_csv
from structmargin_suite.storage.files import plain, read_json, write_json, write_text
from structmargin_suite.storage.frames import frame_of, write_frame
from structmargin_suite.storage.statements_file import read_statements, statements_of

SUITE = yaml.safe_load((HERE / "configs" / "suite.yaml").read_text())
NOTEBOOKS = sorted((HERE / "notebooks").glob("*.ipynb"))
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'


def made_up(root: Path, name: str, experiment) -> None:
    """Results of the right form with numbers that mean nothing: every run, table and figure of the config."""
    folder = root / "results" / "snapshot" / name
    config = experiment.config
    measures = {m for spec in config["tables"].values() for m in spec["measures"]}
    measures |= {m for spec in config["tables"].values() for m in spec.get("found_as", {}).values()}
    rows = []
    for place, run in enumerate(experiment.runs):
        fixed = {
            "run": run.name,
            "method": run.method,
            "corpus": run.corpus,
            "data": run.corpus,
            "reason": "",
        }
        fixed |= {"studies": "; ".join(run.studies), "status": "done", "chosen": True}
        rows.append(fixed | dict(run.varied) | dict.fromkeys(sorted(measures), 1.0 + place % 7))
    heads = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(folder / "runs.csv", rows, heads)
    write_csv(folder / "timings.csv", [], ["run", "cpu_seconds", "job_peak_mb"])
    summary = {"experiment": name, "scale": "smoke", "seed": 0, "runs": {"done": len(rows)}, "data": []}
    summary["shrunk"] = [{"key": key, "paper": old, "here": new} for key, old, new in experiment.shrunk]
    write_json(folder / "summary.json", {**summary, "config": plain(config)})
    for table, spec in config["tables"].items():
        mine = [row for row in rows if spec["study"] in row["studies"].split("; ")]
        tidy = tables.tidy(spec, frame(mine), frame_of([]), experiment.methods)
        write_frame(folder / f"{table}.csv", tidy)
        text = markdown(spec["caption"], tabs(spec, tidy, experiment.methods))
        write_text(folder / f"{table}.md", text)
    for figure in config.get("figures", {}):
        write_text(folder / "figures" / f"{figure}.svg", SQUARE)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A project with no results of its own, but with a snapshot of every experiment."""
    root = tmp_path_factory.mktemp("notebooks")
    for folder in ("configs", "data/published", "notebooks"):
        shutil.copytree(HERE / folder, root / folder)
    kept = root / "results" / "snapshot"
    if (HERE / "results" / "snapshot").is_dir():
        shutil.copytree(HERE / "results" / "snapshot", kept)
    for name, experiment in load(root, "smoke", library=False).experiments.items():
        if not (kept / name / "summary.json").is_file():
            made_up(root, name, experiment)
    if not (kept / "statements.csv").is_file():
        claims = read_statements(root / "data" / "published" / "statements.yaml")
        write_csv(kept / "statements.csv", judge({}, claims), COLUMNS)
    return root


def executed(path: Path, monkeypatch) -> tuple[list[tuple[str, str]], str]:
    """(what was displayed, as kind and text; what was printed) by the cells of a notebook, run in order."""
    shown: list[tuple[str, str]] = []
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(
        IPython.display, "display", lambda *ones: shown.extend((type(one).__name__, one.data) for one in ones)
    )
    printed, names = io.StringIO(), {"__name__": "__main__"}
    with contextlib.redirect_stdout(printed):
        for place, cell in enumerate(json.loads(path.read_text())["cells"]):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{path.name}, cell {place}", "exec"), names)
    return shown, printed.getvalue()


@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_tells_its_experiment(name, root, monkeypatch):
    shown, printed = executed(root / "notebooks" / f"{name}.ipynb", monkeypatch)
    assert printed
    if name not in SUITE["experiments"]:
        return
    config = read_json(root / "results" / "snapshot" / name / "summary.json")["config"]
    texts = "\n".join(text for kind, text in shown if kind == "Markdown")
    stated = read_statements(root / "data" / "published" / "statements.yaml")
    assert all(f"**{one.says}**" in texts for one in statements_of(stated) if one.experiment == name)
    assert any(spec["caption"][:30] in texts for spec in config["tables"].values())
    assert not config.get("figures") or any(kind == "SVG" and "<svg" in text for kind, text in shown)


def test_every_experiment_has_its_notebook_and_no_output_is_kept_in_one():
    assert set(SUITE["experiments"]) | {"own_problem"} <= {path.stem for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert all(not cell.get("outputs") for cell in cells if cell["cell_type"] == "code"), path.name
        assert "$" in "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_an_experiment_not_run_here_is_read_from_the_snapshot(root, tmp_path):
    shutil.copytree(root / "configs", tmp_path / "configs")
    shutil.copytree(root / "results" / "snapshot", tmp_path / "results" / "snapshot")
    first, second = SUITE["experiments"][:2]
    shutil.move(tmp_path / "results" / "snapshot" / first, tmp_path / "results" / first)
    assert Results.latest(tmp_path, first).folder == tmp_path / "results"
    assert Results.latest(tmp_path, second).folder == tmp_path / "results" / "snapshot"
    with pytest.raises(FileNotFoundError, match=r"'nothing'.*make reproduce ONLY=nothing"):
        Results.latest(tmp_path, "nothing")
