"""Plans: grids, names, seeds, jobs and what makes a job run again."""

from __future__ import annotations

import ast
import copy
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy_project import HERE, TOY, project, write_config
from structmargin_suite.methods.method import Method
from structmargin_suite.planning.config import ConfigError
from structmargin_suite.planning.jobs import grouped_into_jobs
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.runs import (
    Run,
    column_names,
    derive,
    grid,
    slug,
    with_names,
    without_duplicates,
)
from structmargin_suite.rerun import job_keys
from structmargin_suite.rerun.sources import (
    LISTING_MODULES,
    OUR_PACKAGES,
    imports_of,
    source_digest,
    source_of,
)
from structmargin_suite.storage.files import digest


def test_names_spell_only_what_varies(tmp_path):
    runs = load(project(tmp_path)).experiments["toy"].runs
    assert [run.name for run in runs[:4]] == [
        "margin,n_train=12,repetition=0",
        "margin,n_train=12,repetition=1",
        "margin,n_train=24,repetition=0",
        "margin,n_train=24,repetition=1",
    ]
    assert {run.name for run in runs if run.method == "any"} == {
        f"any,solver={solver},repetition={r}" for solver in ("n_slack", "bcfw") for r in (0, 1)
    }
    assert {run.name for run in runs if run.method == "hard"} == {"hard,repetition=0", "hard,repetition=1"}


def test_studies_that_ask_for_the_same_share_a_run(tmp_path):
    config = copy.deepcopy(TOY)
    config["studies"]["again"] = {"methods": ["margin"], "vary": {"n_train": [24, 30]}}
    plan = load(project(tmp_path, config)).experiments["toy"]
    shared = [run for run in plan.runs if run.studies == ("sizes", "again")]
    assert {run.name for run in shared} == {
        "margin,n_train=24,repetition=0",
        "margin,n_train=24,repetition=1",
    }
    assert len(plan.runs) == 10 + 2


def test_a_choice_on_the_test_set_becomes_runs_and_one_on_validation_does_not(tmp_path):
    config = copy.deepcopy(TOY)
    config["methods"]["margin"]["choose"] = {"option": "C", "among": [0.1, 1.0, 10.0], "by": "test_error"}
    plan = load(project(tmp_path, config)).experiments["toy"]
    assert len([run for run in plan.runs if run.method == "margin"]) == 4 * 3
    config["methods"]["margin"]["choose"]["by"] = "validation_error"
    write_config(tmp_path, config)
    assert len([run for run in load(tmp_path).experiments["toy"].runs if run.method == "margin"]) == 4


def test_seeds_follow_from_the_suites_seed_and_what_varies(tmp_path):
    root = project(tmp_path)
    runs = load(root).experiments["toy"].runs
    assert len({run.seed for run in runs}) == len(runs)
    assert [run.seed for run in load(root).experiments["toy"].runs] == [run.seed for run in runs]
    by_repetition = {(run.varied["repetition"], run.view_seed) for run in runs}
    assert len(by_repetition) == 2, "methods of one repetition must see the same data"
    path = root / "configs" / "suite.yaml"
    path.write_text(path.read_text().replace("seed: 7", "seed: 8"))
    assert not {run.seed for run in load(root).experiments["toy"].runs} & {run.seed for run in runs}


def test_derived_seeds_are_stable_and_apart():
    assert derive(1, "a", 2) == 2811804046
    words = [derive(s, a, b) for s in (0, 1) for a in ("x", "y") for b in (0, 1, "0")]
    assert len(set(words)) == len(words) and all(0 <= seed < 2**32 for seed in words)


values = st.dictionaries(
    st.sampled_from(["eps", "C", "gap"]), st.sampled_from([-0.2, 0.2, 1, 1.5, "a b"]), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["SVM2", "SVM2 x"]), values), min_size=1, max_size=8))
def test_different_settings_have_different_names(points):
    runs = without_duplicates(
        [Run("e", "data", {}, {}, Method(method, options), ("s",)) for method, options in points]
    )
    names = [run.name for run in with_names(runs, 0)]
    assert len(set(names)) == len(names) == len({digest([m, v]) for m, v in points})
    assert all("/" not in name and " " not in name for name in names)


def runs_of(*methods: Method) -> list[Run]:
    return [Run("e", "data", {"pool": 9}, {"loss": "tree"}, method, ("s",)) for method in methods]


def test_options_of_one_last_name_keep_apart_in_names_and_columns():
    """Each value below differs from the others in one option: whichever it is, the names differ."""
    base = Method("m", {"problem": {"name": "P", "gamma": 1}, "kernel": {"name": "K", "gamma": 2}})
    changed = [base, base.with_option("problem.gamma", 3), base.with_option("kernel.gamma", 3)]
    runs = with_names(runs_of(*changed), 0)
    assert [run.name for run in runs] == [
        "kernel.gamma=2,problem.gamma=1", "kernel.gamma=2,problem.gamma=3", "kernel.gamma=3,problem.gamma=1",
    ]  # fmt: skip
    assert runs[1].varied == {"kernel.gamma": 2, "problem.gamma": 3}


def test_options_of_one_last_name_share_it_where_nothing_is_lost():
    equal = Method("m", {"problem": {"gamma": 1}, "kernel": {"gamma": 1}})
    columns = column_names(runs_of(equal))
    assert columns["problem.gamma"] == columns["kernel.gamma"] == "gamma"
    apart = [Method("a", {"problem": {"gamma": 1}}), Method("b", {"baseline": "x", "gamma": 2})]
    assert column_names(runs_of(*apart))["problem.gamma"] == "gamma"
    one_each = [Method("a", {"problem": {"gamma": 1}}), Method("a", {"kernel": {"gamma": 1}})]
    assert [run.name for run in with_names(runs_of(*one_each), 0)] == ["problem.gamma=1", "kernel.gamma=1"]


def test_values_that_look_alike_in_a_name_are_refused_with_their_key():
    with pytest.raises(ValueError, match=r"would have the name .* they differ in word,"):
        with_names(runs_of(Method("m", {"word": "a b"}), Method("m", {"word": "a-b"})), 0)


def test_an_option_that_the_data_set_and_the_method_both_have_is_a_fault(tmp_path, monkeypatch):
    from structmargin_suite.datasets import clusters

    monkeypatch.setitem(clusters.VIEW, "eps", {})
    config = copy.deepcopy(TOY)
    config["data"]["clusters"]["eps"] = 1
    words = "methods.margin: on 'clusters': 'eps' is a name in both the data's view and the method 'margin'"
    with pytest.raises(ConfigError, match=words):
        load(project(tmp_path, config))


def test_a_chosen_option_has_a_column_of_its_own(tmp_path):
    config = copy.deepcopy(TOY)
    config["methods"] = {"margin": config["methods"]["margin"]}
    config["studies"] = {"sizes": {"methods": ["margin"]}}
    config["tables"] = {}
    margin = config["methods"]["margin"]
    margin["problem"] = {"n_classes": 3}
    margin["solver_options"] = {"n_classes": 4}
    margin["choose"] = {"option": "problem.n_classes", "among": [3], "by": "inner_error"}
    words = "'problem.n_classes': results could not tell it from n_classes, solver_options.n_classes"
    with pytest.raises(ConfigError, match=re.escape(words)):
        load(project(tmp_path, config), library=False)


def test_signs_survive_in_names():
    assert slug(-0.2) == "-0.2" and slug(0.2) == "0.2" and slug("C per example") == "C-per-example"


def test_a_grid_is_every_combination():
    assert list(grid({"a": [1, 2], "b": [3]})) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert list(grid({})) == [{}]


def test_jobs_hold_every_run_once(tmp_path):
    runs = load(project(tmp_path)).experiments["toy"].runs
    for by, at_most in (([], None), (["repetition"], None), (["n_train", "repetition"], 3)):
        jobs = grouped_into_jobs("toy", runs, by, at_most)
        assert sorted(run.name for job in jobs for run in job.runs) == sorted(run.name for run in runs)
        assert len({job.name for job in jobs}) == len(jobs)
        assert at_most is None or len(jobs) == at_most


def test_a_job_of_its_own_has_threads(tmp_path):
    runs = load(project(tmp_path)).experiments["toy"].runs
    alone = [{"method": "margin", "n_train": 24, "threads": 2}]
    own, *others = grouped_into_jobs("toy", runs, ["method", "n_train", "repetition"], 2, alone)
    second, *others = others
    assert own.threads == second.threads == 2 and all(job.threads == 1 for job in others)
    assert {(run.method, run.settings["n_train"]) for run in own.runs + second.runs} == {("margin", 24)}
    assert len(own.runs) == len(second.runs) == 1 and len(others) == 2
    jobs = [own, second, *others]
    assert sorted(run.name for job in jobs for run in job.runs) == sorted(run.name for run in runs)
    (everything,) = grouped_into_jobs("toy", runs, [], None, alone)  # not all of its runs have these settings
    assert everything.threads == 1


def test_faults_of_jobs_of_their_own_are_named(tmp_path):
    config = copy.deepcopy(TOY)
    config["jobs"] = {
        "by": ["method"],
        "alone": [{"methd": 1, "threads": 2}, {"method": "margn", "threads": 2}],
    }
    with pytest.raises(ConfigError) as caught:
        load(project(tmp_path, config), library=False)
    for words in ("jobs.alone.0.methd: unknown value 'methd'", "jobs.alone.1.method: unknown method 'margn'"):
        assert words in str(caught.value)
    config["jobs"]["alone"] = [{"method": "margin"}]
    with pytest.raises(ConfigError, match="'threads' is"):
        load(project(tmp_path, config), library=False)


def keys_of(root):
    suite = load(root)
    plan = suite.experiments["toy"]
    return {
        "prepare": job_keys.prepare_key(suite, "toy", "clusters"),
        **{job.name: job_keys.train_key(suite, job) for job in plan.jobs},
        "tabulate": job_keys.tabulate_key(suite, "toy"),
    }


def test_a_key_changes_with_what_it_depends_on_and_with_nothing_else(tmp_path):
    config = copy.deepcopy(TOY)
    config["jobs"] = {"by": ["method"]}
    root = project(tmp_path, config)
    before = keys_of(root)
    path = root / "configs" / "toy.yaml"
    path.write_text("# a comment\n" + path.read_text() + "\n# another\n")
    assert keys_of(root) == before

    def changed(edit) -> set[str]:
        other = copy.deepcopy(config)
        edit(other)
        write_config(root, other)
        now = keys_of(root)
        return {name for name in before if now[name] != before[name]}

    assert changed(lambda c: c["methods"]["any"].update(eps=0.2)) == {"method=any", "tabulate"}
    assert changed(lambda c: c["methods"]["any"].update(label="Some")) == {"tabulate"}
    threads = [{"method": "any", "threads": 2}]  # which change no result
    assert changed(lambda c: c["jobs"].update(alone=threads)) <= {"tabulate"}
    assert changed(lambda c: c["tables"]["toy"].update(caption="Other")) == {"tabulate"}
    assert changed(lambda c: c["studies"]["sizes"].update(about="Words.")) == {"tabulate"}
    assert changed(lambda c: c["data"]["clusters"].update(n_test=31)) == set(before)


def test_a_module_counts_for_those_who_import_it():
    assert "structmargin_suite.storage.files" in imports_of("structmargin_suite.stages.train")
    solver, problem = "structmargin.solvers.n_slack", "structmargin.problems.alignment.problem"
    assert source_digest([solver], LISTING_MODULES) == source_digest(
        [solver, "structmargin.dual.working_set"], LISTING_MODULES
    )
    assert source_digest([solver], LISTING_MODULES) != source_digest([solver, problem], LISTING_MODULES)
    assert source_digest(["structmargin.registry"]) != source_digest(
        ["structmargin.registry"], without=[problem]
    )


def test_imports_count_wherever_they_stand(monkeypatch):
    from structmargin_suite.rerun import sources

    text = """
import structmargin.kernels as k
class A:
    async def f(self):
        async with self:
            while True:
                import structmargin.fit
            else:
                from structmargin import problem
try:
    pass
except OSError:
    from structmargin_suite.storage.files import digest
else:
    if 0: pass
    elif 1: import structmargin.formulation; from structmargin import fit as f, names  # parts
finally:
    match 1:
        case 1:
            from .csv_files import read_csv
from structmargin.dual import (
    blocks as b,  # (two of them)
    cuts,
)
from . import layout
import os, numpy
"""
    path = sources.source_of("structmargin_suite.storage.files")[0]
    monkeypatch.setattr(sources, "source_of", lambda module: (path, text.encode()))
    assert imports_of.__wrapped__("structmargin_suite.storage.files") == (
        "structmargin",
        "structmargin.dual",
        "structmargin.dual.blocks",
        "structmargin.fit",
        "structmargin.formulation",
        "structmargin.kernels",
        "structmargin.names",
        "structmargin.problem",
        "structmargin_suite.storage",
        "structmargin_suite.storage.csv_files",
        "structmargin_suite.storage.files",
        "structmargin_suite.storage.layout",
    )


def test_imports_are_those_of_the_syntax_tree():
    """For every module of both packages; relative imports, of which there are none, are tested above."""
    for package in OUR_PACKAGES:
        folder = source_of(package)[0].parent
        for path in folder.rglob("*.py"):
            steps = path.relative_to(folder.parent).with_suffix("").parts
            module = ".".join(steps[:-1] if steps[-1] == "__init__" else steps)
            names = set()
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    names.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    assert node.level == 0
                    names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
            files = {name: folder.parent.joinpath(*name.split(".")) for name in names}
            ours = {
                name
                for name, file in files.items()
                if name.startswith("structmargin")
                and (file.with_suffix(".py").is_file() or (file / "__init__.py").is_file())
            }
            assert set(imports_of(module)) == ours, module


def test_a_run_does_not_count_problems_and_solvers_that_it_does_not_use():
    from structmargin_suite.rerun.job_keys import code_of

    method = Method.parse("m", {"formulation": "SVM2", "solver": "n_slack"}, {"name": "Multiclass"})
    other = code_of(method.with_option("problem", {"name": "Alignment"}), "clusters")
    assert code_of(method, "clusters") != other != code_of(method.with_option("solver", "bcfw"), "clusters")
    assert code_of(Method.parse("b", {"baseline": "generative_alignment"}), "alignment") != other


@pytest.mark.parametrize(
    ("model", "module", "counts"),
    [
        ("JKSE", "structmargin.jkse.trainers", True),
        ("JKSE", "structmargin.jkse.one_class", True),
        ("JKSE", "structmargin.jkse.pairs", True),
        ("JKSE", "structmargin.solvers.n_slack", False),
        ("SVM", "structmargin.jkse.trainers", False),
        ("SVM", "structmargin.dual.acceleration", True),
        ("SVM", "structmargin.solvers.bcfw", False),
    ],
)
def test_an_edit_of_the_library_makes_those_runs_old_that_use_it(monkeypatch, model, module, counts):
    from structmargin_suite.rerun import sources
    from structmargin_suite.rerun.job_keys import code_of

    given = {"formulation": "SVM1", "solver": "n_slack"} if model == "SVM" else {"model": "JKSE"}
    method = Method.parse("m", given, {"name": "Multiclass"})
    before, source_of = code_of(method, "clusters"), sources.source_of

    def edited(name):
        path, text = source_of(name)
        return path, text + b"# edited" if name == module else text

    sources._source_digest.cache_clear()
    monkeypatch.setattr(sources, "source_of", edited)
    try:
        assert (code_of(method, "clusters") != before) is counts
    finally:
        sources._source_digest.cache_clear()


def test_every_dataset_and_baseline_of_the_project_keeps_the_contract():
    import inspect

    from structmargin_suite.baselines import baseline
    from structmargin_suite.datasets import dataset
    from structmargin_suite.planning.catalogue import Catalogue

    catalogue = Catalogue(HERE)
    for name in catalogue.datasets:
        module = dataset(name)
        made = set(inspect.signature(module.synthesize).parameters) - {"seed"}
        seen = set(list(inspect.signature(module.view).parameters)[2:])  # after the arrays and the seed
        assert made == set(module.PREPARE) and seen == set(module.VIEW), name
        assert not set(module.PREPARE) & set(module.VIEW), name
    for name in catalogue.baselines:
        taken = inspect.signature(baseline(name).train).parameters.values()
        named = {one.name for one in taken if one.kind is one.KEYWORD_ONLY} - {"seed"}
        if getattr(baseline(name), "HAS_PATH", False):
            named.remove("former")
        assert named <= set(baseline(name).OPTIONS) and callable(baseline(name).from_arrays), name
