"""Figures of performance measures: Table 1 at a glance, topic against topic, the gain on rare topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin_suite.analysis.experiments.measures import (
    DIRECT,
    MEASURES,
    RIVAL,
    cases,
    p_value_sign_test,
)
from structmargin_suite.datasets._one_vs_rest import usable_topics
from structmargin_suite.figures import figure
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS
from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.frames import records


@figure("table_1")
def table_1(results: ExperimentResults, fig: Any) -> None:
    """One panel per measure; one row per data set, with one marker per method under its primary reading."""
    fig.set_size_inches(7.2, 3.6)
    table = results.table("measures")
    datasets = table["dataset"].unique()
    cells = {
        (row["dataset"], row["method"], row["reading"] or "", row["measure"]): row for row in records(table)
    }
    panels = fig.subplots(1, len(MEASURES), sharey=True)
    pairs = [(method, results.primary(method)) for method in (DIRECT, RIVAL)]
    for ax, (measure, name) in zip(panels, MEASURES.items(), strict=True):
        for k, (method, reading) in enumerate(pairs):
            for position, data in enumerate(datasets):
                row = cells.get((data, method, reading, measure))
                if row is None or row["value"] is None:
                    continue
                place, first = position + 0.3 * (k - 0.5), position == 0
                ax.errorbar(
                    [row["value"]], [place], xerr=[row["spread"] or 0.0], linestyle="none", color=COLOURS[k],
                    marker=MARKERS[k], label=results.label(method) if first else None,
                )  # fmt: skip
                if row["published"] is not None:
                    ax.plot(
                        [row["published"]], [place + 0.08], linestyle="none", color=COLOURS[k],
                        marker=MARKERS[k], markerfacecolor="white",
                        label=f"the paper's {'structural' if method == DIRECT else 'conventional'} SVM"
                        if first
                        else None,
                    )  # fmt: skip
        ax.set(xlabel=f"{name} (%)")
    labels = table.drop_duplicates("dataset")["data"]
    panels[0].set_yticks(range(len(datasets)), [text.replace(" (", "\n(") for text in labels])
    panels[0].invert_yaxis()
    handles, names = panels[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=2)


@figure("topics")
def topics(results: ExperimentResults, fig: Any) -> None:
    """A row of panels for each data set, a column for each measure."""
    compared = cases(results, results.primary(RIVAL))
    names = list(dict.fromkeys(case.data for case in compared))
    fig.set_size_inches(7.2, 2.2 * len(names) + 0.3)
    panels = fig.subplots(len(names), len(MEASURES), squeeze=False)
    for case in compared:
        row, column = names.index(case.data), list(MEASURES).index(case.measure)
        ax = panels[row][column]
        low = min(case.direct.min(), case.rival.min(), 99.0)
        low = max(0.0, low - 0.06 * (100.0 - low))
        high = 100.0 + 0.04 * (100.0 - low)
        ax.plot([low, high], [low, high], color=GREY, linewidth=0.8)
        ax.plot(
            case.rival, case.direct, linestyle="none", color=COLOURS[row], marker=MARKERS[row],
            markersize=4.0, alpha=0.75,
        )  # fmt: skip
        won, tied, lost = case.record
        ax.text(
            0.97, 0.05, f"{won} won, {tied} tied, {lost} lost\np = {p_value_sign_test(case):.2g}",
            transform=ax.transAxes, ha="right", va="bottom", fontsize=7,
        )  # fmt: skip
        ax.set(xlim=(low, high), ylim=(low, high), box_aspect=1.0)
        if row == 0:
            ax.set_title(f"{MEASURES[case.measure]} (%)")
        if row == len(names) - 1:
            ax.set_xlabel("conventional SVM")
        if column == 0:
            ax.set_ylabel(f"{case.data}\nstructural SVM")


def shares(results: ExperimentResults, study: str) -> np.ndarray:
    """The share of positive training rows, in percent, of every topic of a study's data set."""
    run = results.select(study)["run"].iloc[0]
    arrays = results.ready(run)
    counts = arrays["train_topics"].sum(axis=0, dtype=float)[usable_topics(arrays)]
    return np.asarray(100.0 * counts / len(arrays["train_topics"]))


@figure("gain")
def gain(results: ExperimentResults, fig: Any) -> None:
    """A panel for each measure: gain in points against the share of positive rows."""
    fig.set_size_inches(7.2, 3.0)
    compared = cases(results, results.primary(RIVAL))
    rare = {case.data: shares(results, case.study) for case in compared}
    panels = fig.subplots(1, len(MEASURES))
    for ax, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        x: list[float] = []
        y: list[float] = []
        for k, name in enumerate(rare):
            case = next((case for case in compared if (case.data, case.measure) == (name, measure)), None)
            if case is None:
                continue
            shares_of_topics, points = rare[name][case.topics], case.direct - case.rival
            ax.plot(
                shares_of_topics,
                points,
                linestyle="none",
                color=COLOURS[k],
                marker=MARKERS[k],
                alpha=0.75,
                label=name,
            )
            x, y = [*x, *shares_of_topics], [*y, *points]
        order = np.argsort(x, kind="stable")
        window = max(3, len(order) // 5)
        pieces = [order[i : i + window] for i in range(len(order) - window + 1)]
        ax.plot(
            [float(np.median(np.array(x)[piece])) for piece in pieces],
            [float(np.median(np.array(y)[piece])) for piece in pieces],
            color="black", linewidth=1.2, label="running median",
        )  # fmt: skip
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.set(xscale="log", xlabel="positive training rows (%)", title=title)
        ax.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("gain (points)")
    handles, labels = panels[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5)
