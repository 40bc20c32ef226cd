"""Figures of protein alignment: cacm09 Figure 6, Q4-score by identity, one pair under each model, time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import STATES
from structmargin_suite.datasets.homstrad import BINS, q_scores
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import standard_error
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS, Series
from structmargin_suite.results import ExperimentResults, column

STUDY = "models"
SHOWN = ("BLOSUM62", "generative", "Simple", "Window", "Profile")
"""The methods for which the alignment of one pair is drawn."""
MATRIX = {"blosum": 20 * 20}
COUNTED = {"residue": 20 * 20, "structure": 300 * 20}


def _methods(results: ExperimentResults) -> list[str]:
    return [
        name
        for name in results.config["studies"][STUDY]["methods"]
        if len(results.select(STUDY, method=name))
    ]


def n_weights(results: ExperimentResults, method: str) -> int:
    """How many weights a match and its gaps can have under a method; a substitution matrix has 400."""
    spec = results.methods[method]
    if spec.baseline is not None:
        return MATRIX.get(spec.baseline) or COUNTED[spec.option("kinds")]
    return ProteinAlignment(spec.option("problem.model"), spec.option("problem.gaps")).n_weights


def _colour(results: ExperimentResults, method: str) -> tuple[str, str]:
    """(colour, hatch) by kind of method: nothing learnt, generative, discriminative."""
    kind = {"blosum": 0, "log_odds": 1}.get(results.methods[method].baseline or "", 2)
    return (GREY, COLOURS[0], COLOURS[1])[kind], ("..", "//", "")[kind]


@figure("q4_score")
def q4_score(results: ExperimentResults, fig: Any) -> None:
    """A bar for each method."""
    fig.set_size_inches(6.4, 4.0)
    ax = fig.add_subplot()
    names = _methods(results)
    low = 100.0
    for place, name in enumerate(names):
        values = results.select(STUDY, method=name)["test_q4"].to_numpy()
        mean = float(np.mean(values))
        se = standard_error(values)
        colour, hatch = _colour(results, name)
        ax.barh(place, mean, xerr=se, color=colour, hatch=hatch, edgecolor="white", capsize=2, height=0.7)
        ax.text(mean + se + 0.3, place, f"{mean:.1f}", va="center", fontsize=8)
        low = min(low, mean)
    labels = [f"{results.label(name)} ({n_weights(results, name):,})" for name in names]
    ax.set_yticks(range(len(names)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="Q4-score on test families (%)", xlim=(max(0.0, 10.0 * np.floor(low / 10.0) - 10.0), 100.0))


@figure("by_identity")
def by_identity(results: ExperimentResults, fig: Any) -> None:
    """A line for each method over the classes of identity."""
    fig.set_size_inches(6.4, 4.2)
    ax = fig.add_subplot()
    classes = [f"{100 * a:.0f}_{100 * b:.0f}" for a, b in pairwise(BINS)]
    for k, name in enumerate(name for name in _methods(results) if "linear" not in name):
        runs = results.select(STUDY, method=name)
        scores = [column(runs, f"test_q4_{identity}").dropna().to_numpy() for identity in classes]
        look = Series(k)
        filled = [x for x, values in enumerate(scores) if len(values)]
        ax.plot(
            filled, [float(np.mean(scores[x])) for x in filled], color=look.colour, linestyle=look.line,
            marker=MARKERS[k % len(MARKERS)], markerfacecolor=look.colour if k < len(COLOURS) else "white",
            label=results.label(name),
        )  # fmt: skip
    labels = [f"{100 * a:.0f} to {100 * b:.0f}" for a, b in pairwise(BINS)]
    ax.set_xticks(range(len(classes)), labels)
    ax.set(xlabel="equal residues (%)", ylabel="Q4-score on test pairs (%)")
    fig.legend(loc="outside lower center", ncols=2)


@figure("models_time")
def models_time(results: ExperimentResults, fig: Any) -> None:
    """CPU time of a run against the number of weights."""
    ax = fig.add_subplot()
    names = _methods(results)
    for k, name in enumerate(names):
        times = results.timed(results.select(STUDY, method=name))["cpu_seconds"].to_numpy()
        if len(times):
            look = Series(k)
            face = look.colour if k < len(COLOURS) else "white"
            ax.plot(
                [n_weights(results, name)], [np.mean(times)], marker=look.marker, color=look.colour,
                markerfacecolor=face, linestyle="none", label=results.label(name),
            )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="weights", ylabel="CPU seconds per run")
    fig.set_size_inches(6.4, 4.4)
    fig.legend(loc="outside lower center", ncols=2)


@figure("one_alignment")
def one_alignment(results: ExperimentResults, fig: Any) -> None:
    """A template and a target, a panel for each model."""
    names = [name for name in SHOWN if name in _methods(results)]
    runs = {name: _first(results, name) for name in names}
    test = results.split(runs[names[0]]).test
    yhat = {name: results.model(run).predict(test.X) for name, run in runs.items()}
    e = telling(test, [q_scores(test.Y, yhat[name])[0] for name in names])
    x, y = test.X[e], test.Y[e]
    fig.set_size_inches(7.2, 0.9 + 1.15 * (len(names) + 1))
    axes = fig.subplots(len(names) + 1, 1, sharex=True)
    truth = {int(j): int(i) for i, j in y}
    _panel(
        axes[0],
        x,
        y,
        truth,
        f"by structure: family {test.Y.family[e]}, {100 * test.Y.identity[e]:.0f}% equal",
    )
    for ax, name in zip(axes[1:], names, strict=True):
        value = q_scores([y], [yhat[name][e]])[0][0]
        _panel(ax, x, yhat[name][e], truth, f"{results.label(name)}: Q4-score {value:.0f}%")
    axes[-1].set_xlabel("place")


def _first(results: ExperimentResults, method: str) -> str:
    """The run of a method on the first fold."""
    runs = results.select(STUDY, method=method)
    return str(runs.loc[column(runs, "fold", 0).idxmin(), "run"])


def telling(test: Any, scores: list[np.ndarray]) -> int:
    """The pair on which models differ most, among those short enough to draw (the shortest half at least)."""
    lengths = np.array([max(len(x.residue), len(x.target)) for x in test.X])
    short = lengths <= max(110, int(np.median(lengths)))
    apart = np.where(short, scores[-1] - scores[0] + 0.5 * (scores[-1] - scores[1]), -np.inf)
    return int(np.argmax(apart))


def _panel(ax: Any, x: Any, chain: np.ndarray, truth: dict[int, int], title: str) -> None:
    """The template's structure, the target below, and a line for every match."""
    n, m = len(x.residue), len(x.target)
    ax.plot([-0.5, n - 0.5], [1.0, 1.0], color=GREY, linewidth=0.8)
    for state, begin, end in runs_of(np.asarray(x.state)):
        if STATES[state] == "H":
            ax.add_patch(_box(begin - 0.4, end - begin - 0.2, COLOURS[3]))
        elif STATES[state] == "E":
            ax.annotate(
                "", (end - 0.4, 1.0), (begin - 0.6, 1.0),
                arrowprops={"arrowstyle": "simple,head_width=0.7,tail_width=0.35", "color": COLOURS[4]},
            )  # fmt: skip
    ax.plot([-0.5, m - 0.5], [0.0, 0.0], color="black", linewidth=2.0)
    for i, j in chain:
        near = int(j) in truth and abs(truth[int(j)] - int(i)) <= 4
        style = "-" if near else (0, (2, 1))
        ax.plot(
            [i, j], [0.86, 0.06], color=COLOURS[0] if near else COLOURS[1], linestyle=style, linewidth=0.6
        )
    ax.set_title(title, loc="left", fontsize=8)
    ax.set(xlim=(-1, max(n, m)), ylim=(-0.15, 1.25))
    ax.set_yticks([0.0, 1.0], ["target", "template"], fontsize=7)
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    for spine in ("left", "top", "right"):
        ax.spines[spine].set_visible(False)


def _box(begin: float, width: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((begin, 0.88), width, 0.24, facecolor=colour, edgecolor="black", linewidth=0.5, zorder=3)


def runs_of(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """(code, begin, end) of every stretch of equal codes."""
    edges = np.flatnonzero(np.diff(codes.astype(int))) + 1
    bounds = [0, *edges.tolist(), len(codes)]
    return [(int(codes[a]), a, b) for a, b in pairwise(bounds) if b > a]
