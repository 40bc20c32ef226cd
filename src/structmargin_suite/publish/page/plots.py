"""What a figure plots, as numbers: read from figures/<name>.json, told in words, given to the page's plot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST_PANELS, MOST_SERIES = 3, 6
"""What the text beside a plot mentions at most; a longer one helps nobody."""


@dataclass(frozen=True)
class Series:
    """Points (x, y) under a name; `paper` marks numbers that a paper prints, `joined` those of a line."""

    name: str
    colour: str
    paper: bool
    joined: bool
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `labels` are words in place of numbers along x."""

    title: str
    x: str
    y: str
    log_x: bool
    log_y: bool
    labels: dict[float, str]
    series: tuple[Series, ...]

    def data(self) -> dict[str, Any]:
        """As the page's script reads it."""
        series = [
            {
                "name": s.name, "colour": s.colour, "paper": s.paper, "joined": s.joined,
                "points": [list(p) for p in s.points],
            }
            for s in self.series
        ]  # fmt: skip
        return {
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "logX": self.log_x,
            "logY": self.log_y,
            "series": series,
        }


def panels_of(stored: Sequence[dict[str, Any]]) -> list[Panel]:
    """The panels of a figure."""
    return [
        Panel(
            panel["title"],
            panel["x"],
            panel["y"],
            panel["log_x"],
            panel["log_y"],
            {float(place): text for place, text in panel["labels"]},
            tuple(
                Series(s["name"], s["colour"], s["paper"], s["joined"], tuple((x, y) for x, y in s["points"]))
                for s in panel["series"]
            ),
        )
        for panel in stored
        if panel["series"]
    ]


def names_of(panels: Sequence[Panel]) -> list[str]:
    """A name for each panel by which it can be chosen: as short as tells them apart."""
    for parts in (("title",), ("y",), ("title", "y"), ("title", "y", "x")):
        found = [", ".join(text for part in parts if (text := getattr(panel, part))) for panel in panels]
        if all(found) and len(set(found)) == len(found):
            return found
    return [f"panel {k}" for k in range(1, len(panels) + 1)]


def in_words(panels: Sequence[Panel]) -> str:
    """The plotted numbers in words: where series begin and end, are largest and smallest, and cross."""
    return " ".join(sentence for panel in panels[:MOST_PANELS] for sentence in _sentences(panel))


def _sentences(panel: Panel) -> Iterator[str]:
    axes = " against ".join(text for text in (panel.y, panel.x) if text)
    yield ": ".join(text for text in (panel.title, axes) if text) + "." if panel.title or axes else "A plot."
    ours = [series for series in panel.series if series.points]
    named = [series for series in ours if series.name]
    ours = (named or ours)[:MOST_SERIES]
    for series in ours:
        yield f"{series.name or 'Values'}: {_extremes(panel, series)}."
    if not panel.labels:
        for one, other in itertools.combinations([s for s in ours if not s.paper][:3], 2):
            yield from _crossings(one, other)


def _extremes(panel: Panel, series: Series) -> str:
    def at(point: tuple[float, float]) -> str:
        near = min(panel.labels, key=lambda place: abs(place - point[0]), default=0.0)
        place = panel.labels.get(near) or f"{point[0]:g}"
        return f"{point[1]:.3g} at {place}"

    low, high = (pick(series.points, key=lambda point: point[1]) for pick in (min, max))
    if len(series.points) == 1:
        return at(series.points[0])
    if low[1] == high[1]:
        return f"{low[1]:.3g} throughout"
    return f"smallest {at(low)}, largest {at(high)}"


def _crossings(one: Series, other: Series) -> Iterator[str]:
    """Where one series begins to be above the other, between places that both have."""
    first, second = dict(one.points), dict(other.points)
    signs = [(x, first[x] - second[x]) for x in sorted(first.keys() & second.keys()) if first[x] != second[x]]
    for (left, before), (right, after) in itertools.pairwise(signs):
        if before * after < 0:
            yield f"{one.name} and {other.name} cross between {left:g} and {right:g}."
            return
