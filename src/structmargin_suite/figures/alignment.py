"""Figures of the alignment experiment: jmlr05 Figure 2, the learning curves of Table 4, one alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection

from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve, published
from structmargin_suite.figures._style import COLOURS, GREY, Series, number_ticks, stamp
from structmargin_suite.results import ExperimentResults, column

SIZES, PRECISION = ("sizes", "first ten"), ("precision", "precision, ten")
"""All samples under the primary readings, and the first ten under the others."""
PRINTED_GAP = -0.2
"""The gap score that the paper reports."""


def _pairs_of(results: ExperimentResults, studies: Sequence[str]) -> list[tuple[str, str]]:
    """(method, reading) of what some studies run, in the order of the config."""
    runs = {pair for study in studies for pair in results.pairs(study)}
    return [pair for pair in _order(results) if pair in runs]


def _order(results: ExperimentResults) -> list[tuple[str, str]]:
    return [
        (name, reading) for name, method in results.methods.items() for reading in method.readings or ("",)
    ]


def _series(results: ExperimentResults, studies: Sequence[str]) -> list[tuple[str, str, Series]]:
    """(method, reading, looks) of what some studies run; the looks are the same in every figure."""
    order = _order(results)
    return [(*pair, Series(order.index(pair))) for pair in _pairs_of(results, studies)]


def _paper(results: ExperimentResults, ax: Any, measure: str) -> None:
    """The paper's numbers, each in the looks of the primary reading of its method."""
    for name, reading, series in _series(results, SIZES):
        x, value = published(results.published("alignment"), "n_train", method=name, measure=measure)
        if x and reading == results.primary(name):
            series.paper(ax, x, value, f"{results.label(name)}, paper")


def _bounds(runs: pd.DataFrame, key: str) -> tuple[list[float], list[float]]:
    """Theorem 18's bound along a setting."""
    bounds = runs[column(runs, "bound").notna()].drop_duplicates(key, keep="last").sort_values(key)
    return bounds[key].tolist(), bounds["bound"].tolist()


@figure("learning_curve")
def learning_curve(results: ExperimentResults, fig: Any) -> None:
    """Test error against the number of training examples, ours and the paper's."""
    pairs = _pairs_of(results, SIZES)
    methods = list(dict.fromkeys(name for name, _ in pairs))
    papers = results.published("alignment")
    fig.set_size_inches(7.2, 4.6)
    axes = fig.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for ax, method in zip(axes, reversed(methods), strict=True):
        readings = [reading for name, reading in pairs if name == method]
        for k, reading in enumerate(readings):
            runs = results.select(SIZES, method=method, reading=reading)
            Series(k).ours(ax, *mean_curve(runs, "n_train", "test_error"), results.reading_label(reading))
        x, value = published(papers, "n_train", method=method, measure="test_error")
        Series(len(readings)).paper(ax, x, value, "the paper")
        ax.set(xscale="log", xlabel="training examples n", title=results.label(method))
        number_ticks(ax.xaxis, sorted(papers["n_train"].unique()))
        ax.legend()
    axes[0].set(ylabel="test error (%)", ylim=(0, None))


@figure("gap_score")
def gap_score(results: ExperimentResults, fig: Any) -> None:
    """Test error of the generative model against its gap score, a line for each n."""
    name = "generative"
    runs = results.select(SIZES, done=False, method=name, reading=results.primary(name), status="done")
    sizes = sorted(runs["n_train"].unique())
    ax = fig.add_subplot()
    for k, n in enumerate(sizes):
        Series(k).ours(ax, *mean_curve(runs[runs["n_train"] == n], "gap_score", "test_error"), f"n = {n}")
    ax.axvline(PRINTED_GAP, color=GREY, linewidth=0.8, linestyle=":")
    ax.annotate(
        "the paper's ",
        (PRINTED_GAP, 0.76),
        xycoords=("data", "axes fraction"),
        va="top",
        ha="right",
        fontsize=8,
    )
    ax.set(xlabel="gap score δ", ylabel="test error (%)", ylim=(0, None))
    fig.legend(loc="outside lower center", ncols=4)


@figure("constraints")
def constraints(results: ExperimentResults, fig: Any) -> None:
    """Constraints added against n (left) and against epsilon (right), below Theorem 18's bound."""
    fig.set_size_inches(7.2, 3.9)
    left, right = fig.subplots(1, 2, sharey=True)
    for name, reading, series in _series(results, SIZES):
        runs = results.select(SIZES, method=name, reading=reading)
        line = mean_curve(runs, "n_train", "constraints")
        if line.x:
            series.ours(left, *line, results.label(name, reading))
            left.plot(*_bounds(runs, "n_train"), color=series.colour, linewidth=0.8)
    _paper(results, left, "constraints")
    for name, reading, series in _series(results, PRECISION):
        runs = results.select(PRECISION, method=name, reading=reading)
        series.ours(right, *mean_curve(runs, "eps", "constraints"), results.label(name, reading))
        right.plot(*_bounds(runs, "eps"), color=series.colour, linewidth=0.8)
    sizes = sorted(results.select(SIZES)["n_train"].unique())
    steps = sorted(results.select(PRECISION)["eps"].unique())
    left.set(xscale="log", yscale="log", xlabel="training examples n", ylabel="constraints added")
    right.set(xscale="log", xlabel="precision ε")
    right.invert_xaxis()
    for ax in (left, right):
        where = {"xycoords": "axes fraction", "va": "top", "fontsize": 8, "color": GREY}
        ax.annotate("thin: Theorem 18's bounds", (0.03, 0.97), **where)
    number_ticks(left.xaxis, sizes)
    number_ticks(right.xaxis, steps)
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)


@figure("error_epsilon")
def error_epsilon(results: ExperimentResults, fig: Any) -> None:
    """Test error against epsilon."""
    fig.set_size_inches(6.4, 3.8)
    ax = fig.add_subplot()
    for name, reading, series in _series(results, PRECISION):
        runs = results.select(PRECISION, method=name, reading=reading)
        series.ours(ax, *mean_curve(runs, "eps", "test_error"), results.label(name, reading))
    ax.axvline(0.1, color=GREY, linewidth=0.8, linestyle=":")
    ax.annotate(
        " the paper's ε", (0.1, 0.97), xycoords=("data", "axes fraction"), va="top", fontsize=8, color=GREY
    )
    n = results.config["studies"]["precision"]["fixed"]["n_train"]
    ax.set(xscale="log", xlabel="precision ε", ylabel=f"test error (%) at n = {n}", ylim=(0, None))
    ax.invert_xaxis()
    number_ticks(ax.xaxis, sorted(results.select(PRECISION)["eps"].unique()))
    fig.legend(loc="outside lower center", ncols=2)


@figure("sizes_time")
def sizes_time(results: ExperimentResults, fig: Any) -> None:
    """CPU time of one training against n."""
    ax = fig.add_subplot()
    for name, reading, series in _series(results, SIZES):
        runs = results.timed(results.select(SIZES, method=name, reading=reading))
        series.ours(ax, *mean_curve(runs, "n_train", "cpu_seconds"), results.label(name, reading))
    ax.set(xscale="log", yscale="log", xlabel="training examples n", ylabel="CPU seconds a training")
    number_ticks(ax.xaxis, sorted(results.select(SIZES)["n_train"].unique()))
    fig.set_size_inches(6.4, 4.4)
    fig.legend(loc="outside lower center", ncols=2)


@figure("one_alignment")
def one_alignment(results: ExperimentResults, fig: Any) -> None:
    """A native and its homolog: the given alignment, one by identity of letters, and the learnt one."""
    name = results.config["studies"]["sizes"]["methods"][-1]
    runs = results.select(SIZES, method=name, reading=results.primary(name))
    runs["repetition"] = column(runs, "repetition", 0)
    largest_run = runs.sort_values(["n_train", "repetition"], ascending=[False, True], kind="stable").iloc[0]
    model, test = results.model(largest_run["run"]), results.split(largest_run["run"]).test
    before = _identity(model)
    x, y, first, last = _first_corrected(before, model, test)
    fig.set_size_inches(7.2, 3.6)
    panels = (
        ("as the homolog was made", y),
        ("before training: identical letters 1, others and gaps −1", first),
        (f"after training on {largest_run['n_train']} examples", last),
    )
    truth = set(_pairs(y[1]))
    axes = fig.subplots(len(panels), 1)
    for ax, (title, choice) in zip(axes, panels, strict=True):
        _strings(ax, x, y[0], choice, truth, title)


def _identity(model: Any) -> Any:
    """The same problem with weights that were not learnt."""
    A = model.problem_.n_letters
    return type(model.scorer_)(model.problem_, np.append((2.0 * np.eye(A) - 1.0).ravel(), -1.0))


def _first_corrected(before: Any, model: Any, test: Any) -> tuple[Any, Any, Any, Any]:
    """The first test example that was wrong before training and is right after it: (x, y, before, after).

    Both alignments shown are of the homolog; where there is no such example, the first one is shown.
    """
    batch = model.problem_.batch(test.X, None)
    old, new = batch.argmax(before), batch.argmax(model.scorer_)
    truths = [y[0] for y in test.Y]
    good = [e for e, y in enumerate(truths) if old[e][0] != y and new[e][0] == y]
    e = good[0] if good else 0
    native, candidates = test.X[e]
    alone = (native, [candidates[truths[e]]])
    return (
        test.X[e],
        test.Y[e],
        model.problem_.argmax(before, alone),
        model.problem_.argmax(model.scorer_, alone),
    )


def _pairs(path: Any) -> list[tuple[int, int]]:
    """The letters set against each other by a path: (place in native, place in homolog)."""
    i, j, ops = path
    pairs = []
    for op in ops:
        if op == "M":
            pairs.append((i, j))
        i += op in "MD"
        j += op in "MI"
    return pairs


def _strings(ax: Any, x: Any, homolog: int, choice: Any, truth: set[tuple[int, int]], title: str) -> None:
    """Two strings, one above the other, and a line for every pair of letters that are aligned."""
    native, other = x[0], x[1][homolog]
    for letters, height in ((native, 1.0), (other, 0.0)):
        for letter in np.unique(letters):
            places = np.flatnonzero(np.asarray(letters) == letter)
            stamp(ax, chr(ord("A") + int(letter)), places, np.full(len(places), height), size=7)
    aligned = _pairs(choice[1])
    for right, colour, line in ((True, COLOURS[0], "-"), (False, COLOURS[1], "--")):
        pairs = [[(i, 0.82), (j, 0.18)] for i, j in aligned if ((i, j) in truth) == right]
        ax.add_collection(LineCollection(pairs, colors=colour, linestyles=line, linewidths=1.1))
    share = sum(pair in truth for pair in aligned)
    ax.set_title(
        f"{title}: {share} of {len(truth)} pairs right, {len(aligned) - share} wrong", loc="left", fontsize=8
    )
    ax.set(xlim=(-1, max(len(native), len(other))), ylim=(-0.25, 1.25))
    ax.set_yticks([0.0, 1.0], ["homolog", "native"], fontsize=8)
    ax.set_xticks([])
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
