"""One figure per task: the relative gap of every solver against CPU seconds and against passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent / "figures"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, which are told apart by everybody."""
STYLES = ("-", "--", "-.", ":")


def draw(name: str, title: str, traces: dict[str, Any], folder: Path = FIGURES) -> None:
    """Write figures/<name>.svg and .png; a solver's curve is its smallest certified gap so far."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": name, "font.size": 10}):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, constrained_layout=True)
        for k, (solver, one) in enumerate(traces.items()):
            seconds, passes, gaps = curve(one["trace"], one["n"])
            look = {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)], "label": solver}
            axes[0].plot(seconds, gaps, **look)
            axes[1].plot(passes, gaps, **look)
        for axis, what in zip(axes, ("CPU seconds", "passes (searches / examples)"), strict=True):
            axis.set(xscale="log", yscale="log", xlabel=what)
            axis.grid(alpha=0.3, linewidth=0.5)
            axis.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylabel("certified relative gap")
        axes[1].legend(frameon=False, fontsize=9, loc="lower left")
        figure.suptitle(title, fontsize=11)
        folder.mkdir(exist_ok=True)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)


def curve(trace: list[dict[str, float]], n: int) -> tuple[list[float], list[float], list[float]]:
    """(seconds, passes, smallest relative gap so far) of the rows that have a gap, at most 1."""
    seconds, passes, gaps = [], [], []
    for row in trace:
        if "gap" in row and 0.0 < row["gap"] <= abs(row["primal"]):
            seconds.append(row["seconds"])
            passes.append(row["oracle_calls"] / n)
            gaps.append(min([row["gap"] / abs(row["primal"]), *gaps[-1:]]))
    return seconds, passes, gaps
