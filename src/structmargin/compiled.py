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

numba itself takes a quarter of a second and 100 MB to load: it is imported when a compiled function is first
called, and the implementations under `overload` are handed to it then.
"""

from __future__ import annotations

import functools
import hashlib
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FUNCTIONS: list[Compiled] = []
"""Every function that is, or will be, compiled."""

_lock = threading.RLock()
_pending: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_loaded = _warned = _heard = False


class Compiled:
    """A function that numba compiles: to Python a callable, to compiled code that calls it numba's own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._call: Callable[..., Any] = self._first_call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def _first_call(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function; arguments fix the types at each first call."""
        with _lock:
            _load()
            self._call = _njit(self.__wrapped__)  # type: ignore[attr-defined]
        return self._call

    @property
    def _numba_type_(self) -> Any:
        """What numba asks an object for that compiled code names."""
        return self.dispatcher._numba_type_


def compiled(function: Callable[..., Any]) -> Compiled:
    """Compile `function` without the interpreter, when it is first called."""
    FUNCTIONS.append(Compiled(function))
    return FUNCTIONS[-1]


def overload(stub: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """numba's `overload`: what compiled code runs for `stub`, chosen by the types of its arguments."""

    def note(choose: Callable[..., Any]) -> Callable[..., Any]:
        with _lock:
            _pending.append((stub, choose))
            if _loaded:
                _load()
        return choose

    return note


def _load() -> None:
    """Hand to numba what was noted for it, before anything is compiled that may need it."""
    global _loaded
    from numba.extending import overload

    _loaded = True
    while _pending:
        stub, choose = _pending.pop(0)
        overload(stub)(choose)


def _njit(function: Callable[..., Any]) -> Any:
    """numba's dispatcher of a function, with a cache if there is a place for one.

    Where compiled code calls it with a variable that began as a constant, such as 0, numba would compile it
    twice: for that constant, and for any number. Here constants count as numbers.
    """
    from numba.core import types

    number: Any = types.unliteral
    made = _cached(function)
    template_for = made.get_call_template
    made.get_call_template = lambda args, kws: template_for(
        tuple(map(number, args)), {name: number(kind) for name, kind in kws.items()}
    )
    return made


def _cached(function: Callable[..., Any]) -> Any:
    import numba

    global _warned
    try:
        made: Any = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
        cache_file = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if cache_file is not None:
            cache_file._version = (cache_file._version, stamp())
            _make_anew_what_is_damaged(cache_file)
        return made
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


def _make_anew_what_is_damaged(cache_file: Any) -> None:
    """Let numba compile again, as if it were missing, what a damaged file of its cache held."""
    load_index, load_data = cache_file._load_index, cache_file._load_data

    def index() -> Any:
        try:
            return load_index()
        except Exception:  # damaged bytes raise whatever they like
            return {}

    def data(name: str) -> Any:
        try:
            return load_data(name)
        except Exception as error:
            raise OSError(f"{name} cannot be read") from error  # which numba takes for a missing file

    cache_file._load_index, cache_file._load_data = index, data


@contextmanager
def on_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if, inside this context, code has to be compiled because no cache holds it.

    Inside another such context this one is not told: the outer one is.
    """
    from numba.core import event

    global _heard
    if _heard:
        yield
        return

    class Listener(event.Listener):
        """Tells of the first function that begins to be compiled."""

        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    _heard = True
    try:
        with event.install_listener("numba:compile", Listener()):
            yield
    finally:
        _heard = False


@functools.cache
def stamp() -> str:
    """A digest of every file of the package that has to do with compiled code, and of its place."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"numba" in source or b"structmargin.compiled" in source:
            digest.update(path.relative_to(package).as_posix().encode() + hashlib.sha256(source).digest())
    return digest.hexdigest()
