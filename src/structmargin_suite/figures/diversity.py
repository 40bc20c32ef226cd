"""Figures of diversified results: Figures 3 and 4, the curve over K, and what words are worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin.problems.diversity.problem import Selection, missed
from structmargin_suite.datasets._subtopics import LEVELS, THRESHOLDS, Query
from structmargin_suite.figures import figure
from structmargin_suite.figures._grouped import mean_curve, standard_error
from structmargin_suite.figures._style import COLOURS, GREY, MARKERS, Series, number_ticks
from structmargin_suite.results import ExperimentResults

STUDY, SVM = "figure_4", "structural SVM"
MAX_SUBTOPICS = 20
"""Of a query that Figure 3 can show."""


def example_query(results: ExperimentResults) -> tuple[Query, Selection, np.ndarray, np.ndarray]:
    """(query, its subtopics, the 3 documents with most each, 3 that have most together).

    Of the first corpus's queries with at most MAX_SUBTOPICS subtopics, the one where the two sets are
    furthest apart.
    """
    split: Any = results.split(results.select(STUDY, method=SVM)["run"].iloc[0])
    best: tuple[float, Any] | None = None
    for subset in (split.train, split.validation, split.test):
        for x, y in zip(subset.X, subset.Y, strict=True):
            if y.subtopics.shape[1] > MAX_SUBTOPICS:
                continue
            each = np.argsort(-(y.subtopics @ y.weights), kind="stable")[:3]
            together = y.documents[:3]
            apart = missed(y, each) - missed(y, together)
            if best is None or apart > best[0]:
                best = (apart, (x, y, each, together))
    if best is None:
        x, y = split.test.X[0], split.test.Y[0]
        return x, y, np.argsort(-(y.subtopics @ y.weights), kind="stable")[:3], y.documents[:3]
    example: tuple[Query, Selection, np.ndarray, np.ndarray] = best[1]
    return example


@figure("figure_3")
def figure_3(results: ExperimentResults, fig: Any) -> None:
    """Documents one below the other, subtopics side by side; below each group what it has together."""
    x, y, each, together = example_query(results)
    assert y.subtopics is not None and y.weights is not None
    fig.set_size_inches(7.2, 3.4)
    ax = fig.add_subplot()
    order = np.argsort(-y.weights, kind="stable")
    ends = np.concatenate([[0.0], np.cumsum(100.0 * y.weights[order])])
    bar_place, ticks, names = 0.0, [], []
    for k, (title, group) in enumerate((("most each", each), ("most together", together))):
        for d in [*group, None]:
            has = y.subtopics[group].any(axis=0) if d is None else y.subtopics[d]
            for j, t in enumerate(order):
                if has[t]:
                    ax.barh(
                        bar_place, ends[j + 1] - ends[j], left=ends[j], height=0.72, color=COLOURS[k],
                        alpha=1.0 if d is None else 0.45, edgecolor="white", linewidth=1.0,
                        hatch=None if d is None else "//",
                    )  # fmt: skip
            ticks.append(bar_place)
            share = 100.0 * (1.0 - missed(y, group if d is None else [d]))
            names.append(f"{title}: {share:.0f}%" if d is None else f"document {d + 1}: {share:.0f}%")
            bar_place += 1.0
        bar_place += 0.5
    for end in ends[1:-1]:
        ax.axvline(end, color="#bbbbbb", linewidth=0.6, zorder=0)
    ax.set_yticks(ticks, names)
    ax.grid(False)
    ax.set(xlim=(0, 100), xlabel=f"subtopics of the query {x.name!r}, by weight (%)")
    ax.invert_yaxis()


@figure("figure_4")
def figure_4(results: ExperimentResults, fig: Any) -> None:
    """One panel per corpus and kind of candidates, one bar per method."""
    studies = {STUDY: "", "everything": ",\nall results"}
    panels = [(study, corpus) for study in studies for corpus in results.select(study)["corpus"].unique()]
    fig.set_size_inches(7.2, 0.25 * 7 * ((len(panels) + 1) // 2) + 1.0)
    axes = np.atleast_1d(fig.subplots((len(panels) + 1) // 2, 2, sharey=True)).ravel()
    for ax, (study, corpus) in zip(axes, panels, strict=False):
        runs = results.select(study, corpus=corpus)
        pairs = results.pairs(study)
        for place, (name, reading) in enumerate(pairs):
            of_pair = (runs["method"] == name) & (runs["reading"] == reading)
            losses = runs.loc[of_pair, "test_subtopic_loss"].to_numpy()
            ax.barh(
                place, np.mean(losses), xerr=standard_error(losses), height=0.7,
                color=COLOURS[0] if name == SVM else "#b8c4cc", ecolor="black", error_kw={"linewidth": 0.9},
            )  # fmt: skip
            ax.text(
                0.99, place, f"{np.mean(losses):.3f}", transform=ax.get_yaxis_transform(), ha="right",
                va="center", fontsize=7,
            )  # fmt: skip
        ax.set_axisbelow(True)
        ax.grid(axis="y", visible=False)
        ax.set_xlim(0.0, 1.25 * ax.get_xlim()[1])
        ax.axvline(
            float(np.mean(runs["test_best_loss"].to_numpy())),
            color=COLOURS[1],
            linestyle="--",
            linewidth=1.2,
        )
        ax.set_yticks(range(len(pairs)), [results.label(*pair) for pair in pairs])
        ax.set(xlabel="subtopic loss", title=f"{runs['data'].iloc[0]}{studies[study]}")
    axes[0].invert_yaxis()


@figure("sizes")
def sizes(results: ExperimentResults, fig: Any) -> None:
    """One panel per corpus: loss against K."""
    fig.set_size_inches(7.2, 3.2)
    runs = results.select("sizes")
    corpora = runs["corpus"].unique()
    panels = np.atleast_1d(fig.subplots(1, len(corpora), sharey=True))
    for ax, corpus in zip(panels, corpora, strict=True):
        of_corpus = runs[runs["corpus"] == corpus]
        for k, name in enumerate(results.config["studies"]["sizes"]["methods"]):
            read = of_corpus[of_corpus["reading"] == results.primary(name)]
            line = mean_curve(read[read["method"] == name], "K", "test_subtopic_loss")
            Series(k).ours(ax, *line, results.label(name))
        ax.plot(
            *mean_curve(of_corpus, "K", "test_best_loss")[:2],
            color=GREY,
            linestyle=":",
            label="best, from the subtopics",
        )
        ax.set(xlabel="documents chosen, K", title=of_corpus["data"].iloc[0], ylim=(0, None))
        number_ticks(ax.xaxis, line.x)
    panels[0].set_ylabel("subtopic loss")
    handles, names = panels[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=3)


@figure("worth")
def worth(results: ExperimentResults, fig: Any) -> None:
    """One panel per corpus: the worth of a word at each level, by its share of the candidates."""
    runs = results.select(STUDY, method=SVM)
    corpora = runs["corpus"].unique()
    rows = -(-len(corpora) // 3)  # four labels of an axis have no room beside each other
    fig.set_size_inches(7.2, 0.6 + 2.6 * rows)
    grid = fig.subplots(rows, -(-len(corpora) // rows), sharey=True, squeeze=False)
    panels = grid.ravel()
    for ax in panels[len(corpora) :]:
        ax.remove()
    panels = panels[: len(corpora)]
    shares = np.arange(1.0, 80.0)
    for ax, corpus in zip(panels, corpora, strict=True):
        of_corpus = runs[runs["corpus"] == corpus]
        w = np.mean([results.model(run).w_ for run in of_corpus["run"]], axis=0).reshape(len(LEVELS), -1)
        learnt = w @ (shares >= np.array(THRESHOLDS)[:, None])
        learnt /= max(1e-12, float(np.abs(learnt).max()))
        for k, name in enumerate(LEVELS):
            ax.step(
                shares, learnt[k], where="post", color=COLOURS[k], linestyle=("-", "--", "-.")[k],
                marker=MARKERS[k], markevery=12, label=f"word in the {name}",
            )  # fmt: skip
        r = shares / 100.0
        pages = -r * np.log2(r)
        ax.plot(shares, pages / pages.max(), color=GREY, linestyle=":", label="coverage heuristic")
        ax.axhline(0.0, color="black", linewidth=0.6)
        ax.set(xlabel="candidates with the word (%)", title=of_corpus["data"].iloc[0])
    for ax in grid[:, 0]:
        ax.set_ylabel("worth of covering it")
    handles, names = panels[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4)
