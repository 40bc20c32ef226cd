"""Effects for performance measures (cacm09 Section 3.3, Table 1): gains of direct optimisation by topic."""

from __future__ import annotations

from typing import Any

import numpy as np

from structmargin_suite.analysis.estimates import (
    Estimate,
    NotTestable,
    bootstrap,
    bootstrap_within,
    counterexamples,
    t_interval,
)
from structmargin_suite.analysis.experiments.measures import DIRECT, MEASURES, RIVAL, STUDIES
from structmargin_suite.analysis.statistics import slope
from structmargin_suite.results import ExperimentResults, column
from structmargin_suite.statements.cases import Case, effect

MAX_DISTANCE = 1e-3
"""Of two weight vectors that count as the same, relative to their length: both are trained to about 1e-4."""
TABLE = "measures-table"


def gain(case: Case) -> Estimate:
    """The mean gain over the topics of one data set, in points of the measure that was trained on."""
    study, measure = case.statement.id.removeprefix(f"{TABLE}-").split("-")
    return bootstrap(_gains(case, study)[:, list(MEASURES).index(measure)], case.level)


for _study in STUDIES:
    _ids = [f"{TABLE}-{_study}-{_measure}" for _measure in MEASURES]
    effect(*_ids, study=_study, methods=(DIRECT, RIVAL))(gain)


@effect("measures-win-most", study=STUDIES, methods=(DIRECT, RIVAL), pooled=True)
def share_won(case: Case) -> Estimate:
    """Twice the share of cases with a higher macro-average, minus 1: above 0 where most are won."""
    estimate = bootstrap_within(
        _real_gains(case), case.level, lambda gains: 2.0 * (gains > 0).mean(axis=1) - 1.0
    )
    return estimate.noted(_cases(case))


@effect("measures-win-never-worse", study=STUDIES, methods=(DIRECT, RIVAL), pooled=True)
def smallest_gain(case: Case) -> Estimate:
    """The smallest of the gains of all cases.

    Every case has an interval of its own, simultaneous over cases, and the lowest ends count: the interval is
    above -1 if no case can be worse by a point, and below it if some case is, beyond chance.
    """
    groups = _real_gains(case)
    of_one = 1.0 - (1.0 - case.level) / sum(gains.shape[1] for gains in groups)
    each = [bootstrap(column, of_one) for gains in groups for column in gains.T]
    least = min(each, key=lambda estimate: estimate.effect)
    return Estimate(
        least.effect,
        min(estimate.low for estimate in each),
        min(estimate.high for estimate in each),
        sum(len(gains) for gains in groups),
        f"bootstrap over topics, simultaneous over {len(each)} cases",
        grows=False,
        note=_cases(case),
    )


@effect("measures-error-rate-same", study="error_rate")
def error_rate(case: Case) -> Estimate:
    """Topics on which twice the structural SVM's w is not the conventional SVM's."""
    models: list[dict[Any, np.ndarray]] = []
    for method in ("error rate", "plain SVM"):
        runs = case.runs("error_rate", method)
        topics = zip(column(runs, "topic", 0), runs["run"], strict=True)
        models.append({topic: _w(case.experiment, run) for topic, run in topics})
    ours, conventional = models
    distances = [
        float(np.linalg.norm(2.0 * ours[topic] - w) / np.linalg.norm(w))
        for topic, w in conventional.items()
        if topic in ours
    ]
    largest = f"the weights are at most {max(distances):.2g} of their length apart" if distances else ""
    return counterexamples(sum(d > MAX_DISTANCE for d in distances), len(distances), largest)


@effect("measures-search-quadratic", study="search", pooled=True)
def growth_of_a_search(case: Case) -> Estimate:
    """The power of n with which the seconds of one search grow, one slope for each topic and measure."""
    runs = case.experiment.timed(case.runs("search"))
    seconds = runs["fit_seconds_search"] / runs["oracle_calls"]
    measured = runs.assign(seconds_of_one=seconds)[seconds > 0.0]
    found = [
        slope(group["n_train"].tolist(), group["seconds_of_one"].tolist())
        for _, group in measured.groupby(["topic", "measure"], sort=False)
        if group["n_train"].nunique() > 1
    ]
    sizes = sorted({int(n) for n in measured["n_train"]})
    note = f"{sizes[0]} to {sizes[-1]} examples" if sizes else ""
    return t_interval(found, case.level).noted(note)


def _gains(case: Case, study: str) -> np.ndarray:
    """Direct minus conventional on the topics that have all measures, (topics, measures)."""
    values = [
        case.values(study, f"test_{measure}", method, by="topic", measure=measure)
        for measure in MEASURES
        for method in (DIRECT, RIVAL)
    ]
    topics = sorted(set.intersection(*(set(by_topic) for by_topic in values)))  # type: ignore[type-var]
    if not topics:
        raise NotTestable(f"no topic of {study!r} has runs of both methods for every measure")
    both = np.array([[by_topic[topic] for by_topic in values] for topic in topics])
    return np.asarray(both[:, ::2] - both[:, 1::2])


def _real_gains(case: Case) -> list[np.ndarray]:
    return [_gains(case, study) for study in _real_studies(case)]


def _real_studies(case: Case) -> list[str]:
    """The studies of the table whose data are not made up."""
    data = case.experiment.summary.get("data", [])
    made_up = {entry["corpus"] for entry in data if entry["kind"] == "synthetic"}
    of_study = {study: set(column(case.experiment.select(study), "corpus", "")) for study in STUDIES}
    real = [study for study in STUDIES if not of_study[study] <= made_up or not of_study[study]]
    if not any(of_study[study] for study in real):
        raise NotTestable("made-up data do not decide a statement about real data")
    return real


def _cases(case: Case) -> str:
    """The gain of each case, in words."""
    parts = []
    for study in _real_studies(case):
        means = _gains(case, study).mean(axis=0)
        parts += [
            f"{study} {name} {value:+.1f}" for name, value in zip(MEASURES.values(), means, strict=True)
        ]
    return ", ".join(parts)


def _w(experiment: ExperimentResults, run: str) -> np.ndarray:
    return experiment.method_of(run).weights(experiment.model(run))
