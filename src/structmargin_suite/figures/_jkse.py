"""Drawings of JKSE itself: lines along nu for each scale of the base kernel, balls beside hyperplanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.experiments.jkse import ball_and_plane
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import GREY, Series
from structmargin_suite.results import ExperimentResults

LEAST_DISTANCE = 1e-10
"""Distances below this are drawn at it: the axis is logarithmic."""


def grid_lines(ax: Any, runs: pd.DataFrame, measure: str) -> None:
    """A measure along nu, one line per scale of the base kernel."""
    for k, (scale, of_scale) in enumerate(runs.groupby("base_scale")):
        Series(k).ours(ax, *mean_curve(of_scale, "nu", measure), f"scale {scale:g}")


def draw_outliers(runs: pd.DataFrame, fig: Any) -> None:
    """Shares of outliers and of coefficients above 0 in percent, with nu between them."""
    panels = fig.subplots(1, 2, sharey=True)
    names = {"outliers": "outliers (%)", "support": "coefficients above 0 (%)"}
    for ax, (measure, name) in zip(panels, names.items(), strict=True):
        grid_lines(ax, runs, measure)
        ax.plot([0.0, 1.0], [0.0, 100.0], color=GREY, linewidth=0.8, label="ν itself")
        ax.set(xlabel="ν", ylabel=name, xlim=(0, 1.02), ylim=(0, 102))
    panels[0].legend(loc="upper left")


def draw_balls(results: ExperimentResults, runs: pd.DataFrame, fig: Any) -> None:
    """The distance of both against nu; beside it what the certificates allow where they should be one."""
    ax = fig.add_subplot()
    for k, (method, of_method) in enumerate(runs.groupby("method", sort=False)):
        ordered = of_method.sort_values("nu")
        apart = [ball_and_plane(results, run) for run in ordered["run"]]
        distances = np.maximum([one.distance for one in apart], LEAST_DISTANCE)
        longer = max(one.lengths for one in apart)
        lengths = f"lengths differ by {100.0 * longer:.0f}%" if longer > 0.0 else "equal lengths"
        series = Series(k)
        ax.plot(
            ordered["nu"], distances, color=series.colour, marker=series.marker, linestyle=series.line,
            label=f"{str(method).partition(', ')[2]} kernel: {lengths}",
        )  # fmt: skip
        if k == 0:
            allowed = [one.allowed for one in apart]
            ax.plot(ordered["nu"], allowed, color=GREY, linestyle=":", label="what the certificates allow")
    ax.set(xlabel="ν", ylabel="distance / length", yscale="log", xlim=(0, 1.02))
    ax.legend(loc="center", bbox_to_anchor=(0.5, 0.7))  # between the two kernels
