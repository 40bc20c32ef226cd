"""Data sets with a pool of training examples, of which a view takes the first n_train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def refuse(prepare: Mapping[str, Any], view: Mapping[str, Any]) -> str | None:
    """Why these parameters do not go together, or None: a view cannot take more than the pool has."""
    pool, n_train = prepare["pool"], view["n_train"]
    if n_train > pool:
        return f"n_train is {n_train}, but the pool has {pool} examples; lower n_train or enlarge pool"
    return None
