"""Seconds as people say them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Seconds in words, as precise as anybody wants to know them.

    Examples
    --------
    >>> [duration(x) for x in (0.4, 20, 100, 1234, 4000)]
    ['1 s', '20 s', '1 min 40 s', '21 min', '1 h 7 min']
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
