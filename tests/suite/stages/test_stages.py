"""A whole experiment in a temporary folder, done in a second, and what every stage makes of it."""

from __future__ import annotations

import copy
import json
import shutil

import joblib
import numpy as np
import pytest

from helpers.toy_project import TOY, bundle_of, project, run_all, write_config
from structmargin import ModelFileError
from structmargin_suite.planning.plan import load
from structmargin_suite.results import Results
from structmargin_suite.stages._command import job_of
from structmargin_suite.stages.evaluate import evaluate
from structmargin_suite.stages.prepare import prepare
from structmargin_suite.stages.report import report
from structmargin_suite.stages.show import show
from structmargin_suite.stages.tabulate import note, tabulate
from structmargin_suite.stages.train import Training, train
from structmargin_suite.storage.arrays import npz_bytes
from structmargin_suite.storage.bundle import Bundle, write_bundle
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.storage.errors import DamagedFile
from structmargin_suite.storage.files import json_bytes
from structmargin_suite.storage.layout import ScaleLayout


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    root = project(tmp_path_factory.mktemp("toy"))
    return root, run_all(root)


def test_every_planned_run_is_a_row_with_its_reason(done):
    root, suite = done
    rows = {row["run"]: row for row in read_csv(root / "results" / "toy" / "runs.csv")}
    assert set(rows) == {run.name for run in suite.experiments["toy"].runs} and len(rows) == 10
    by_status = {
        status: [r for r in rows.values() if r["status"] == status]
        for status in ("done", "skipped", "failed")
    }
    assert [len(by_status[s]) for s in ("done", "skipped", "failed")] == [6, 2, 2]
    assert all("bcfw" in row["reason"] and "SVM2 slack" in row["reason"] for row in by_status["skipped"])
    assert all("NotSeparableError" in row["reason"] for row in by_status["failed"])


def test_a_skipped_combination_is_a_row_of_its_table_without_a_value(done):
    root, _ = done
    table = {row["solver"]: row for row in read_csv(root / "results" / "toy" / "solvers.csv")}
    assert table["bcfw"]["value"] == "" and table["bcfw"]["runs"] == "0"
    assert float(table["n_slack"]["value"]) >= 0 and table["n_slack"]["runs"] == "2"
    assert "no run" in (root / "results" / "toy" / "solvers.md").read_text()


def test_a_caption_says_how_many_runs_are_behind_a_table_and_when_it_has_no_value(done):
    root, suite = done
    results, spec = Results.latest(root)["toy"], suite.experiments["toy"].config["tables"]["toy"]
    table = results.table("toy")
    single = table.assign(runs=table["runs"].clip(upper=1))
    begins = {
        case: note(results, spec, case_table)
        for case, case_table in {"several": table, "one": single, "none": table.iloc[:0]}.items()
    }
    assert begins["several"].startswith("Mean ± standard error over repetitions. Data: ")
    assert begins["one"].startswith("One run each. ")
    assert begins["none"].startswith("No values at this scale. Data: ")


def test_a_table_is_the_mean_over_repetitions_beside_the_published_number(done):
    root, _ = done
    runs = [
        r
        for r in read_csv(root / "results" / "toy" / "runs.csv")
        if r["method"] == "margin" and r["n_train"] == "24"
    ]
    values = np.array([float(r["test_error"]) for r in runs])
    row = next(
        r
        for r in read_csv(root / "results" / "toy" / "toy.csv")
        if r["n_train"] == "24" and r["measure"] == "test_error"
    )
    assert list(row) == [
        "n_train",
        "method",
        "measure",
        "data",
        "value",
        "spread",
        "spread_kind",
        "runs",
        "published",
        "asked",
        "distance",
        "distance_unit",
        "printed",
    ]
    assert float(row["value"]) == pytest.approx(values.mean())
    assert float(row["spread"]) == pytest.approx(values.std(ddof=1) / np.sqrt(2))
    assert (row["spread_kind"], row["runs"], row["published"], row["data"]) == (
        "se",
        "2",
        "9",
        "clusters (synthetic)",
    )


def test_records_hold_settings_data_and_versions_but_no_clock(done):
    _, suite = done
    run = suite.experiments["toy"].runs[0]
    record = bundle_of(suite, run.name, "trained").json(run.name, "run.json")
    assert record["model"]["formulation"] == "SVM1 margin" and record["view"]["n_train"] == 12
    assert (
        record["seed"] == run.seed
        and record["data"]["kind"] == "synthetic"
        and len(record["data"]["part"]) == 64
    )
    assert set(record["versions"]) >= {"numpy", "numba", "scipy"}
    assert "seconds" not in json.dumps(record)
    clock = bundle_of(suite, run.name, "clocks").json(run.name, "clock.json")
    assert clock["seconds"] > 0 and clock["job_peak_mb"] > 1 and clock["machine"]["cores"] >= 1


def test_evaluation_agrees_with_a_count_by_hand(done):
    root, suite = done
    run = suite.experiments["toy"].runs[0]
    model = run.configured.from_arrays(bundle_of(suite, run.name, "trained").arrays(run.name, "model.npz"))
    part = Bundle(ScaleLayout(root, "standard").corpus("toy", run.corpus)).arrays(run.part, "part.npz")
    wrong = model.predict(part["X_test"]) != part["y_test"]
    metrics = bundle_of(suite, run.name, "evaluated").json(run.name, "metrics.json")["metrics"]
    assert metrics["test_error"] == pytest.approx(100 * wrong.mean())
    losses = [model.problem_.delta(y, yhat) for y, yhat in zip(part["y_test"], model.predict(part["X_test"]))]
    assert metrics["test_loss"] == pytest.approx(np.mean(losses)) and metrics["test_loss"] > wrong.mean()
    gap = run.configured.option("C") * run.configured.option("eps")
    assert metrics["dual"] <= metrics["primal"] <= metrics["dual"] + gap + 1e-9


@pytest.mark.parametrize(
    ("what", "said"),
    [("w", "the primal"), ("alpha", "dual variables adds up"), ("b", "dual variables are worth")],
)
def test_a_model_that_does_not_keep_its_word_is_a_failed_run(done, tmp_path, what, said):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    copied = load(tmp_path / "copy")
    job = copied.experiments["toy"].jobs[0]
    run = next(one for one in job.runs if one.method == "margin")
    trained = bundle_of(copied, run.name, "trained")
    model = run.configured.from_arrays(trained.arrays(run.name, "model.npz"))
    if what == "w":
        model.scorer_.w = 1.5 * model.scorer_.w
    else:
        support = model.fit_.support
        model.fit_.support = support._replace(**{what: 1.5 * getattr(support, what)})
    spoilt = {"model.npz": npz_bytes(model.to_arrays())}
    entries = [
        entry._replace(files={**entry.files, **spoilt}) if entry.name == run.name else entry
        for entry in trained.taken()
    ]
    write_bundle(trained.path, {}, entries)
    evaluate(copied, job)
    judged = bundle_of(copied, run.name, "evaluated").json(run.name, "metrics.json")
    assert judged["status"] == "failed" and said in judged["reason"]


def test_a_second_pass_trains_nothing_and_an_edit_only_what_it_touches(done, tmp_path):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    root = tmp_path / "copy"
    did = []
    do = Training.do

    def passed() -> set[str]:
        did.clear()
        suite = load(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Training, "do", lambda self, run, key: did.append(run) or do(self, run, key))
            for job in suite.experiments["toy"].jobs:
                train(suite, job)
        return {run.method for run in did if run.skip is None}

    assert passed() == {"hard"}, "what failed is tried again"
    changed = copy.deepcopy(TOY)
    changed["methods"]["any"]["eps"] = 0.05
    changed["methods"]["margin"]["label"] = "Renamed"
    write_config(root, changed)
    assert passed() == {"any", "hard"}
    shutil.rmtree(root / ".cache")
    assert passed() == {"any", "hard", "margin"}, "the cache may be deleted"


def test_training_again_gives_the_same_bytes_with_and_without_the_cache(done, tmp_path):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    suite = load(tmp_path / "copy")
    job = suite.experiments["toy"].jobs[0]
    path = ScaleLayout(suite.root, suite.scale).trained("toy", job.name)
    before = path.read_bytes()
    for spoil in (lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:100])):
        for file in (suite.root / ".cache").rglob("*.train.zip"):
            spoil(file)
        path.unlink()
        train(suite, job)
        assert path.read_bytes() == before


def swapped(first, second):
    """Each of two files in the other's place."""
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)


def test_no_stage_takes_what_does_not_belong_to_its_plan(done, tmp_path):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    suite = load(tmp_path / "copy")
    layout = ScaleLayout(suite.root, suite.scale)
    first, second = (job.name for job in suite.experiments["toy"].jobs)
    for place in (layout.trained, layout.evaluated, layout.clocks):
        swapped(place("toy", first), place("toy", second))
        with pytest.raises(DamagedFile, match="does not fit the plan"):
            tabulate(suite, "toy")
        swapped(place("toy", first), place("toy", second))
    changed = copy.deepcopy(TOY)
    changed["methods"]["any"]["eps"] = 0.05
    write_config(suite.root, changed)
    edited = load(suite.root)
    for job in edited.experiments["toy"].jobs:
        with pytest.raises(DamagedFile, match=r"any.* was made from another configuration"):
            evaluate(edited, job)
    with pytest.raises(DamagedFile, match="another configuration"):
        tabulate(edited, "toy")
    write_config(suite.root, TOY)
    corpus = layout.corpus("toy", "clusters")
    other = Bundle(corpus)
    entries = list(other.taken())
    arrays = {**other.arrays(entries[0].name, "part.npz")}
    arrays["X_test"] = arrays["X_test"] + 1.0
    write_bundle(
        corpus, other.about, [entries[0]._replace(files={"part.npz": npz_bytes(arrays)}), *entries[1:]]
    )
    with pytest.raises(DamagedFile, match="other data"):
        evaluate(suite, suite.experiments["toy"].jobs[0])
    with pytest.raises(DamagedFile, match="other data"):
        tabulate(suite, "toy")


def test_the_page_is_not_made_from_an_edited_table(done, tmp_path):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    suite = load(tmp_path / "copy")
    table = suite.root / "results" / "toy" / "toy.csv"
    table.write_text(table.read_text().replace("margin", "Margin", 1))
    with pytest.raises(DamagedFile, match=r"results/toy/toy\.csv: the file is not as it was written"):
        report(suite)
    table = suite.root / "results" / "scales" / "standard" / "toy" / "toy.csv"
    table.write_text(table.read_text() + "\n")
    with pytest.raises(DamagedFile, match=r"standard/toy/toy\.csv: the file is not as it was written"):
        show(suite, "toy")


def test_a_lack_of_memory_or_disk_is_no_result(done, tmp_path):
    root, _ = done
    shutil.copytree(root, tmp_path / "copy")
    suite = load(tmp_path / "copy")
    shutil.rmtree(suite.root / ".cache")
    job = suite.experiments["toy"].jobs[0]
    layout = ScaleLayout(suite.root, suite.scale)
    worded = ModelFileError("it asks for more memory than there is")
    worded.__cause__ = MemoryError()
    for stage, place, path in (
        (train, "structmargin_suite.methods.training.train", layout.trained("toy", job.name)),
        (evaluate, "structmargin_suite.stages.evaluate.measure", layout.evaluated("toy", job.name)),
    ):
        before = path.read_bytes()
        for error in (MemoryError(), OSError(28, "No space left on device"), KeyboardInterrupt(), worded):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(place, lambda *args, e=error: (_ for _ in ()).throw(e))
                with pytest.raises(type(error.__cause__ or error)):
                    stage(suite, job)
            assert path.read_bytes() == before


def test_scales_say_what_they_shrink(tmp_path):
    root = project(tmp_path)
    smoke = load(root, "smoke").experiments["toy"]
    assert smoke.shrunk == (("repetitions", 2, 1),) and len(smoke.runs) == 5
    assert load(root, "paper").experiments["toy"].shrunk == ()


def test_a_run_is_the_same_to_the_byte_for_keys_in_another_order(tmp_path):
    def turned(value):
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return value

    config = {**TOY, "methods": {name: turned(given) for name, given in TOY["methods"].items()}}
    config["data"] = turned(TOY["data"])
    suites = [load(project(tmp_path / "a")), load(project(tmp_path / "b", config))]
    first, second = ([json_bytes(run.spec) for run in suite.experiments["toy"].runs] for suite in suites)
    assert first == second and b"solver_options" in first[0]


def test_a_job_needs_its_own_corpora_only(tmp_path):
    config = copy.deepcopy(TOY)
    config["data"]["later"] = dict(config["data"]["clusters"])
    config["studies"] = {
        "sizes": {"methods": ["margin"], "data": ["clusters"], "vary": {"n_train": [12, 24]}},
        "solvers": {"methods": ["any"], "data": ["later"], "vary": {"solver": ["n_slack"]}},
    }
    del config["methods"]["hard"]
    config["jobs"] = {"by": ["corpus"]}
    suite = load(project(tmp_path, config))
    job = next(one for one in suite.experiments["toy"].jobs if one.runs[0].corpus == "clusters")
    prepare(suite, "toy", "clusters")  # and not the other
    train(suite, job)
    evaluate(suite, job)
    runs = [bundle_of(suite, run.name, "evaluated").json(run.name, "metrics.json") for run in job.runs]
    assert len(runs) == 4 and {run["status"] for run in runs} == {"done"}


def test_threads_change_nothing_but_clocks(tmp_path, done):
    """The command tells joblib, which trainings ask; and what they write is the same to the byte."""
    root, suite = done
    job = next(job for job in suite.experiments["toy"].jobs if len(job.runs) > 1)
    layout = ScaleLayout(root, suite.scale)
    before = layout.trained("toy", job.name).read_bytes()
    arguments = ["--root", str(root), "--scale", suite.scale, "--experiment", "toy", "--job", job.name]
    with joblib.parallel_config(n_jobs=1):
        assert joblib.effective_n_jobs(None) == 1
        train(*job_of([*arguments, "--threads", "2"], "train", "Train."))
        assert joblib.effective_n_jobs(None) == 2
    assert joblib.effective_n_jobs(None) == 1
    assert layout.trained("toy", job.name).read_bytes() == before
