"""Names in configs that would be commands, paths or the names of other files: faults with file and line."""

from __future__ import annotations

import copy
import re

import pytest

from helpers.toy_project import TOY, project, write_config
from structmargin_suite.cli import main
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.jobs import grouped_into_jobs
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.runs import Run, with_names
from structmargin_suite.storage.names import MAX_FILE_NAME

HOSTILE = (
    "c$(touch X)",
    "../../x",
    "/etc/x",
    "a b/c",
    "-rf",
    ".x",
    "..",
    "",
    "a;b",
    "a\nb",
    "con",
    "x" * 70,
    "é",
)


def renamed(config, section, old, new):
    config[section] = {new if key == old else key: value for key, value in config[section].items()}


def figure(config, new):
    config["figures"] = {new: {"caption": "x"}}


NAMES = {
    "data": lambda c, new: renamed(c, "data", "clusters", new),
    "tables": lambda c, new: renamed(c, "tables", "toy", new),
    "figures": figure,
    "methods": lambda c, new: renamed(c, "methods", "hard", new),
    "studies": lambda c, new: renamed(c, "studies", "hopeless", new),
}


def faults(root, config):
    write_config(root, config)
    with pytest.raises(ConfigError) as caught:
        load(root)
    return str(caught.value).split("\n")[1:]


@pytest.mark.parametrize("section", NAMES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_file_is_a_fault_at_its_line(tmp_path, section, name):
    root = project(tmp_path)
    config = copy.deepcopy(TOY)
    NAMES[section](config, name)
    if section in ("methods", "studies") and name in ("con", "a b/c"):  # titles are slugs in names of files
        if section == "methods":
            config["studies"]["hopeless"]["methods"] = [name]
        write_config(root, config)
        assert any(
            run.name.startswith(("con", "a-b-c", "hard")) for run in load(root).experiments["toy"].runs
        )
        return
    lines = faults(root, config)
    where = [line for line in lines if "toy.yaml, line " in line and f" {section}" in line]
    assert any(
        "cannot be" in line or "not printable" in line or "use at most 64" in line or "means a device" in line
        for line in where
    ), lines


def test_a_name_hides_no_other_fault_of_its_section(tmp_path):
    config = copy.deepcopy(TOY)
    config["tables"]["../../x"] = copy.deepcopy(config["tables"]["toy"])
    config["tables"]["solvers"]["study"] = "solver"
    config["data"]["c$(touch X)"] = {"from": "clusters", "source": "synthetic"}
    config["data"]["clusters"]["n_tset"] = 5
    lines = faults(project(tmp_path), config)
    for said in ("tables.../../x: ", "'solvers'", "data.c$(touch X): ", "'n_test'"):
        assert sum(said in line for line in lines) == 1, (said, lines)
    assert len(lines) == 4


@pytest.mark.parametrize(
    "name", [*HOSTILE, "all", "report", "tabulate_x", "snapshot", "scales", "LOGS", "suite"]
)
def test_names_of_experiments(tmp_path, name, capsys):
    root = project(tmp_path)
    text = f"seed: 7\nscale: smoke\nexperiments:\n- toy\n- {name!r}\n"
    (root / "configs" / "suite.yaml").write_text(text)
    assert main(["--root", str(root), "check"]) == 1
    output = capsys.readouterr().err
    assert re.search(r"suite\.yaml, line 5: experiments\.1: ", output), output


def test_an_experiment_outside_configs_is_not_read(tmp_path):
    root = project(tmp_path / "inner")
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    (root / "configs" / "suite.yaml").write_text("seed: 7\nscale: smoke\nexperiments: [../../secret]\n")
    with pytest.raises(ConfigError) as caught:
        load(root)
    assert "password" not in str(caught.value) and "cannot be the name of a file" in str(caught.value)


@pytest.mark.parametrize(
    "value", ["../statements.yaml", "/etc/passwd", "../../configs/toy.yaml", "a/../toy.csv", ".", ""]
)
def test_published_numbers_are_in_their_folder(tmp_path, value):
    root = project(tmp_path)
    config = copy.deepcopy(TOY)
    config["tables"]["toy"]["published"] = value
    (line,) = faults(root, config)
    assert "tables.toy.published" in line and "cannot be the name of a file" in line


def test_a_link_out_of_the_published_folder_is_refused(tmp_path):
    root = project(tmp_path / "p")
    (tmp_path / "outside.csv").write_text("a\n1\n")
    (root / "data" / "published" / "link.csv").symlink_to(tmp_path / "outside.csv")
    config = copy.deepcopy(TOY)
    config["tables"]["toy"]["published"] = "link.csv"
    (line,) = faults(root, config)
    assert "tables.toy.published" in line and "leads out of" in line


@pytest.mark.parametrize(
    ("section", "one", "other"),
    [
        ("methods", "a b", "a-b"), ("methods", "SVM", "svm"), ("studies", "x", "X"), ("data", "Toy", "toy"),
        ("tables", "t", "T"), ("methods", "a, b", "a b"),
    ],
)  # fmt: skip
def test_names_that_would_be_one_file_are_a_fault(tmp_path, section, one, other):
    root = project(tmp_path)
    config = copy.deepcopy(TOY)
    first = next(iter(config[section].values()))
    config[section] |= {one: copy.deepcopy(first), other: copy.deepcopy(first)}
    lines = faults(root, config)
    found = [
        line for line in lines if f"'{other}' and '{one}' look alike in a file's name; rename one" in line
    ]
    assert len(found) == 1 and f"{section}.{other}: " in found[0], lines


@pytest.mark.parametrize("table", ["runs", "timings", "Summary"])
def test_a_table_does_not_take_the_name_of_another_file(tmp_path, table):
    config = copy.deepcopy(TOY)
    config["tables"][table] = config["tables"].pop("toy")
    (line,) = faults(project(tmp_path), config)
    assert f"tables.{table}: every experiment has a file of this name" in line


def runs_of(*points):
    return [
        Run("e", corpus, {"word": word}, {}, Method(method, {"C": 1}), ("s",))
        for corpus, word, method in points
    ]


def test_parts_that_look_alike_are_refused_though_their_runs_differ():
    with pytest.raises(
        ConfigError, match="two parts of 'e' would have the name 'data,word=a-b': they differ in word"
    ):
        with_names(runs_of(("data", "a b", "m"), ("data", "a-b", "n")), 0)
    with pytest.raises(ConfigError, match="two runs of 'e'"):
        with_names(runs_of(("data", "AB", "m"), ("data", "ab", "m")), 0)
    names = [run.name for run in with_names(runs_of(("data", "ab", "m"), ("data", "cd", "m")), 0)]
    assert names == ["word=ab", "word=cd"]


def test_values_that_look_alike_are_a_fault_of_the_config_with_its_file(tmp_path):
    config = copy.deepcopy(TOY)
    config["studies"]["sizes"]["vary"] = {"C": [1.0, 1.00000000000001]}
    config["tables"]["toy"]["keys"] = ["method"]
    (line,) = faults(project(tmp_path), config)
    assert "toy.yaml, line" in line and "two runs of 'toy' would have the name" in line


def test_names_too_long_for_a_file_are_refused(tmp_path):
    long = [f"k{number}-{'x' * 50}" for number in range(6)]
    runs = [
        Run("e", "data", dict.fromkeys(long, value), {}, Method("m", {"C": 1}), ("s",))
        for value in ("a", "b")
    ]
    with pytest.raises(ConfigError, match=f"at most {MAX_FILE_NAME} are allowed"):
        with_names(runs, 0)


def test_jobs_that_differ_only_in_case_are_one():
    named = with_names(runs_of(("data", "Ab", "m"), ("data", "cd", "m")), 0)
    twins = [*named, *with_names(runs_of(("data", "aB", "m"), ("data", "ef", "m")), 0)[:1]]
    jobs = grouped_into_jobs("e", twins, ["word"], None)
    assert [(job.name, len(job.runs)) for job in jobs] == [("word=Ab", 2), ("word=cd", 1)]


def test_a_choice_formats_names_only(tmp_path):
    config = copy.deepcopy(TOY)
    config["methods"]["any"]["choose"] = {"option": "C", "among": [1.0], "by": "inner_{n.__class__}"}
    (line,) = faults(project(tmp_path), config)
    assert "methods.any.choose.by" in line and "does not fit the schema" in line


def test_own_files_that_are_not_there_are_told_by_the_check(tmp_path, capsys):
    config = {key: TOY[key] for key in ("title", "paper", "where", "about", "scales")} | {
        "data": {"ocr": {"from": "ocr", "source": "file", "path": "data/mine.gz"}},
        "methods": {"words": {"model": "JKSE", "nu": 0.1, "problem": {"name": "Sequence"}}},
        "studies": {"letters": {"methods": ["words"]}},
        "tables": {
            "letters": {
                "caption": "x",
                "study": "letters",
                "keys": ["method"],
                "measures": ["test_word_error"],
            }
        },
        "problem": {"name": "Sequence"},
        "scales": {"smoke": {}, "standard": {}, "paper": {}},
    }
    root = project(tmp_path, config)
    (root / "data" / "folder").mkdir()
    for path, said in (
        ("data/mine.gz", "there is no file"), ("data/folder", "there is no file"),
        ("x" * 300, "File name too long"),
        ({"wrong.gz": "a"}, "names no file for letter.data.gz, wrong.gz"),
    ):  # fmt: skip
        config["data"]["ocr"]["path"] = path
        write_config(root, config)
        assert main(["--root", str(root), "check"]) == 1
        output = capsys.readouterr()
        assert said in output.out and ("correct `path`" in output.out or "give a folder" in output.out), (
            output
        )
        assert "1 own file is missing" in output.err
