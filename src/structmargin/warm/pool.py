"""Compile every hot loop once, several processes side by side, and note that it is done.

The processes share what they compile through numba's cache on disk. Two that compile types of one function at
the same moment may overwrite each other's entry there; so the trainings are run again by new processes until
these find everything compiled. A file in the cache then lists what it holds, by which a later call sees at
once that nothing is left to do.
"""

from __future__ import annotations

import multiprocessing
import platform
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from structmargin.compiled import FUNCTIONS, on_compiling, stamp
from structmargin.formulation import h_value

MAX_ROUNDS = 3
"""Twice at most what was overwritten is compiled again."""


def compile_all(n_jobs: int | None = None) -> int | None:
    """Compile what is not compiled yet by `n_jobs` processes, one per core where that is None.

    Returns how many functions are compiled, 0 if all were before, or None where no compiled code can be kept.
    """
    cache_path = getattr(h_value.dispatcher._cache, "cache_path", None)
    if cache_path is None:
        return None
    note = Path(cache_path) / "warm.txt"
    if _is_complete(note):
        return 0
    import joblib

    from structmargin.warm.trainings import TRAININGS

    workers = max(1, min(len(TRAININGS), joblib.cpu_count() if n_jobs is None else n_jobs))
    indices: set[str] = set()
    for _ in range(MAX_ROUNDS):
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            done = list(pool.map(_train, TRAININGS))
        indices |= {path for _, paths in done for path in paths}
        if not any(has_compiled for has_compiled, _ in done):
            break
    note.write_text("\n".join([_key(), *sorted(indices)]) + "\n")
    return len(indices)


def _train(name: str) -> tuple[bool, list[str]]:
    """Run a training; returns whether it compiled anything, and the cache's files of what it ran."""
    from structmargin.warm.trainings import run

    compiling: list[bool] = []
    with on_compiling(lambda: compiling.append(True)):
        run(name)
    ran = [function.dispatcher for function in FUNCTIONS if function.dispatcher.signatures]
    return bool(compiling), [dispatcher._cache._cache_file._index_path for dispatcher in ran]


def _is_complete(note: Path) -> bool:
    """Whether a note is about this code and machine, and the files that it lists are there."""
    if not note.is_file():
        return False
    key, *indices = note.read_text().splitlines()
    return key == _key() and all(Path(path).is_file() for path in indices)


def _key() -> str:
    """What compiled code depends on: ours, numba's and Python's versions, and the processor."""
    import numba
    from numba.core.registry import cpu_target

    processor: Any = cpu_target.target_context.codegen().magic_tuple()
    return repr((stamp(), numba.__version__, platform.python_version(), processor))
