"""The workflow on a cluster: a SLURM of one node gives the same bytes as one core without it.

Where SLURM's programs are missing, or the plugin cannot be had, the test says so in one line and passes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from helpers.cluster import Cluster, missing
from helpers.toy_project import HERE, project
from structmargin_suite.planning.catalogue import Catalogue
from structmargin_suite.publish.compare import exact, stable

PLUGIN = HERE / "requirements-slurm.txt"
SUITE = yaml.safe_load((HERE / "configs" / "suite.yaml").read_text(encoding="utf-8"))
SMOKE = ("--config", "scale=smoke")
SECONDS = 1500


def plugin(folder: Path) -> bool:
    """Install Snakemake's plugin into a folder of its own; the environment stays without it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--retries", "1", "--require-hashes", "--target", str(folder), "-r", str(PLUGIN)]
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


def submitted(root: Path, run: subprocess.Popen[str], cluster: Cluster) -> int:
    """Wait for a run's end and expect success; returns how many jobs the cluster was given."""
    code = run.wait(SECONDS)
    told = (root / "snakemake.log").read_text()
    assert code == 0, told + cluster.logs()
    return told.count("has been submitted with SLURM jobid")


def workflow_in(root: Path) -> Path:
    """The workflow's own files in a folder."""
    shutil.copy(HERE / "Snakefile", root / "Snakefile")
    for folder in ("workflow", "profiles"):
        shutil.copytree(HERE / folder, root / folder)
    return root


def whole(root: Path) -> Path:
    """A folder with all that the suite reads but data."""
    root.mkdir()
    for folder in ("configs", "data/published"):
        shutil.copytree(HERE / folder, root / folder)
    return workflow_in(root)


def gathered() -> list[str]:
    """Options for few jobs of the cluster, half the experiments in each, one at a time in its memory."""
    half = str(-(-len(SUITE["experiments"]) // 2))
    groups = yaml.safe_load((HERE / "profiles" / "slurm" / "config.yaml").read_text())["groups"]
    groups |= {f"tabulate_{name}": "tables" for name in SUITE["experiments"]}
    return [
        *("--groups", *(f"{rule}={group}" for rule, group in groups.items())),
        *("--group-components", f"fit={half}", f"tables={half}", "--resources", "mem_mb=4000"),
        *("--seconds-between-status-checks", "1", "--slurm-init-seconds-before-status-checks", "1"),
    ]


def test_a_cluster_gives_the_same_bytes(tmp_path):
    lacking = missing()
    if lacking:
        print(f"no SLURM here ({', '.join(lacking)} missing): the cluster was not tried")
        return
    plugins = tmp_path / "plugins"
    if not plugin(plugins):
        print("the plugin of requirements-slurm.txt cannot be had: the cluster was not tried")
        return
    toy = workflow_in(project(tmp_path / "toy"))
    local, remote = whole(tmp_path / "local"), tmp_path / "remote"
    # As README says: the data first, without the cluster; here once for both.
    assert start(local, dict(os.environ), "--cores", "1", "--until", "prepare", *SMOKE).wait(SECONDS) == 0
    shutil.copytree(local, remote)
    with Cluster(tmp_path / "cluster") as cluster:
        there = {**cluster.environment, "PYTHONPATH": str(plugins)}
        runs = [
            start(local, dict(os.environ), "--cores", "1", *SMOKE),
            start(remote, there, "--workflow-profile", "profiles/slurm", *SMOKE, *gathered()),
            start(toy, there, "toy", "--until", "prepare", "--workflow-profile", "profiles/slurm-with-sacct"),
        ]
        try:
            assert submitted(toy, runs[2], cluster) == 1
            assert (toy / "data" / "ready" / "toy").is_dir()
            assert submitted(remote, runs[1], cluster) == 2 + 2  # the trainings, the tables
            assert submitted(local, runs[0], cluster) == 0
        finally:
            for run in runs:
                run.terminate()
                run.wait()
    assert all(daemon.returncode is not None for daemon in cluster.daemons)
    volatile = frozenset(name for name, one in Catalogue(HERE).claims.items() if one.get("volatile"))
    held = stable(local / "results", volatile)
    assert all(f"{name}/summary.json" in held for name in SUITE["experiments"])
    assert exact(local / "results", remote / "results", volatile) == []
