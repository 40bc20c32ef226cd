"""Claims that are theorems: over every run of the suite, or over pairs of certified optima.

For a w with duality gap g, |w - w*|^2 <= 2 g, since the objective is 1-strongly convex. So two certified
solutions of one problem are at most sqrt(2 g) + sqrt(2 g') apart, and two that are farther apart
solve different problems: equality and difference are both decided without a tolerance of ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from structmargin_suite.analysis.statistics import interval, slopes
from structmargin_suite.results import ExperimentResults, Row
from structmargin_suite.statements import Verdict, claim, decided, untested

ROUNDING = 1e-9


def _library_runs(results: Mapping[str, ExperimentResults]) -> Iterable[tuple[str, Row]]:
    """Every finished run of a model of the library, with its experiment."""
    for name, mine in results.items():
        for row in mine.runs:
            if row["status"] == "done" and row.get("mean_slack") is not None:
                yield name, row


@claim("bound-constraints")
def bound_constraints(results: Mapping[str, ExperimentResults]) -> Verdict:
    """No run of Algorithm 1, (a) or (b), in any experiment, adds more constraints than Theorem 18 allows."""
    runs = [(name, row) for name, row in _library_runs(results) if row.get("bound") is not None]
    if not runs:
        return untested("no run of Algorithm 1 with a bound")
    over = [(name, row) for name, row in runs if row["constraints"] > row["bound"]]
    nearest = max(row["constraints"] / row["bound"] for _, row in runs)
    evidence = f"{_counted(runs)}; the nearest has {nearest:.2g} of its bound"
    if over:
        evidence += f"; {len(over)} exceed it, first {over[0][0]}/{over[0][1]['run']}"
    return decided(not over, evidence)


def _counted(runs: list[tuple[str, Row]]) -> str:
    return f"{len(runs)} runs in {', '.join(sorted({name for name, _ in runs}))}"


@claim("bound-risk")
def bound_risk(results: Mapping[str, ExperimentResults]) -> Verdict:
    """In every run the mean of the exact slacks (squares for the SVM2 kinds) is at least the mean loss."""
    runs = [(name, row) for name, row in _library_runs(results) if row.get("exact")]
    if not runs:
        return untested("no run with exact slacks")
    over = [(name, row) for name, row in runs if _risk(row) > row["mean_slack"] * (1 + ROUNDING) + ROUNDING]
    tight = max(_risk(row) / row["mean_slack"] for _, row in runs if row["mean_slack"] > 0)
    evidence = f"{_counted(runs)}; the risk is at most {tight:.3g} of its bound"
    if over:
        evidence += f"; {len(over)} exceed it, first {over[0][0]}/{over[0][1]['run']}"
    return decided(not over, evidence)


def _risk(row: Row) -> float:
    """The risk that a formulation's slacks bound: the mean loss, or the share of mistakes."""
    return float(row["train_risk"])


def _weights(mine: ExperimentResults, row: Row) -> np.ndarray:
    return np.asarray(mine.model(row["run"]).w_)


def _apart(mine: ExperimentResults, first: Row, second: Row) -> tuple[float, float]:
    """(distance of two weight vectors, how far apart two solutions of one problem could be)."""
    distance = float(np.linalg.norm(_weights(mine, first) - _weights(mine, second)))
    return distance, sum(math.sqrt(2.0 * max(row["gap"], 0.0)) for row in (first, second)) + ROUNDING


def _twins(first: list[Row], second: list[Row], *keys: str) -> Iterable[tuple[Row, Row]]:
    """Pairs of rows that agree in `keys`."""
    others = {tuple(row.get(key) for key in keys): row for row in second}
    for row in first:
        at = tuple(row.get(key) for key in keys)
        if at in others:
            yield row, others[at]


@claim("slack-invariance")
def slack_invariance(results: Mapping[str, ExperimentResults]) -> Verdict:
    """Trained with Delta and C, and with 4 Delta and C/4: slack re-scaled solutions are as near as their
    certificates allow one problem's solutions to be; margin re-scaled ones are provably apart.
    """
    mine = results["theory"]
    plain, scaled = mine.rows("loss as it is"), mine.rows("loss times four")
    pairs = [(a, b, *_apart(mine, a, b)) for a, b in _twins(plain, scaled, "formulation", "repetition")]
    slack = [pair for pair in pairs if pair[0]["formulation"].endswith("slack")]
    margin = [pair for pair in pairs if pair[0]["formulation"].endswith("margin")]
    if not slack or not margin:
        return untested("no pairs of runs with scaled and unscaled losses")
    same = all(distance <= allowed for *_, distance, allowed in slack)
    differ = all(distance > allowed for *_, distance, allowed in margin)
    evidence = (
        f"slack re-scaling: {len(slack)} pairs, weights at most {max(p[2] for p in slack):.2g} apart where "
        f"certificates allow {max(p[3] for p in slack):.2g}; margin re-scaling: {len(margin)} pairs, "
        f"at least {min(p[2] for p in margin):.2g} apart where one problem's solutions could be "
        f"{max(p[3] for p in margin):.2g}"
    )
    return decided(same and differ, evidence)


@claim("zero-one-equal")
def zero_one_equal(results: Mapping[str, ExperimentResults]) -> Verdict:
    """With 0/1 loss, the solutions of the three formulations of a penalty are as near as certificates ask."""
    mine = results["theory"]
    rows = mine.rows("zero-one")
    told: list[tuple[str, float, float]] = []
    for penalty in ("SVM1", "SVM2"):
        base = [row for row in rows if row["formulation"] == penalty]
        for scaling in ("slack", "margin"):
            others = [row for row in rows if row["formulation"] == f"{penalty} {scaling}"]
            told += [
                (f"{penalty} {scaling}", *_apart(mine, a, b)) for a, b in _twins(base, others, "repetition")
            ]
    if not told:
        return untested("no runs with 0/1 loss under several formulations")
    worst = max(told, key=lambda one: one[1] - one[2])
    evidence = (
        f"{len(told)} pairs; weights at most {max(d for _, d, _ in told):.2g} apart; the least certain pair "
        f"({worst[0]}) {worst[1]:.2g} where certificates allow {worst[2]:.2g}"
    )
    return decided(all(distance <= allowed for _, distance, allowed in told), evidence)


@claim("one-slack-n")
def one_slack_n(results: Mapping[str, ExperimentResults]) -> Verdict:
    """1-slack runs at one C and epsilon: the slope of log constraints against log n has a 95% interval
    that ends below 0.1 (doubling n adds less than 7%), and no run adds 1000.
    """
    mine = results["theory"]
    rows = mine.rows("growth")
    powers = slopes(rows, "n_train", "constraints")
    if len(powers) < 3:
        return untested(f"{len(powers)} repetitions; at least 3 are needed")
    power, most = interval(powers), max(row["constraints"] for row in rows)
    sizes = sorted({row["n_train"] for row in rows})
    evidence = (
        f"n from {sizes[0]} to {sizes[-1]}: constraints grow as n to the power {power}; "
        f"at most {most:.0f} in a run"
    )
    return decided(power.high < 0.1 and most < 1000, evidence)
