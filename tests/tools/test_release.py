"""What is released: a wheel that serves alone, a project from it, and the facts that go with a release."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import structmargin
from helpers.toy_project import HERE
from structmargin_suite.cli import main
from structmargin_suite.planning.project import PARTS, copy_project, project_files
from structmargin_suite.storage.errors import DataError

BUILD = "from setuptools import build_meta; import sys; print(build_meta.build_wheel(sys.argv[1]))"


def tracked() -> set[str]:
    """The files of a project that are in git, or in a checkout without git those that are there."""
    listed = subprocess.run(["git", "-C", HERE, "ls-files", "--", *PARTS], capture_output=True, text=True)
    return set(listed.stdout.split()) or set(project_files()[1])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built in a copy of what it is built from and unpacked into a folder of its own."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in", "src", *PARTS):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (HERE / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(HERE / name, source / name, ignore=ignored)
        else:
            shutil.copyfile(HERE / name, source / name)
    done = subprocess.run([sys.executable, "-c", BUILD, out], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = out.glob("*.whl")
    assert file.name == f"structmargin-{structmargin.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(file) as archive:
        archive.extractall(out / "unpacked")
    return out / "unpacked"


def run(wheel: Path, folder: Path, *command: str) -> str:
    """A Python command that sees the wheel's packages before all others, in a folder."""
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(wheel), "STRUCTMARGIN_DATA": str(folder / "nowhere")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_wheel_has_the_files_of_a_project_and_they_are_those_of_the_checkout(wheel):
    folder, names = project_files(wheel / "structmargin_suite")
    assert folder == wheel / "structmargin_suite" / "project" and set(names) == tracked()
    assert all((folder / name).read_bytes() == (HERE / name).read_bytes() for name in names)
    assert (wheel / "structmargin_suite" / "datasets" / "homstrad" / "families.txt").is_file()
    assert (wheel / "structmargin" / "py.typed").is_file()


def test_outside_the_checkout_a_project_is_made_and_one_experiment_is_planned(wheel, tmp_path):
    said = run(wheel, tmp_path, "-m", "structmargin_suite.cli", "init", "mine")
    assert f"{len(tracked())} files are in mine" in said
    mine = tmp_path / "mine"
    script = "import structmargin_suite, structmargin_suite.planning.project as p; print(p.__file__)"
    assert str(wheel) in run(wheel, mine, "-c", script)
    planned = run(wheel, mine, "-m", "snakemake", "-n", "-c1", "theory", "--config", "scale=smoke")
    assert "prepare" in planned and "tabulate_theory" in planned and "show_theory" in planned


def test_init_overwrites_nothing(tmp_path, capsys):
    assert main(["init", str(tmp_path / "new")]) == 0
    names = project_files()[1]
    assert all((tmp_path / "new" / name).read_bytes() == (HERE / name).read_bytes() for name in names)
    (tmp_path / "old" / "configs").mkdir(parents=True)
    (tmp_path / "old" / "configs" / "ner.yaml").write_text("mine")
    with pytest.raises(DataError, match=r"ner\.yaml is already there; name an empty folder"):
        copy_project(tmp_path / "old")
    assert [path.name for path in (tmp_path / "old").rglob("*")] == ["configs", "ner.yaml"]
    with pytest.raises(DataError, match="installed without the files of a project"):
        project_files(tmp_path / "a" / "b" / "structmargin_suite")


def test_version_authors_and_addresses_agree():
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((HERE / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == structmargin.__version__
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in project["authors"]
    ]
    dated = f"## {cited['version']}, {cited['date-released']}\n"
    assert dated in (HERE / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "snakemake>=9,<10" in project["optional-dependencies"]["suite"]


def test_the_matrix_has_the_pythons_that_are_allowed_and_runs_what_ci_runs():
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    steps = yaml.safe_load((HERE / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    job = steps["jobs"]["checks"]
    named = {f"Programming Language :: Python :: {python}" for python in job["strategy"]["matrix"]["python"]}
    assert named == {
        text for text in project["classifiers"] if text.startswith("Programming Language :: Python :: 3.")
    }
    minors = sorted(int(name.rpartition(".")[2]) for name in named)
    assert project["requires-python"] == f">=3.{minors[0]},<3.{minors[-1] + 1}"
    allowed = f"3.{minors[0]} to 3.{minors[-1]}"
    for file in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/artifact.md", "Makefile"):
        assert f"Python {allowed}" in (HERE / file).read_text(encoding="utf-8"), file
    makefile = (HERE / "Makefile").read_text(encoding="utf-8")
    assert f"(3, {minors[0]}) <= v <= (3, {minors[-1]})" in makefile
    assert all(f"python3.{minor}" in makefile for minor in minors)
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_the_container_that_the_workflow_names_is_what_the_definition_builds():
    snakefile = (HERE / "Snakefile").read_text(encoding="utf-8")
    definition = (HERE / "workflow" / "structmargin.def").read_text(encoding="utf-8")
    assert 'container: "workflow/structmargin.sif"' in snakefile
    assert "apptainer build workflow/structmargin.sif workflow/structmargin.def" in definition
    files = [
        line.split()[0] for line in definition.partition("%files\n")[2].partition("\n\n")[0].splitlines()
    ]
    assert {*PARTS, "src", "requirements.lock", "pyproject.toml", "setup.py"} <= set(files)
    assert all((HERE / file).exists() for file in files)
