"""The workflow on a cluster: a SLURM of one node gives the same bytes as this process.

Where SLURM's programs are missing, or the plugin cannot be had, the test says so in one line and passes.
"""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cluster import Cluster, missing
from test_suite_toy import HERE, TOY, project, run_all

from structsvm_suite.compare import exact, stable

PLUGIN = HERE / "requirements-slurm.txt"


def plugin(folder: Path) -> bool:
    """Install Snakemake's plugin into a folder of its own; the environment stays without it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--retries", "1", "--require-hashes", "--target", str(folder), "-r", str(PLUGIN)]
    return subprocess.run(command, capture_output=True, timeout=120).returncode == 0


def snakemake(root: Path, cluster: Cluster, plugins: Path, *options: str) -> int:
    """Run the toy experiment in a folder through the cluster; returns how many jobs the cluster was given."""
    source = os.pathsep.join([str(HERE / "src"), str(plugins)])
    fixed = {"PYTHONPATH": source, "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "snakemake", "toy", *options]
    environment = {**cluster.environment, **fixed}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told + cluster.logs()
    return told.count("has been submitted with SLURM jobid")


def test_a_cluster_gives_the_same_bytes(tmp_path):
    lacking = missing()
    if lacking:
        print(f"no SLURM here ({', '.join(lacking)} missing): the cluster was not tried")
        return
    plugins = tmp_path / "plugins"
    if not plugin(plugins):
        print("the plugin of requirements-slurm.txt cannot be had: the cluster was not tried")
        return
    config = {**copy.deepcopy(TOY), "jobs": {"by": []}}
    local, remote = project(tmp_path / "local", config), project(tmp_path / "remote", config)
    run_all(local)
    shutil.copy(HERE / "Snakefile", remote / "Snakefile")
    for folder in ("workflow", "profiles"):
        shutil.copytree(HERE / folder, remote / folder)
    with Cluster(tmp_path / "cluster") as cluster:
        first = ("--until", "prepare", "--workflow-profile", "profiles/slurm-with-sacct")
        assert snakemake(remote, cluster, plugins, *first) == 1
        rest = ("--workflow-profile", "profiles/slurm")
        assert snakemake(remote, cluster, plugins, *rest) == 2  # a training with its evaluation; the tables
    assert all(daemon.returncode is not None for daemon in cluster.daemons)
    assert len(stable(local / "results")) > 20
    assert exact(local / "results", remote / "results") == []
