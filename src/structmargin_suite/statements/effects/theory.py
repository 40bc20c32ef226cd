"""Theorems (jmlr05 Sections 2 to 4, icml04 Section 4): counterexamples among runs, or pairs of optima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import Estimate, NotTestable, counterexamples, t_interval
from structmargin_suite.analysis.experiments.theory import (
    ROUNDING,
    gain_of_one,
    gains_of_cuts,
    library_runs,
    power_of_slacks,
    rescales_margin,
    solution_pairs,
    support_margins,
)
from structmargin_suite.analysis.statistics import logarithms
from structmargin_suite.results import column, has_value
from structmargin_suite.statements.cases import Case, effect

KINDS = {
    "svm1-slack": (1, False), "svm1-margin": (1, True), "svm2-slack": (2, False), "svm2-margin": (2, True),
}  # fmt: skip
"""The power of the slacks, and whether the margin is re-scaled."""
BOUNDS, AS_IT_IS, TIMES_FOUR, ZERO_ONE = "bounds", "loss as it is", "loss times four", "zero-one"
RESTART = "restart"
NEARLY_ONE = 1.0 + 1e-6
"""Active constraints of examples without slack have a margin of exactly 1, up to rounding."""


def _kind(case: Case) -> tuple[int, bool]:
    return next(kind for name, kind in KINDS.items() if case.statement.id.endswith(name))


def _of_kind(runs: pd.DataFrame, kind: tuple[int, bool]) -> pd.DataFrame:
    return _where(runs, lambda name: (power_of_slacks(name), rescales_margin(name)) == kind)


def _where(runs: pd.DataFrame, fits: Callable[[str], bool]) -> pd.DataFrame:
    """The runs whose formulation fits."""
    return runs[runs["formulation"].map(fits).astype(bool)]


def _counted(runs: pd.DataFrame, broken: pd.DataFrame, note: str) -> Estimate:
    """Counterexamples among runs, with the first of them."""
    experiments = ", ".join(sorted(set(runs["experiment"])))
    first = f"; the first is {broken['experiment'].iloc[0]}/{broken['run'].iloc[0]}" if len(broken) else ""
    return counterexamples(len(broken), len(runs), f"runs of {experiments}; {note}{first}")


@effect(*(f"bound-constraints-{kind}" for kind in KINDS))
def constraints(case: Case) -> Estimate:
    """Runs of Algorithm 1, in any experiment, with more constraints than Theorem 18 allows."""
    runs = library_runs(case.results)
    runs = _of_kind(runs[runs["done"].astype(bool) & runs["bound"].notna()], _kind(case))
    nearest = (runs["constraints"] / runs["bound"]).max()
    return _counted(
        runs, runs[runs["constraints"] > runs["bound"]], f"the nearest has {nearest:.2g} of its bound"
    )


@effect("bound-risk-slack", "bound-risk-margin")
def risk(case: Case) -> Estimate:
    """Runs, in any experiment, whose mean loss exceeds the mean of their exact slacks (squares for SVM2)."""
    margin = case.statement.id.endswith("margin")
    runs = library_runs(case.results)
    runs = runs[runs["done"].astype(bool) & runs["exact"].astype(bool) & runs["mean_slack"].notna()]
    runs = _where(runs, lambda name: rescales_margin(name) == margin)
    over = runs["train_risk"] > runs["mean_slack"] * (1 + ROUNDING) + ROUNDING
    tight = (runs["train_risk"] / runs["mean_slack"])[runs["mean_slack"] > 0].max()
    return _counted(runs, runs[over], f"the risk is at most {tight:.3g} of its bound")


@effect("dual-programs-below")
def dual_below_primal(case: Case) -> Estimate:
    """Runs whose dual exceeds the primal; evaluation fails such a run, so failed ones count too."""
    runs = library_runs(case.results)
    failed = runs["reason"].str.contains("exceeds the primal", regex=False)
    runs = runs[failed | (runs["done"].astype(bool) & runs["exact"].astype(bool) & runs["dual"].notna())]
    above = runs["dual"] > runs["primal"] + ROUNDING * (1.0 + runs["primal"].abs())
    broken = runs[above | failed.loc[runs.index]]
    return _counted(runs, broken, "primal objectives recomputed by a full search")


@effect("dual-programs-equal", study=[AS_IT_IS, ZERO_ONE])
def dual_equals_primal(case: Case) -> Estimate:
    """Trainings that were to reach a relative gap, and did not."""
    runs = case.runs([AS_IT_IS, ZERO_ONE])
    asked = column(runs, "gap_tol").astype(float)
    far = column(runs, "relative_gap").astype(float) > asked
    note = (
        f"{runs['formulation'].nunique()} formulations, relative gaps up to {runs['relative_gap'].max():.2g}"
    )
    return counterexamples(int(far.sum()), len(runs), note)


@effect(*(f"bound-gain-{kind}" for kind in KINDS), study=BOUNDS)
def gains(case: Case) -> Estimate:
    """Constraints that raise the dual by less than they must."""
    runs = _of_kind(case.runs(BOUNDS), _kind(case))
    cuts = pd.concat(
        [pd.DataFrame({"raised": [], "least": []})]
        + [gains_of_cuts(case.experiment, run) for run in runs.itertuples()]
    )
    broken = int((cuts["raised"] < cuts["least"] * (1 - ROUNDING) - ROUNDING).sum())
    nearest = (cuts["raised"] / cuts["least"]).min()
    return counterexamples(broken, len(cuts), f"the least gain is {nearest:.3g} of what is asked for")


@effect("bound-gain-proposition-17")
def proposition_17(case: Case) -> Estimate:
    """Problems of one example and one other output, of loss 1, whose constraint raises the dual by less."""
    broken, tried = [], 0
    for cap in (0.001, 0.01, 0.1, 1.0, 10.0):
        for radius in (0.5, 1.0, 2.0, 4.0):
            for eps in (0.1, 0.5, 0.9):
                tried += 1
                if gain_of_one(1.0, radius, cap) < eps**2 / (8 * radius**2):
                    broken.append(f"C/n = {cap:g}, R = {radius:g}, epsilon = {eps:g}")
    first = f"the first has {broken[0]}, where the dual cannot exceed C/n" if broken else "none is broken"
    return counterexamples(len(broken), tried, first)


@effect("bound-accuracy-svm1", "bound-accuracy-svm2", study=BOUNDS)
def accuracy(case: Case) -> Estimate:
    """Trainings by Algorithm 1 that end farther from the optimum than epsilon more slack would cost."""
    p = 1 if case.statement.id.endswith("svm1") else 2
    runs = case.runs(BOUNDS)
    fits = [power_of_slacks(name) == p for name in runs["formulation"]]
    runs = runs[np.array(fits, dtype=bool) & runs["converged"].astype(bool) & runs["gap"].notna()]
    C, eps = runs["C"].astype(float), runs["eps"].astype(float)
    # mean (xi + eps)^2 - xi^2 = 2 eps mean xi + eps^2, and mean xi is at most the root of the mean square
    allowed = C * eps if p == 1 else C * (eps * np.sqrt(runs["mean_slack"]) + eps**2 / 2)
    broken = int((runs["gap"] > allowed * (1 + ROUNDING)).sum())
    return counterexamples(broken, len(runs), f"the largest gap is {(runs['gap'] / allowed).max():.2g} of it")


@effect("slack-invariance-slack", study=[AS_IT_IS, TIMES_FOUR])
def same_weights(case: Case) -> Estimate:
    """Pairs of slack re-scaled solutions that are farther apart than solutions of one problem can be."""
    return _different(_rescaled(case, margin=False))


@effect("slack-invariance-margin", study=[AS_IT_IS, TIMES_FOUR])
def other_weights(case: Case) -> Estimate:
    """The distance of the optima of the closest pair, with what the certificates leave open."""
    pairs = _rescaled(case, margin=True)
    if pairs.empty:
        raise NotTestable("no pairs of runs with scaled and unscaled losses")
    closest = pairs.loc[(pairs["distance"] - pairs["allowed"]).idxmin()]
    distance, allowed = float(closest["distance"]), float(closest["allowed"])
    return Estimate(
        distance, distance - allowed, distance + allowed, len(pairs), "certified distance of optima"
    )


def _rescaled(case: Case, margin: bool) -> pd.DataFrame:
    plain, scaled = case.runs(AS_IT_IS), case.runs(TIMES_FOUR)
    pairs = solution_pairs(case.experiment, plain, scaled, ["formulation", "repetition"])
    return pairs[[rescales_margin(name) == margin for name in pairs["formulation"]]]


def _different(pairs: pd.DataFrame) -> Estimate:
    """Pairs that are not solutions of one problem."""
    broken = int((pairs["distance"] > pairs["allowed"]).sum())
    farthest, allowed = pairs["distance"].max(), pairs["allowed"].max()
    note = f"weights at most {farthest:.2g} apart where certificates allow up to {allowed:.2g}"
    return counterexamples(broken, len(pairs), note)


@effect("zero-one-equal-svm1", "zero-one-equal-svm2", study=ZERO_ONE)
def one_problem(case: Case) -> Estimate:
    """Pairs of solutions with 0/1 loss, under two formulations of a penalty, of different problems."""
    penalty = "SVM1" if case.statement.id.endswith("svm1") else "SVM2"
    base = case.runs(ZERO_ONE, formulation=penalty)
    compared = [
        solution_pairs(case.experiment, base, case.runs(ZERO_ONE, formulation=other), ["repetition"])
        for other in (f"{penalty} slack", f"{penalty} margin")
    ]
    return _different(pd.concat(compared, ignore_index=True))


@effect("confusable-outputs-slack", study=AS_IT_IS)
def far_outputs_with_slack(case: Case) -> Estimate:
    """Constraints with alpha > 0 whose outputs score more than 1 below the truth.

    The gap bounds the sum of alpha (xi - H), with xi >= 0 and H = s (1 - margin) for the scale s of each, so
    that the margin is at most 1 + gap / (alpha s).
    """
    broken, total = 0, 0
    runs = case.runs(AS_IT_IS)
    for run in _where(runs, lambda name: not rescales_margin(name)).itertuples():
        fit = case.experiment.model(run.run).fit_
        scale, alpha = fit.formulation.H.s(fit.support.losses), fit.support.alpha
        broken += int(np.sum(support_margins(fit) > 1.0 + run.gap / (alpha * scale) + ROUNDING))
        total += len(alpha)
    return counterexamples(broken, total)


@effect("confusable-outputs-margin", "confusable-outputs-constraints", study=AS_IT_IS)
def far_outputs_with_margin(case: Case) -> Estimate:
    """The share of alpha, or of constraints with alpha > 0, on outputs more than 1 below the truth.

    SVM1 margin's minus SVM1 slack's.
    """
    by_weight = case.statement.id.endswith("margin")
    shares = [_share_far(case, f"SVM1 {scaling}", by_weight) for scaling in ("margin", "slack")]
    common = [k for k in shares[0] if k in shares[1]]
    found = t_interval([shares[0][k] - shares[1][k] for k in common], case.level)
    means = [float(np.mean(list(by_sample.values()))) for by_sample in shares]
    return found.noted(f"{100 * means[0]:.0f}% with margin re-scaling, {100 * means[1]:.0f}% with slack")


def _share_far(case: Case, formulation: str, by_weight: bool) -> dict[object, float]:
    shares: dict[object, float] = {}
    runs = case.runs(AS_IT_IS, formulation=formulation)
    for run in runs.assign(repetition=column(runs, "repetition", 0)).itertuples():
        fit = case.experiment.model(run.run).fit_
        weight = fit.support.alpha if by_weight else np.ones(len(fit.support.alpha))
        shares[run.repetition] = float(weight[support_margins(fit) > NEARLY_ONE].sum() / weight.sum())
    return shares


@effect("algorithm-variants-searches", study=BOUNDS)
def searches(case: Case) -> Estimate:
    """The logarithm of variant (b)'s searches over variant (a)'s, averaged over formulations and epsilons."""
    runs = case.runs(BOUNDS)
    return t_interval(_log_ratio(runs, "solver", "n_slack_b", "n_slack_a", "oracle_calls"), case.level)


@effect("algorithm-variants-restart", study=RESTART)
def restart(case: Case) -> Estimate:
    """The logarithm of the QP's time from nothing over that from the current solution, by sample."""
    runs = case.experiment.timed(case.runs(RESTART))
    if runs.empty:
        raise NotTestable("no clock of these runs")
    found = t_interval(_log_ratio(runs, "restart", False, True, "fit_seconds_qp"), case.level)
    whole = float(np.mean(_log_ratio(runs, "restart", False, True, "fit_seconds_loop")))
    return found.noted(
        f"{np.exp(found.effect):.1f} times the time in the QP, {np.exp(whole):.1f} times in all"
    )


def _log_ratio(runs: pd.DataFrame, key: str, above: object, below: object, measure: str) -> np.ndarray:
    """The log of a measure with one value of a setting over that with another, averaged by sample."""
    runs = runs.assign(repetition=column(runs, "repetition", 0), logarithm=logarithms(runs[measure]))
    setting = ["repetition", "formulation", "eps"]
    first, second = (
        runs.loc[has_value(runs, key, value), [*setting, "logarithm"]] for value in (above, below)
    )
    both = first.merge(second, on=setting, suffixes=("", "_below"))
    ratio = both["logarithm"] - both["logarithm_below"]
    by_sample: np.ndarray = ratio.groupby(both["repetition"]).mean().to_numpy()
    return by_sample
