"""What a data set measures, by name, so that a config that asks for something else is told beforehand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

SUBSETS = ("train", "validation", "test")
"""Parts of a split that are scored; each measure has the name of its part before its own."""
Score = Callable[[Any, Any], dict[str, float]]


def measures(*names: str, beside: tuple[str, ...] = ()) -> Callable[[Score], Score]:
    """Mark a `score` with the names that it may return, and with further parts of splits that it is used on.

    The marked function refuses to return another name.
    """

    def mark(score: Score) -> Score:
        @functools.wraps(score)
        def marked(Y: Any, Yhat: Any) -> dict[str, float]:
            found = score(Y, Yhat)
            strange = [name for name in found if name not in names]
            if strange:
                raise ValueError(f"score measured {strange[0]!r}, which it is not marked with: {names}")
            return found

        marked.columns = tuple(f"{part}_{name}" for part in (*SUBSETS, *beside) for name in names)  # type: ignore[attr-defined]
        return marked

    return mark
