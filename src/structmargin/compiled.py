"""One way to compile a hot loop: `@compiled` is numba's njit with an on-disk cache where one can be kept.

Divisions follow IEEE rules (no check for zero), so that loops with divisions vectorise.
Where neither the package's folder nor the user's cache folder can be written, everything
still works: functions are compiled anew in each process, and one warning says so.

numba keeps compiled code until the file it is from changes, and with it the compiled code of other files
that it calls and the constants it read, as they were then. `compiled` therefore marks what is kept by all
files that have to do with compiled code, those that name numba or this module: where any of them changes, all
is compiled anew. (A test holds that compiled functions take nothing from other files; where these change,
nothing is compiled.) The mark is part of the version that numba compares first, before it reads what else
the file says: that may name modules that are gone.

Compiled code must not call `argsort`. numba makes it and `sort` from one factory, and tells the two apart
in its cache only by a counter that begins anew in each process: where one process compiled a function
with the one and another process a function with the other, a third that loads both from the cache takes
one for the other, and gets wrong numbers.
"""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core import event

_warned = False


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` without the interpreter; arguments fix the types at the first call."""
    global _warned
    try:
        made: Any = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
        cache_file = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if cache_file is not None:
            cache_file._version = (cache_file._version, _stamp())
        done: Callable[..., Any] = made
        return done
    except RuntimeError as error:
        if not _warned:
            _warned = True
            warnings.warn(
                f"compiled code is not kept between runs ({error}); "
                "set NUMBA_CACHE_DIR to a folder that can be written to start faster",
                RuntimeWarning,
                stacklevel=2,
            )
        return numba.njit(error_model="numpy", nogil=True)(function)


class _OnCompiling(event.Listener):
    """Calls `tell` when a function begins to be compiled, the first time only."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell, self.told = tell, False

    def on_start(self, event: Any) -> None:
        if not self.told:
            self.told = True
            self.tell()

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


@contextmanager
def on_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if, inside this context, code has to be compiled because no cache holds it."""
    with event.install_listener("numba:compile", _OnCompiling(tell)):
        yield


@functools.cache
def _stamp() -> str:
    """A digest of every file of the package that has to do with compiled code, and of its place."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"numba" in source or b"structmargin.compiled" in source:
            digest.update(path.relative_to(package).as_posix().encode() + hashlib.sha256(source).digest())
    return digest.hexdigest()
