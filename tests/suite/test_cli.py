"""The command as a newcomer meets it: alone, in the wrong folder, options on either side, six faults."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from helpers.originals import LAYOUTS, made_up, serving, with_originals, with_sums_of
from helpers.toy_project import TOY, project, write_config
from structmargin_suite.cli import COMMANDS, main
from structmargin_suite.datasets import ambient, clusters, optdigits
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.sources import forecast, sources


@pytest.fixture
def root(tmp_path):
    return project(tmp_path)


def test_alone_it_says_what_it_can_do(capsys):
    assert main([]) == 0
    output = capsys.readouterr().out
    for command in ("list", "explain", "check", "compare", "snapshot", "docs"):
        assert re.search(rf"^    {command} +\w", output, re.MULTILINE)


def test_in_a_folder_that_is_no_project_it_says_where_to_go(tmp_path, capsys):
    assert main(["--root", str(tmp_path), "check"]) == 1
    output = capsys.readouterr().err
    assert str(tmp_path) in output and "--root" in output and output.count("\n") == 1


def test_outside_a_project_it_lists_what_the_library_offers(tmp_path, root, capsys):
    assert main(["--root", str(tmp_path / "elsewhere"), "list"]) == 0
    outside = capsys.readouterr().out
    assert main(["--root", str(root), "list"]) == 0
    inside = capsys.readouterr().out
    assert "none: no configs/suite.yaml" in outside and "A toy (jmlr05, 10 runs)" in inside
    library = inside[inside.index("problems\n") :]
    assert "Multiclass" in library and "n_slack_a" in library and outside.endswith(library)


def test_without_the_packages_of_the_suite_it_says_what_to_install(tmp_path):
    (tmp_path / "yaml.py").write_text("raise ModuleNotFoundError(\"No module named 'yaml'\", name='yaml')\n")
    run = subprocess.run(
        [sys.executable, "-c", "from structmargin_suite.cli import main; main([])"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 1 and run.stderr.count("\n") == 1
    assert "yaml is missing" in run.stderr and "pip install 'structmargin[suite]'" in run.stderr


def test_a_package_that_only_one_command_needs_is_named_too(monkeypatch, capsys):
    """Some of the suite's packages are often there without the others."""

    def lacking(name):
        def command(options):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        return command

    monkeypatch.setitem(COMMANDS, "list", lacking("matplotlib.pyplot"))
    assert main(["list"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "matplotlib.pyplot is missing" in said
    assert "pip install 'structmargin[suite]'" in said
    monkeypatch.setitem(COMMANDS, "list", lacking("structmargin_suite.gone"))
    with pytest.raises(ModuleNotFoundError):  # a fault of ours, not of the installation
        main(["list"])


@pytest.mark.parametrize("before", [True, False])
def test_options_stand_before_or_after_the_command(root, before, capsys):
    given, command = ["--root", str(root), "--scale", "smoke"], ["explain", "toy"]
    assert main([*given, *command] if before else [*command, *given]) == 0
    output = capsys.readouterr().out
    assert "5 runs in 1 jobs at scale smoke" in output and "repetitions 1 instead of 2" in output


def test_faults_of_the_suite_and_of_an_experiment_come_together(root, capsys):
    wrong = copy.deepcopy(TOY)
    wrong["repetitions"] = "two"
    wrong["methods"]["margin"]["formulation"] = "SVM3"
    wrong["data"]["clusters"]["from"] = "cluster"
    wrong["tables"]["toy"]["spreed"] = "sd"
    wrong["figurs"] = {}
    write_config(root, wrong)
    suite = root / "configs" / "suite.yaml"
    suite.write_text(suite.read_text().replace("standard", "standrad"))
    assert main(["--root", str(root), "check"]) == 1
    head, *faults = capsys.readouterr().err.strip().split("\n")
    assert "6 problems" in head
    for file, key, remedy in (
        ("suite.yaml", "scale", "the nearest known is 'standard'"),
        ("toy.yaml", "figurs", "the nearest known is 'figures'"),
        ("toy.yaml", "data.clusters.from", "the nearest known is 'clusters'"),
        ("toy.yaml", "repetitions", "must be a whole number"),
        ("toy.yaml", "methods.margin", "did you mean 'SVM2'"),
        ("toy.yaml", "tables.toy.spreed", "the nearest known is 'spread'"),
    ):
        line = re.compile(rf"{file}, line \d+: {re.escape(key)}: .*{remedy}")
        assert sum(bool(line.search(fault)) for fault in faults) == 1, (key, faults)
    assert all(len(fault) < 400 for fault in faults)


@pytest.fixture()
def with_ambient(tmp_path, monkeypatch):
    """A project whose clusters come from an original like AMBIENT's, made up, on a server of this machine."""
    mirror = made_up("ambient")
    originals = LAYOUTS["ambient"](mirror)
    root = project(tmp_path, {**TOY, "data": {"clusters": {**TOY["data"]["clusters"], "source": "auto"}}})
    monkeypatch.setenv("STRUCTMARGIN_DATA", str(tmp_path / "nowhere"))
    with serving(originals) as (address, asked):
        monkeypatch.setattr(clusters, "FILES", with_sums_of(ambient.FILES, mirror))
        home = with_originals(ambient.HOME, originals, address)
        monkeypatch.setattr(clusters, "HOME", home, raising=False)
        yield root, mirror, asked


def test_check_and_fetch_say_what_can_be_fetched_from_where_and_under_which_terms(with_ambient, capsys):
    root, mirror, asked = with_ambient
    given = ["--root", str(root)]
    assert main([*given, "check"]) == 0
    said = capsys.readouterr().out
    address = clusters.HOME.originals[0].urls[0]
    offered = f"AMBIENT, 2008, from {address}; about 0.4 MB; terms: research"
    assert f"toy, clusters: can be fetched: {offered} (structmargin fetch clusters)" in said and asked == []
    assert (
        "wipo_alpha: WIPO-alpha, the texts (https://www.wipo.int/" in said and "data/own/wipo-alpha" in said
    )
    assert forecast(list(sources(load(root)))) == ["to be fetched: clusters (toy)"]
    assert main([*given, "fetch", "clusters"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"clusters: {offered}\n") and "verified, in" in captured.out
    assert "dataset.tar.gz [##############################]" in captured.err
    fetched = root / "data" / "raw" / "clusters"
    assert {name: (fetched / name).read_bytes() for name in mirror} == mirror
    assert main([*given, "check"]) == 0 and "toy, clusters: here\n" in capsys.readouterr().out
    assert main([*given, "fetch", "clusters"]) == 0 and len(asked) == 1
    assert capsys.readouterr().out.startswith("clusters: here\n")


def test_what_cannot_be_fetched_is_said_and_is_a_stand_in(with_ambient, capsys, monkeypatch):
    root, _, _ = with_ambient
    monkeypatch.setattr(clusters, "HOME", replace(ambient.HOME, originals=(), by_hand="ask its authors"))
    (source,) = [source for source in sources(load(root)) if source.corpus == "clusters"]
    assert str(source) == "toy, clusters: stand-in: ask its authors"
    assert forecast([source]) == ["a synthetic stand-in replaces: clusters (toy)"]
    assert main(["--root", str(root), "fetch", "clusters"]) == 1
    assert "not fetched: topics.txt is neither in" in capsys.readouterr().out
    assert main(["--root", str(root), "fetch", "clustres"]) == 1
    assert "the nearest known is 'clusters'" in capsys.readouterr().err


def test_a_wrong_file_of_one_data_set_does_not_keep_the_others_from_being_fetched(
    with_ambient, tmp_path, monkeypatch, capsys
):
    root, mirror, _ = with_ambient
    folder = tmp_path / "mirror"
    for remote in clusters.FILES:
        (folder / remote.mirror).parent.mkdir(parents=True, exist_ok=True)
        (folder / remote.mirror).write_bytes(mirror[remote.name])
    wrong = folder / clusters.FILES[0].mirror
    wrong.write_bytes(b"something else")
    monkeypatch.setenv("STRUCTMARGIN_DATA", str(folder))
    monkeypatch.setattr(optdigits, "FILES", clusters.FILES[1:])
    monkeypatch.setattr(optdigits, "HOME", replace(optdigits.HOME, originals=()))
    assert main(["--root", str(root), "fetch", "clusters", "optdigits"]) == 1
    said = capsys.readouterr().out
    assert re.search(rf"not fetched: .*{wrong.name}", said) and "optdigits: here\n  verified, in" in said


@pytest.mark.parametrize("command", ["explain", "status"])
def test_a_config_that_the_suite_does_not_list_is_named(root, command, capsys):
    (root / "configs" / "mine.yaml").write_text("title: Mine\n")
    assert main(["--root", str(root), command, "mine"]) == 1
    assert "add mine to `experiments` in configs/suite.yaml" in capsys.readouterr().err
    assert main(["--root", str(root), command, "suite"]) == 1
    assert "unknown experiment 'suite'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("toy", "there are no results of toy yet: run make reproduce ONLY=toy first"),
        ("tooy", "unknown experiment 'tooy'; the nearest known is 'toy'; use one of toy"),
    ],
)
def test_an_experiment_without_results_is_told_from_a_wrong_name(root, name, said, capsys):
    assert main(["--root", str(root), "compare", name]) == 1
    assert said in capsys.readouterr().err
