"""Street pictures with boxes: photographs, or cars drawn by rule, which say so in their title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.experiments.localization import cars_and_detections
from structmargin_suite.datasets.uiuc_cars import pictures_of
from structmargin_suite.datasets.uiuc_cars.detection import correct, ellipse
from structmargin_suite.figures._style import COLOURS
from structmargin_suite.results import ExperimentResults

TITLE = "cars drawn by rule, in place of photographs"
N_SHOWN = 8
"""Images with detections, for each level of noise."""


def _picture(ax: Any, image: np.ndarray, title: str = "") -> None:
    ax.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest", rasterized=True)
    ax.set_title(title)
    ax.axis("off")


def _box(ax: Any, box: np.ndarray, colour: str, style: Any = "-", width: float = 1.4) -> None:
    top, left, bottom, r = box[:4]
    x, y = [left, r, r, left, left], [top, top, bottom, bottom, top]
    ax.plot(x, y, color="white", linewidth=width + 1.4, alpha=0.7)
    ax.plot(x, y, color=colour, linestyle=style, linewidth=width)


def _entitle(fig: Any, drawn: bool) -> None:
    if drawn:
        fig.suptitle(TITLE, fontsize=9)


def draw_examples(fig: Any, arrays: Mapping[str, np.ndarray], drawn: bool = False) -> None:
    """Three test and three training images, with two cars where possible."""
    fig.set_size_inches(7.2, 3.6 + 0.3 * drawn)
    _entitle(fig, drawn)
    axes = fig.subplots(2, 3)
    for line, subset, name in zip(axes, ("test", "train"), ("test", "training"), strict=True):
        images, n = pictures_of(arrays, subset), arrays[f"{subset}_n"]
        cars = np.split(arrays[f"{subset}_cars"], np.cumsum(n)[:-1])
        chosen = [*np.flatnonzero(n > 1)[:2], *np.flatnonzero(n == 1)][:3]
        for ax, i in zip(line, chosen, strict=False):
            _picture(ax, images[i], f"{name} image {i}")
            for car in cars[i]:
                _box(ax, car, COLOURS[4])


def draw_pyramid(fig: Any, arrays: Mapping[str, np.ndarray], drawn: bool = False) -> None:
    """The box of a test car, cut into the cells of each level."""
    fig.set_size_inches(7.2, 1.5 + 0.3 * drawn)
    _entitle(fig, drawn)
    image = pictures_of(arrays, "test")[0]
    top, left, bottom, r = arrays["test_cars"][0]
    axes = fig.subplots(1, 4)
    for level, ax in enumerate(axes, start=1):
        _picture(ax, image, f"level {level}: {level**2} histogram{'s' if level > 1 else ''}")
        for k in range(level + 1):
            y, x = top + k * (bottom - top) / level, left + k * (r - left) / level
            ax.plot([left, r], [y, y], color=COLOURS[4], linewidth=1.4)
            ax.plot([x, x], [top, bottom], color=COLOURS[4], linewidth=1.4)
        ax.set(xlim=(left - 8, r + 8), ylim=(bottom + 8, top - 8))


def draw_detections(fig: Any, results: ExperimentResults, runs: pd.DataFrame, drawn: bool = False) -> None:
    """Test images with what a run finds above its equal error point: least noise above, most below."""
    levels = sorted(runs.loc[runs["label_noise"] < 1.0, "label_noise"].unique())
    shown = [levels[0], levels[-1]] if len(levels) > 1 else levels
    fig.set_size_inches(7.2, 2.8 * len(shown) + 0.3 * drawn)
    _entitle(fig, drawn)
    panels = fig.subplots(2 * len(shown), N_SHOWN // 2).reshape(len(shown), N_SHOWN)
    for line, level in zip(panels, shown, strict=True):
        run = runs.loc[runs["label_noise"] == level, "run"].iloc[0]
        arrays, (cars, boxes_of_images) = results.ready(run), cars_and_detections(results, run)
        stride, images = int(arrays["stride"]), pictures_of(arrays, "test")
        scores = np.sort(np.concatenate([boxes[:, 4] for boxes in boxes_of_images]))[::-1]
        threshold = scores[min(sum(len(of_image) for of_image in cars), len(scores)) - 1]
        hits = correct(cars, boxes_of_images, "ellipse")
        chosen = np.linspace(0, len(images) - 1, N_SHOWN).astype(int)
        for ax, i in zip(line, chosen, strict=True):
            _picture(ax, images[i], f"r = {level:g}, image {i}")
            taken = boxes_of_images[i][:, 4] >= threshold
            for box, hit in zip(boxes_of_images[i][taken], hits[i][taken], strict=True):
                _box(ax, stride * box, COLOURS[5] if hit else COLOURS[1], "-" if hit else "--")
            found = boxes_of_images[i][taken & hits[i]]
            for car in cars[i]:
                if not any(ellipse(car, box) >= 0.0 for box in found):
                    _box(ax, stride * car, COLOURS[4], ":", 1.2)
