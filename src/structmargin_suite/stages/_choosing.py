"""One value of an option for several runs: which one does best over all of them.

Every value is a run of its own. They are compared by the choice's measure, averaged over the runs for which
one value is chosen: those that differ only in the value and in the settings that the choice names (`over`),
or all runs of a method under one reading on one corpus, where the test set chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from structmargin_suite.methods.choice import Choice
from structmargin_suite.planning.plan import Experiment
from structmargin_suite.results import column, has_value


def mark_chosen(experiment: Experiment, runs: pd.DataFrame) -> None:
    """Set `chosen` to False for the runs of values that others are better than."""
    choices = {(run.method, run.reading): run.configured.choice for run in experiment.runs}
    read = column(runs, "reading", "")
    for (method, reading), choice in choices.items():
        if choice is None or not choice.between_runs:
            continue
        of_method = runs[(runs["method"] == method) & (read == reading)]
        own = [run.varied for run in experiment.runs if (run.method, run.reading) == (method, reading)]
        for _, candidates in of_method.groupby(_apart(choice, own), dropna=False):
            _mark_best(choice, candidates, runs)


def _apart(choice: Choice, settings: Sequence[Mapping[str, object]]) -> list[str]:
    """The settings of which every value has a choice of its own.

    Only those that the method's own runs have: of another, results may have a measure under the same name.
    """
    varied = dict.fromkeys(key for each in settings for key, value in each.items() if value is not None)
    together = {"method", "reading", "corpus", choice.columns[choice.option], *choice.over}
    return ["corpus", *(key for key in varied if choice.over and key not in together)]


def _mark_best(choice: Choice, candidates: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Mark the runs of the best value among runs that differ in the value, and in what is averaged over."""
    option = choice.columns[choice.option]
    done = candidates[candidates["status"] == "done"]
    by = choice.measure_name({str(key): value for key, value in candidates.iloc[0].items()})
    means = {}
    for value in choice.among:
        tried = done[_tried(done, option, value)]
        measured = np.asarray(column(tried, by), dtype=float)
        measured = measured[np.isfinite(measured)]  # of some runs nothing can be held out
        if len(measured):
            means[value] = choice.sign * float(np.mean(measured))
    if means:
        best = min(means, key=lambda value: means[value])
        runs.loc[candidates.index, "chosen"] = _tried(candidates, option, best)


def _tried(runs: pd.DataFrame, option: str, value: Any) -> pd.Series:
    """Which runs have an option's value; those without a column or value of it have the only one there is."""
    return has_value(runs, option, value) | column(runs, option).isna()
