"""Figures of the named entity experiment: Tables 2 and 3 drawn, learning curves, confusions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.statistics import interval, means_along
from structmargin_suite.datasets.conll2002.tags import TAGS
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import COLOURS, GREY, Series, number_ticks
from structmargin_suite.results import ExperimentResults

MAX_WRONG = 8  # more wrong labels than this are drawn together: hardly any support sequence has them


def _paper(results: ExperimentResults, method: str) -> float | None:
    """The paper's token error for a method, or None."""
    papers = results.published("ner_methods")
    values = papers.loc[papers["method"] == results.methods[method].published_as, "value"]
    return None if values.empty else float(values.iloc[0])


@figure("methods")
def methods(results: ExperimentResults, fig: Any) -> None:
    """Token error of each method: every draw, the mean and its interval, the paper's."""
    pairs = results.pairs("methods")
    fig.set_size_inches(6.4, 0.8 + 0.3 * len(pairs))
    ax = fig.add_subplot()
    for place, (name, reading) in enumerate(pairs):
        runs = results.select("methods", method=name, reading=reading)
        draws = list(means_along(runs, "repetition", "test_error").values())
        if not draws:
            continue
        colour = COLOURS[0]
        mean = interval(draws)
        ax.plot(draws, [place] * len(draws), "|", color=colour, alpha=0.5, markersize=7)
        if len(draws) > 1:
            ax.plot([mean.low, mean.high], [place, place], color=colour, linewidth=2)
        ax.plot([mean.mean], [place], "o", color=colour, label="ours, 95% interval" if place == 0 else None)
        paper = _paper(results, name)
        if paper is not None:
            style = {"color": COLOURS[1], "marker": "s", "markerfacecolor": "white", "linestyle": "none"}
            ax.plot([paper], [place], label="the paper" if place == 0 else None, **style)
    ax.set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
    ax.invert_yaxis()
    ax.set(xlabel="token error (%)", xlim=(0, None))
    ax.legend(loc="lower right")


@figure("learning_curve")
def learning_curve(results: ExperimentResults, fig: Any) -> None:
    """Token error (left) and F1 of entities (right) against the number of training sentences."""
    fig.set_size_inches(7.2, 3.4)
    left, right = fig.subplots(1, 2)
    studies = ("sizes", "sizes, whole", "sizes, degree 2")
    of_studies = (results.config["studies"][study]["methods"] for study in studies)
    names = list(dict.fromkeys(name for methods in of_studies for name in methods))
    runs = pd.concat([results.select(study) for study in studies])
    for k, name in enumerate(names):
        of_method = runs[runs["method"] == name]
        label = results.label(name)
        Series(k).ours(left, *mean_curve(of_method, "n_train", "test_error"), label)
        Series(k).ours(right, *mean_curve(of_method, "n_train", "test_f1"), label)
    for ax in (left, right):
        ax.set(xscale="log", xlabel="training sentences")
        number_ticks(ax.xaxis, sorted(runs["n_train"].unique()))
        ax.tick_params(axis="x", labelsize=8)
    left.set(ylabel="token error (%)", ylim=(0, None))
    right.set(ylabel="F1 of entities (%)", ylim=(0, 100))
    left.legend(fontsize=7)


@figure("support")
def support(results: ExperimentResults, fig: Any) -> None:
    """How many labels the support sequences of each formulation have wrong, a panel for each reading of C."""
    fig.set_size_inches(7.2, 3.0)
    pairs = results.pairs("formulations")
    panels = list(dict.fromkeys(reading for _, reading in pairs))
    axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, reading in zip(axes, panels, strict=True):
        methods = [name for name, of_method in pairs if of_method == reading]
        for k, name in enumerate(methods):
            runs = results.select("formulations", method=name, reading=reading)
            first_draw = runs[runs["repetition"] == runs["repetition"].min()]
            losses = [results.model(run).fit_.support.losses for run in first_draw["run"]]
            if not losses:
                continue
            wrong = np.minimum(np.concatenate(losses).astype(int), MAX_WRONG)
            share = 100.0 * np.bincount(wrong, minlength=MAX_WRONG + 1)[1:] / len(wrong)
            places = np.arange(1, MAX_WRONG + 1) + 0.27 * (k - (len(methods) - 1) / 2)
            hatch = ("", "///", "...")[k % 3]
            ax.bar(places, share, 0.25, color=COLOURS[k], hatch=hatch, edgecolor="white", label=name)
        ax.set_title(results.reading_label(reading), loc="left")
        ax.set(xlabel="wrong labels", ylim=(0, 100))
        ax.set_xticks(range(1, MAX_WRONG + 1), [*map(str, range(1, MAX_WRONG)), f"{MAX_WRONG}+"])
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("share of support (%)")
    axes[-1].legend()


@figure("mistakes")
def mistakes(results: ExperimentResults, fig: Any) -> None:
    """Counts of (true, predicted) labels over the test folds of the first draw."""
    runs = results.select("methods", method="SVM", reading=results.primary("SVM"))
    counts = np.zeros((len(TAGS), len(TAGS)), dtype=int)
    for run in runs.loc[runs["repetition"] == runs["repetition"].min(), "run"]:
        test = results.split(run).test
        yhat = results.model(run).predict(test.X)
        np.add.at(counts, (np.concatenate(test.Y), np.concatenate(yhat)), 1)
    np.fill_diagonal(counts, 0)
    fig.set_size_inches(4.6, 4.0)
    ax = fig.add_subplot()
    ax.imshow(counts, cmap="Blues", vmin=0, vmax=max(1, counts.max()))
    for (i, j), count in np.ndenumerate(counts):
        if count:
            dark = count > 0.6 * counts.max()
            ax.text(
                j, i, str(count), ha="center", va="center", fontsize=7, color="white" if dark else "black"
            )
    ax.set_xticks(range(len(TAGS)), TAGS, rotation=60, fontsize=7)
    ax.set_yticks(range(len(TAGS)), TAGS, fontsize=7)
    ax.set(xlabel="predicted", ylabel="true")
    ax.grid(visible=False)


@figure("methods_time")
def methods_time(results: ExperimentResults, fig: Any) -> None:
    """CPU seconds of one training of each method."""
    pairs = results.pairs("methods")
    fig.set_size_inches(6.4, 0.8 + 0.3 * len(pairs))
    ax = fig.add_subplot()
    for place, (name, reading) in enumerate(pairs):
        runs = results.timed(results.select("methods", method=name, reading=reading))
        spent = runs["cpu_seconds"].tolist()
        if spent:
            ax.barh(place, float(np.median(spent)), color=COLOURS[0])
            ax.annotate(
                f" {np.median(spent):.2g}",
                (float(np.median(spent)), place),
                va="center",
                color=GREY,
                fontsize=8,
            )
    ax.set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
    ax.invert_yaxis()
    ax.set(xlabel="CPU seconds, features included (median)")
