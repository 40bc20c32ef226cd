"""Figures of the theorems: constraints under their bound, and the 1-slack algorithm along n."""

from __future__ import annotations

from typing import Any

from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import GREY, Series, number_ticks
from structmargin_suite.results import ExperimentResults, column


@figure("bounds")
def bounds(results: ExperimentResults, fig: Any) -> None:
    """Every run of Algorithm 1: constraints added against Theorem 18's bound."""
    ax = fig.add_subplot()
    runs = results.select("bounds")
    for k, (name, of_formulation) in enumerate(runs.groupby("formulation", sort=False)):
        bounded = of_formulation[column(of_formulation, "bound").notna()]
        series = Series(k)
        ax.plot(
            bounded["bound"].tolist(), bounded["constraints"].tolist(),
            linestyle="none", color=series.colour, marker=series.marker, alpha=0.8, label=name,
        )  # fmt: skip
    ends = [runs["constraints"].min(), runs["bound"].max()]
    ax.plot(ends, ends, color=GREY, linewidth=0.8)
    where = {"xycoords": "axes fraction", "fontsize": 8, "color": GREY}
    ax.annotate("as many as the bound allows", (0.55, 0.48), **where)
    ax.set(xscale="log", yscale="log", xlabel="Theorem 18's bound", ylabel="constraints added")
    ax.legend(ncols=2)


@figure("one_slack")
def one_slack(results: ExperimentResults, fig: Any) -> None:
    """Constraints of the 1-slack algorithm against n."""
    ax = fig.add_subplot()
    line = mean_curve(results.select("growth"), "n_train", "constraints")
    Series(0).ours(ax, *line, "1-slack, SVM1 margin")
    ax.set(xscale="log", xlabel="training examples n", ylabel="constraints added", ylim=(0, None))
    number_ticks(ax.xaxis, line.x)
    ax.legend()
