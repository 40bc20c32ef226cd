"""What a figure plots, as numbers: its panels with their series, for pages and for who does not see it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import matplotlib.colors
from matplotlib.container import BarContainer, ErrorbarContainer

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
    across, along = _words(ax, "x"), _words(ax, "y")
    turned = bool(along) and not across
    series = _bars(ax, turned)
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
                "joined": line.get_linestyle() not in ("None", "none", " ", ""),
            })  # fmt: skip
    axes = [(_name_of(ax, "x"), ax.get_xscale()), (_name_of(ax, "y"), ax.get_yscale())]
    (x_name, x_scale), (y_name, y_scale) = reversed(axes) if turned else axes
    return {
        "title": _one_line(next((_title(each) for each in _beside(ax, "x") if _title(each)), "")),
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


def _bars(ax: Any, turned: bool) -> list[dict[str, Any]]:
    """The bars of a panel as series: those of a label, or of a colour, together.

    Bars without a name that do not begin at 0 are parts of a picture, and no values.
    """
    found: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for container in ax.containers:
        if not isinstance(container, BarContainer):
            continue
        label = str(container.get_label())
        label = "" if label.startswith("_") else label
        for bar in container.patches:
            colour = matplotlib.colors.to_hex(bar.get_facecolor())
            names[colour] = label or names.get(colour, "")
            flat = container.orientation == "horizontal"
            start, value = (bar.get_x(), bar.get_width()) if flat else (bar.get_y(), bar.get_height())
            place = bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2
            if not names[colour] and start != 0.0:
                return []
            key = colour if names[colour] else ""
            if _finite(value) and flat == turned:
                new = {"name": "", "paper": False, "colour": colour, "points": [], "joined": False}
                found.setdefault(key, new)["points"].append([_short(place), _short(value)])
    for key, series in found.items():
        series["name"] = names.get(key, "")
    return list(found.values())


def _name_of(ax: Any, axis: str) -> str:
    """The name of an axis: its own, that of panels in its column (x) or row (y), or that of all panels."""
    for twins in (_beside(ax, axis), ax.figure.axes):
        labels = {label for each in twins if (label := getattr(each, f"get_{axis}label")())}
        if own := getattr(ax, f"get_{axis}label")():
            return _one_line(own)
        if len(labels) == 1:
            return _one_line(labels.pop())
    return ""


def _beside(ax: Any, axis: str) -> list[Any]:
    """The panels of a grid in the same column (x) or row (y), itself first."""
    side = {"x": "colspan", "y": "rowspan"}[axis]
    spec = ax.get_subplotspec()
    others = [each for each in ax.figure.axes if each is not ax and each.get_subplotspec() is not None]
    same = [each for each in others if spec and getattr(each.get_subplotspec(), side) == getattr(spec, side)]
    return [ax, *same]


def _title(ax: Any) -> str:
    return str(ax.get_title() or ax.get_title(loc="left"))


def _one_line(text: str) -> str:
    return ", ".join(part.strip(" ,") for part in text.split("\n"))


def _words(ax: Any, axis: str) -> list[list[Any]]:
    """Places along an axis that are named by words, also where another panel shows them for this one."""
    twins = getattr(ax, f"get_shared_{axis}_axes")().get_siblings(ax)
    for each in (ax, *(twin for twin in ax.figure.axes if twin in twins)):
        own = getattr(each, f"{axis}axis")
        places, texts = own.get_ticklocs(), own.get_ticklabels()
        named = [[_short(place), text.get_text()] for place, text in zip(places, texts, strict=False)]
        named = [[place, _one_line(text)] for place, text in named if text]
        if any(not _is_number(text) for _, text in named):
            return named
    return []


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
