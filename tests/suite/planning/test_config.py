"""Faults of a configuration: all at once, each with file, key, value, the nearest known key, the remedy."""

from __future__ import annotations

import copy

import pytest

from helpers.toy_project import HERE, TOY, project, write_config
from structmargin.names import nearest
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.planning.config import ConfigError, Faults, changes, merged, read
from structmargin_suite.planning.plan import load


def faults_of(root, config=None, scale=None) -> list[str]:
    if config is not None:
        write_config(root, config)
    with pytest.raises(ConfigError) as caught:
        load(root, scale)
    return str(caught.value).splitlines()


def test_five_mistakes_are_five_faults_each_with_file_line_key_and_remedy(tmp_path):
    root = project(tmp_path, name="alignment")
    text = (HERE / "configs" / "alignment.yaml").read_text()
    wrong = (
        text.replace("repetitions: 40", "repetitons: 40")
        .replace("    n_test: 500", "    n_tset: 500")
        .replace("formulation: SVM2", "formulation: SVM3", 1)
        .replace("vary: {eps: &precisions [0.8", "vary: {epps: &precisions [0.8")
        .replace("paper: jmlr05", "paper: jmlr06")
    )
    (root / "configs" / "alignment.yaml").write_text(wrong)
    lines = faults_of(root)
    assert lines[0] == "5 problems in the configuration:"
    for wrong, right, value in (
        ("'jmlr06'", "'jmlr05'", ""),
        ("'n_tset'", "'n_test'", "500"),
        ("'repetitons'", "'repetitions'", "40"),
        ("'SVM3'", "'SVM2'", ""),
        ("'epps'", "'eps'", "[0.8, 0.4"),
    ):
        fits = [line for line in lines[1:] if wrong in line and right in line and value in line]
        assert len(fits) == 1 and "alignment.yaml, line " in fits[0], (wrong, lines)


@pytest.fixture()
def broken():
    config = copy.deepcopy(TOY)
    config["repetitions"] = 0
    config["methods"]["margin"]["C"] = "much"
    config["tables"]["toy"]["spread"] = "sde"
    config["studies"]["sizes"]["varry"] = config["studies"]["sizes"].pop("vary")
    del config["where"]
    return config


def test_faults_of_form_come_together(tmp_path, broken):
    lines = faults_of(project(tmp_path), broken)
    assert lines[0] == "5 problems in the configuration:"
    text = "\n".join(lines)
    path = str(tmp_path / "configs" / "toy.yaml")
    assert all(path in line for line in lines[1:])
    assert "repetitions: is 0, but must be at least 1" in text
    assert "methods.margin.C: is 'much', but must be a number" in text
    assert "unknown value 'sde'; the nearest known is 'se'" in text
    assert "studies.sizes.varry: unknown key 'varry'" in text and "the nearest known is 'vary'" in text
    assert "the key 'where' is missing; add it" in text


def test_faults_of_meaning_come_together(tmp_path):
    config = copy.deepcopy(TOY)
    config["data"]["clusters"]["scater"] = config["data"]["clusters"].pop("scatter")
    config["methods"]["margin"]["epsilon"] = 1.0
    config["studies"]["sizes"]["methods"] = ["margins"]
    config["tables"]["toy"]["study"] = "size"
    config["tables"]["toy"]["published"] = "toys.csv"
    config["readings"] = {
        "as printed": {"evidence": "e", "chosen": "before", "primary": True, "uses": ["bound-risks"]}
    }
    config["methods"]["any"]["readings"] = ["as printed"]
    text = "\n".join(lines := faults_of(project(tmp_path), config))
    assert lines[0] == "6 problems in the configuration:"
    for wrong, right in (
        ("scater", "scatter"), ("epsilon", "eps"), ("margins", "margin"), ("size", "sizes"),
        ("toys.csv", "toy.csv"), ("bound-risks", "bound-risk-slack"),
    ):  # fmt: skip
        assert any(f"'{wrong}'" in line and f"'{right}'" in line for line in lines), (wrong, text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["studies"]["sizes"]["vary"].update(n_train=[0, 12]), "is 0, but must be at least 1"),
        (
            lambda c: c["studies"]["sizes"]["vary"].update(n_train=[12, 41]),
            "n_train is 41, but the pool has 40",
        ),
        (lambda c: c["methods"]["margin"].update(formulation="SVM1 margins"), "did you mean 'SVM1 margin'"),
        (lambda c: c["methods"]["margin"].update(solver="n_slak"), "unknown solver 'n_slak'"),
        (lambda c: c["methods"]["margin"].update(C_per_example=1.0), "both C and C_per_example"),
        (
            lambda c: c["methods"]["margin"].update(view={"n_train": 5}),
            "methods.margin.view.n_train: data.clusters.n_train is given too",
        ),
        (lambda c: c["methods"]["margin"].pop("formulation"), "neither 'formulation' nor 'baseline'"),
        (lambda c: c["methods"]["margin"].update(problem={"n_clases": 2}), "n_clases"),
        (lambda c: c["data"]["clusters"].update(source="real"), "has no files; use source: synthetic"),
        (lambda c: c["data"]["clusters"].update({"from": "cluster"}), "the nearest known is 'clusters'"),
        (
            lambda c: c["studies"]["sizes"]["vary"].update(C=[1.0, -2.0]),
            "vary.C: is -2.0, but must be above 0",
        ),
        (
            lambda c: c["studies"]["sizes"].update(fixed={"eps": "small"}),
            "fixed.eps: is 'small', but must be a number",
        ),
        (
            lambda c: c["methods"]["margin"].update(
                choose={"option": "C", "among": [1.0, 0], "by": "inner_error"}
            ),
            "methods.margin.choose.among.1: is 0, but must be above 0",
        ),
        (lambda c: c["scales"]["smoke"].update(repetitions=-1), "is -1, but must be at least 1"),
        (lambda c: c["scales"]["smoke"].update(methds={}), "the nearest known is 'methods'"),
        (lambda c: c["tables"]["toy"].update(keys=["n_trian"]), "the nearest known is 'n_train'"),
        (lambda c: c["studies"]["sizes"]["vary"].update(gap=[1]), "unknown key 'gap'"),
        (lambda c: c.update(jobs={"by": ["repetitoin"]}), "the nearest known is 'repetition'"),
        (lambda c: c.update(figures={"curve": {"caption": "x"}}), "unknown value 'curve'"),
    ],
)
def test_one_fault_says_what_and_where(tmp_path, change, said):
    config = copy.deepcopy(TOY)
    change(config)
    lines = faults_of(project(tmp_path), config)
    assert len(lines) == 2 and said in lines[1] and "toy.yaml, line " in lines[1], lines


@pytest.mark.parametrize(
    ("photo", "said"),
    [
        ({"withhold": "why", "instead": "drawing"}, None),
        ({"instead": "drawing"}, "figures.photo.instead: goes with withhold only"),
        ({"withhold": "why", "instead": "drawin"}, "the nearest known is 'drawing'"),
        ({"withhold": "why", "instead": "photo"}, "unknown value 'photo'"),
    ],
)
def test_a_figure_in_place_of_another_is_one_of_the_config(tmp_path, monkeypatch, photo, said):
    monkeypatch.setattr(Catalogue, "figures", lambda self, experiment: ["photo", "drawing"])
    config = copy.deepcopy(TOY)
    config["figures"] = {"photo": {"caption": "x", **photo}, "drawing": {"caption": "x"}}
    root = project(tmp_path, config)
    if said is None:
        load(root, "smoke", library=False)
    else:
        assert said in faults_of(root)[1]


def test_the_line_is_that_of_the_key(tmp_path):
    root = project(tmp_path)
    path = root / "configs" / "toy.yaml"
    text = (
        path.read_text()
        .replace("  margin:\n", "  # a comment\n  margin:\n", 1)
        .replace("eps: 0.1", "eps: -1", 1)
    )
    path.write_text(text)
    number = next(k for k, line in enumerate(text.splitlines(), 1) if "eps: -1" in line)
    assert f"toy.yaml, line {number}: methods.margin.eps: is -1, but must be above 0" in faults_of(root)[1]


def test_broken_yaml_a_missing_file_a_repeated_key_and_an_unknown_scale(tmp_path):
    root = project(tmp_path)
    path = root / "configs" / "toy.yaml"
    whole = path.read_text()
    path.write_text(whole + "repetitions: 3\n")
    assert any("repetitions: given twice" in line for line in faults_of(root))
    path.write_text(whole.replace("title: A toy", "title: [A toy"))
    assert "not valid YAML" in faults_of(root)[1] and "line" in faults_of(root)[1]
    path.unlink()
    assert "no such file" in faults_of(root)[1]
    assert "the nearest known is 'smoke'" in faults_of(root, scale="smok")[1]


def test_numbers_are_read_as_people_write_them(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("a: 1e-3\nb: -2E4\nc: .5\nd: 1_000\non: yes\ne: 1.5e3\nf: .5E-1\ng: 1.e2\n")
    values = read(file, Faults()).values
    numbers = {"a": 1e-3, "b": -2e4, "c": 0.5, "d": 1000, "e": 1500.0, "f": 0.05, "g": 100.0}
    assert values == {**numbers, "on": True}


def test_overrides_merge_by_key_and_their_changes_are_listed():
    base = {"a": {"b": [1, 2, 3], "c": 1}, "d": 2}
    override = {"a": {"b": [1]}, "d": 2}
    assert merged(base, override) == {"a": {"b": [1], "c": 1}, "d": 2}
    assert changes(base, override) == [(("a", "b"), [1, 2, 3], [1])]


def test_the_nearest_name_ignores_case_and_gives_up_on_strangers():
    assert nearest("Repetition", ["Repetitions", "scale"]) == ["Repetitions"]
    assert nearest("zzz", ["repetitions", "scale"]) == []
    assert nearest("b", ["ab", "bb", "cc"], n=2, cutoff=0.0) == ["bb", "ab"]


def test_the_projects_own_configs_have_no_fault_at_any_scale():
    for scale in ("smoke", "standard", "paper"):
        assert set(load(HERE, scale).experiments) >= {"alignment", "theory"}
