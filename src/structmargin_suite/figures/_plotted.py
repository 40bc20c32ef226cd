"""What a figure plots, as numbers: its panels with their series, for pages and for who does not see it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import matplotlib.colors
from matplotlib.container import ErrorbarContainer

MOST_POINTS = 4000
"""A figure with more points than this, such as a picture drawn in dots, is not kept as numbers."""


def plotted(fig: Any) -> list[dict[str, Any]]:
    """The panels of a figure: title, names and kinds of both axes, words along x, and the named series."""
    names = {_look(line): label for ax in fig.axes for line, label in _lines(ax) if label}
    panels = [_panel(ax, names) for ax in fig.axes]
    panels = [panel for panel in panels if panel["series"]]
    total = sum(len(series["points"]) for panel in panels for series in panel["series"])
    return panels if total <= MOST_POINTS else []


def _panel(ax: Any, names: dict[Any, str]) -> dict[str, Any]:
    """One panel; where words stand along y, the panel is turned so that they stand along x."""
    series = []
    across, along = _words(ax.xaxis), _words(ax.yaxis)
    turned = bool(along) and not across
    for line, label in _lines(ax):
        x, y = line.get_xdata(), line.get_ydata()
        if turned:
            x, y = y, x
        points = [[_short(a), _short(b)] for a, b in zip(x, y, strict=False) if _finite(a) and _finite(b)]
        paper = str(line.get_markerfacecolor()) == "white"
        name = label or names.get(_look(line), "")
        if points and (name or line.get_marker() not in ("None", "", None)):
            series.append({
                "name": name or ("the paper" if paper else ""), "paper": paper,
                "colour": matplotlib.colors.to_hex(line.get_color()), "points": points,
            })  # fmt: skip
    axes = [
        (ax.get_xlabel() or _shared(ax, "x"), ax.get_xscale()),
        (ax.get_ylabel() or _shared(ax, "y"), ax.get_yscale()),
    ]
    (x_name, x_scale), (y_name, y_scale) = reversed(axes) if turned else axes
    return {
        "title": ax.get_title() or ax.get_title(loc="left"),
        "x": x_name,
        "y": y_name,
        "log_x": x_scale == "log",
        "log_y": y_scale == "log",
        "labels": along if turned else across,
        "series": series,
    }


def _lines(ax: Any) -> Iterator[tuple[Any, str]]:
    """The lines of a panel with their labels; those of error bars have the label of the whole."""
    bars = {
        id(container.lines[0]): container.get_label()
        for container in ax.containers
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None
    }
    for line in ax.get_lines():
        label = str(bars.get(id(line), line.get_label()))
        if line.get_transform() == ax.transData:
            yield line, "" if label.startswith("_") else label


def _look(line: Any) -> tuple[str, ...]:
    return (
        matplotlib.colors.to_hex(line.get_color()),
        str(line.get_marker()),
        str(line.get_markerfacecolor()),
    )


def _shared(ax: Any, axis: str) -> str:
    """The name of an axis that panels beside or below have for all."""
    twins = [other for other in ax.figure.axes if getattr(other, f"get_{axis}label")()]
    labels = {getattr(other, f"get_{axis}label")() for other in twins}
    return labels.pop() if len(labels) == 1 else ""


def _words(axis: Any) -> list[list[Any]]:
    """Places along an axis that are named by words."""
    places, texts = axis.get_ticklocs(), axis.get_ticklabels()
    named = [[_short(place), text.get_text()] for place, text in zip(places, texts, strict=False)]
    named = [[place, text] for place, text in named if text]
    return named if any(not _is_number(text) for _, text in named) else []


def _is_number(text: str) -> bool:
    try:
        float(text.replace("−", "-").replace("$\\mathdefault{", "").split("^")[0].strip("}$") or "0")
    except ValueError:
        return False
    return True


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _short(value: Any) -> float:
    return float(f"{float(value):.6g}")
