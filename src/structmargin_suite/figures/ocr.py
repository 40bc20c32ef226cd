"""Figures of handwritten words: jkse09 Figures 5 and 6, errors, letters and words as read, convergence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.analysis.experiments.ocr import Terms, errors_along_nu, kernel_terms
from structmargin_suite.datasets.ocr.handwriting import FIRST_LETTER, HEIGHT, WIDTH
from structmargin_suite.figures import _jkse, figure
from structmargin_suite.figures._grouped import mean_curve
from structmargin_suite.figures._style import COLOURS, GREY, Series, grey_matrix, number_ticks
from structmargin_suite.results import ExperimentResults, column

NOT_WHITE = 0.98
"""The share of a kernel's values that its grey scale tells apart."""


@figure("errors")
def errors(results: ExperimentResults, fig: Any) -> None:
    """A row for each method: every rotation, their mean, and the paper's number."""
    ax = fig.add_subplot()
    pairs = results.pairs("folds")
    papers = _papers(results)
    for k, (name, reading) in enumerate(pairs):
        runs = results.select("folds", method=name, reading=reading)
        series, rates = Series(k), runs["test_letter_error"].to_numpy()
        if not len(rates):
            continue
        ax.plot(rates, [k] * len(rates), "|", color=series.colour, markersize=9, markeredgewidth=1.0)
        ax.plot(
            [np.mean(rates)], [k], linestyle="none", color=series.colour, marker=series.marker, markersize=7
        )
        paper = papers.get(results.methods[name].published_as)
        if paper is not None:
            series.paper(ax, [paper], [k], None)
    handles = [
        ax.plot([], [], "o", color=GREY)[0],
        ax.plot([], [], "|", color=GREY)[0],
        ax.plot([], [], "o", color=GREY, markerfacecolor="white")[0],
    ]
    ax.legend(handles, ["mean", "one rotation", "the paper"], loc="upper right")
    ax.set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
    ax.invert_yaxis()
    ax.set(xlabel="test letter error (%)", xlim=(0, 100))


def _papers(results: ExperimentResults) -> dict[str, float]:
    """The paper's letter error of each method."""
    papers = results.published("ocr")
    return dict(zip(papers["method"], papers["value"], strict=True))


@figure("nu")
def nu(results: ExperimentResults, fig: Any) -> None:
    """JKSE's error on the validation folds, every rotation and their mean, and where each chose."""
    ax = fig.add_subplot()
    for place, reading in enumerate(name for method, name in results.pairs("folds") if method == "JKSE"):
        errors = errors_along_nu(results, results.select("folds", method="JKSE", reading=reading))
        lines = np.array(list(errors.values())).T.reshape(-1, len(errors))
        series = Series(4 + place)
        for k, line in enumerate(lines):
            first = k == 0 and place == 0
            ax.plot(list(errors), line, color=GREY, linewidth=0.6, label="one rotation" if first else None)
            best = int(np.argmin(line))
            ax.plot(
                [list(errors)[best]], [line[best]], "o", color=series.colour, markersize=5,
                markerfacecolor="none", label="its choice" if first else None,
            )  # fmt: skip
        if len(lines):
            name = f"mean, {results.reading_label(reading)}" if reading else "mean"
            ax.plot(list(errors), lines.mean(axis=0), color=series.colour, linewidth=1.8, label=name)
    paper = _papers(results).get("JKSE")
    if paper is not None:
        ax.axhline(paper, color=GREY, linestyle=":", linewidth=1.0, label="the paper's test error")
    ax.set(xlabel="ν", ylabel="validation letter error (%)", ylim=(0, 100), xlim=(0, 1.02))
    ax.legend(loc="lower left")


@figure("scale_and_nu")
def scale_and_nu(results: ExperimentResults, fig: Any) -> None:
    """JKSE over the grid of scale and nu, between the S-SVM and what the paper has."""
    ax = fig.add_subplot()
    _jkse.grid_lines(ax, results.select("scale and nu"), "test_letter_error")
    ssvm = results.select("folds", method="S-SVM")["test_letter_error"]
    if len(ssvm):
        ax.axhline(float(ssvm.mean()), color=COLOURS[6], linewidth=1.2, label="S-SVM")
    paper = _papers(results).get("JKSE")
    if paper is not None:
        ax.axhline(paper, color=GREY, linestyle=":", linewidth=1.0, label="the paper's JKSE")
    ax.set(xlabel="ν", ylabel="test letter error (%)", ylim=(0, 100), xlim=(0, 1.02))
    ax.legend(ncols=3, loc="lower left")


@figure("outliers")
def outliers(results: ExperimentResults, fig: Any) -> None:
    """Outliers below nu, coefficients above 0 over it."""
    _jkse.draw_outliers(results.select("scale and nu"), fig)


@figure("ball")
def ball(results: ExperimentResults, fig: Any) -> None:
    """Centres of balls and normals of hyperplanes, for equal and for unequal lengths."""
    _jkse.draw_balls(results, results.select("ball"), fig)


def _first_run(results: ExperimentResults, method: str) -> str:
    """The run of a method, as primarily read, on the first rotation there is."""
    runs = results.select("folds", method=method, reading=results.primary(method))
    return str(runs.loc[column(runs, "rotation", 0).idxmin(), "run"])


def _labelled(results: ExperimentResults) -> dict[str, Terms]:
    """The terms of k_seq by how the test words are labelled."""
    matrices = kernel_terms(results, _first_run(results, "JKSE"))
    return {"true": matrices.true, "shuffled": matrices.shuffled, "shifted": matrices.shifted}


@figure("kernel_matrices")
def kernel_matrices(results: ExperimentResults, fig: Any) -> None:
    """k_seq itself, with true, shuffled and cyclically shifted labels."""
    fig.set_size_inches(7.2, 2.8)
    labelled = _labelled(results)
    sums = {name: terms["data"] + terms["history"] for name, terms in labelled.items()}
    axes, top = fig.subplots(1, len(sums)), _top(sums.values())
    for ax, (name, M) in zip(axes, sums.items(), strict=True):
        image = grey_matrix(ax, M, top, f"{name} labels (mean {M.mean():.0f})")
        ax.set(xlabel="test words")
    axes[0].set(ylabel="training words")
    fig.colorbar(image, ax=list(axes), shrink=0.9, extend="max")


def _top(matrices: Iterable[np.ndarray]) -> float:
    """Where a grey scale ends: a few long words have values so large that all else would be black."""
    return float(np.quantile(np.concatenate([M.ravel() for M in matrices]), NOT_WHITE))


@figure("kernel_terms")
def both_terms(results: ExperimentResults, fig: Any) -> None:
    """The data term above, the history term below; each row on one grey scale."""
    fig.set_size_inches(7.2, 5.0)
    labelled = _labelled(results)
    axes = fig.subplots(2, len(labelled))
    for line, term in zip(axes, ("data", "history"), strict=True):
        top = _top(terms[term] for terms in labelled.values())
        for ax, (name, terms) in zip(line, labelled.items(), strict=True):
            M = terms[term]
            image = grey_matrix(ax, M, top, f"{term}, {name} (mean {M.mean():.3g})")
        line[0].set(ylabel="training words")
        fig.colorbar(image, ax=list(line), shrink=0.9, extend="max")
    for ax in axes[1]:
        ax.set(xlabel="test words")


@figure("letters")
def letters(results: ExperimentResults, fig: Any) -> None:
    """Shares of the letters among the truth and among predictions, one panel per method."""
    fig.set_size_inches(7.2, 4.0)
    methods = ("S-SVM", "JKSE")
    panels = fig.subplots(len(methods), 1, sharex=True)
    places = np.arange(26)
    for ax, name in zip(panels, methods, strict=True):
        run = _first_run(results, name)
        test = results.split(run).test
        truth = _shares(test.Y)
        predicted = _shares(results.model(run).predict(test.X))
        ax.bar(places - 0.2, truth, 0.4, color="#bbbbbb", label="truth")
        ax.bar(
            places + 0.2,
            predicted,
            0.4,
            color=COLOURS[methods.index(name)],
            label=f"predicted by {results.label(name)}",
        )
        ax.set(ylabel="share of letters (%)")
        ax.set_axisbelow(True)
        ax.grid(False, axis="x")
        ax.legend()
    panels[-1].set_xticks(places, [_letter(k) for k in places])


def _shares(Y: Any) -> np.ndarray:
    counts = np.bincount(np.concatenate(list(Y)), minlength=26)
    return 100.0 * counts / counts.sum()


def _letter(label: Any) -> str:
    return chr(FIRST_LETTER + int(label))


@figure("words")
def words(results: ExperimentResults, fig: Any) -> None:
    """Eight test words: the first four that S-SVM reads rightly and the first four that it does not."""
    methods = ("S-SVM", "JKSE")
    runs = [_first_run(results, name) for name in methods]
    test = results.split(runs[0]).test
    read = [results.model(run).predict(test.X) for run in runs]
    chosen = _example_words(test.Y, read[0])
    fig.set_size_inches(7.2, 1.15 * (len(chosen) + 1) // 2 + 0.3)
    axes = np.atleast_1d(fig.subplots((len(chosen) + 1) // 2, 2)).ravel()
    for ax in axes:
        ax.axis("off")
    for ax, i in zip(axes, chosen, strict=False):
        _word(ax, test.X[i], test.Y[i], {name: yhat[i] for name, yhat in zip(methods, read, strict=True)})


def _example_words(Y: Any, yhat: Any) -> list[int]:
    """Words of 4 to 9 letters, no word twice."""
    chosen: dict[bool, dict[tuple[int, ...], int]] = {True: {}, False: {}}
    for i, y in enumerate(Y):
        word = tuple(int(label) for label in y)
        right = bool(np.array_equal(y, yhat[i]))
        if (
            4 <= len(word) <= 9
            and len(chosen[right]) < 4
            and not any(word in words for words in chosen.values())
        ):
            chosen[right][word] = i
    return [*chosen[True].values(), *chosen[False].values()]


def _word(ax: Any, x: np.ndarray, y: np.ndarray, read: dict[str, np.ndarray]) -> None:
    """A word's letters side by side, and beneath them what each method reads."""
    step, line = WIDTH + 2, 6.5
    for t, pixels in enumerate(x):
        ax.imshow(
            1.0 - pixels.reshape(HEIGHT, WIDTH), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest",
            extent=(t * step, t * step + WIDTH, HEIGHT, 0.0), rasterized=True,
        )  # fmt: skip
    for row, (name, yhat) in enumerate(read.items()):
        height = HEIGHT + 1.0 + line * (row + 0.5)
        ax.text(-2.0, height, name, ha="right", va="center", fontsize=7, color=GREY)
        for t, label in enumerate(yhat):
            right = label == y[t]
            place = t * step + WIDTH / 2
            colour = COLOURS[0] if right else COLOURS[1]
            weight = "bold" if right else "normal"
            ax.text(
                place,
                height,
                _letter(label),
                ha="center",
                va="center",
                fontsize=8,
                color=colour,
                weight=weight,
            )
            if not right:
                ax.plot([place - 2.5, place + 2.5], [height + 2.9] * 2, color=colour, linewidth=0.8)
    ax.set(xlim=(-22.0, 9 * step), ylim=(HEIGHT + 2.0 + line * len(read), -1.0))


def _traces(results: ExperimentResults) -> list[tuple[str, Series, pd.DataFrame]]:
    """(name, looks, the rows of the trace that certify a gap) of every solver."""
    traces = []
    runs = pd.concat([results.select("solvers"), results.select("online")])
    names = {**results.config["tables"]["ocr_solvers"]["names"], "olarank": "OLaRank"}
    for k, run in enumerate(runs.itertuples()):
        name = names.get(run.solver, run.solver)
        trace = results.trace(run.run)
        traces.append((name, Series(k), trace[column(trace, "gap").notna() & (trace["primal"] > 0.0)]))
    return traces


def _converge(results: ExperimentResults, fig: Any, key: str, label: str) -> None:
    ax = fig.add_subplot()
    for name, series, trace in _traces(results):
        x, y = trace[key].to_numpy(), (trace["gap"].clip(lower=1e-12) / trace["primal"]).to_numpy()
        look = {"color": series.colour, "linestyle": series.line, "marker": series.marker}
        ax.plot(x, y, label=name, markevery=max(1, len(x) // 8), **look)
    ax.set(xscale="log", yscale="log", xlabel=label, ylabel="relative duality gap", ylim=(5e-4, 2.0))
    ax.legend()


@figure("convergence")
def convergence(results: ExperimentResults, fig: Any) -> None:
    """The gap against calls of the search."""
    _converge(results, fig, "oracle_calls", "words searched")


@figure("convergence_time")
def convergence_time(results: ExperimentResults, fig: Any) -> None:
    """The gap against CPU time."""
    _converge(results, fig, "seconds", "CPU seconds")


@figure("output_space_time")
def output_space_time(results: ExperimentResults, fig: Any) -> None:
    """CPU time of training against the number of labels."""
    ax = fig.add_subplot()
    for k, name in enumerate(("JKSE, labels", "S-SVM, labels")):
        runs = results.timed(results.select("output space", method=name))
        line = mean_curve(runs, "n_labels", "fit_seconds")
        Series(k).ours(ax, *line, name.partition(",")[0])
    ax.set(xscale="log", yscale="log", xlabel="labels", ylabel="CPU seconds of training")
    number_ticks(ax.xaxis, line.x)
    ax.legend()
