"""Claims that are theorems: over every run of the suite, or over pairs of certified optima.

For a w with duality gap g, |w - w*|^2 <= 2 g, since the objective is 1-strongly convex. So two certified
solutions of one problem are at most sqrt(2 g) + sqrt(2 g') apart, and two that are farther apart
solve different problems: equality and difference are both decided without a tolerance of ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from structmargin_suite.analysis.statistics import interval, slopes
from structmargin_suite.results import ExperimentResults, column, has_value
from structmargin_suite.statements import Verdict, claim, decided, untested

ROUNDING = 1e-9


def _library_runs(results: Mapping[str, ExperimentResults]) -> pd.DataFrame:
    """Every finished run of a model of the library, with its experiment: to which the theorems apply."""
    numbers = ("constraints", "bound", "mean_slack", "train_risk")
    frames = [pd.DataFrame(columns=["experiment", "run", "exact", *numbers])]
    for name, experiment in results.items():
        runs = experiment.runs[
            has_value(experiment.runs, "status", "done") & column(experiment.runs, "mean_slack").notna()
        ]
        frame = pd.DataFrame({key: column(runs, key).astype(float) for key in numbers})
        frames.append(frame.assign(experiment=name, run=runs["run"], exact=has_value(runs, "exact", True)))
    known = [frame for frame in frames if len(frame)]
    return pd.concat(known, ignore_index=True) if known else frames[0]


@claim("bound-constraints")
def bound_constraints(results: Mapping[str, ExperimentResults]) -> Verdict:
    """No run of Algorithm 1, (a) or (b), in any experiment, adds more constraints than Theorem 18 allows."""
    runs = _library_runs(results)
    runs = runs[runs["bound"].notna()]
    if runs.empty:
        return untested("no run of Algorithm 1 with a bound")
    over = runs[runs["constraints"] > runs["bound"]]
    nearest = (runs["constraints"] / runs["bound"]).max()
    evidence = f"{_counted(runs)}; the nearest has {nearest:.2g} of its bound{_first(over)}"
    return decided(over.empty, evidence)


def _counted(runs: pd.DataFrame) -> str:
    return f"{len(runs)} runs in {', '.join(sorted(runs['experiment'].unique()))}"


def _first(over: pd.DataFrame) -> str:
    """How many runs exceed a bound, and one of them; nothing where none does."""
    if over.empty:
        return ""
    return f"; {len(over)} exceed it, first {over['experiment'].iloc[0]}/{over['run'].iloc[0]}"


@claim("bound-risk")
def bound_risk(results: Mapping[str, ExperimentResults]) -> Verdict:
    """In every run the mean of the exact slacks (squares for the SVM2 kinds) is at least the mean loss."""
    runs = _library_runs(results)
    runs = runs[runs["exact"].astype(bool)]
    if runs.empty:
        return untested("no run with exact slacks")
    risk, slack = runs["train_risk"], runs["mean_slack"]  # the risk that a formulation's slacks bound
    over = runs[risk > slack * (1 + ROUNDING) + ROUNDING]
    tight = (risk / slack)[slack > 0].max()
    evidence = f"{_counted(runs)}; the risk is at most {tight:.3g} of its bound{_first(over)}"
    return decided(over.empty, evidence)


def _weights(experiment: ExperimentResults, run: str) -> np.ndarray:
    return np.asarray(experiment.model(run).w_)


def _apart(
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
        float(np.linalg.norm(_weights(experiment, run) - _weights(experiment, other)))
        for run, other in zip(pairs["run"], pairs["run_other"], strict=True)
    ]
    pairs["allowed"] = [
        sum(math.sqrt(2.0 * max(gap, 0.0)) for gap in gaps) + ROUNDING
        for gaps in zip(pairs["gap"], pairs["gap_other"], strict=True)
    ]
    return pairs


@claim("slack-invariance")
def slack_invariance(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Trained with Delta and C, and with 4 Delta and C/4: slack re-scaled solutions are as close as their
    certificates allow one problem's solutions to be; margin re-scaled ones are provably apart.
    """
    experiment = results["theory"]
    plain, scaled = experiment.select("loss as it is"), experiment.select("loss times four")
    pairs = _apart(experiment, plain, scaled, ["formulation", "repetition"])
    slack, margin = (pairs[pairs["formulation"].str.endswith(kind)] for kind in ("slack", "margin"))
    if slack.empty or margin.empty:
        return untested("no pairs of runs with scaled and unscaled losses")
    same = (slack["distance"] <= slack["allowed"]).all()
    differ = (margin["distance"] > margin["allowed"]).all()
    evidence = (
        f"slack re-scaling: {len(slack)} pairs, weights at most {slack['distance'].max():.2g} apart where "
        f"certificates allow {slack['allowed'].max():.2g}; margin re-scaling: {len(margin)} pairs, "
        f"at least {margin['distance'].min():.2g} apart where one problem's solutions could be "
        f"{margin['allowed'].max():.2g}"
    )
    return decided(bool(same and differ), evidence)


@claim("zero-one-equal")
def zero_one_equal(results: Mapping[str, ExperimentResults]) -> Verdict:
    """With 0/1 loss, solutions of the three formulations of a penalty are as close as certified."""
    experiment = results["theory"]
    compared = []
    for penalty in ("SVM1", "SVM2"):
        base = experiment.select("zero-one", formulation=penalty)
        for scaling in ("slack", "margin"):
            others = experiment.select("zero-one", formulation=f"{penalty} {scaling}")
            compared.append(
                _apart(experiment, base, others, ["repetition"]).assign(formulation=f"{penalty} {scaling}")
            )
    pairs = pd.concat(compared, ignore_index=True)
    if pairs.empty:
        return untested("no runs with 0/1 loss under several formulations")
    worst = pairs.loc[(pairs["distance"] - pairs["allowed"]).idxmax()]
    evidence = (
        f"{len(pairs)} pairs; weights at most {pairs['distance'].max():.2g} apart; the least certain pair "
        f"({worst['formulation']}) {worst['distance']:.2g} where certificates allow {worst['allowed']:.2g}"
    )
    return decided(bool((pairs["distance"] <= pairs["allowed"]).all()), evidence)


@claim("one-slack-n")
def one_slack_n(results: Mapping[str, ExperimentResults]) -> Verdict:
    """1-slack runs at one C and epsilon: the slope of log constraints against log n has a 95% interval
    that ends below 0.1 (doubling n adds less than 7%), and no run adds 1000.
    """
    experiment = results["theory"]
    runs = experiment.select("growth")
    powers = slopes(runs, "n_train", "constraints")
    if len(powers) < 3:
        return untested(f"{len(powers)} repetitions; at least 3 are needed")
    power, most = interval(powers), runs["constraints"].max()
    evidence = (
        f"n from {runs['n_train'].min()} to {runs['n_train'].max()}: "
        f"constraints grow as n to the power {power}; at most {most:.0f} in a run"
    )
    return decided(bool(power.high < 0.1 and most < 1000), evidence)
