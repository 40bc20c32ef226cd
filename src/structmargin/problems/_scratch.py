"""Work space that compiled searches write to, one for each thread: slices of a batch run side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Space = TypeVar("Space")


class PerThread(threading.local, Generic[Space]):
    """`value` is what `make` returns, called once in each thread that asks for it. Copies have their own."""

    def __init__(self, make: Callable[[], Space]) -> None:
        self._make = make
        self.value = make()

    def __reduce__(self) -> tuple[Any, ...]:
        return PerThread, (self._make,)
