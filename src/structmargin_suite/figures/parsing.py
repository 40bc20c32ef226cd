"""Figures of the grammar experiment: Table 5, the choice of C, constraints, a tree, time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from structmargin.problems.grammar.trees import brackets
from structmargin_suite.analysis.experiments.parsing import predicted
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS, Series, number_ticks
from structmargin_suite.results import ExperimentResults

OPEN = ("gum", "craft", "synthetic")
"""Corpora whose terms allow a picture of a tree; only tags are drawn, never words."""
TABLE = ("table 5", "price alone")
PAPERS_SENTENCES = 163
"""In the paper's test set."""


def exact_interval(percent: float) -> tuple[float, float]:
    """The exact 95% interval, in percent, of a share of the paper's 163 test sentences."""
    right = round(PAPERS_SENTENCES * percent / 100.0)
    interval = stats.binomtest(right, PAPERS_SENTENCES).proportion_ci(method="exact")
    return 100.0 * interval.low, 100.0 * interval.high


def _pairs(results: ExperimentResults) -> list[tuple[str, str]]:
    """(method, reading) of what Table 5 shows, method by method."""
    pairs = list(dict.fromkeys(pair for study in TABLE for pair in results.pairs(study)))
    methods = list(dict.fromkeys(name for name, _ in pairs))
    return sorted(pairs, key=lambda pair: methods.index(pair[0]))


@figure("table_5")
def table_5(results: ExperimentResults, fig: Any) -> None:
    """Accuracy and F1 of every method, one marker per corpus, the paper's hollow."""
    runs = results.select(TABLE)
    pairs = _pairs(results)
    corpora = runs["data"].unique()
    papers = results.published("parsing")
    fig.set_size_inches(7.2, 1.4 + 0.34 * len(pairs))
    panels = fig.subplots(1, 2, sharey=True)
    named = {pair: results.methods[pair[0]].published_as for pair in pairs}
    for ax, measure, label in zip(
        panels, ("accuracy", "f1"), ("whole trees right (%)", "F1 over brackets (%)"), strict=True
    ):
        for k, corpus in enumerate(corpora):
            of_corpus = runs[runs["data"] == corpus]
            values = of_corpus.set_index(["method", "reading"])[f"test_{measure}"].to_dict()
            tested = [pair for pair in pairs if pair in values]
            ax.plot(
                [values[pair] for pair in tested], [pairs.index(pair) + 0.12 * (k - 1.5) for pair in tested],
                linestyle="none", color=COLOURS[k], marker=MARKERS[k], label=corpus,
            )  # fmt: skip
        of_measure = papers[(papers["split"] == "test") & (papers["measure"] == measure)]
        paper = dict(zip(of_measure["method"], of_measure["value"], strict=True))
        printed = [pair for pair in pairs if named[pair] in paper]
        values = [paper[named[pair]] for pair in printed]
        ends = np.array([exact_interval(value) for value in values]).reshape(-1, 2).T
        reach = np.abs(ends - values) if measure == "accuracy" else None
        ax.errorbar(
            values, [pairs.index(pair) for pair in printed], xerr=reach, linestyle="none", marker="o",
            color=GREY, markerfacecolor="white", linewidth=0.8, label="the paper",
        )  # fmt: skip
        ax.set(xlabel=label)
    panels[0].set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
    panels[0].invert_yaxis()
    handles, names = panels[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside upper center", ncols=len(names))


@figure("choice_of_c")
def choice_of_c(results: ExperimentResults, fig: Any) -> None:
    """F1 on the training and the test set against C, a row of panels for each corpus and reading."""
    runs = results.select(("C", "C, splits"))
    lines = list(dict.fromkeys(zip(runs["corpus"], runs["reading"], strict=True)))
    fig.set_size_inches(7.2, 2.4 * max(len(lines), 1))
    panels = fig.subplots(max(len(lines), 1), 2, sharex=True, sharey="row", squeeze=False)
    for line, (corpus, reading) in zip(panels, lines, strict=False):
        of_line = runs[(runs["corpus"] == corpus) & (runs["reading"] == reading)]
        for ax, subset in zip(line, ("train", "test"), strict=True):
            for k, (name, of_method) in enumerate(of_line.groupby("method", sort=False)):
                Series(k).ours(ax, *mean_curve(of_method, "C", f"{subset}_f1"), str(name))
            where = "training set" if subset == "train" else "test set"
            ax.set(xscale="log", title=f"{corpus}, {results.reading_label(reading)}, {where}")
            number_ticks(ax.xaxis, sorted(runs["C"].unique()))
        line[0].set_ylabel("F1 over brackets (%)")
    for ax in panels[-1]:
        ax.set_xlabel("C")
    panels[0][0].legend(loc="lower right")


@figure("constraints")
def constraints(results: ExperimentResults, fig: Any) -> None:
    """Constraints added against n, with a line at two per sentence, a panel for each reading."""
    of_sizes = results.select(("sizes", "sizes, schedule"))
    readings, methods = (list(dict.fromkeys(of_sizes[key])) for key in ("reading", "method"))
    fig.set_size_inches(2.1 * len(readings), 3.4)
    sizes = sorted(of_sizes["n_train"].unique())
    axes = fig.subplots(1, len(readings), sharey=True, squeeze=False)[0]
    for ax, reading in zip(axes, readings, strict=True):
        for k, name in enumerate(methods):
            runs = of_sizes[(of_sizes["method"] == name) & (of_sizes["reading"] == reading)]
            if len(runs):
                Series(k).ours(ax, *mean_curve(runs, "n_train", "constraints"), name)
        twice = [2 * n for n in sizes]
        ax.plot(sizes, twice, color=GREY, linestyle=":", label="two a sentence (the paper's rate)")
        ax.set_title(results.reading_label(reading), fontsize=8)
        ax.set(xscale="log", yscale="log", xlabel="training sentences")
        number_ticks(ax.xaxis, sizes)
    axes[0].set_ylabel("constraints added")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def shown(results: ExperimentResults) -> tuple[str, Any, Any, Any] | None:
    """(corpus, truth, the PCFG's tree, the SVM's) of a sentence that only the SVM gets right."""
    for corpus in OPEN:
        runs = [
            results.select(TABLE, corpus=corpus, method=name, reading=results.primary(name))
            for name in ("PCFG", "SVM2 margin")
        ]
        if any(of_method.empty for of_method in runs):
            continue
        (Y, base), (_, svm) = (predicted(results, of_method["run"].iloc[0]) for of_method in runs)
        sentences = [
            (y, a, b)
            for y, a, b in zip(Y, base, svm, strict=True)
            if a is not None and b == y and set(brackets(a)) - set(brackets(y))
        ]
        if sentences:
            wanted = min(
                sentences, key=lambda sentence: (abs(len(brackets(sentence[0])) - 7), str(sentence[0]))
            )
            return (str(runs[0]["data"].iloc[0]), *wanted)
    return None


@figure("tree")
def tree(results: ExperimentResults, fig: Any) -> None:
    """Three trees of one sentence side by side."""
    example = shown(results)
    if example is None:
        ax = fig.add_subplot()
        ax.text(0.5, 0.5, "no test sentence that the SVM parses better here", ha="center", va="center")
        ax.set_axis_off()
        return
    corpus, y, base, svm = example
    fig.set_size_inches(9.0, 3.2)
    for ax, title, parsed in zip(
        fig.subplots(1, 3), (f"truth ({corpus})", "PCFG", "SVM2 margin (F1)"), (y, base, svm), strict=True
    ):
        _draw(ax, parsed, set(brackets(y)))
        ax.set_title(title, loc="left")
        ax.set_axis_off()


def _draw(ax: Any, whole: Any, right: set[Any]) -> None:
    """A tree, leaves on one line; nodes that are not in `right` dashed and bold."""

    def height(node: Any) -> int:
        return 0 if isinstance(node, str) else 1 + max(height(child) for child in node[1:])

    def place(node: Any, lo: int) -> tuple[float, float, int]:
        """(x, y, where it ends), drawing on the way."""
        if isinstance(node, str):
            ax.text(lo, -0.15, node, ha="center", va="top", fontsize=7, rotation=45)
            return float(lo), 0.0, lo + 1
        hi, below = lo, []
        for child in node[1:]:
            x, y, hi = place(child, hi)
            below.append((x, y))
        x, y = 0.5 * (lo + hi - 1), float(height(node))
        good = (node[0], lo, hi) in right
        for bx, by in below:
            ax.plot(
                [x, bx], [y, by], color=GREY if good else COLOURS[1], linestyle="-" if good else "--", lw=1
            )
        box = {"facecolor": "white", "edgecolor": "none" if good else COLOURS[1], "pad": 1.0}
        ax.text(
            x, y, node[0], ha="center", va="center", fontsize=8, weight="normal" if good else "bold", bbox=box
        )
        return x, y, hi

    _, top, n = place(whole, 0)
    ax.set(xlim=(-0.7, n - 0.3), ylim=(-1.2, top + 0.5))


@figure("parsing_time")
def parsing_time(results: ExperimentResults, fig: Any) -> None:
    """CPU seconds of each training on the first corpus: search, QP, the rest; the paper's hours as text."""
    pairs = [pair for pair in _pairs(results) if pair[0] != "PCFG"]
    runs = results.select(TABLE)
    corpus = "" if runs.empty else runs["corpus"].iloc[0]
    papers = results.published("parsing")
    hours, share = (
        dict(zip(of["method"], of["value"], strict=True))
        for of in (papers[papers["measure"] == measure] for measure in ("cpu_hours", "percent_in_qp"))
    )
    fig.set_size_inches(7.2, 0.9 + 0.34 * len(pairs))
    ax = fig.add_subplot()
    longest = 1e-9
    for place, (name, reading) in enumerate(pairs):
        timed = results.timed(results.select(TABLE, method=name, reading=reading, corpus=corpus))
        if timed.empty:
            continue
        clock = timed.iloc[0]
        spans = [clock["fit_seconds_search"], clock["fit_seconds_qp"]]
        spans.append(max(clock["cpu_seconds"] - sum(spans), 0.0))
        left = 0.0
        for k, (label, spent) in enumerate(zip(("search", "QP", "forests and the rest"), spans, strict=True)):
            hatch = ("", "///", "...")[k]
            ax.barh(
                place, spent, left=left, color=COLOURS[k], hatch=hatch, edgecolor="white",
                label=label if place == 0 else None,
            )  # fmt: skip
            left += spent
        longest = max(longest, left)
        paper = results.methods[name].published_as
        in_qp = 100.0 * clock["fit_seconds_qp"] / clock["fit_seconds_loop"]
        text = f" {left:.1f} s, {in_qp:.0f}% QP"
        if paper in hours:
            text += f" (the paper: {hours[paper]:g} h, {share[paper]:.0f}%)"
        ax.annotate(text, (left, place), va="center", color=GREY, fontsize=8)
    ax.set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 2.1 * longest)
    ax.set_axisbelow(True)
    ax.set(xlabel=f"CPU seconds of one training, {corpus}")
    fig.legend(loc="outside upper center", ncols=3)
