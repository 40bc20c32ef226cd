"""Quantities of the theorems (jmlr05 Sections 2 to 4), from the runs of every experiment.

For a w with duality gap g, |w - w*|^2 <= 2 g, since the objective is 1-strongly convex. So two certified
solutions of one problem are at most sqrt(2 g) + sqrt(2 g') apart, and two that are farther apart solve
different problems: equality and difference are both decided without a tolerance of ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from structmargin import FORMULATIONS
from structmargin_suite.results import ExperimentResults, column, has_value

ROUNDING = 1e-9
NUMBERS = ("constraints", "bound", "mean_slack", "train_risk", "primal", "dual", "gap", "eps", "C", "n_train")


def library_runs(results: Mapping[str, ExperimentResults]) -> pd.DataFrame:
    """Every run of a model of the library, with its experiment: to which the theorems apply."""
    frames = []
    for name, experiment in results.items():
        runs = experiment.runs[column(experiment.runs, "formulation", "").isin(list(FORMULATIONS))]
        frame = pd.DataFrame({key: column(runs, key).astype(float) for key in NUMBERS}, index=runs.index)
        texts = {key: column(runs, key, "").astype(str) for key in ("run", "formulation", "reason")}
        flags = {key: has_value(runs, key, True) for key in ("exact", "converged")}
        frames.append(frame.assign(experiment=name, done=has_value(runs, "status", "done"), **texts, **flags))
    kept = [frame for frame in frames if len(frame)]
    empty = pd.DataFrame(
        columns=[*NUMBERS, "experiment", "done", "run", "formulation", "reason", "exact", "converged"]
    )
    return pd.concat(kept, ignore_index=True) if kept else empty


def rescales_margin(name: str) -> bool:
    """Whether a formulation re-scales the margin; 0/1 loss counts as slack re-scaling with losses of 1."""
    return bool(FORMULATIONS[name].H.s0 == 1.0)


def power_of_slacks(name: str) -> int:
    """1 for SVM1 and 2 for SVM2."""
    return FORMULATIONS[name].p


def gains_of_cuts(experiment: ExperimentResults, run: Any) -> pd.DataFrame:
    """What each constraint of a training `raised` the dual by, and the `least` that it may.

    `run` is a row of the experiment's runs. Propositions 14 to 17 hold with a bound on |deltaPsi| and on the
    loss over the outputs of the constraint's own example: here classes, so that |deltaPsi|^2 <= 2 |x|^2.
    """
    split, formulation = experiment.split(run.run), FORMULATIONS[run.formulation]
    radius = np.sqrt(2.0) * np.linalg.norm(np.asarray(split.train.X), axis=1)
    largest = np.asarray(split.problem["loss"]).max(axis=1)[np.asarray(split.train.Y)]
    least = [
        formulation.min_gain(run.C, len(radius), run.eps, float(R), float(delta))
        for R, delta in zip(radius, largest, strict=True)
    ]
    cuts = experiment.gains(run.run)
    of_example = np.asarray(least, dtype=float)[cuts["example"].to_numpy(int)]
    return pd.DataFrame({"raised": cuts["dual_after"] - cuts["dual_before"], "least": of_example})


def gain_of_one(loss: float, radius: float, cap: float) -> float:
    """What the first constraint raises the dual of SVM1 with margin re-scaling by.

    The maximum of alpha loss - alpha^2 radius^2 / 2 over 0 <= alpha <= cap, where the cap is C/n.
    """
    alpha = min(cap, loss / radius**2)
    return alpha * loss - 0.5 * (alpha * radius) ** 2


def solution_pairs(
    experiment: ExperimentResults, first: pd.DataFrame, second: pd.DataFrame, keys: Sequence[str]
) -> pd.DataFrame:
    """Pairs of runs that agree in `keys`, with the `distance` of their weights, and how far apart two
    solutions of one problem are `allowed` to be."""
    left, right = (
        runs.assign(repetition=column(runs, "repetition", 0))[[*keys, "run", "gap"]]
        for runs in (first, second)
    )
    pairs = left.merge(right.drop_duplicates(keys, keep="last"), on=keys, suffixes=("", "_other"))
    pairs["distance"] = [
        float(np.linalg.norm(weights(experiment, run) - weights(experiment, other)))
        for run, other in zip(pairs["run"], pairs["run_other"], strict=True)
    ]
    pairs["allowed"] = [
        sum(math.sqrt(2.0 * max(gap, 0.0)) for gap in gaps) + ROUNDING
        for gaps in zip(pairs["gap"], pairs["gap_other"], strict=True)
    ]
    return pairs


def weights(experiment: ExperimentResults, run: str) -> np.ndarray:
    """The explicit weights of a run."""
    return np.asarray(experiment.model(run).w_)


def support_margins(fit: Any) -> np.ndarray:
    """<w, deltaPsi> of every constraint with alpha > 0: by how much the truth scores above its output."""
    support, H = fit.support, fit.formulation.H
    margins: np.ndarray = (H.t(support.losses) - support.H) / H.s(support.losses)
    return margins


def support_distances(fit: Any) -> np.ndarray:
    """|deltaPsi|^2 of every constraint with alpha > 0."""
    rows = fit.support.rows.tocsr()
    scale = np.asarray(fit.formulation.H.s(fit.support.losses), dtype=float)
    squared: np.ndarray = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() / scale**2
    return squared
