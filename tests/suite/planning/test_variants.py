"""`extends`: a variant says only what differs, and faults are told where they stand."""

from __future__ import annotations

import copy
import shutil

import pytest
import yaml

from helpers.toy_project import TOY, project, run_all, write_config
from structmargin_suite.cli import main
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.results import Results
from structmargin_suite.storage.layout import Layout, figure_kind

OTHER = {"extends": "toy", "methods": {"margin": {"C": 0.002}}}


def with_variant(root, variant, name="other", base=TOY):
    project(root, base)
    suite = yaml.safe_load((root / "configs" / "suite.yaml").read_text())
    (root / "configs" / "suite.yaml").write_text(yaml.safe_dump({**suite, "experiments": ["toy", name]}))
    write_config(root, variant, name)
    return root


def faults(root):
    with pytest.raises(ConfigError) as error:
        load(root)
    return str(error.value)


def test_a_variant_has_what_it_says_over_what_it_extends_and_the_same_random_numbers(tmp_path):
    suite = load(with_variant(tmp_path, OTHER))
    base, variant = suite.experiments["toy"], suite.experiments["other"]
    assert variant.config["title"] == "A toy (variant other)" and variant.config["extends"] == "toy"
    same = ("data", "studies", "tables", "repetitions")
    assert all(variant.config[key] == base.config[key] for key in same)
    assert variant.config["methods"]["margin"] == {**TOY["methods"]["margin"], "C": 0.002}
    assert [(run.name, run.seed, run.view_seed) for run in variant.runs] == [
        (run.name, run.seed, run.view_seed) for run in base.runs
    ]
    assert [part.seed for part in variant.parts] == [part.seed for part in base.parts]


def test_null_takes_an_entry_out_and_scales_are_merged(tmp_path):
    variant = {
        "extends": "toy", "title": "Small", "methods": {"hard": None}, "studies": {"hopeless": None},
        "scales": {"smoke": {"methods": {"any": {"eps": 0.5}}}},
    }  # fmt: skip
    root = with_variant(tmp_path, variant)
    other = load(root).experiments["other"]
    assert list(other.config["methods"]) == ["margin", "any"] and other.config["title"] == "Small"
    assert list(other.config["studies"]) == ["sizes", "solvers"]
    smoke = load(root, "smoke").experiments["other"].config
    assert smoke["repetitions"] == 1 and smoke["methods"]["any"]["eps"] == 0.5


def test_a_variant_has_its_own_results_and_the_same_tables(tmp_path):
    root = with_variant(tmp_path, OTHER)
    run_all(root)
    results = Results(root)
    tables = [results[name].table("toy") for name in ("toy", "other")]
    keys = ["n_train", "method", "measure"]
    assert tables[0][keys].equals(tables[1][keys])
    assert not tables[0]["value"].equals(tables[1]["value"])
    assert tables[0]["published"].equals(tables[1]["published"])
    evidence = " ".join(results.statements()["evidence"].dropna())
    assert "runs of toy" in evidence and "other" not in evidence, "a variant is not judged"
    assert "A toy (variant other)" in (root / "results" / "index.html").read_text()
    assert results["toy"].table("solvers").equals(results["other"].table("solvers")), "nothing else differs"


def test_a_variant_is_compared_with_what_it_extends_and_a_run_with_the_snapshot(tmp_path, capsys):
    root = with_variant(tmp_path, OTHER)
    run_all(root)
    capsys.readouterr()
    assert main(["--root", str(root), "compare", "other", "toy"]) == 0
    head, config, names, *numbers, last = capsys.readouterr().out.rstrip("\n").split("\n")
    assert (
        head == "other (scale standard) beside toy" and config == "  config: methods.margin.C: 1.0 -> 0.002"
    )
    assert names.split()[:2] == ["toy", "other"]
    assert last.startswith(f"{len(numbers)} of 6 numbers moved, ") and numbers
    constraints = next(line for line in numbers if "constraints" in line).split()
    tables = [Results(root)[name].table("toy").query("measure == 'constraints'") for name in ("toy", "other")]
    assert float(constraints[-4]) in tables[0]["value"].tolist()
    assert float(constraints[-3]) in tables[1]["value"].tolist()
    layout = Layout(root)
    shutil.copytree(layout.shown("toy"), layout.snapshot / "toy")
    assert main(["--root", str(root), "compare", "toy", "snapshot"]) == 0
    assert "0 of 6 numbers moved" in capsys.readouterr().out
    assert main(["--root", str(root), "compare", "other", "snapshot"]) == 1
    assert "there are no results of other from the snapshot" in capsys.readouterr().err


def test_figures_are_chosen_by_kind(tmp_path):
    base = {**copy.deepcopy(TOY), "figures": {"bounds": {"caption": "x", "kind": "theory/bound"}}}
    said = faults(with_variant(tmp_path / "wrong", OTHER, base=base))
    assert "toy.yaml, line" in said and "figures.bounds.kind: unknown value 'bound'" in said
    assert "other.yaml" not in said, "a fault of the file that is extended is told once"
    config = {"figures": {"curve": {}, "bars": {"kind": "ner/bars"}}, "extends": "ocr"}
    assert figure_kind(config, "mine", "curve") == ("ocr", "curve")
    assert figure_kind(config, "mine", "bars") == ("ner", "bars")
    base["figures"]["bounds"]["kind"] = "theory/bounds"
    assert "figures" in load(with_variant(tmp_path / "right", OTHER, base=base)).experiments["other"].config
    for kind in ("../x", "theory", "a/b/c"):
        base["figures"]["bounds"]["kind"] = kind
        assert "figures.bounds.kind" in faults(with_variant(tmp_path / "odd", OTHER, base=base))


def test_faults_of_a_variant_name_its_own_file_and_line(tmp_path):
    wrong = {"extends": "toy", "methods": {"margin": {"epz": 1}}, "repetitions": 0}
    said = faults(with_variant(tmp_path, wrong))
    assert "2 problems" in said
    assert "other.yaml, line 4: methods.margin.epz: unknown key 'epz'" in said
    assert "other.yaml, line 5: repetitions: is 0" in said


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ({"extends": "other"}, "extends: an experiment cannot extend itself"),
        ({"extends": "tyo"}, "extends: unknown experiment 'tyo'; the nearest known is 'toy'"),
        ({"extends": "../toy"}, "extends: unknown experiment '../toy'"),
        ({"extends": ["toy"]}, "extends: is ['toy'], but must be the name of an experiment"),
        ({"extends": "suite"}, "extends: unknown experiment 'suite'"),
    ],
)
def test_what_cannot_be_extended_is_refused_in_a_sentence(tmp_path, variant, words):
    said = faults(with_variant(tmp_path, variant))
    assert "1 problem" in said and f"other.yaml, line 1: {words}" in said


def test_a_chain_and_a_cycle_are_refused_in_a_sentence(tmp_path):
    root = with_variant(tmp_path, {"extends": "middle"})
    write_config(root, {"extends": "toy"}, "middle")
    assert "'middle' is itself a variant, of 'toy'; extend that one" in faults(root)
    write_config(root, {"extends": "other"}, "middle")
    assert "'middle' extends 'other' in turn; one of the two must stand on its own" in faults(root)
