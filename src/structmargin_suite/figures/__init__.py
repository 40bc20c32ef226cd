"""Figures: one function each, registered by name, drawn from results alone.

    @figure("learning_curve")
    def learning_curve(results, fig): ...

structmargin_suite/figures/<experiment>.py holds an experiment's own, which its variants have too; a config
lists which to draw and their captions, and may name any other by its `kind`, <module>/<name>. Every figure
is written as SVG, PDF and PNG without dates, so equal results give equal bytes, and what it plots as JSON; a
figure that shows a clock has a name that ends in _time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structmargin_suite.results import ExperimentResults
from structmargin_suite.storage.files import write_json, write_with
from structmargin_suite.storage.layout import figure_kind

Draw = Callable[[ExperimentResults, Any], None]
_FIGURES: dict[str, Draw] = {}

PLAIN: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def figure(name: str) -> Callable[[Draw], Draw]:
    """Register a function under a figure's name."""

    def register(function: Draw) -> Draw:
        _FIGURES[f"{function.__module__.rpartition('.')[2]}/{name}"] = function
        return function

    return register


def draw(results: ExperimentResults, name: str) -> None:
    """Draw one figure of an experiment and write it in every format."""
    module, kind = figure_kind(results.summary["config"], results.name, name)
    importlib.import_module(f"structmargin_suite.figures.{module}")
    from structmargin_suite.figures._plotted import plotted
    from structmargin_suite.figures._style import house

    with house() as plt:
        fig = plt.figure(layout="constrained")
        _FIGURES[f"{module}/{kind}"](results, fig)
        fig.get_layout_engine().execute(fig)
        fig.set_layout_engine(None)  # once for all formats
        for kind, metadata in PLAIN.items():
            _save(fig, results.figure(name, kind), metadata)
        write_json(results.figure(name, "json"), plotted(fig))
        plt.close(fig)


def _save(fig: Any, path: Path, metadata: dict[str, Any]) -> None:
    def write(temporary: Path) -> None:
        fig.savefig(temporary, metadata=metadata)

    write_with(path, write)
