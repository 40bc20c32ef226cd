"""Effects on JKSE itself, whatever it is trained on (jkse09 Sections 2.2, 2.3, 3.1.2 and 4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from structmargin_suite.analysis.estimates import (
    Estimate,
    NotTestable,
    bootstrap,
    counterexamples,
    t_interval,
)
from structmargin_suite.analysis.statistics import slope
from structmargin_suite.results import ExperimentResults, column, has_value
from structmargin_suite.statements.cases import Case, effect

ONE_CLASS, BINARY = "one-class without slack", "binary without slack"
KERNEL_N, LINEAR_N = 10_000, 1_000_000
"""Examples: "tens of thousands" with kernels and "millions" with linear ones are at least these."""
FEASIBLE_SECONDS = 5 * 3600.0
"""What the paper calls reasonable: its S-SVM took about 5 hours, "close to the upper limit"."""
ROUNDING = 1e-9


def _jkse_runs(case: Case) -> Iterator[tuple[ExperimentResults, pd.Series]]:
    """Every finished run of JKSE in every experiment, also those whose nu was not chosen."""
    for experiment in case.results.values():
        runs = experiment.runs
        trained = runs[has_value(runs, "status", "done") & has_value(runs, "model", "JKSE")]
        for _, run in trained.iterrows():
            yield experiment, run


def _counted(broken: list[str], n: int) -> Estimate:
    return counterexamples(len(broken), n, f"first {broken[0]}" if broken else "")


@effect("jkse-one-class-nu")
def outliers(case: Case) -> Estimate:
    """Trainings with more outliers than their certificate allows.

    At an optimum at most nu n slacks are above 0. With a duality gap g, m > nu n slacks of t or more would
    make g at least t (m - nu n) / (nu n), so the m-th largest slack is at most g nu n / (m - nu n).
    """
    broken, n = [], 0
    for experiment, run in _jkse_runs(case):
        fit = experiment.model(run["run"]).fit_
        if fit.C is not None:
            continue
        n += 1
        allowed = fit.nu * len(fit.xi)
        m = math.floor(allowed + ROUNDING) + 1
        if m > len(fit.xi):
            continue
        slack = float(np.sort(fit.xi)[-m])
        if slack > max(run["gap"], 0.0) * allowed / (m - allowed) + ROUNDING * abs(fit.rho):
            broken.append(f"{experiment.name}/{run['run']}")
    return _counted(broken, n)


@effect("jkse-one-class-optimum")
def optimum(case: Case) -> Estimate:
    """Trainings that end without the certificate that they were asked for."""
    runs = list(_jkse_runs(case))
    certified = [pd.notna(run["converged"]) and bool(run["converged"]) for _, run in runs]
    broken = [
        f"{experiment.name}/{run['run']}"
        for (experiment, run), sure in zip(runs, certified, strict=True)
        if not sure
    ]
    return _counted(broken, len(runs))


@effect("jkse-label-space-search")
def no_search(case: Case) -> Estimate:
    """Trainings that searched an output."""
    runs = list(_jkse_runs(case))
    broken = [f"{experiment.name}/{run['run']}" for experiment, run in runs if run["oracle_calls"] != 0]
    return _counted(broken, len(runs))


@effect("jkse-one-class-sparse", study="folds", methods=["JKSE"])
def sparse(case: Case) -> Estimate:
    """The percentage of training words with a coefficient above 0; the folds have no words in common."""
    runs = case.runs("folds", "JKSE")
    if runs.empty:
        raise NotTestable("no finished run of JKSE on words")
    fits = [case.experiment.model(run).fit_ for run in runs["run"]]
    alpha = np.concatenate([fit.alpha for fit in fits])
    nu = float(np.mean([fit.nu for fit in fits]))
    note = f"the nu that is chosen, {nu:.2g} on average, is the least share with a coefficient above 0"
    return bootstrap(100.0 * (alpha > 0.0), case.level).noted(note)


def _by_rotation(case: Case, study: str, method: str) -> pd.DataFrame:
    runs = case.runs(study, method)
    return runs.set_index(column(runs, "rotation", 0))


@effect("jkse-binary-hard", study="mirror", methods=[ONE_CLASS, BINARY])
def same_direction(case: Case) -> Estimate:
    """Pairs of solutions without slack, scaled to margin 1, that are farther apart than their certificates
    allow two solutions of one problem to be: a w with duality gap g is at most sqrt(2 g) from the optimum.
    """
    first, second = (_by_rotation(case, "mirror", method) for method in (ONE_CLASS, BINARY))
    shared = [rotation for rotation in first.index if rotation in second.index]
    if any((runs.loc[shared, "margin"] <= 0.0).any() for runs in (first, second) if shared):
        raise NotTestable("the pairs cannot be separated from the origin without slack")
    broken, apart = 0, 0.0
    for rotation in shared:
        one_class, binary = first.loc[rotation], second.loc[rotation]
        u, v = (
            np.asarray(case.experiment.model(run["run"]).w_) / run["margin"] for run in (one_class, binary)
        )
        gaps = (_hard_gap(one_class), max(binary["gap"], 0.0))
        distance = float(np.linalg.norm(u - v))
        broken += distance > sum(math.sqrt(2.0 * gap) for gap in gaps) + ROUNDING
        apart = max(apart, distance / float(np.linalg.norm(v)))
    return counterexamples(broken, len(shared), f"weights differ by at most {apart:.2g} of their length")


def _hard_gap(run: pd.Series) -> float:
    """The gap of a one-class solution as one of min 1/2 |w|^2 with margin 1: w over its margin against the
    best multiple of alpha, which sums to 1."""
    norm2 = float(run["norm_w"]) ** 2
    return max(0.5 * norm2 / float(run["margin"]) ** 2 - 0.5 / norm2, 0.0)


@effect("jkse-binary-separable", study="mirror", methods=[ONE_CLASS, BINARY])
def separable(case: Case) -> Estimate:
    """Trainings without slack, on pixels that are never negative, that find no positive margin."""
    runs = case.runs("mirror")
    return counterexamples(int((runs["margin"] <= 0.0).sum()), len(runs))


def _time_slopes(case: Case, method: str) -> dict[int, float]:
    """The slope of log seconds against log labels, by rotation."""
    runs = case.experiment.timed(case.runs("output space", method))
    runs = runs.assign(rotation=column(runs, "rotation", 0))
    return {
        rotation: slope(group["n_labels"].tolist(), group["fit_seconds"].clip(lower=1e-6).tolist())
        for rotation, group in runs.groupby("rotation")
        if group["n_labels"].nunique() > 1
    }


@effect("jkse-label-space-time", study="output space", methods=["JKSE, labels"])
def time_against_labels(case: Case) -> Estimate:
    """JKSE's slope; the rotations train on folds that have no words in common."""
    return t_interval(list(_time_slopes(case, "JKSE, labels").values()), case.level)


@effect("jkse-label-space-ssvm", study="output space", methods=["JKSE, labels", "S-SVM, labels"])
def slower_with_labels(case: Case) -> Estimate:
    """The S-SVM's slope less JKSE's, fold by fold."""
    jkse, ssvm = (_time_slopes(case, method) for method in ("JKSE, labels", "S-SVM, labels"))
    return t_interval([ssvm[fold] - jkse[fold] for fold in jkse if fold in ssvm], case.level)


@effect("jkse-label-space-solution", study="output space", methods=["JKSE, labels"])
def same_solution(case: Case) -> Estimate:
    """Pairs of trainings on one fold with different numbers of labels whose certified intervals of the
    optimum, from dual to primal, do not meet.
    """
    broken = n = 0
    for _, runs in _by_rotation(case, "output space", "JKSE, labels").groupby(level=0):
        for a, b in itertools.combinations(runs.to_dict("records"), 2):
            room = ROUNDING * abs(a["primal"])
            broken += a["dual"] > b["primal"] + room or b["dual"] > a["primal"] + room
            n += 1
    return counterexamples(broken, n)


@effect("jkse-scale-kernel", study="many, kernel", methods=["JKSE, single letters, kernel"])
@effect("jkse-scale-linear", study="many, linear", methods=["JKSE, single letters"])
def feasible(case: Case) -> Estimate:
    """Trainings of the size in question without a certificate, or longer than 5 hours of CPU time."""
    kernel = case.statement.id == "jkse-scale-kernel"
    study, least = ("many, kernel", KERNEL_N) if kernel else ("many, linear", LINEAR_N)
    runs = case.experiment.timed(case.runs(study))
    large = runs[runs["letters"] >= least]
    if large.empty:
        most = int(runs["letters"].max()) if len(runs) else 0
        raise NotTestable(f"at most {most} examples at this scale, and the statement is of {least} and more")
    failed = ~large["converged"].astype(bool) | (large["cpu_seconds"] > FEASIBLE_SECONDS)
    return counterexamples(int(failed.sum()), len(large), f"{large['cpu_seconds'].max():.1f} CPU seconds")
