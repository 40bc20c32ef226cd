"""The true workflow on small data: what runs again and what does not, after a kill, on one core or two."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import nbclient
import nbformat
import pytest

from helpers.toy_project import HERE, TOY, project, write_config
from helpers.workflow_runs import SNAKEMAKE, attempt, copied_source, environment, snakemake, workflow_in
from structmargin_suite.planning.plan import load
from structmargin_suite.publish.compare import exact
from structmargin_suite.storage.csv_files import read_csv
from structmargin_suite.workflow import Pipeline

AFTER_JOBS = {"tabulate_toy", "show_toy", "report", "complete"}


def planned(root: Path, *options: str) -> set[str]:
    """The jobs that a dry run would do: rule names, with the job or corpus."""
    output = snakemake(root, "-n", *options)
    rules = set()
    for block in re.split(r"^(?:local)?rule (?=\w+:$)", output, flags=re.MULTILINE)[1:]:
        rule = block.partition(":")[0]
        wildcards = re.search(r"wildcards: experiment=\w+, \w+=(\S+)", block)
        rules.add(rule + (f" {wildcards.group(1)}" if wildcards else ""))
    return rules - {"all"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return copied_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def toy(tmp_path_factory, source):
    config = {**copy.deepcopy(TOY), "jobs": {"by": ["method"]}}
    root = project(workflow_in(tmp_path_factory.mktemp("toy"), source), config)
    output = snakemake(root, "-c2")
    return root, config, output


def test_it_runs_to_the_page_and_says_what_it_leaves_out(toy):
    root, _, output = toy
    assert (root / "results" / "index.html").is_file() and (root / "results" / "statements.csv").is_file()
    rows = [row for row in read_csv(root / "results" / "statements.csv") if row["primary"] == "true"]
    counts = Counter(row["verdict"] for row in rows)
    assert counts["reproduced"] >= 2 and counts["not testable"] > 100
    score = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    assert "real: 0 corpora; synthetic: 1 (toy: clusters)" in output
    assert f"see results/index.html: of {len(rows)} statements of the papers {score}" in output
    assert "toy: 10 runs in 3 jobs, scale standard" in output and "left out: solver 'bcfw'" in output
    assert planned(root) == set() and "made again" not in snakemake(root, "-n")


def test_the_report_has_captions_and_categories_and_another_workflow_can_use_the_rules(toy):
    root, _, _ = toy
    snakemake(root, "--report", "report.html")
    page = (root / "report.html").read_text(encoding="utf-8")
    labels = ('{"name": "toy", "caption": "Toy."}', '{"name": "the page"}', '{"name": "verdicts"}')
    for text in ("Overview", "A toy", "<em>caption</em>", *(f'"labels": {label}' for label in labels)):
        assert text in page, text
    other = root / "Other.smk"
    other.write_text(
        'module structmargin:\n    snakefile:\n        "workflow/Snakefile"\n    config:\n        {}\n\n\n'
        "use rule * from structmargin\n"
    )
    assert "Nothing to be done" in snakemake(root, "-s", "Other.smk", "-n", "all")
    for file, *target in (("Other.smk", "all"), ("workflow/Snakefile",)):
        assert "tabulate_toy" in snakemake(root, "-s", file, "-n", "-F", *target)


def test_every_table_and_figure_of_an_experiment_is_in_the_report_with_its_own_caption():
    pipeline = Pipeline(load(HERE, "smoke", library=False, only=["theory"]), None)
    config = pipeline.suite.experiments["theory"].config
    marked = {
        Path(file).name: file.flags["report"]
        for file in pipeline.shown_in_report("theory", "x.rst")
        if getattr(file, "flags", {}).get("report")
    }
    assert set(marked) == {f"{n}.csv" for n in config["tables"]} | {f"{n}.svg" for n in config["figures"]}
    for kind, suffix in (("tables", ".csv"), ("figures", ".svg")):
        for name, spec in config[kind].items():
            about = marked[f"{name}{suffix}"]
            assert (about.category, about.subcategory) == (config["title"], kind)
            assert about.labels == {"name": name, "caption": " ".join(spec["caption"].split())}
    assert [str(file) for file in pipeline.shown_in_report("theory", "x.rst")] == pipeline.shown("theory")


def test_a_comment_reruns_nothing_and_a_value_only_what_depends_on_it(toy):
    root, config, _ = toy
    path = root / "configs" / "toy.yaml"
    path.write_text("# a comment\n" + path.read_text().replace("repetitions: 2", "repetitions: 2 # two"))
    assert planned(root) == set()
    changed = copy.deepcopy(config)
    changed["methods"]["any"]["eps"] = 0.05
    changed["methods"]["margin"]["label"] = "Renamed"
    write_config(root, changed)
    assert planned(root) == {"train method=any", "evaluate method=any", *AFTER_JOBS}
    changed = copy.deepcopy(config)
    changed["tables"]["toy"]["caption"] = "Another"
    write_config(root, changed)
    assert planned(root) == AFTER_JOBS
    write_config(root, config)
    assert planned(root) == set()


def test_changed_source_reruns_what_uses_it(toy, source):
    root, config, _ = toy
    write_config(root, config)

    def after(file: str) -> set[str]:
        path = source / file
        before = path.read_bytes()
        path.write_bytes(before + b"\nCHANGED = 1\n")
        try:
            return {name.split()[0] for name in planned(root)}
        finally:
            path.write_bytes(before)

    assert after("structmargin/dual/working_set.py") == {"train", "evaluate", *AFTER_JOBS}
    assert after("structmargin/problems/alignment/problem.py") == set()
    assert after("structmargin_suite/statements/effects/alignment.py") == {"report", "complete"}


def test_a_failed_run_ends_the_workflow_after_the_page_and_is_tried_again(toy):
    root, config, _ = toy
    write_config(root, {**config, "allow_failed_runs": False})
    for _ in range(2):
        done = attempt(root, "-c2")
        output = done.stdout + done.stderr
        assert done.returncode == 1 and "2 of 10 runs of toy failed; the next call tries them again" in output
        assert "hard,repetition=0: NotSeparableError" in output and "logs/train_method=hard.log" in output
        assert "rule train:" in output and "no space" not in output
        assert "NotSeparableError" in (root / "results" / "toy" / "index.html").read_text()
        assert not (root / "results" / "complete.json").exists()
    write_config(root, config)
    snakemake(root, "-c2")
    assert planned(root) == set() and (root / "results" / "complete.json").is_file()


def test_faults_of_a_config_end_the_workflow_with_all_of_them(toy):
    root, config, _ = toy
    wrong = copy.deepcopy(config)
    wrong["repetitions"] = 0
    wrong["methods"]["margin"]["epz"] = 1
    write_config(root, wrong)
    done = attempt(root, "-n")
    write_config(root, config)
    output = done.stdout + done.stderr
    assert done.returncode != 0 and "2 problems in the configuration" in output
    assert "repetitions: is 0" in output and "'epz'" in output and "Traceback" not in output


@pytest.fixture(scope="module")
def small(tmp_path_factory, source):
    """The project's own experiments at the smallest scale, on one core."""
    root = workflow_in(tmp_path_factory.mktemp("one"), source, "configs", "data/published", "notebooks")
    snakemake(root, "-c1", "--config", "scale=smoke")
    return root


def test_one_core_and_two_give_the_same_bytes_and_one_experiment_can_be_asked_for(small, source, tmp_path):
    other = workflow_in(tmp_path / "two", source, "configs", "data/published")
    output = snakemake(other, "-c2", "theory", "--config", "scale=smoke")
    assert "smaller than the paper: repetitions" in output
    assert not (other / "results" / "alignment" / "summary.json").exists()
    missing = (other / "results" / "alignment" / "index.html").read_text()
    assert "has no results here" in missing and (other / "results" / "index.html").is_file()
    snakemake(other, "-c2", "--config", "scale=smoke")
    assert exact(small / "results", other / "results") == []
    for corpus in ("alignment/synthetic.zip", "theory/clusters.zip"):
        ready = [root / "data" / "ready" / "smoke" / corpus for root in (small, other)]
        assert ready[0].read_bytes() == ready[1].read_bytes()


def test_a_killed_run_goes_on_to_the_same_bytes(small, source, tmp_path):
    root = workflow_in(tmp_path / "killed", source, "configs", "data/published")
    command = [*SNAKEMAKE, "-c1", "theory", "--config", "scale=smoke"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=root, env=environment(source), start_new_session=True, **quiet)
    waited = time.monotonic()
    cache = root / ".cache" / "runs" / "smoke" / "theory"
    while len(list(cache.glob("*.train.zip"))) < 5 and time.monotonic() - waited < 120:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in cache.glob("*.train.zip")}
    assert 5 <= len(finished) < 29
    snakemake(root, "--unlock")
    snakemake(root, "-c2", "theory", "--config", "scale=smoke")
    assert all(path.stat().st_mtime_ns == then for path, then in finished.items()), (
        "what was done is not done again"
    )
    differences = exact(small / "results" / "theory", root / "results" / "theory")
    assert {difference.where for difference in differences} <= {"index.html"}, (
        "its contents name alignment too"
    )
    own = Path("results", "scales", "smoke", "theory")
    assert exact(small / own, root / own) == []


def test_the_notebook_runs_on_these_results(small, source, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(source))
    notebook = nbformat.read(small / "notebooks" / "alignment.ipynb", as_version=4)
    where = {"metadata": {"path": str(small / "notebooks")}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    shown = json.dumps(notebook)
    assert "generative" in shown and "image/png" in shown and "scale smoke" in shown
    assert "Figure 2 left" in shown, "the places that statements are about"
