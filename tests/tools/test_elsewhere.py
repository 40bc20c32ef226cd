"""The workflow elsewhere: on a SLURM of one node and without a shared disk, the same bytes as on one core.

`make test` runs four experiments at smoke scale in each of these ways, `make test-long` all ten. Where
SLURM's programs or rsync are missing, or a plugin cannot be had, the test says so in one line and leaves that
part out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from helpers.cluster import Cluster, missing
from helpers.outcomes import ALL
from helpers.toy_project import HERE, project
from structmargin_suite.planning.plan import load
from structmargin_suite.planning.resources import MIN_MB
from structmargin_suite.publish.compare import exact, stable

PLUGINS = {"SLURM": "requirements-slurm.txt", "storage": "requirements-storage.txt"}
SUITE = yaml.safe_load((HERE / "configs" / "suite.yaml").read_text(encoding="utf-8"))
EXPERIMENTS: list[str] = SUITE["experiments"] if ALL else ["alignment", "theory", "taxonomy", "diversity"]
SMOKE = ("--config", "scale=smoke")
SECONDS = 1500
HALF = -(-len(EXPERIMENTS) // 2)
"""So many trainings, or so many tables, are one job of the cluster."""
AS_IT_WAS = {"Snakefile", "workflow", "profiles", "configs", "data", ".snakemake", "snakemake.log"}


def plugin(name: str, folder: Path) -> bool:
    """Install a plugin of Snakemake's into a folder of its own; the environment stays without it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--retries",
        "1",
        "--require-hashes",
        "--target",
        str(folder),
        "-r",
        str(HERE / PLUGINS[name]),
    ]
    return subprocess.run(command, capture_output=True, timeout=120).returncode == 0


def start(root: Path, environment: dict[str, str], *options: str) -> subprocess.Popen[str]:
    """Begin a run of the workflow in a folder; what it says goes into snakemake.log there."""
    fixed = {"PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
    source = os.pathsep.join([str(HERE / "src"), *filter(None, [environment.get("PYTHONPATH")])])
    with open(root / "snakemake.log", "w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *options],
            cwd=root,
            env={**environment, **fixed, "PYTHONPATH": source},
            stdout=log,
            stderr=log,
        )


def submitted(root: Path, run: subprocess.Popen[str], logs: Callable[[], str] = str) -> int:
    """Wait for a run's end and expect success; returns how many jobs a cluster was given."""
    code = run.wait(SECONDS)
    assert code == 0, (root / "snakemake.log").read_text() + logs()
    own = [path.read_text() for path in (root / ".snakemake" / "log").glob("*.log")]
    return sum(text.count("has been submitted with SLURM jobid") for text in own)


def workflow_in(root: Path) -> Path:
    """The workflow's own files in a folder."""
    shutil.copy(HERE / "Snakefile", root / "Snakefile")
    for folder in ("workflow", "profiles"):
        shutil.copytree(HERE / folder, root / folder)
    return root


def whole(root: Path) -> Path:
    """A folder with all that the suite reads but data, for the experiments that are tried."""
    root.mkdir()
    for folder in ("configs", "data/published"):
        shutil.copytree(HERE / folder, root / folder)
    suite = yaml.safe_dump({**SUITE, "experiments": EXPERIMENTS})
    (root / "configs" / "suite.yaml").write_text(suite, encoding="utf-8")
    return workflow_in(root)


def gathered() -> list[str]:
    """Options for few jobs of the cluster, HALF trainings or tables in each, one at a time in its memory."""
    groups = yaml.safe_load((HERE / "profiles" / "slurm" / "config.yaml").read_text())["groups"]
    groups |= {f"tabulate_{name}": "tables" for name in EXPERIMENTS}
    return [
        *("--groups", *(f"{rule}={group}" for rule, group in groups.items())),
        *("--group-components", f"fit={HALF}", f"tables={HALF}", "--resources", f"mem_mb={MIN_MB}"),
        *("--seconds-between-status-checks", "1", "--slurm-init-seconds-before-status-checks", "1"),
    ]


def n_gathered(root: Path) -> int:
    """How many jobs of the cluster these are: the trainings of an experiment may be several."""
    trainings = sum(len(each.jobs) for each in load(root, "smoke", library=False).experiments.values())
    return -(-trainings // HALF) + -(-len(EXPERIMENTS) // HALF)


def storage(folder: Path) -> list[str]:
    """Options for a run that shares no disk with its jobs: every file goes through a folder as storage."""
    return [
        *("--shared-fs-usage", "none", "--default-storage-provider", "fs"),
        *("--default-storage-prefix", str(folder / "store"), "--local-storage-prefix", str(folder / "local")),
    ]


def ready(name: str, lacking: list[str], folder: Path) -> bool:
    """Whether a part of the test can be done; where it cannot, one line says why."""
    if lacking:
        print(f"{', '.join(lacking)} missing here: {name} was not tried")
    elif not plugin(name, folder):
        print(f"the plugin of {PLUGINS[name]} cannot be had: {name} was not tried")
    else:
        return True
    return False


def test_a_cluster_and_a_run_without_a_shared_disk_give_the_same_bytes(tmp_path):
    plugins = {name: tmp_path / f"plugin for {name}" for name in PLUGINS}
    slurm = ready("SLURM", missing(), plugins["SLURM"])
    rsync = [] if shutil.which("rsync") else ["rsync"]
    unshared = ready("storage", rsync, plugins["storage"])
    toy = workflow_in(project(tmp_path / "toy"))
    local, remote, apart = whole(tmp_path / "local"), tmp_path / "remote", whole(tmp_path / "apart")
    # As README says: the data first, without the cluster; here once for both.
    assert start(local, dict(os.environ), "--cores", "1", "--until", "prepare", *SMOKE).wait(SECONDS) == 0
    shutil.copytree(local, remote)
    runs = {local: start(local, dict(os.environ), "--cores", "1", *SMOKE)}
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [(run.terminate(), run.wait()) for run in runs.values()])
        if unshared:
            there = {**os.environ, "PYTHONPATH": str(plugins["storage"])}
            runs[apart] = start(apart, there, "--cores", "1", *SMOKE, *storage(tmp_path / "apart files"))
        if slurm:
            cluster = stack.enter_context(Cluster(tmp_path / "cluster"))
            there = {**cluster.environment, "PYTHONPATH": str(plugins["SLURM"])}
            profile = ("--workflow-profile", "profiles/slurm")
            runs[remote] = start(remote, there, *profile, *SMOKE, *gathered())
            with_sacct = ("--workflow-profile", "profiles/slurm-with-sacct")
            runs[toy] = start(toy, there, "toy", "--until", "prepare", *with_sacct)
            assert submitted(toy, runs[toy], cluster.logs) == 1
            assert (toy / "data" / "ready" / "standard" / "toy").is_dir()
            assert submitted(remote, runs[remote], cluster.logs) == n_gathered(remote)
        assert submitted(local, runs[local]) == 0
        if unshared:
            assert submitted(apart, runs[apart]) == 0
    assert not slurm or all(daemon.returncode is not None for daemon in cluster.daemons)
    held = stable(local / "results")
    assert all(f"{name}/summary.json" in held for name in EXPERIMENTS)
    if slurm:
        assert exact(local / "results", remote / "results") == []
    if unshared:
        assert exact(local / "results", tmp_path / "apart files" / "store" / "results") == []
        assert {path.name for path in apart.iterdir()} <= AS_IT_WAS, "nothing was written beside the storage"
