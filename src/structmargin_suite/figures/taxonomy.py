"""Figures of classes in taxonomies: Table 1, also over C, the learning curve, the tree with its errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin.problems.taxonomy.taxonomies import heights, node_features
from structmargin_suite.analysis.experiments.taxonomy import METHODS, predicted
from structmargin_suite.datasets.patents import FOLDS, large_classes, parents
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve, standard_error
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS, Series, number_ticks
from structmargin_suite.results import ExperimentResults, column

DASHES = {"margin re-scaling": "--"}
"""Lines of readings that stand beside the primary one."""
PANELS = {"accuracy": ("test_accuracy", "accuracy (%)"), "tree_loss": ("test_loss", "tree loss")}


@figure("table_1")
def table_1(results: ExperimentResults, fig: Any) -> None:
    """A panel for each measure and size; a row for each method, a marker for each corpus."""
    fig.set_size_inches(7.2, 4.2)
    runs = results.select(("patents", "made up"))
    sizes = sorted(runs["instances_per_class"].unique(), reverse=True)
    corpora = runs["data"].unique()
    papers = results.published("taxonomy")
    panels = fig.subplots(len(sizes), 2, sharey=True, squeeze=False)
    for line, size in zip(panels, sizes, strict=True):
        for ax, (measure, (metric_column, label)) in zip(line, PANELS.items(), strict=True):
            for k, corpus in enumerate(corpora):
                of_corpus = runs[(runs["data"] == corpus) & (runs["instances_per_class"] == size)]
                for place, method in enumerate(METHODS):
                    values = of_corpus.loc[of_corpus["method"] == method, metric_column].to_numpy()
                    if len(values):
                        se = standard_error(values)
                        ax.errorbar(
                            [np.mean(values)], [place + 0.16 * (k - 0.5)], xerr=[se], linestyle="none",
                            color=COLOURS[k], marker=MARKERS[k], label=corpus if place == 0 else None,
                        )  # fmt: skip
            of_measure = papers[(papers["measure"] == measure) & (papers["instances_per_class"] == size)]
            for place, method in enumerate(METHODS):
                points = of_measure.loc[of_measure["method"] == method, "value"].tolist()
                name = "the paper" if place == 0 else None
                ax.plot(points, [place] * len(points), "o", color=GREY, markerfacecolor="white", label=name)
            ax.set(xlabel=f"{label}, {size} documents per class")
    panels[0][0].set_yticks(range(len(METHODS)), [results.label(name) for name in METHODS])
    panels[0][0].invert_yaxis()
    handles, names = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=3)


@figure("over_c")
def over_c(results: ExperimentResults, fig: Any) -> None:
    """Table 1 over C: documents drawn, the tree loss by slack and by margin re-scaling."""
    _over_c(results, fig, ("patents", "margin"))


@figure("over_c_one_fold")
def over_c_one_fold(results: ExperimentResults, fig: Any) -> None:
    """Table 1 over C: training on one fold."""
    _over_c(results, fig, ("one fold",))


def _over_c(results: ExperimentResults, fig: Any, studies: tuple[str, ...]) -> None:
    """On the first corpus: a row of panels for each size, a panel for each measure, a line for each method.

    A large point is the value that was chosen: hollow where that is at the edge of its grid.
    """
    runs = results.select(studies, done=False, status="done")
    runs = runs[runs["corpus"] == runs["corpus"].iloc[0]]
    sizes = sorted(runs["instances_per_class"].unique(), reverse=True)
    pairs = dict.fromkeys(pair for study in studies for pair in results.pairs(study))
    fig.set_size_inches(7.2, 2.6 * len(sizes) + 0.9)
    panels = fig.subplots(len(sizes), len(PANELS), sharex=True, squeeze=False)
    for line, size in zip(panels, sizes, strict=True):
        for ax, (metric_column, label) in zip(line, PANELS.values(), strict=True):
            for method, reading in pairs:
                rows = runs[(runs["method"] == method) & (runs["reading"] == reading)]
                rows = rows[rows["instances_per_class"] == size]
                means = rows.groupby("C_per_example")[metric_column].mean()
                colour, dash = COLOURS[METHODS.index(method)], DASHES.get(reading, "-")
                name = results.label(method, reading)
                ax.plot(means.index, means, color=colour, marker=".", linestyle=dash, label=name)
                for C in rows.loc[rows["chosen"], "C_per_example"].unique():
                    edge = C in (means.index.min(), means.index.max())
                    face = "white" if edge else colour
                    ax.plot([C], [means[C]], "o", markersize=7, color=colour, markerfacecolor=face, zorder=3)
            ax.set(xscale="log", ylabel=f"{label}, {size} per class")
    for ax in panels[-1]:
        ax.set_xlabel("C per example")
        number_ticks(ax.xaxis, sorted(column(runs, "C_per_example").unique()))
    handles, names = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=2)


@figure("learning_curve")
def learning_curve(results: ExperimentResults, fig: Any) -> None:
    """Both measures against postings per group."""
    fig.set_size_inches(7.2, 3.6)
    methods = results.config["studies"]["newsgroups"]["methods"]
    panels = fig.subplots(1, 2)
    for ax, (metric_column, label) in zip(panels, PANELS.values(), strict=True):
        for k, name in enumerate(methods):
            line = mean_curve(results.select("newsgroups", method=name), "instances_per_class", metric_column)
            Series(k).ours(ax, *line, results.label(name))
        ax.set(xscale="log", xlabel="training postings per group", ylabel=label)
        number_ticks(ax.xaxis, line.x)
    handles, names = panels[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=2)


def node_errors(
    results: ExperimentResults,
) -> tuple[list[str], dict[str, float], dict[str, int], dict[str, str]]:
    """(classes, error by node, test documents by node, parents) of tax delta on the first corpus, over one
    cross-validation at the largest size. A document counts as wrong at a node above its class that is not
    above its prediction."""
    runs = results.select("patents", method="tax delta")
    size = int(runs.loc[runs["corpus"] == runs["corpus"].iloc[0], "instances_per_class"].max())
    runs = results.select(
        "patents", method="tax delta", corpus=runs["corpus"].iloc[0], instances_per_class=size
    )
    used = runs.loc[column(runs, "round", 0) < FOLDS[size], "run"]
    codes = _codes(results, used.iloc[0])
    order = parents(codes)
    nodes, Lambda = node_features(order, codes)
    above = Lambda.toarray() > 0
    pairs = [predicted(results, run) for run in used]
    y = np.concatenate([pair.y for pair in pairs])
    yhat = np.concatenate([pair.yhat for pair in pairs])
    here, shared = above[y], above[y] & above[yhat]
    counts = here.sum(axis=0)
    errors = 1.0 - shared.sum(axis=0) / np.maximum(counts, 1)
    return (
        codes,
        dict(zip(nodes, map(float, errors), strict=True)),
        dict(zip(nodes, map(int, counts), strict=True)),
        order,
    )


def _codes(results: ExperimentResults, run: str) -> list[str]:
    arrays = results.ready(run)
    return large_classes(arrays["y"], arrays["codes"])[2]


@figure("tree")
def tree(results: ExperimentResults, fig: Any) -> None:
    """Leaves one below the other, every node in the middle of its children."""
    codes, errors, counts, order = node_errors(results)
    height = heights(order)
    top = max(height.values())
    fig.set_size_inches(7.2, 0.165 * len(codes) + 1.0)
    ax = fig.add_subplot()
    place: dict[str, float] = {code: float(k) for k, code in enumerate(codes)}
    for node in sorted(height, key=lambda node_name: height[node_name]):
        below = [place[child] for child, parent in order.items() if parent == node]
        if below:
            place[node] = (min(below) + max(below)) / 2
    for child, parent in order.items():
        x, up = top - height[child], top - height[parent]
        ax.plot(
            [up, up + 0.45, x],
            [place[parent], place[child], place[child]],
            color="#bbbbbb",
            linewidth=0.7,
            zorder=1,
        )
    nodes = list(place)
    size = [8.0 + 120.0 * np.sqrt(counts[node] / max(counts.values())) for node in nodes]
    dots = ax.scatter(
        [top - height[node] for node in nodes], [place[node] for node in nodes], s=size,
        c=[100.0 * errors[node] for node in nodes], cmap="viridis_r", vmin=0.0, vmax=100.0,
        edgecolors=GREY, linewidths=0.4, zorder=2,
    )  # fmt: skip
    for node in nodes:
        leaf = height[node] == 0
        text = (
            f"{node}  {100 * errors[node]:.0f}%"
            if not leaf
            else f"{node}  {100 * errors[node]:.0f}% of {counts[node]}"
        )
        offset = (7, 0) if leaf else (-8, 0)
        ax.annotate(
            text, (top - height[node], place[node]), xytext=offset, textcoords="offset points",
            ha="left" if leaf else "right", va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6}, fontsize=7 if leaf else 7.5,
        )  # fmt: skip
    ax.set(ylim=(len(codes), -1.5), xlim=(-0.3, top + 0.7))
    ax.axis("off")
    fig.colorbar(dots, ax=ax, shrink=0.4, label="test documents put elsewhere (%)")
