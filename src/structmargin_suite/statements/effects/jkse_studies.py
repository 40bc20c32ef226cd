"""Effects of the small studies of JKSE itself, on single letters (jkse09 Sections 2, 2.3, 3.1.2 and 4.1)."""

from __future__ import annotations

import numpy as np

from structmargin_suite.analysis.estimates import Estimate, NotTestable, bootstrap, counterexamples, shared
from structmargin_suite.analysis.experiments.jkse import ROUNDING, ball_and_plane, plane_and_binary
from structmargin_suite.statements.cases import Case, effect

PAIRS_OF_TRAINERS = {
    "linear": ("one-class, linear", "binary, linear"),
    "Gaussian": ("one-class, Gaussian", "binary, Gaussian"),
}
"""One-class and binary training by kernel."""
JKSE_SYNONYMS, SSVM_SYNONYMS = "JKSE, synonyms", "S-SVM, synonyms"
AT_ONCE, IN_TWO_STEPS = "JKSE, single letters", "JKSE in two steps"


@effect("jkse-one-class-ball", study="ball")
def ball(case: Case) -> Estimate:
    """Hyperplanes over pairs of one length that are farther from the smallest ball's centre than the
    certificates of both allow.
    """
    compared = [ball_and_plane(case.experiment, run) for run in case.runs("ball")["run"]]
    equal = [apart for apart in compared if apart.lengths <= ROUNDING]
    unequal = [apart for apart in compared if apart.lengths > ROUNDING]
    note = f"apart by at most {max((apart.distance for apart in equal), default=0.0):.1g} of their length"
    if unequal:
        least, most = (choose(apart.distance for apart in unequal) for choose in (min, max))
        note += f"; where the lengths of pairs differ, by {least:.2g} to {most:.2g}"
    return counterexamples(sum(not apart.same for apart in equal), len(equal), note)


@effect("jkse-binary-slack", study="slack")
def same_hyperplane(case: Case) -> Estimate:
    """Pairs of a one-class and a binary solution, whose C was searched for the same nu, that are farther
    apart than their certificates allow two solutions of one problem to be.
    """
    compared, prices = [], []
    for one_class, binary in PAIRS_OF_TRAINERS.values():
        first, second = (case.runs("slack", name).set_index("nu") for name in (one_class, binary))
        for nu in first.index.intersection(second.index):
            runs = (first.loc[nu, "run"], second.loc[nu, "run"])
            compared.append(plane_and_binary(case.experiment, *runs))
            prices.append(float(second.loc[nu, "C"]))
    if not compared:
        raise NotTestable("no nu was trained both ways")
    note = f"weights differ by at most {max(apart.distance for apart in compared):.1g} of their length"
    note += f" at C from {min(prices):.3g} to {max(prices):.3g}"
    return counterexamples(sum(not apart.same for apart in compared), len(compared), note)


def _wrong(case: Case, study: str, method: str, **settings: float) -> np.ndarray:
    """Whether each test letter was read wrongly, in percent: 0 or 100."""
    runs = case.runs(study, method, **settings)
    if runs.empty:
        raise NotTestable(f"no finished run of {method} in {study!r}")
    kept = case.experiment.kept_predictions(runs["run"].iloc[-1])  # the largest training set
    return np.asarray(100.0 * (kept["labels"] != kept["predicted"]))


@effect("jkse-several-labels-help", study="several labels", methods=[JKSE_SYNONYMS, SSVM_SYNONYMS])
def several_right_labels(case: Case) -> Estimate:
    """By how much the S-SVM's error grows where each letter has several right labels, less by how much
    JKSE's does.
    """
    most = int(case.runs("several labels")["synonyms"].max())
    if most < 2:
        raise NotTestable("no input has several right labels at this scale")
    lost = {
        method: _wrong(case, "several labels", method, synonyms=most)
        - _wrong(case, "several labels", method, synonyms=1)
        for method in (JKSE_SYNONYMS, SSVM_SYNONYMS)
    }
    note = f"S-SVM loses {lost[SSVM_SYNONYMS].mean():.3g} points, JKSE {lost[JKSE_SYNONYMS].mean():.3g}"
    return bootstrap(lost[SSVM_SYNONYMS] - lost[JKSE_SYNONYMS], case.level).noted(note)


@effect("jkse-several-labels-extend", study="added labels", methods=[AT_ONCE, IN_TWO_STEPS])
def labels_added(case: Case) -> Estimate:
    """The error of JKSE with all labels at once less that with half of them added later, at the nu whose
    interval reaches lowest: if it lies above some loss then all do.
    """
    values = sorted(set(case.runs("added labels")["nu"]))
    estimates = []
    for nu in values:
        at_once, later = (_wrong(case, "added labels", method, nu=nu) for method in (AT_ONCE, IN_TWO_STEPS))
        note = f"{at_once.mean():.3g}% at once, {later.mean():.3g}% with labels added, nu = {nu:g}"
        estimates.append(bootstrap(at_once - later, shared(case.level, len(values))).noted(note))
    return min(estimates, key=lambda estimate: estimate.low)
