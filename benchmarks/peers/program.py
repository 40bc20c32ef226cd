"""Run an outside program: CPU seconds and peak memory, measured from outside; its exit status is checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from fresh import launched

from peers import PeerFailed

LIMIT = 300.0
"""Seconds of wall time after which a program is ended."""
CHILDREN = Path(__file__).resolve().parent / "children"


class Usage(NamedTuple):
    """CPU seconds and peak megabytes of a program that ended well, and what it printed."""

    cpu: float
    mb: float
    printed: str


def run(command: list[str], makes: Path, limit: float = LIMIT) -> Usage:
    """Run a program that has to make the file `makes`; one that was there before is deleted."""
    name = Path(command[0]).name
    makes.unlink(missing_ok=True)
    done = launched(command, limit)
    if done is None:
        raise PeerFailed(f"not within {limit:g} s")
    if done.status:
        last = (f"{done.stdout}\n{done.stderr}".strip().splitlines() or ["it printed nothing"])[-1]
        raise PeerFailed(f"{name} ended with status {done.status}: {last[:200]}")
    if not makes.exists():
        raise PeerFailed(f"{name} ended well but wrote no model")
    return Usage(done.cpu, done.mb, done.stdout)


def fastest(command: list[str], makes: Path, repeats: int = 3, enough: float = 6.0) -> Usage:
    """The fastest of several runs, or of fewer that take `enough` seconds; the file is the last's."""
    usages: list[Usage] = []
    while not usages or (len(usages) < repeats and sum(usage.cpu for usage in usages) < enough):
        usages.append(run(command, makes))
    return min(usages, key=lambda usage: usage.cpu)


def program(variable: str, name: str) -> tuple[Path | None, str | None]:
    """(the program, None) in the folder that a variable names, or (None, why it is not there)."""
    folder = os.environ.get(variable)
    if not folder:
        return None, f"not there: {variable} names no folder with {name}"
    path = Path(folder) / name
    if not os.access(path, os.X_OK):
        return None, f"not there: the folder of {variable} has no program {name}"
    return path, None


def python_with(variable: str, module: str) -> tuple[str | None, str | None]:
    """(a Python that imports a module, None), this one or a variable's, or (None, why there is none)."""
    for python in (os.environ.get(variable), sys.executable):
        if not python:
            continue
        try:
            done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
        except OSError as error:
            return None, f"not there: {variable} names no program that starts ({error.strerror})"
        if done.returncode == 0:
            return python, None
    return None, f"not there: {module} cannot be imported, and {variable} names no Python that can"


def child(python: str, script: str, folder: Path, settings: dict[str, Any], limit: float = LIMIT) -> Usage:
    """Run a script of children/ in another Python, on the data that stand in `folder`.

    The script prints the CPU seconds of the training alone.
    """
    command = [python, str(CHILDREN / script), str(folder), json.dumps(settings)]
    usage = run(command, folder / "w.npy", limit)
    return usage._replace(cpu=json.loads(usage.printed.strip().splitlines()[-1])["cpu"])
