"""What ran a job: versions of the packages that decide numbers, facts of the machine that explain times."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

DECISIVE_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

MIN_ADDRESS_SPACE = 500_000_000
"""Bytes that loading the numerical libraries takes. Where they get less, OpenBLAS asks for ever more in an
endless loop instead of giving up."""


def require_address_space() -> None:
    """Raise MemoryError where a limit (`ulimit -v`) leaves too little for the libraries to be loaded."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise MemoryError(f"ulimit -v allows {limit // 10**6} MB of the {MIN_ADDRESS_SPACE // 10**6} needed")


def one_thread() -> None:
    """Keep linear algebra to one thread in this process; call before numpy is imported."""
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


@functools.cache
def versions() -> dict[str, str]:
    """The packages whose code makes the numbers, and ours."""
    installed = {}
    for name in ("structmargin", *DECISIVE_PACKAGES):
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = "not installed"
    return installed


@functools.cache
def facts() -> dict[str, str | int | None]:
    """Processor, cores, system and Python; they differ between machines, so they are stored
    with the times."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def peak_memory_mb() -> float:
    """The most memory this process has held, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def commit(root: Path) -> str | None:
    """The commit of the working tree and whether files differ from it, where git is available."""
    head, changed = (
        _git(root, *words)
        for words in (
            ("rev-parse", "--short=12", "HEAD"),
            ("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){SNAPSHOT}"),
        )
    )
    return f"{head}, with changes" if head and changed else head


DECISIVE_PATHS = (
    "Snakefile",
    "configs",
    "data/published",
    "pyproject.toml",
    "requirements.lock",
    "src",
    "workflow",
)
"""What results follow from, of all that is in git."""
SNAPSHOT = "results/snapshot"


def tree_digest(root: Path, revision: str = "HEAD") -> str | None:
    """A digest of the content of what results follow from, as a commit has it; None without git.

    It is the SHA-256 sum of the lines that `git ls-tree -r --full-tree REVISION -- PATHS` prints for
    DECISIVE_PATHS: anyone with the files can make it again, whatever becomes of the history.
    """
    listed = _git(root, "ls-tree", "-r", "--full-tree", revision, "--", *DECISIVE_PATHS)
    return hashlib.sha256(f"{listed}\n".encode()).hexdigest() if listed else None


def _git(root: Path, *words: str) -> str | None:
    """What git says, or None where there is no git, or no repository whose top is this folder."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "timeout": 10}
    try:
        top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"], **settings).stdout
        if Path(top.strip()).resolve() != root.resolve():
            return None
        return str(subprocess.run(["git", "-C", str(root), *words], **settings).stdout).strip()
    except (OSError, subprocess.SubprocessError):
        return None
