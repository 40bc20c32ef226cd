"""Figures of cars in street pictures: jkse09 Figures 1 to 4 and 7, Table 1 as curves, detections, nu."""

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
    TABLE_1,
    cars_and_detections,
    kernel_values,
)
from structmargin_suite.datasets.uiuc_cars import pictures_of
from structmargin_suite.datasets.uiuc_cars.detection import correct, ellipse, precision_recall
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve, published
from structmargin_suite.figures._style import COLOURS, GREY, LINES, Series, grey_matrix
from structmargin_suite.results import ExperimentResults, column

METHODS = (SSVM, LINEAR, CHI2)
PAPER_SECONDS = 5 * 3600.0


def _noise(results: ExperimentResults, method: str, reading: str | None = None) -> pd.DataFrame:
    """Runs of Table 1 under a reading, the primary one unless given.

    Without noise a reading of the noise changes nothing: where it has no such run, that of the other stands.
    """
    reading = results.primary(method) if reading is None else reading
    runs = results.select(TABLE_1, method=method, reading=reading)
    clean = results.select(NOISE, method=method, label_noise=0.0)
    lacks = runs["run"].isin(results.select(NOISE)["run"]).any() and not (runs["label_noise"] == 0.0).any()
    return pd.concat([clean, runs], ignore_index=True) if lacks else runs


def _first(results: ExperimentResults, method: str) -> str:
    """The name of a run without noise."""
    runs = _noise(results, method)
    return str(runs.loc[runs["label_noise"].idxmin(), "run"])


def _picture(ax: Any, image: np.ndarray, title: str = "") -> None:
    ax.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest", rasterized=True)
    ax.set_title(title)
    ax.axis("off")


def _box(ax: Any, box: np.ndarray, colour: str, style: Any = "-", width: float = 1.4) -> None:
    top, left, bottom, r = box[:4]
    x, y = [left, r, r, left, left], [top, top, bottom, bottom, top]
    ax.plot(x, y, color="white", linewidth=width + 1.4, alpha=0.7)
    ax.plot(x, y, color=colour, linestyle=style, linewidth=width)


@figure("examples")
def examples(results: ExperimentResults, fig: Any) -> None:
    """Three test and three training images, with two cars where possible."""
    fig.set_size_inches(7.2, 3.6)
    arrays = results.ready(_first(results, LINEAR))
    axes = fig.subplots(2, 3)
    for line, subset, name in zip(axes, ("test", "train"), ("test", "training"), strict=True):
        images, n = pictures_of(arrays, subset), arrays[f"{subset}_n"]
        cars = np.split(arrays[f"{subset}_cars"], np.cumsum(n)[:-1])
        chosen = [*np.flatnonzero(n > 1)[:2], *np.flatnonzero(n == 1)][:3]
        for ax, i in zip(line, chosen, strict=False):
            _picture(ax, images[i], f"{name} image {i}")
            for car in cars[i]:
                _box(ax, car, COLOURS[4])


@figure("pyramid")
def pyramid(results: ExperimentResults, fig: Any) -> None:
    """A car's box cut into 1, 4, 9 and 16 cells."""
    fig.set_size_inches(7.2, 1.5)
    arrays = results.ready(_first(results, LINEAR))
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


@figure("equal_error")
def equal_error(results: ExperimentResults, fig: Any) -> None:
    """A panel for each reading; baselines without learning as horizontal lines."""
    readings = results.select(TABLE_1)["reading"].unique().tolist()
    rows = (len(readings) + 1) // 2
    fig.set_size_inches(7.4, 0.6 + 2.9 * rows)
    axes = fig.subplots(rows, 2, sharey=True, squeeze=False).ravel()
    papers = results.published("localization_eer")
    for ax in axes[len(readings) :]:
        ax.axis("off")
    for ax, reading in zip(axes, readings, strict=False):
        for k, method in enumerate(METHODS):
            line = mean_curve(_noise(results, method, reading), "label_noise", ERROR)
            if line.x:
                Series(k).ours(ax, *line, results.label(method))
                Series(k).paper(ax, *published(papers, "label_noise", method=method), None)
        for k, method in enumerate(("random scores", "the middle of the image")):
            rates = column(results.select("without learning", method=method), ERROR).to_numpy()
            if len(rates):
                ax.axhline(np.mean(rates), color=GREY, linewidth=0.9, linestyle=LINES[4 + k])
                ax.text(0.0, np.mean(rates) - 1.0, method, color=GREY, fontsize=7, va="top")
        title = results.reading_label(reading)
        ax.set(title=title, xlabel="share of training images with wrong boxes", ylim=(0, 100))
        ax.set_ylabel("equal error rate (%)")
    handles, names = axes[0].get_legend_handles_labels()
    handles.append(axes[0].plot([], [], "o:", color=GREY, markerfacecolor="white")[0])
    fig.legend(handles, [*names, "the paper"], loc="outside lower center", ncols=4)


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
    """JKSE with the chi-squared kernel."""
    fig.set_size_inches(3.8, 4.0)
    ax = fig.add_subplot()
    _precision_recall(results, ax, CHI2)
    ax.set_ylabel("precision")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)


@figure("kernel_matrices")
def kernel_matrices(results: ExperimentResults, fig: Any) -> None:
    """A row for each kernel, on one grey scale."""
    fig.set_size_inches(7.2, 6.4)
    axes = fig.subplots(2, 2)
    names = {"linear": "linear kernel", "chi2": "χ² kernel"}
    values = kernel_values(results, _first(results, LINEAR), _first(results, CHI2))
    for line, (name, pair) in zip(axes, values.items(), strict=True):
        top = float(np.quantile(np.concatenate(pair), 0.99))
        for ax, M, boxes in zip(line, pair, ("right", "random"), strict=True):
            image = grey_matrix(ax, M, top, f"{names[name]}, {boxes} boxes (mean {M.mean():.3f})")
        line[0].set(ylabel="training boxes")
        fig.colorbar(image, ax=list(line), shrink=0.9, extend="max", label="kernel / mean diagonal")
    for ax in axes[1]:
        ax.set(xlabel="boxes in test images")


@figure("nu")
def nu(results: ExperimentResults, fig: Any) -> None:
    """A panel for each kernel, a line for each level of noise."""
    fig.set_size_inches(7.2, 3.2)
    axes = fig.subplots(1, 2, sharey=True)
    for ax, method in zip(axes, ("JKSE (linear), nu", "JKSE (chi2), nu"), strict=True):
        for k, (level, runs) in enumerate(results.select("nu", method=method).groupby("label_noise")):
            line = mean_curve(runs, "nu", ERROR)
            Series(k).ours(ax, *line, f"r = {level:g}")
        ax.set(title=results.label(method), xlabel="ν", xlim=(0, 1.02), ylim=(0, 100))
    axes[0].set_ylabel("equal error rate (%)")
    axes[1].legend(title="label noise")


@figure("detections")
def detections(results: ExperimentResults, fig: Any) -> None:
    """Eight test images; above without noise and below with the most, JKSE chi-squared."""
    runs = _noise(results, CHI2)
    levels = sorted(runs.loc[runs["label_noise"] < 1.0, "label_noise"].unique())
    shown = [levels[0], levels[-1]] if len(levels) > 1 else levels
    fig.set_size_inches(7.2, 2.8 * len(shown))
    panels = fig.subplots(2 * len(shown), 4).reshape(len(shown), 8)
    for line, level in zip(panels, shown, strict=True):
        run = runs.loc[runs["label_noise"] == level, "run"].iloc[0]
        arrays, (cars, boxes_of_images) = results.ready(run), cars_and_detections(results, run)
        stride, images = int(arrays["stride"]), pictures_of(arrays, "test")
        scores = np.sort(np.concatenate([boxes[:, 4] for boxes in boxes_of_images]))[::-1]
        threshold = scores[min(sum(len(of_image) for of_image in cars), len(scores)) - 1]
        hits = correct(cars, boxes_of_images, "ellipse")
        chosen = np.linspace(0, len(images) - 1, 8).astype(int)
        for ax, i in zip(line, chosen, strict=True):
            _picture(ax, images[i], f"r = {level:g}, image {i}")
            taken = boxes_of_images[i][:, 4] >= threshold
            for box, hit in zip(boxes_of_images[i][taken], hits[i][taken], strict=True):
                _box(ax, stride * box, COLOURS[5] if hit else COLOURS[1], "-" if hit else "--")
            held = boxes_of_images[i][taken & hits[i]]
            for car in cars[i]:
                if not any(ellipse(car, box) >= 0.0 for box in held):
                    _box(ax, stride * car, COLOURS[4], ":", 1.2)


@figure("training_time")
def training_time(results: ExperimentResults, fig: Any) -> None:
    """Every training as a tick, medians as markers, on a log scale up to the paper's 5 hours."""
    fig.set_size_inches(5.2, 2.4)
    ax = fig.add_subplot()
    names: list[str] = []
    for method, study in [*((m, NOISE) for m in METHODS), ("S-SVM (chi2)", "machine")]:
        seconds = results.timed(results.select(study, method=method))["fit_seconds"].dropna().tolist()
        if seconds:
            k = len(names)
            names.append(results.label(method))
            series = Series(k)
            ax.plot(seconds, [k] * len(seconds), "|", color=series.colour, markersize=9)
            ax.plot([np.median(seconds)], [k], marker=series.marker, color=series.colour, markersize=7)
    ax.plot([PAPER_SECONDS], [0], marker="o", color=COLOURS[0], markerfacecolor="white", markersize=7)
    ax.text(PAPER_SECONDS, 0.18, "the paper's S-SVM", ha="right", va="top", fontsize=7, color=GREY)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="CPU seconds of one training")
