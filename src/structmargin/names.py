"""Names that nobody knows, and the known ones that are most like them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MIN_SIMILARITY = 0.5
"""Below this share of equal letters (difflib's ratio) a name is not offered as what was meant."""


def nearest(name: str, known: Iterable[str], n: int = 1, cutoff: float = MIN_SIMILARITY) -> list[str]:
    """At most `n` known names that are most like `name`, whatever the case of letters, the best first."""
    by_lower = {item.lower(): item for item in known}
    return [by_lower[lower] for lower in difflib.get_close_matches(name.lower(), list(by_lower), n, cutoff)]
