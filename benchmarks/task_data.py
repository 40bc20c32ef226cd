"""The data of tasks, cached for all processes of a comparison: reading takes longer than training."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers import Data
from tasks import TASKS

VARIABLE = "STRUCTMARGIN_BENCH_CACHE"


@contextmanager
def cached() -> Iterator[None]:
    """Inside this block, what one process has read the others load from a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[VARIABLE]


def load(name: str, n: int | None = None) -> Data:
    """The first n examples of a task, or all."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return TASKS[name].load(n)
    file = Path(folder) / f"{name} {n or 'all'}"
    if file.is_file():
        data: Data = pickle.loads(file.read_bytes())
        return data
    data = TASKS[name].load(n)
    file.write_bytes(pickle.dumps(data))
    return data
