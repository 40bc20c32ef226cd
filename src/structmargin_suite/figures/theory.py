"""Figures of the theorems: constraints under their bound, their gains and outputs, the 1-slack algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin_suite.analysis.experiments.theory import gains_of_cuts, support_margins
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import COLOURS, GREY, Series, number_ticks
from structmargin_suite.results import ExperimentResults, column, has_value

SHOWN = 200
"""Points of a line that shows a distribution."""


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


@figure("gains")
def gains(results: ExperimentResults, fig: Any) -> None:
    """By formulation, the share of constraints whose gain is below each multiple of the least allowed."""
    ax = fig.add_subplot()
    for k, (name, runs) in enumerate(results.select("bounds").groupby("formulation", sort=False)):
        cuts = [gains_of_cuts(results, run) for run in runs.itertuples()]
        ratios = np.sort(np.concatenate([(cut["raised"] / cut["least"]).to_numpy() for cut in cuts]))
        places = np.linspace(0.0, 1.0, SHOWN)  # thousands of constraints; a line of so many points shows them
        series = Series(k)
        ax.plot(np.quantile(ratios, places), places, color=series.colour, linestyle=series.line, label=name)
    ax.axvline(1.0, color=GREY, linewidth=0.8)
    ax.set(xscale="log", xlabel="gain over the least allowed", ylabel="share of constraints", ylim=(0, 1))
    ax.legend(ncols=2)


@figure("outputs")
def outputs(results: ExperimentResults, fig: Any) -> None:
    """The share of alpha on outputs that score more than a margin below the truth."""
    ax = fig.add_subplot()
    for k, name in enumerate(("SVM1 slack", "SVM1 margin")):
        runs = results.select("loss as it is", formulation=name)["run"]
        fits = [results.model(run).fit_ for run in runs]
        if fits:
            margin = np.concatenate([support_margins(fit) for fit in fits])
            alpha = np.concatenate([fit.support.alpha / fit.support.alpha.sum() for fit in fits]) / len(fits)
            order = np.argsort(margin)
            beyond = 1.0 - np.cumsum(alpha[order])
            series = Series(k)
            ax.step(
                margin[order], beyond, where="post", color=series.colour, linestyle=series.line, label=name
            )
    ax.axvline(1.0, color=GREY, linewidth=0.8)
    ax.set(
        xlabel="score of the truth minus that of the output",
        ylabel="share of the dual weight beyond",
        ylim=(0, 1),
    )
    ax.legend()


GROWTH = (("growth", "n_train", "training examples n"), ("growth with C", "C", "C"),
          ("growth with precision", "eps", "precision ε"), ("outputs", "outputs", "outputs"))  # fmt: skip
"""Of each panel: the study, the setting along which constraints grow, and its name."""


@figure("one_slack")
def one_slack(results: ExperimentResults, fig: Any) -> None:
    """Constraints of the 1-slack algorithm, a panel for each of n, C, epsilon and the number of outputs."""
    fig.set_size_inches(7.2, 5.4)
    for ax, (study, key, label) in zip(fig.subplots(2, 2).ravel(), GROWTH, strict=True):
        ax.set(xscale="log", xlabel=label, ylabel="constraints added")
        for k, method in enumerate(("1-slack", "n-slack")):
            line = mean_curve(results.select(study, method=method), key, "constraints")
            if line.x:
                Series(k).ours(ax, *line, method)
                number_ticks(ax.xaxis, line.x)
        ax.set_ylim(0, None)
        if key == "eps":
            ax.invert_xaxis()
        ax.legend()


@figure("restart_time")
def restart_time(results: ExperimentResults, fig: Any) -> None:
    """CPU seconds in the QP, restarted or not, by formulation."""
    runs = results.timed(results.select("restart"))
    names = list(dict.fromkeys(runs["formulation"]))
    ax = fig.add_subplot()
    for k, (restart, label) in enumerate(((True, "from the current solution"), (False, "from nothing"))):
        of_kind = runs[has_value(runs, "restart", restart)]
        seconds = [of_kind.loc[of_kind["formulation"] == name, "fit_seconds_qp"].mean() for name in names]
        places = [place + 0.4 * (k - 0.5) for place in range(len(names))]
        ax.barh(
            places,
            seconds,
            height=0.38,
            color=COLOURS[k],
            hatch=("", "///")[k],
            edgecolor="white",
            label=label,
        )
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xlabel="CPU seconds in the QP of one training")
    fig.legend(loc="outside upper center", ncols=2)
