"""Problems in Python for worker processes: they are imported there, so they have a module of their own."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.toy_chain import ToyChain
from structmargin.cuts import SearchError


@dataclass(frozen=True)
class Noted(ToyChain):
    """Leaves a file for each process that unpickles it, and one for each that searches."""

    folder: str = ""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with Path(self.folder, f"unpickled-{os.getpid()}").open("a") as file:
            file.write("x")

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
        Path(self.folder, f"searched-{os.getpid()}").touch()
        return super().augmented_argmax(f, x, y, H)


@dataclass(frozen=True)
class Dies(ToyChain):
    """Ends its process in a search that comes after `allowed` others, unless that is process `spared`."""

    spared: int = 0
    folder: str = ""
    allowed: int = 60

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
        with Path(self.folder, "searches").open("a") as file:
            file.write("x")
            file.flush()
            if os.getpid() != self.spared and Path(file.name).stat().st_size > self.allowed:
                os._exit(3)
        return super().augmented_argmax(f, x, y, H)


class OddError(Exception):
    """An error that cannot be unpickled: what it is made of is not what it keeps."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


@dataclass(frozen=True)
class Raises(ToyChain):
    """Raises for the examples whose first feature is above a bound."""

    kind: str = "search"
    bound: float = 0.0

    def augmented_argmax(self, f: Any, x: Any, y: Any, H: Any) -> Any:
        if float(x[0, 0]) > self.bound:
            raise {"search": SearchError("no"), "odd": OddError(1, 2), "plain": KeyError("lost")}[self.kind]
        return super().augmented_argmax(f, x, y, H)


@dataclass(frozen=True)
class Locked(ToyChain):
    """Cannot be pickled."""

    lock: Any = field(default_factory=threading.Lock, compare=False)
