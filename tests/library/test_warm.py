"""Compiling all hot loops: every one is reached, and done once; numba is not loaded before it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from structmargin import compiled
from structmargin.warm import pool, trainings

NOT_IN_TRAINING = {
    "structmargin.oracles.viterbi_by_distance.by_distance",
    "structmargin.dual.stores.product_store.gathered",
    "structmargin.dual.compiled_cuts.scattered",
}
"""A hot loop that is there for whoever calls it, one that only long ascents come to, and one that others
contain: with code from the cache, what an implementation under `overload` calls cannot be seen."""


def called_by(function: compiled.Compiled) -> set[str]:
    """The hot loops that one calls: with code from the cache, these have no types of their own."""
    plain = function.__wrapped__  # type: ignore[attr-defined]
    named = [plain.__globals__.get(name) for name in plain.__code__.co_names]
    return {full_name(other) for other in named if isinstance(other, compiled.Compiled)}


def full_name(function: compiled.Compiled) -> str:
    return f"{function.__module__}.{function.__wrapped__.__name__}"  # type: ignore[attr-defined]


def test_the_trainings_run_every_hot_loop() -> None:
    for name in trainings.TRAININGS:
        trainings.run(name)
    ours = {full_name(f): f for f in compiled.FUNCTIONS if f.__module__.startswith("structmargin.")}
    reached, new = set(), {name for name, f in ours.items() if f.dispatcher.signatures}
    while new:
        reached |= new
        new = set().union(*(called_by(ours[name]) for name in new)) - reached
    assert set(ours) - reached <= NOT_IN_TRAINING


COMPILE = """
import json, sys
from pathlib import Path
from structmargin.compiled import compiled
from structmargin.warm import pool, trainings

@compiled
def double(x):
    return 2 * x

trainings.TRAININGS = {"whole": lambda: double(int(1)), "real": lambda: double(1.0)}

if __name__ == "__main__":
    class Here:
        def __init__(self, *_): pass
        def __enter__(self): return self
        def __exit__(self, *_): pass
        map = staticmethod(map)
    pool.ProcessPoolExecutor = Here
    counts = [pool.compile_all(1), pool.compile_all(1)]
    note = Path(pool.h_value.dispatcher._cache.cache_path) / "warm.txt"
    _, *indices = note.read_text().splitlines()
    Path(indices[0]).unlink()
    counts.append(pool.compile_all(1))
    print(json.dumps([counts, [Path(index).name.split("-")[0] for index in indices]]))
"""


def test_what_is_compiled_is_compiled_once_and_again_where_it_is_gone(tmp_path: Path) -> None:
    """With two trainings of one function of the test's own, in one process."""
    program = tmp_path / "program.py"
    program.write_text(COMPILE)
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    counts, names = json.loads(run.stdout)
    assert counts == [1, 0, 1] and names == ["program.double"]


def test_where_nothing_can_be_kept_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.h_value, "dispatcher", type("NoCache", (), {"_cache": None})())
    monkeypatch.setattr(pool, "ProcessPoolExecutor", None)
    assert pool.compile_all() is None


def test_importing_loads_no_compiler() -> None:
    program = (
        "import sys; from structmargin import JKSE, StructuredSVM, registry; print('numba' in sys.modules)\n"
        "from structmargin.formulation import FORMULATIONS, h_value\n"
        "print(h_value(FORMULATIONS['SVM1 slack'].H, 2.0, 0.25), 'numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "1.5", "True"]


def test_a_constant_is_compiled_as_a_number(tmp_path: Path) -> None:
    """Where a variable begins as 0, numba alone compiles what it calls for 0 and then for any number."""
    (tmp_path / "counting.py").write_text(
        "from structmargin.compiled import compiled\n\n"
        "@compiled\ndef add(total, x):\n    return total + x\n\n"
        "@compiled\ndef count(xs):\n    total = 0\n    for x in xs:\n        total = add(total, x)\n"
        "    return total\n"
    )
    program = (
        "import numpy as np; from counting import add, count\n"
        "print(count(np.arange(5)), len(add.dispatcher.signatures), len(count.dispatcher.signatures))"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["10", "1", "1"]
