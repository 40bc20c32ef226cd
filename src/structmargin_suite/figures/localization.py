"""Figures of cars in street pictures: jkse09 Figures 1 to 4 and 7, Table 1 as curves, choices, detections.

The photographs may not be passed on: each figure of them has a twin of cars drawn by rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.experiments.localization import (
    CHI2,
    ERROR,
    LINEAR,
    NOISE,
    SSVM,
    SSVM_CHI2,
    TABLE_1,
    cars_and_detections,
    kernel_values,
)
from structmargin_suite.datasets.uiuc_cars.detection import precision_recall
from structmargin_suite.figures import figure
from structmargin_suite.figures._cars import draw_detections, draw_examples, draw_pyramid
from structmargin_suite.figures._grouped import mean_curve, published
from structmargin_suite.figures._style import COLOURS, GREY, LINES, Series, grey_matrix
from structmargin_suite.results import ExperimentResults, column

METHODS = (SSVM, LINEAR, CHI2)
PAPER_SECONDS = 5 * 3600.0
DRAWN = "drawn"
"""The study of cars drawn by rule."""
COLUMNS = 3
"""Panels side by side, one for each reading."""


def _noise(results: ExperimentResults, method: str, reading: str | None = None) -> pd.DataFrame:
    """Runs of Table 1 under a reading, the primary one unless given.

    Without noise a reading of the noise changes nothing: where it has no such run, that of the other stands.
    """
    reading = results.primary(method) if reading is None else reading
    runs = results.select(TABLE_1, method=method, reading=reading)
    clean = results.select(NOISE, method=method, label_noise=0.0)
    lacks = runs["run"].isin(results.select(NOISE)["run"]).any() and not (runs["label_noise"] == 0.0).any()
    return pd.concat([clean, runs], ignore_index=True) if lacks else runs


def _first(runs: pd.DataFrame) -> str:
    """The name of a run with the least noise."""
    return str(runs.loc[runs["label_noise"].idxmin(), "run"])


def _drawn(results: ExperimentResults) -> pd.DataFrame:
    """The runs on cars drawn by rule."""
    return results.select(DRAWN)


@figure("examples")
def examples(results: ExperimentResults, fig: Any) -> None:
    """Three test and three training images."""
    draw_examples(fig, results.ready(_first(_noise(results, LINEAR))))


@figure("examples_drawn")
def examples_drawn(results: ExperimentResults, fig: Any) -> None:
    """The same of cars drawn by rule."""
    draw_examples(fig, results.ready(_first(_drawn(results))), drawn=True)


@figure("pyramid")
def pyramid(results: ExperimentResults, fig: Any) -> None:
    """A car's box cut into 1, 4, 9 and 16 cells."""
    draw_pyramid(fig, results.ready(_first(_noise(results, LINEAR))))


@figure("pyramid_drawn")
def pyramid_drawn(results: ExperimentResults, fig: Any) -> None:
    """The same of a car drawn by rule."""
    draw_pyramid(fig, results.ready(_first(_drawn(results))), drawn=True)


@figure("detections")
def detections(results: ExperimentResults, fig: Any) -> None:
    """Eight test images without noise, and with the most below one."""
    draw_detections(fig, results, _noise(results, CHI2))


@figure("detections_drawn")
def detections_drawn(results: ExperimentResults, fig: Any) -> None:
    """The same of cars drawn by rule."""
    draw_detections(fig, results, _drawn(results), drawn=True)


@figure("equal_error")
def equal_error(results: ExperimentResults, fig: Any) -> None:
    """A panel for each reading; in grey the primary one, and baselines without learning."""
    readings = results.select(TABLE_1)["reading"].unique().tolist()
    rows = -(-len(readings) // COLUMNS)
    fig.set_size_inches(8.2, 0.6 + 2.6 * rows)
    axes = fig.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    papers = results.published("localization_eer")
    for ax in axes.ravel()[len(readings) :]:
        ax.axis("off")
    handles: dict[str, Any] = {}
    for ax, reading in zip(axes.ravel(), readings, strict=False):
        for k, method in enumerate(METHODS):
            line = mean_curve(_noise(results, method, reading), "label_noise", ERROR)
            if not line.x:
                continue
            if reading != results.primary(method):
                beside = mean_curve(_noise(results, method), "label_noise", ERROR)
                ax.plot(beside.x, beside.mean, color=GREY, linewidth=0.8, linestyle=Series(k).line)
            Series(k).paper(ax, *published(papers, "label_noise", method=method), None)
            Series(k).ours(ax, *line, results.label(method))
        for k, method in enumerate(("random scores", "the middle of the image")):
            rates = column(results.select("without learning", method=method), ERROR).to_numpy()
            if len(rates):
                ax.axhline(np.mean(rates), color=GREY, linewidth=0.9, linestyle=LINES[4 + k])
                ax.text(0.0, np.mean(rates) - 1.0, method, color=GREY, fontsize=7.5, va="top")
        ax.set(title=results.reading_label(reading), ylim=(0, 100))
        ax.tick_params(labelbottom=True)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    for ax in axes[-1]:
        ax.set_xlabel("share of images with wrong boxes")
    for ax in axes[:, 0]:
        ax.set_ylabel("equal error rate (%)")
    handles["the paper"] = axes[0, 0].plot([], [], "o:", color=GREY, markerfacecolor="white")[0]
    handles["the primary reading"] = axes[0, 0].plot([], [], color=GREY, linewidth=0.8)[0]
    fig.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=5)


def _precision_recall(results: ExperimentResults, ax: Any, method: str) -> None:
    """Precision at each recall, mean over draws of the noise."""
    runs = _noise(results, method)
    recalls = np.linspace(0.01, 1.0, 100)
    for k, (level, of_level) in enumerate(runs.groupby("label_noise")):
        lines = []
        for run in of_level["run"]:
            points = precision_recall(*cars_and_detections(results, run), "ellipse")
            lines.append(_precision_at(points.precision, points.recall, recalls))
        both = np.array(lines)
        reached = np.isfinite(both).all(axis=0)
        mean, low, high = (np.where(reached, f(both, axis=0), np.nan) for f in (np.mean, np.min, np.max))
        colour, style = COLOURS[k % len(COLOURS)], LINES[k % len(LINES)]
        ax.plot(recalls, mean, color=colour, linestyle=style, label=f"r = {level:g}")
        ax.fill_between(recalls, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(xlabel="recall", xlim=(0, 1), ylim=(0, 1.02), title=results.label(method))


def _precision_at(precision: np.ndarray, recall: np.ndarray, recalls: np.ndarray) -> np.ndarray:
    """The precision where each recall is first reached; NaN where it never is."""
    first = np.searchsorted(recall, recalls - 1e-12)
    return np.where(first < len(recall), precision[np.minimum(first, len(recall) - 1)], np.nan)


@figure("precision_recall_linear")
def precision_recall_linear(results: ExperimentResults, fig: Any) -> None:
    """S-SVM and JKSE side by side."""
    fig.set_size_inches(7.2, 3.7)
    axes = fig.subplots(1, 2, sharey=True)
    for ax, method in zip(axes, (SSVM, LINEAR), strict=True):
        _precision_recall(results, ax, method)
    axes[0].set_ylabel("precision")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)


@figure("precision_recall_chi2")
def precision_recall_chi2(results: ExperimentResults, fig: Any) -> None:
    """JKSE with the chi-squared kernel, and what the text says of it at 90% noise."""
    fig.set_size_inches(3.8, 4.0)
    ax = fig.add_subplot()
    _precision_recall(results, ax, CHI2)
    ax.plot([0.0, 0.5], [0.4, 0.4], ":", color=GREY, linewidth=1.0)
    ax.plot([0.5], [0.4], "o", color=GREY, markerfacecolor="white")
    ax.text(0.01, 0.385, "text, r = 0.9", color=GREY, fontsize=7, va="top")
    ax.set_ylabel("precision")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)


@figure("kernel_matrices")
def kernel_matrices(results: ExperimentResults, fig: Any) -> None:
    """A row for each kernel, on one grey scale."""
    fig.set_size_inches(7.2, 6.4)
    axes = fig.subplots(2, 2)
    names = {"linear": "linear kernel", "chi2": "χ² kernel"}
    values = kernel_values(results, _first(_noise(results, LINEAR)), _first(_noise(results, CHI2)))
    for line, (name, pair) in zip(axes, values.items(), strict=True):
        top = float(np.quantile(np.concatenate(pair), 0.99))
        for ax, M, boxes in zip(line, pair, ("right", "random"), strict=True):
            image = grey_matrix(ax, M, top, f"{names[name]}, {boxes} boxes (mean {M.mean():.3f})")
        line[0].set(ylabel="training boxes")
        fig.colorbar(image, ax=list(line), shrink=0.9, extend="max", label="kernel, without box size")
    for ax in axes[1]:
        ax.set(xlabel="boxes in test images")


@figure("choice")
def choice(results: ExperimentResults, fig: Any) -> None:
    """A panel for each option, a line for each level of noise."""
    fig.set_size_inches(8.2, 3.4)
    axes = fig.subplots(1, 3, sharey=True)
    panels = [
        (f"{SSVM}, C", "C", "C_per_example", "C"),
        (f"{LINEAR}, nu", "nu", "nu", "ν"),
        (f"{CHI2}, nu", "nu", "nu", "ν"),
    ]
    for ax, (method, study, option, symbol) in zip(axes, panels, strict=True):
        runs = results.select(study, method=method)
        runs = runs[runs["reading"] == results.primary(method)]
        for k, (level, at_level) in enumerate(runs.groupby("label_noise")):
            Series(k).ours(ax, *mean_curve(at_level, option, ERROR), f"r = {level:g}")
        ax.set(title=results.label(method), xlabel=symbol, ylim=(0, 100))
        if study == "C":
            ax.set(xscale="log")
        else:
            ax.set(xlim=(0, 1.02))
    axes[0].set_ylabel("equal error rate (%)")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


@figure("training_time")
def training_time(results: ExperimentResults, fig: Any) -> None:
    """Every training as a tick, medians as markers, on a log scale; methods with the same kernel together."""
    fig.set_size_inches(5.6, 2.6)
    ax = fig.add_subplot()
    names: list[str] = []
    pairs = [(0, SSVM, NOISE), (1, LINEAR, NOISE), (3, SSVM_CHI2, "machine"), (2, CHI2, NOISE)]
    for k, method, study in pairs:
        runs = results.select(study, method=method)
        runs = runs[runs["reading"] == results.primary(method)]
        seconds = results.timed(runs)["fit_seconds"].dropna().tolist()
        if seconds:
            series, place = Series(k), len(names)
            names.append(results.label(method))
            ax.plot(seconds, [place] * len(seconds), "|", color=series.colour, markersize=9)
            ax.plot([np.median(seconds)], [place], marker=series.marker, color=series.colour, markersize=7)
    ax.plot([PAPER_SECONDS], [0], marker="o", color=COLOURS[0], markerfacecolor="white", markersize=7)
    ax.text(PAPER_SECONDS, 0.18, "the paper's S-SVM", ha="right", va="top", fontsize=7, color=GREY)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="CPU seconds of one training")
