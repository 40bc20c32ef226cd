"""Figures over all experiments: ours against the papers' numbers, one panel per table and measure."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from structmargin_suite.analysis.distances import compared_cells
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.files import write_with

PANELS_IN_A_ROW = 4
LONGEST_LINE = 32
"""Characters of a title over a panel."""
FILLED, HOLLOW = "primary reading", "other readings"


def draw_distances(results: Mapping[str, ExperimentResults], path: Path) -> bool:
    """Draw every cell that has a distance as SVG, ours against the paper's; False where there is none."""
    from structmargin_suite.figures import PLAIN
    from structmargin_suite.figures._style import house

    cells = compared_cells(results)
    with house() as plt:
        panels = list(cells.groupby(["experiment", "table", "measure"], sort=False))
        rows = max(1, math.ceil(len(panels) / PANELS_IN_A_ROW))
        fig = plt.figure(figsize=(2.4 * PANELS_IN_A_ROW, 2.3 * rows), layout="constrained")
        for place, ((name, table, measure), panel) in enumerate(panels):
            ax = fig.add_subplot(rows, PANELS_IN_A_ROW, place + 1)
            _panel(ax, panel)
            ax.set_title(_title(results[name], table, measure), fontsize=8)
        if panels:
            fig.supxlabel("the paper's number", fontsize=8)
            fig.supylabel("ours, with one standard error", fontsize=8)
            handles, labels = _legend(fig)
            fig.legend(handles, labels, loc="outside upper right", ncols=2)
        else:
            fig.text(0.5, 0.5, "no table has numbers of the paper's own data yet", ha="center", va="center")
        write_with(path, lambda temporary: fig.savefig(temporary, format="svg", metadata=PLAIN["svg"]))
        plt.close(fig)
    return bool(panels)


def _title(results: ExperimentResults, table: str, measure: str) -> str:
    """What a panel shows as people call it: the experiment, and how the table's caption begins."""
    spec = results.config["tables"][table]
    begins = re.split(r"[:;,.(]", spec["caption"], maxsplit=1)[0].strip()
    name = spec.get("names", {}).get(measure, measure.replace("_", " "))
    lines = (results.config["title"], f"{begins}: {name}")
    return "\n".join(textwrap.fill(line, LONGEST_LINE) for line in lines)


def _legend(fig: Any) -> tuple[list[Any], list[str]]:
    """One entry for each kind of point in any panel."""
    found: dict[str, Any] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _panel(ax: Any, cells: pd.DataFrame) -> None:
    """Ours against the paper's, with the line on which both are equal."""
    from structmargin_suite.figures._style import COLOURS, GREY

    both = pd.concat([cells["published"], cells["value"]])
    spread = cells["spread"].fillna(0.0)
    low = min(float(both.min()), float((cells["value"] - spread).min()))
    high = max(float(both.max()), float((cells["value"] + spread).max()))
    room = 0.08 * (high - low) or 0.5
    ends = [low - room, high + room]
    ax.plot(ends, ends, color=GREY, linewidth=0.8)
    for primary, shown in cells.groupby(cells["primary"].astype(bool), sort=True):
        ax.errorbar(
            shown["published"],
            shown["value"],
            yerr=shown["spread"].fillna(0.0),
            fmt="o",
            markersize=3.5,
            color=COLOURS[0],
            markerfacecolor=COLOURS[0] if primary else "white",
            elinewidth=0.8,
            label=FILLED if primary else HOLLOW,
        )
    ax.set(xlim=ends, ylim=ends)
    ax.tick_params(labelsize=7)
