"""Readings in a plan: what they set, what goes over it, how runs are named, and what is a fault."""

from __future__ import annotations

import copy

import pytest

from helpers.toy_project import TOY, project, write_config
from structmargin_suite.methods.kinds import LibraryModel
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.plan import load
from structmargin_suite.rerun import job_keys

READINGS = {
    "printed": {"label": "C/n as printed", "evidence": "the formula", "chosen": "before"},
    "per example": {
        "about": "C is not divided by n.", "evidence": "custom", "chosen": "after first look",
        "primary": True, "sets": {"price": 2.0, "scatter": 3.0, "loss": "zero_one"},
    },
}  # fmt: skip


def toy(**changes) -> dict:
    """The toy, with two readings of the method `margin`; a value of None removes a section."""
    config = copy.deepcopy(TOY)
    config["readings"] = copy.deepcopy(READINGS)
    config["methods"]["margin"]["readings"] = ["printed", "per example"]
    config["studies"]["sizes"]["methods"] = ["margin", "any"]
    for name, value in changes.items():
        config[name] = value
    return config


def runs_of(tmp_path, config, method="margin"):
    experiment = load(project(tmp_path, config)).experiments["toy"]
    return [run for run in experiment.runs if run.method == method]


def test_a_method_runs_under_each_of_its_readings_and_what_they_set_reaches_its_runs(tmp_path):
    runs = runs_of(tmp_path, toy())
    assert [run.reading for run in runs] == ["printed"] * 4 + ["per example"] * 4
    printed, other = runs[0], runs[4]
    assert (printed.configured.option("price"), other.configured.option("price")) == (None, 2.0)
    assert (printed.prepare["scatter"], other.prepare["scatter"]) == (1.0, 3.0)
    assert (printed.view["loss"], other.view["loss"]) == ("tree", "zero_one")
    assert printed.part != other.part, "they read data that were prepared differently"
    assert other.settings["reading"] == "per example" and other.spec["reading"] == "per example"
    assert {run.reading for run in runs_of(tmp_path, toy(), "any")} == {""}


def test_a_study_goes_over_what_a_reading_sets(tmp_path):
    config = toy()
    config["readings"]["per example"]["sets"] = {"n_train": 30, "price": 2.0, "eps": 0.5}
    config["studies"]["sizes"]["fixed"] = {"eps": 0.2}
    varied = runs_of(tmp_path, config)
    assert {run.view["n_train"] for run in varied} == {12, 24}
    assert {run.configured.option("eps") for run in varied} == {0.2}
    assert {run.configured.option("price") for run in varied if run.reading == "per example"} == {2.0}
    del config["studies"]["sizes"]["vary"]
    assert {(run.reading, run.view["n_train"]) for run in runs_of(tmp_path, config)} == {
        ("printed", 12), ("per example", 30),
    }  # fmt: skip


def test_readings_that_a_study_makes_alike_keep_runs_of_their_own(tmp_path):
    config = toy()
    config["readings"]["per example"]["sets"] = {"price": 2.0}
    config["studies"]["sizes"] |= {"methods": ["margin"], "vary": {"price": [1.0]}}
    runs = runs_of(tmp_path, config)
    assert [run.reading for run in runs] == ["printed"] * 2 + ["per example"] * 2
    assert len({run.name for run in runs}) == 4 and len({str(run.configured.record) for run in runs}) == 1


def test_the_price_of_a_slack_is_in_units_of_c():
    given = {"formulation": "SVM2", "C": 0.01}
    per_example = LibraryModel.parse({**given, "price": 2.0})
    assert per_example.penalty(50) == 2.0 * 0.01 * 50
    assert LibraryModel.parse(given).penalty(50) == 0.01
    varied = Method.parse("m", {**given, "price": 2.0}).with_option("C", 10.0)
    assert varied.kind.penalty(50) == 2.0 * 10.0 * 50, "C keeps its meaning when it varies"
    with pytest.raises(ValueError, match="price 2 is in units of C"):
        LibraryModel.parse({"formulation": "SVM2", "C_per_example": 1.0, "price": 2.0}).penalty(50)


def test_a_study_may_restrict_readings_and_leaves_other_methods_alone(tmp_path):
    config = toy()
    config["methods"]["any"] |= {"readings": ["squared"]}
    config["readings"]["squared"] = {"evidence": "e", "chosen": "before", "primary": True}
    config["studies"]["sizes"] |= {"methods": ["margin", "any", "hard"], "readings": ["printed"]}
    experiment = load(project(tmp_path, config)).experiments["toy"]
    found = {(run.method, run.reading) for run in experiment.runs if "sizes" in run.studies}
    assert found == {("margin", "printed"), ("hard", "")}
    others = {(run.method, run.reading) for run in experiment.runs if "solvers" in run.studies}
    assert others == {("any", "squared")}


def test_names_spell_the_reading_and_not_what_it_alone_decides(tmp_path):
    names = [run.name for run in runs_of(tmp_path, toy())]
    assert names[::4] == [
        "margin,reading=printed,n_train=12,repetition=0",
        "margin,reading=per-example,n_train=12,repetition=0",
    ]
    config = toy()
    config["studies"]["sizes"] |= {"methods": ["margin"], "vary": {"price": [1.0, 2.0]}}
    assert {run.name for run in runs_of(tmp_path, config)} == {
        f"margin,reading={reading},price={price},repetition={r}"
        for reading in ("printed", "per-example") for price in (1, 2) for r in (0, 1)
    }  # fmt: skip
    one = toy()
    one["methods"]["margin"]["readings"] = ["per example"]
    del one["readings"]["printed"]
    assert runs_of(tmp_path, one)[0].name == "margin,n_train=12,repetition=0", (
        "what does not vary is not spelled"
    )


def test_names_and_seeds_of_other_methods_stay_and_words_change_neither(tmp_path):
    def plan(config, where):
        return {run.name: run.seed for run in load(project(tmp_path / where, config)).experiments["toy"].runs}

    plain = copy.deepcopy(TOY)
    plain["studies"]["sizes"]["methods"] = ["margin", "any"]
    before, after = plan(plain, "a"), plan(toy(), "b")
    assert {
        name: seed for name, seed in before.items() if not name.startswith("margin")
    }.items() <= after.items()
    told = toy()
    told["readings"]["printed"] |= {
        "evidence": "another",
        "label": "x",
        "about": "y",
        "chosen": "after first look",
    }
    assert plan(told, "c") == after
    assert len(set(after.values())) == len(after)


def test_a_training_depends_on_what_its_reading_sets_and_not_on_its_words(tmp_path):
    def keys(config):
        suite = load(project(tmp_path, config))
        return [job_keys.train_key(suite, job) for job in suite.experiments["toy"].jobs]

    config = toy()
    before = keys(config)
    config["readings"]["per example"]["evidence"] = "a cited paper"
    assert keys(config) == before
    config["readings"]["per example"]["sets"]["price"] = 3.0
    assert all(new != old for new, old in zip(keys(config), before, strict=True))


def test_a_reading_may_change_what_is_chosen_among(tmp_path):
    config = toy()
    choose = {"option": "C", "among": [1.0, 10.0], "by": "test_error"}
    config["methods"]["margin"]["choose"] = choose
    config["readings"]["per example"]["sets"] = {"choose.among": [0.5]}
    found = {(run.reading, run.configured.option("C")) for run in runs_of(tmp_path, config)}
    assert found == {("printed", 1.0), ("printed", 10.0), ("per example", 0.5)}
    config["methods"]["margin"]["choose"] = {**choose, "by": "inner_error"}
    among = {run.reading: run.configured.choice.among for run in runs_of(tmp_path, config)}
    assert among == {"printed": (1.0, 10.0), "per example": (0.5,)}


def test_jobs_are_grouped_by_reading_and_one_may_be_alone(tmp_path):
    config = toy(jobs={"by": ["method", "reading"], "alone": [{"reading": "printed", "threads": 2}]})
    jobs = load(project(tmp_path, config)).experiments["toy"].jobs
    by_name = {job.name: ({run.reading for run in job.runs}, job.threads) for job in jobs}
    assert by_name["method=margin,reading=printed"] == ({"printed"}, 2)
    assert by_name["method=margin,reading=per-example"] == ({"per example"}, 1)


def test_tables_whose_runs_have_readings_have_them_as_a_key_after_the_method(tmp_path):
    config = toy()
    config["tables"]["other"] = {
        "caption": "c", "study": "sizes", "keys": ["kind", "n_train"], "found_as": {"kind": "method"},
        "measures": ["test_error"],
    }  # fmt: skip
    config["tables"]["without"] = {**config["tables"]["toy"], "methods": ["any"]}
    config["tables"]["joined"] = {**config["tables"]["toy"], "over": ["repetition", "reading"]}
    config["tables"]["no method"] = {**config["tables"]["toy"], "keys": ["n_train"]}
    config["tables"]["no-method"] = config["tables"].pop("no method")
    tables = load(project(tmp_path, config)).experiments["toy"].config["tables"]
    assert {name: spec["keys"] for name, spec in tables.items()} == {
        "toy": ["n_train", "method", "reading"],
        "solvers": ["solver"],
        "other": ["kind", "reading", "n_train"],
        "without": ["n_train", "method"],
        "joined": ["n_train", "method"],
        "no-method": ["reading", "n_train"],
    }


def without(*path):
    def change(config):
        holder = config
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]

    return change


def setting(*path, value):
    def change(config):
        holder = config
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return change


SETS = ("readings", "per example", "sets")
FAULTS = [
    (without("readings", "printed", "evidence"), "printed:", "printed: the key 'evidence' is missing"),
    (without("readings", "printed", "chosen"), "printed:", "readings.printed: the key 'chosen' is missing"),
    (
        setting("readings", "printed", "chosen", value="befor"), "chosen: befor",
        "readings.printed.chosen: unknown value 'befor'; the nearest known is 'before'",
    ),
    (
        setting("methods", "margin", "readings", value=["printd", "per example"]), "- printd",
        "methods.margin.readings.0: unknown value 'printd'; the nearest known is 'printed'",
    ),
    (
        without("readings", "per example", "primary"), "  readings:",
        "methods.margin.readings: of its readings none has primary: true; name exactly one that is primary",
    ),
    (
        setting("readings", "printed", "primary", value=True), "  readings:",
        "methods.margin.readings: of its readings 'printed' and 'per example' has primary: true",
    ),
    (
        setting("readings", "third", value={"evidence": "e", "chosen": "before"}), "  third:",
        "readings.third: no method names this reading",
    ),
    (
        setting("studies", "sizes", "readings", value=["printt"]), "- printt",
        "studies.sizes.readings.0: no method of the study names it: unknown value 'printt'; "
        "the nearest known is 'printed'",
    ),
    (
        setting("studies", "solvers", "readings", value=["printed"]), "- printed",
        "studies.solvers.readings.0: no method of the study names it",
    ),
    (
        setting(*SETS, value={"prize": 2.0}), "prize: 2.0",
        "readings.per example.sets.prize: for 'margin' on 'clusters': unknown key 'prize' "
        "(its value is 2.0); the nearest known is 'price'",
    ),
    (setting(*SETS, value={"price": -2.0}), "price: -2.0", "sets.price: is -2.0, but must be above 0"),
    (
        setting(*SETS, value={"C_per_example": 1.0, "price": 2.0}), "    sets:",
        "sets: for the method 'margin': has both price and C_per_example",
    ),
    (
        setting("studies", "sizes", "vary", value={"C_per_example": [1.0]}), "  sizes:",
        "studies.sizes: the method 'margin' has both price and C_per_example",
    ),
    (
        without("methods", "margin", "C"), "    sets:",
        "sets: for the method 'margin': has a price, which is in units of C, but no C; add C",
    ),
    (
        setting(*SETS, value={"choose.among": [1.0]}), "choose.among:",
        "sets.choose.among: the method 'margin' has no `choose`",
    ),
    (
        setting("studies", "sizes", "fixed", value={"choose.among": [1.0]}), "choose.among:",
        "studies.sizes.fixed.choose.among: for 'margin' on 'clusters': unknown key",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line", "message"), FAULTS, ids=[message for _, _, message in FAULTS])
def test_a_fault_is_told_with_its_line(tmp_path, change, line, message):
    config = toy()
    change(config)
    root = project(tmp_path, config)
    text = (root / "configs" / "toy.yaml").read_text().splitlines()
    with pytest.raises(ConfigError) as caught:
        load(root)
    told = [each for each in str(caught.value).splitlines() if message in each]
    assert len(told) == 1, caught.value
    number = int(told[0].split(", line ")[1].split(":")[0])
    assert line in text[number - 1], (told[0], text[number - 1])
    assert str(caught.value).startswith("1 problem "), "nothing else follows from it"


def test_a_choice_that_a_reading_spoils_is_told_once(tmp_path):
    config = toy()
    config["methods"]["margin"]["choose"] = {"option": "C", "among": [1.0], "by": "inner_error"}
    root = project(tmp_path, config)
    for sets, message in (
        ({"choose.amon": [1.0]}, "unknown key 'choose.amon'"),
        ({"choose.among": 1.0}, "sets.choose.among: is 1.0, but must be a list"),
        ({"choose.among": [-1.0]}, "sets.among.0: is -1.0, but must be above 0"),
        ({"choose.option": "C_per_example", "price": 2.0}, "has both price and C_per_example"),
    ):
        config["readings"]["per example"]["sets"] = sets
        write_config(root, config)
        with pytest.raises(ConfigError) as caught:
            load(root)
        assert message in str(caught.value) and str(caught.value).startswith("1 problem "), caught.value
