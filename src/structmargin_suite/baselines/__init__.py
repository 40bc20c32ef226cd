"""What the papers compare with, over libraries that exist where they do. One module each, all of one shape.

OPTIONS                            the parameters of `train`, as JSON schemas by name
train(X, Y, *, seed, **options)    a model with predict(X) and to_arrays()
from_arrays(arrays)                that model again
"""

from __future__ import annotations

import importlib
from types import ModuleType


def baseline(name: str) -> ModuleType:
    """The module of a baseline."""
    return importlib.import_module(f"{__name__}.{name}")
