"""Figures of protein alignment: cacm09 Figures 5 and 6, Q4-score by identity, time.

Where a method runs under several readings, figures show its primary one; `q4_score` shows all.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from structmargin.problems import ProteinAlignment
from structmargin.problems.proteins.features import STATES, Pair
from structmargin_suite.datasets import Examples
from structmargin_suite.datasets.homstrad import BINS, families, q_scores
from structmargin_suite.datasets.homstrad.pairs import examples
from structmargin_suite.datasets.homstrad.structure import with_predictions
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import standard_error
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS, Series
from structmargin_suite.results import ExperimentResults, column

STUDY, STUDIES = "models", ("models", "template only")
SHOWN = ("BLOSUM62", "generative", "Simple", "Window", "Profile")
"""The methods for which the alignment of one pair is drawn."""
MATRIX = {"blosum": 20 * 20}
COUNTED = {"residue": 20 * 20, "structure": 300 * 300}
MADE_UP = 24
"""So many families are made up, whose masters the structure of the drawn target is predicted from."""


def _methods(results: ExperimentResults) -> list[str]:
    return [
        name
        for name in results.config["studies"][STUDY]["methods"]
        if len(results.select(STUDY, method=name))
    ]


def _primary_runs(results: ExperimentResults, method: str) -> pd.DataFrame:
    """The runs of a method under its primary reading."""
    return _runs_under(results, method, _primary(results, method))


def _primary(results: ExperimentResults, method: str) -> str:
    named = results.methods[method].readings
    return next((name for name in named if results.readings[name].primary), "")


def _runs_under(results: ExperimentResults, method: str, reading: str) -> pd.DataFrame:
    runs = results.select(STUDIES, method=method)
    return runs[column(runs, "reading", "").fillna("") == reading]


def n_weights(results: ExperimentResults, method: str) -> int:
    """How many weights a match and its gaps can have under a method; a substitution matrix has 400."""
    spec = results.methods[method]
    if spec.baseline is not None:
        return MATRIX.get(spec.baseline) or COUNTED[spec.option("kinds")]
    return ProteinAlignment(spec.option("problem.model"), spec.option("problem.gaps")).n_weights


def _colour(results: ExperimentResults, method: str) -> str:
    """By kind of method: nothing learnt, generative, discriminative."""
    kind = {"blosum": 0, "log_odds": 1}.get(results.methods[method].baseline or "", 2)
    return (GREY, COLOURS[0], COLOURS[1])[kind]


@figure("q4_score")
def q4_score(results: ExperimentResults, fig: Any) -> None:
    """A dot for each method and reading; dots need no axis from 0."""
    fig.set_size_inches(6.4, 4.2)
    ax = fig.add_subplot()
    names = _methods(results)
    for place, name in enumerate(names):
        primary = _primary(results, name)
        others = [reading for reading in results.methods[name].readings if reading != primary]
        for reading in (*others, primary):
            values = _runs_under(results, name, reading)["test_q4"].to_numpy()
            if not len(values):
                continue
            mean, colour, main = float(np.mean(values)), _colour(results, name), reading == primary
            ax.errorbar(
                mean, place + (0.0 if main else 0.25), xerr=standard_error(values), color=colour, marker="o",
                markersize=6 if main else 4, markerfacecolor=colour if main else "white", capsize=2,
            )  # fmt: skip
            if main:
                ax.annotate(
                    f"{mean:.1f}", (mean, place), (0, 6), textcoords="offset points", ha="center", fontsize=7
                )
    labels = [f"{results.label(name)} ({n_weights(results, name):,})" for name in names]
    ax.set_yticks(range(len(names)), labels, fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.8)
    ax.set(xlabel="Q4-score on test families (%)")


@figure("by_identity")
def by_identity(results: ExperimentResults, fig: Any) -> None:
    """A line for each method over the classes of identity."""
    fig.set_size_inches(6.4, 4.2)
    ax = fig.add_subplot()
    classes = [f"{100 * a:.0f}_{100 * b:.0f}" for a, b in pairwise(BINS)]
    for k, name in enumerate(name for name in _methods(results) if "linear" not in name):
        runs = _primary_runs(results, name)
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
        times = results.timed(_primary_runs(results, name))["cpu_seconds"].to_numpy()
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
    """A template and a target of the test families, a panel for each model."""
    runs = _first_runs(results)
    test = results.split(next(iter(runs.values()))).test
    yhat = {name: results.model(run).predict(test.X) for name, run in runs.items()}
    e = most_different_pair(test, [q_scores(test.Y, chains)[0] for chains in yhat.values()])
    title = f"by structure: family {test.Y.family[e]}, {100 * test.Y.identity[e]:.0f}% equal"
    _panels(results, fig, (test.X[e], test.Y[e]), {name: chains[e] for name, chains in yhat.items()}, title)


@figure("one_alignment_made_up")
def one_alignment_made_up(results: ExperimentResults, fig: Any) -> None:
    """The same for a pair that is made up, by the same models."""
    runs = _first_runs(results)
    test = made_up_pairs()
    yhat = {name: results.model(run).predict(test.X) for name, run in runs.items()}
    e = most_different_pair(test, [q_scores(test.Y, chains)[0] for chains in yhat.values()])
    title = f"as it was made, {100 * test.Y.identity[e]:.0f}% equal"
    _panels(results, fig, (test.X[e], test.Y[e]), {name: chains[e] for name, chains in yhat.items()}, title)


@functools.cache
def made_up_pairs() -> Examples:
    """One pair of each of MADE_UP families, with predicted structures of the targets."""
    made = families.generate(np.random.default_rng(0), MADE_UP, 1)
    return examples(with_predictions(made, 0, 2, None), np.arange(MADE_UP))


def _panels(
    results: ExperimentResults,
    fig: Any,
    example: tuple[Pair, np.ndarray],
    yhat: dict[str, np.ndarray],
    title: str,
) -> None:
    """The true alignment and that of each model, one above the other."""
    x, y = example
    fig.set_size_inches(7.2, 0.9 + 1.15 * (len(yhat) + 1))
    axes = fig.subplots(len(yhat) + 1, 1, sharex=True)
    truth = {int(j): int(i) for i, j in y}
    _panel(axes[0], x, y, truth, title)
    for ax, (name, chain) in zip(axes[1:], yhat.items(), strict=True):
        value = q_scores([y], [chain])[0][0]
        _panel(ax, x, chain, truth, f"{results.label(name)}: Q4-score {value:.0f}%")
    axes[-1].set_xlabel("place")


def _first_runs(results: ExperimentResults) -> dict[str, str]:
    """The run of each method that is drawn, on the first fold, under its primary reading."""
    return {name: _first(results, name) for name in SHOWN if name in _methods(results)}


def _first(results: ExperimentResults, method: str) -> str:
    """The run of a method on the first fold."""
    runs = _primary_runs(results, method)
    return str(runs.loc[column(runs, "fold", 0).idxmin(), "run"])


def most_different_pair(test: Any, scores: list[np.ndarray]) -> int:
    """The pair on which models differ most, among those short enough to draw (the shortest half at least)."""
    lengths = np.array([max(len(x.residue), len(x.target)) for x in test.X])
    short = lengths <= max(110, int(np.median(lengths)))
    apart = np.where(short, scores[-1] - scores[0] + 0.5 * (scores[-1] - scores[1]), -np.inf)
    return int(np.argmax(apart))


def _panel(ax: Any, x: Any, chain: np.ndarray, truth: dict[int, int], title: str) -> None:
    """The template's structure, the target below, and a line for every match."""
    n, m = len(x.residue), len(x.target)
    _drawn_structure(ax, x.state, 1.0)
    if x.target_state is None:
        ax.plot([-0.5, m - 0.5], [0.0, 0.0], color="black", linewidth=2.0)
    else:
        _drawn_structure(ax, x.target_state, 0.0)
    for i, j in chain:
        near = int(j) in truth and abs(truth[int(j)] - int(i)) <= 4
        style = "-" if near else (0, (2, 1))
        ax.plot(
            [i, j], [0.86, 0.14], color=COLOURS[0] if near else COLOURS[1], linestyle=style, linewidth=0.6
        )
    ax.set_title(title, loc="left", fontsize=8)
    ax.set(xlim=(-1, max(n, m)), ylim=(-0.25, 1.25))
    ax.set_yticks([0.0, 1.0], ["target", "template"], fontsize=7)
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    for spine in ("left", "top", "right"):
        ax.spines[spine].set_visible(False)


def _drawn_structure(ax: Any, states: np.ndarray, height: float) -> None:
    """A line at this height, with a box for every helix and an arrow for every strand."""
    from matplotlib.patches import Rectangle

    ax.plot([-0.5, len(states) - 0.5], [height, height], color=GREY, linewidth=0.8)
    for state, begin, end in runs_of(np.asarray(states)):
        if STATES[state] == "H":
            corner, width = (begin - 0.4, height - 0.12), end - begin - 0.2
            ax.add_patch(
                Rectangle(
                    corner, width, 0.24, facecolor=COLOURS[3], edgecolor="black", linewidth=0.5, zorder=3
                )
            )
        elif STATES[state] == "E":
            ax.annotate(
                "", (end - 0.4, height), (begin - 0.6, height),
                arrowprops={"arrowstyle": "simple,head_width=0.7,tail_width=0.35", "color": COLOURS[4]},
            )  # fmt: skip


def runs_of(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """(code, begin, end) of every stretch of equal codes."""
    edges = np.flatnonzero(np.diff(codes.astype(int))) + 1
    bounds = [0, *edges.tolist(), len(codes)]
    return [(int(codes[a]), a, b) for a, b in pairwise(bounds) if b > a]
