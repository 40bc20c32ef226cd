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
from helpers.workflow_runs import (
    SNAKEMAKE,
    attempt,
    copied_source,
    environment,
    in_terminal,
    snakemake,
    workflow_in,
)
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
    assert all(row["experiment"] != "toy" for row in rows)
    assert "real: 0 corpora; synthetic: 1 (toy: clusters)" in output
    assert "see results/index.html: no statement of the papers rests on this" in output
    assert "toy: 10 runs in 3 jobs, scale standard" in output and "left out: solver 'bcfw'" in output
    assert planned(root) == set() and "made again" not in snakemake(root, "-n")


def test_the_scheduler_looks_at_waiting_jobs_only_when_a_job_has_ended(source, tmp_path):
    root = project(workflow_in(tmp_path, source), {**copy.deepcopy(TOY), "jobs": {"by": ["method"]}})
    output = snakemake(root, "-c1", "--verbose", "--until", "train")
    looks, ended = output.count("Ready jobs: "), output.count("Finished jobid: ")
    assert ended >= 4 and 1 <= looks <= ended + 1, (looks, ended)


def test_in_a_pipe_it_says_first_what_it_will_do_then_a_plain_line_per_job_then_where_to_look(toy):
    root, _, output = toy
    assert not {character for character in output if not character.isprintable()} - {"\n"}
    assert (
        "11 jobs to do, about " in output
        and " on 2 cores (" in output
        and "of CPU time, partly guessed" in output
    )
    assert "8 will train, about" in output and "data: real: 0 corpora; synthetic: 1 (toy: clusters)" in output
    lines = re.findall(r"^(\d+) of 11 jobs, (\d+) %: (.+) took .+$", output, re.MULTILINE)
    assert [int(number) for number, _, _ in lines] == list(range(1, 12))
    shares = [int(share) for _, share, _ in lines]
    assert shares == sorted(shares) and shares[-1] == 100
    jobs = {f"{stage} toy method={method}" for stage in ("train", "evaluate") for method in TOY["methods"]}
    assert {title for _, _, title in lines} == jobs | {
        "prepare toy clusters", "tabulate toy", "show toy", "report", "complete",
    }  # fmt: skip
    assert "Building DAG" not in output and "rule train" not in output, "that is in Snakemake's log"
    logs = "".join(path.read_text() for path in (root / ".snakemake" / "log").glob("*.log"))
    assert "rule train:" in logs and "Finished jobid" in logs


def test_a_mistyped_experiment_and_an_own_file_that_is_not_there_are_told_in_a_sentence(toy):
    root, config, _ = toy
    done = attempt(root, "toyy")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "error: unknown experiment 'toyy'; the nearest known is 'toy'" in said
    assert "No rule to produce" not in said
    wrong = copy.deepcopy(config)
    wrong["data"]["clusters"] = {"from": "optdigits", "source": "file", "path": "data/mine.zip"}
    wrong["methods"] = {"margin": {**config["methods"]["margin"]}}
    wrong["studies"] = {"sizes": {"methods": ["margin"]}}
    wrong["tables"] = {"toy": {**config["tables"]["toy"], "keys": ["method"], "measures": ["test_f1"]}}
    write_config(
        root,
        {key: value for key, value in wrong.items() if key != "repetitions"}
        | {"scales": {"smoke": {}, "standard": {}, "paper": {}}},
    )
    done = attempt(root, "-n")
    write_config(root, config)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "data.clusters.path: path names no file for optdigits.tes" in said, said
    assert "configs/toy.yaml, line " in said and "Traceback" not in said


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


def test_another_workflow_may_give_the_rules_other_names_and_run_one_experiment(source, tmp_path):
    """As configs/README.md says it."""
    root = project(workflow_in(tmp_path, source))
    suite = {"seed": 7, "scale": "standard", "experiments": ["toy", "second"]}
    (root / "configs" / "suite.yaml").write_text(json.dumps(suite))
    write_config(root, copy.deepcopy(TOY), "second")
    text = (HERE / "configs" / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(module .+?)^```$", text, re.MULTILINE | re.DOTALL)
    assert "use rule * from structmargin as papers_*" in " ".join(text.split())
    plain = snakemake(root_with(root, block), "-s", "Yours.smk", "-n", "toy")
    assert "tabulate_toy" in plain and "tabulate_second" not in plain
    renamed = block.replace("from structmargin\n", "from structmargin as papers_*\n")
    other = snakemake(root_with(root, renamed), "-s", "Yours.smk", "-n", "papers_toy")
    assert "papers_tabulate_toy" in other and "tabulate_second" not in other


def root_with(root: Path, block: str) -> Path:
    """The folder, with a workflow that uses ours."""
    (root / "Yours.smk").write_text(block)
    return root


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
    done = attempt(root, "-c2")
    told = {"pipe": (done.returncode, done.stdout + done.stderr), "terminal": in_terminal(root, "-c2")}
    for code, output in told.values():
        assert code == 1 and "2 of 10 runs of toy failed; the next call tries them again" in output
        assert "hard,repetition=0: NotSeparableError" in output and "logs/train_method=hard.log" in output
        assert "failed: complete" in output and "results/logs/complete.log, ends with:" in output
        assert output.count("failed: ") == 1 and "At least one job" not in output and "no space" not in output
        assert "not all jobs are done; the next call goes on from here" in output
        assert "see results/toy/index.html" in output
        assert "NotSeparableError" in (root / "results" / "toy" / "index.html").read_text()
        assert not (root / "results" / "complete.json").exists()
    bar = re.findall(r"\r\x1b\[K\[([#.]{24})\] +(\d+) %, (.+?) left, now: ([^\r]+)", told["terminal"][1])
    assert bar and all(abs(text.count("#") - 24 * int(share) / 100) <= 1 for text, share, _, _ in bar)
    assert any("train toy method=hard" in now for *_, now in bar)
    assert " of 9 jobs" not in told["terminal"][1], "lines per job are for pipes"
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


def test_resources_of_another_kind_end_the_workflow_with_a_sentence(toy):
    path = toy[0] / "workflow" / "resources.yaml"
    text = path.read_text()
    path.write_text("toy: 5\n")
    done = attempt(toy[0], "-n")
    path.write_text(text)
    output = done.stdout + done.stderr
    assert done.returncode != 0 and "resources.yaml: it has no scales by experiment; correct it" in output
    assert "WorkflowError" in output and "Traceback" not in output


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
    assert {difference.where for difference in differences} <= {"index.html", "statements.md"}, (
        "the page's contents name alignment too, and a norm bound of Section 4 is judged on its runs"
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
