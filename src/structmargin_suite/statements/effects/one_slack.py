"""Effects for cacm09 Section 2.4: the number of constraints of the cutting-plane algorithm, its precision."""

from __future__ import annotations

from structmargin_suite.analysis.estimates import Estimate, counterexamples, sign_interval, t_interval
from structmargin_suite.analysis.statistics import slopes
from structmargin_suite.results import column, has_value
from structmargin_suite.statements.cases import Case, effect

MANY = 1000
QP_SHARE = 0.01
"""The quadratic programs over the working set are solved to this share of eps."""
DRAWN_BY = ("repetition", "topic", "fold", "rotation", "round")
"""Settings that draw other training sets of one corpus; sizes of one draw are nested."""


@effect("one-slack-n-growth", study="growth")
def growth(case: Case) -> Estimate:
    """The power of n with which constraints grow, one slope per fresh sample."""
    return t_interval(slopes(case.runs("growth"), "n_train", "constraints"), case.level)


@effect("one-slack-n-C", study="growth with C")
def growth_with_c(case: Case) -> Estimate:
    """The power of C with which constraints grow, one slope per fresh sample."""
    return t_interval(slopes(case.runs("growth with C"), "C", "constraints"), case.level)


@effect("one-slack-n-eps", study="growth with precision")
def growth_with_precision(case: Case) -> Estimate:
    """The power of 1/eps with which constraints grow, one slope per fresh sample."""
    runs = case.runs("growth with precision")
    runs = runs.assign(inverse=1.0 / runs["eps"].astype(float))
    return t_interval(slopes(runs, "inverse", "constraints"), case.level)


@effect("one-slack-n-outputs", study="outputs", methods=["1-slack"])
def growth_with_outputs(case: Case) -> Estimate:
    """The power of the number of outputs with which constraints grow, one slope per fresh sample."""
    return t_interval(slopes(case.runs("outputs", "1-slack"), "outputs", "constraints"), case.level)


@effect("bound-constraints-outputs", study="outputs", methods=["n-slack"])
def growth_of_algorithm_1_with_outputs(case: Case) -> Estimate:
    """The same for Algorithm 1, variant (a)."""
    return t_interval(slopes(case.runs("outputs", "n-slack"), "outputs", "constraints"), case.level)


@effect("one-slack-n-thousand")
def below_a_thousand(case: Case) -> Estimate:
    """Training sets on which all trainings of the 1-slack solver need fewer than 1000 constraints, or not."""
    below: list[bool] = []
    for experiment in case.results.values():
        runs = experiment.select(solver="one_slack")
        runs = runs.assign(constraints=column(runs, "constraints")).dropna(subset="constraints")
        keys = [key for key in ("corpus", *DRAWN_BY) if key in runs]
        below += [
            bool((counts < MANY).all()) for _, counts in runs.groupby(keys, dropna=False)["constraints"]
        ]
    fewer = sum(below)
    estimate = sign_interval(fewer, len(below) - fewer, case.level)
    return estimate.noted(f"{fewer} of {len(below)} training sets below {MANY}")


@effect("cutting-plane-precision-gap", study=("growth", "bounds"))
def within_eps(case: Case) -> Estimate:
    """Runs whose duality gap exceeds C eps, the cost of eps on every slack, beyond the QP's precision."""
    runs = case.runs(("growth", "bounds"))
    by_eps = has_value(runs, "formulation", "SVM1 margin") & column(runs, "gap_tol").isna()
    runs = runs[by_eps & column(runs, "gap").notna()]
    share = (runs["gap"] / (runs["C"] * runs["eps"])).astype(float)
    largest = f"the largest gap is {share.max():.3f} C eps" if len(share) else ""
    return counterexamples(int((share > 1.0 + QP_SHARE).sum()), len(runs), largest)
