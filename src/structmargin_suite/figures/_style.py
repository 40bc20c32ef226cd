"""The house style: readable in grey, by the colour-blind, and at a column's width in print.

Each series has a colour, a marker and a line style of its own: Okabe and Ito's palette, with brown in place
of their yellow, which is faint on white. Ours are filled and joined, the paper's are hollow in the same
colour and joined by dots.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7A5230")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1)), "-", (0, (7, 2)))
GREY = "#666666"

SETTINGS: Any = {
    "figure.figsize": (5.2, 3.4),
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "structmargin",
    "svg.fonttype": "none",  # text stays text: half the size, and it can be searched
    "pdf.fonttype": 42,
}


@contextlib.contextmanager
def house() -> Iterator[Any]:
    """matplotlib.pyplot under the house style."""
    with matplotlib.rc_context(SETTINGS):
        yield plt


class Series:
    """How the k-th series looks, ours and the paper's."""

    def __init__(self, k: int) -> None:
        self.colour = COLOURS[k % len(COLOURS)]
        self.marker = MARKERS[k % len(MARKERS)]
        self.line = LINES[k % len(LINES)]

    def ours(
        self, ax: Any, x: Sequence[float], mean: Sequence[float], spread: Sequence[float], label: str
    ) -> None:
        """A joined series with a band of one spread on either side."""
        places, y, s = np.asarray(x, float), np.asarray(mean, float), np.nan_to_num(np.asarray(spread, float))
        ax.plot(places, y, color=self.colour, marker=self.marker, linestyle=self.line, label=label)
        ax.fill_between(places, y - s, y + s, color=self.colour, alpha=0.18, linewidth=0)

    def paper(self, ax: Any, x: Sequence[float], value: Sequence[float], label: str | None) -> None:
        """The paper's points, hollow."""
        ax.plot(
            x,
            value,
            color=self.colour,
            marker=self.marker,
            markerfacecolor="white",
            linestyle=":",
            linewidth=1.0,
            label=label,
        )


def stamp(ax: Any, text: str, x: np.ndarray, y: np.ndarray, *, size: float, colour: str = "black") -> None:
    """The same short text centred at many points, in one artist: a thousand letters take no time."""
    path = TextPath((0.0, 0.0), text, size=size, prop=FontProperties(family="DejaVu Sans Mono"))
    box = path.get_extents()
    centre = Affine2D().translate(-0.5 * (box.x0 + box.x1), -0.36 * size)  # half a capital's height
    points = Affine2D().scale(1.0 / 72.0) + ax.figure.dpi_scale_trans
    ax.add_collection(
        PathCollection(
            [centre.transform_path(path)],
            offsets=np.column_stack([x, y]),
            offset_transform=ax.transData,
            transform=points,
            facecolors=colour,
            linewidths=0,
        ),
        autolim=False,
    )


def grey_matrix(ax: Any, M: np.ndarray, top: float, title: str) -> Any:
    """A matrix of values from 0 to `top` as grey pixels without ticks; returns the image."""
    image = ax.imshow(
        M, cmap="gray", vmin=0.0, vmax=top, aspect="auto", interpolation="nearest", rasterized=True
    )
    ax.set_title(title)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
    return image


def number_ticks(axis: Any, values: Sequence[float]) -> None:
    """Ticks at these values only, written plainly."""
    axis.set_ticks(list(values), [f"{value:g}" for value in values])
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
