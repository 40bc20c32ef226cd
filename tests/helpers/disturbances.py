"""Ways to disturb a run of the workflow: kills, full disks, little memory, odd surroundings.

No hook in the suite is needed: jobs are started by bash, which reads the file that BASH_ENV names, so that a
limit or a changed variable reaches every job and not Snakemake; files that are being written have the number
of their writer in their temporary name (storage/files.py).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from helpers.workflow_runs import SNAKEMAKE, environment

T = TypeVar("T")
PATIENCE = 600.0
"""Seconds after which a run that should have come to a point is given up; no test asserts on time."""
OWN = ("data/ready/standard/toy", "results/scales/standard/toy", "results/toy", ".cache/runs/standard/toy")
SHARED = ("index.html", "statements.csv", "distances.svg", "files.json", "complete.json")


def half_finished(root: Path) -> Path:
    """A project in which one experiment of three was never run."""
    for name in OWN:
        shutil.rmtree(root / name)
    for name in SHARED:
        (root / "results" / name).unlink()
    return root


def started(root: Path) -> subprocess.Popen[str]:
    """A run of the workflow, leader of its process group."""
    return subprocess.Popen(
        [*SNAKEMAKE, "-c2"],
        cwd=root,
        env=environment(root / "src"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # it may be ignored around here
    )


def being_written(root: Path, stem: str = "") -> dict[Path, int]:
    """The temporary files that there are, of files whose names begin with `stem`, with their writers."""
    found = {}
    for folder in ("data/ready", "results", ".cache"):
        for path in (root / folder).rglob(f".{stem}*.tmp*"):
            writer = re.search(r"\.(\d+)\.tmp", path.name)
            if writer:
                found[path] = int(writer[1])
    return found


def whole_files(root: Path) -> int:
    """How many files of the experiment there are, temporary ones left out."""
    places = [root / name for name in (*OWN, *(f"results/{name}" for name in SHARED))]
    files = [path for place in places for path in (place, *place.rglob("*")) if path.is_file()]
    return sum(".tmp" not in path.name for path in files)


def until(reached: Callable[[], T], process: subprocess.Popen[str]) -> T:
    """Wait until a run has reached a point, or has ended; returns what was seen last."""
    began = time.monotonic()
    while not (seen := reached()) and process.poll() is None and time.monotonic() - began < PATIENCE:
        time.sleep(0.002)
    return seen


def kill(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Send a signal to all of a run's processes at once, and wait for their end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    process.communicate(timeout=PATIENCE)


def in_every_job(folder: Path, command: str) -> dict[str, str | None]:
    """Variables with which every job of a run begins with a command of bash."""
    file = folder / "before_every_job.sh"
    file.write_text(command + "\n")
    return {"BASH_ENV": str(file)}


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path | None]:
    """A file system of that size in memory; None where this user may not mount one."""
    folder.mkdir()
    options = f"size={megabytes}m"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk but for so many bytes; returns the file that does it."""
    ballast = disk / "ballast"
    state = os.statvfs(disk)
    with open(ballast, "wb") as handle:
        os.posix_fallocate(handle.fileno(), 0, max(state.f_bavail * state.f_frsize - left, 1))
    return ballast


@contextlib.contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """A folder in which nobody may make, change or remove a file; root needs a flag for that."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".note").write_text("as somebody left it\n")
    flagged = subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode == 0
    mode = folder.stat().st_mode
    if not flagged:
        folder.chmod(0o555)
    try:
        yield
    finally:
        if flagged:
            subprocess.run(["chattr", "-i", folder], check=True)
        else:
            folder.chmod(mode)
